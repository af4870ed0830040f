"""What a person or a program reads: lines and JSON on stdout, problems on stderr. A closed pipe is quiet."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TextIO

import click

from dream.cli.folding import cut, folded, width


def prepare() -> None:
    """Let any character be printed, whatever the terminal's encoding: what it lacks is escaped.

    Where the caller has closed stdout or stderr, what would be printed there goes nowhere.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(
    line: str = "",
    *,
    colour: str | None = None,
    bold: bool = False,
    dim: bool = False,
    now: bool = False,
    fold: bool = False,
) -> None:
    """Print one line, or several, for a person; coloured on a terminal only. With `now`, a pipe gets it at once.

    With `fold`, what is longer than the terminal is wide is folded; not for what is to be copied from there.
    Control characters of what is shown never reach the terminal.
    """
    line = _time() + _safe(line)
    if fold:
        line = _fitting(line, sys.stdout)
    if (colour or bold or dim) and colours(sys.stdout):
        line = click.style(line, fg=colour, bold=bold or None, dim=dim or None)
    _write(sys.stdout, line + "\n", now=now)


def emit(value: object) -> None:
    """Print `value` as the one JSON value of this command."""
    encoded = json.dumps(value, ensure_ascii=False)
    try:
        encoded.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        encoded = json.dumps(value)
    _write(sys.stdout, encoded + "\n")


def problem(sentence: str) -> None:
    """Print a problem or a remark on stderr, folded on a terminal."""
    _write(sys.stderr, _fitting(f"{_time()}dream: {_safe(sentence)}", sys.stderr) + "\n")


def failure(sentence: str, *, as_json: bool, more: Mapping[str, object] | None = None) -> None:
    """Tell why a command failed: on stderr, and with `--json` as one object on stdout too, with `more` in it."""
    problem(sentence)
    if as_json:
        emit({"outcome": "failed", **(more or {}), "reason": sentence})


def sentence(words: str) -> str:
    """Write a reason as a sentence of its own. A name in front, as `openai/gpt-5-mini`, stays as it is written."""
    words = words.strip()
    first = words.split(maxsplit=1)[0].rstrip(",;:") if words else ""
    head = words[:1].upper() if first.isalpha() else words[:1]
    return head + words[1:] + ("" if words.endswith((".", "!", "?")) else ".") if words else ""


def colours(stream: TextIO) -> bool:
    """Tell whether `stream` is a terminal that wants colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def watched() -> bool:
    """Tell whether a person sees what is printed, on a terminal."""
    return sys.stdout.isatty()


def dated(now: Callable[[], datetime] = datetime.now) -> None:
    """Let each line of this command begin with its time, for a log; the journal of systemd has its own."""
    if "JOURNAL_STREAM" not in os.environ:
        _CLOCK.append(now)
        if (context := click.get_current_context(silent=True)) is not None:
            context.call_on_close(_CLOCK.clear)


def _time() -> str:
    return f"{_CLOCK[-1]():%Y-%m-%d %H:%M:%S}  " if _CLOCK else ""


def passing(line: str) -> None:
    """Show a line on the terminal behind stderr until anything else is printed, or the next one; "" takes it away."""
    with _TURN:
        room = shutil.get_terminal_size().columns - 1
        line = line if width(line) <= room else f"{cut(line, room - 1)}…"
        if line != _PASSING[0]:
            _PASSING[0] = line
            _attempt(sys.stderr, lambda: sys.stderr.write(f"{ERASE}{line}"))
            _attempt(sys.stderr, sys.stderr.flush)


def close() -> bool:
    """Flush what is left and tell whether all could be written, or was not wanted.

    A reader that has gone, as in `dream log | head -1`, is no error; a full disk is one.
    """
    for stream in (sys.stdout, sys.stderr):
        _attempt(stream, stream.flush)
    return not _LOST


def _fitting(line: str, stream: TextIO) -> str:
    return folded(line, shutil.get_terminal_size().columns) if stream.isatty() else line


def _safe(line: str) -> str:
    from dream import text

    return text.clean(line)


ERASE = "\r\x1b[K"  # goes to the beginning of the line and empties it
_PASSING = [""]  # what stands on the terminal's last line and gives way
_TURN = threading.RLock()  # of those who write to the terminal
_CLOCK: list[Callable[[], datetime]] = []  # where lines begin with their time
_LOST: list[OSError] = []  # why something that was to be printed could not be written


def _write(stream: TextIO, line: str, *, now: bool = False) -> None:
    if _PASSING[0]:
        passing("")
    with _TURN:
        _attempt(stream, lambda: stream.write(line))
        if now or stream.isatty():
            _attempt(stream, stream.flush)


def _attempt(stream: TextIO, deed: Callable[[], object]) -> None:
    """Write or flush; after an error the rest goes nowhere, so that the command still ends its work."""
    try:
        deed()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        from dream.store.files import reason

        _silence(stream)
        _LOST.append(error)
        problem(f"What was to be printed could not be written ({reason(error)}); what was done stays done.")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _silence(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
