"""The commands `dream`, `dream-log` and `dream-restore`."""

from __future__ import annotations


def main() -> None:
    """Run `dream`."""
    print("not yet")


main_log = main_restore = main
