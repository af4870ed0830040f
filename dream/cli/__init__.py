"""The commands `dream`, `dream-log` and `dream-restore`: loaded when they are called."""

from __future__ import annotations

import os

from dream.cli import detached


def main() -> None:
    """Run `dream`; a hook is answered, or works on in the background, before anything else is loaded."""
    if detached.hook_left(os.environ) or detached.prompt_answered(os.environ):
        return
    from dream.cli import entry

    entry.main()


def main_log() -> None:
    """Run `dream-log`, the same as `dream log`."""
    from dream.cli import entry

    entry.main_log()


def main_restore() -> None:
    """Run `dream-restore`, the same as `dream restore`."""
    from dream.cli import entry

    entry.main_restore()
