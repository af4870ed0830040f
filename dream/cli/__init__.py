"""The commands `dream`, `dream-log` and `dream-restore`: one file per command, loaded when it is called."""

from __future__ import annotations

from dream.cli.entry import main, main_log, main_restore

__all__ = ["main", "main_log", "main_restore"]
