"""Output: lines and JSON on stdout, problems and progress on stderr. A closed pipe is no error."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from dream.text import safe as texts

if TYPE_CHECKING:
    from dream.reports import Step

# Long lines are folded at words; a terminal itself breaks words in two.


HANG = 2  # columns by which the rest of a line stands further in than its beginning
NARROWEST = 30  # columns below which a terminal may break lines as it likes

# Chinese and Japanese have no spaces: a line may end behind any of their characters, but none begins with a full stop.
_WIDE = r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_CLOSING = r"[、。〉》」』】〕！），．：；？｝ー～…”’]"
_PIECE = re.compile(rf" *(?:`[^`]*`[^ `]*|{_WIDE}{_CLOSING}*|(?:(?!{_WIDE})[^ ])+{_CLOSING}*)")
ERASE = "\r\x1b[K"  # goes to the beginning of the line and empties it
_PASSING = [""]  # the progress line at the end of the terminal
_TURN = threading.RLock()  # held while the terminal is written to
_CLOCK: list[Callable[[], datetime]] = []  # set where lines begin with their time
_LOST: list[OSError] = []  # errors of writing output
Progress = Callable[["Step"], None]
TICK = 0.5  # seconds between two looks of the moving line
EARLY = 3.0  # seconds before which nobody can say how long it will take


def folded(text: str, columns: int) -> str:
    """Fold each line of `text` so that it fits into `columns`. Pure.

    It is folded at spaces and between the characters of a script without any. A longer word stays whole, and so does
    what stands in `backticks`, a command to be copied, as long as it fits into a line.
    """
    if columns < NARROWEST:
        return text
    return "\n".join(_folded(line, columns) for line in text.split("\n"))


def _folded(line: str, columns: int) -> str:
    if width(line) <= columns:
        return line
    lead = re.match(" *", line)
    indent = " " * min((lead.end() if lead else 0) + HANG, columns // 2)
    lines, here = [], ""
    for piece in _pieces(line, columns - len(indent)):
        if here.strip() and width(here + piece) > columns:
            lines.append(here)
            here = indent + piece.lstrip(" ")
        else:
            here += piece
    return "\n".join([*lines, here])


def _pieces(line: str, room: int) -> Iterator[str]:
    for piece in _PIECE.findall(line):
        whole = width(piece.strip()) <= room
        yield from [piece] if whole else re.findall(" *[^ ]+", piece)


def cut(text: str, columns: int) -> str:
    """Return as much of the beginning of `text` as fits into `columns`."""
    used = 0
    for place, char in enumerate(text):
        used += width(char)
        if used > columns:
            return text[:place]
    return text


def width(text: str) -> int:
    """Count the columns of a terminal that `text` takes: two for a wide character, none for one that combines."""
    return sum(0 if unicodedata.combining(ch) else 2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)


def prepare() -> None:
    """Let any character be printed: those that the terminal's encoding lacks are escaped.

    Output to a closed stdout or stderr is dropped.
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
    mark: re.Pattern[str] | None = None,
) -> None:
    """Print one line, or several, for a person; coloured on a terminal only. With `now`, a pipe gets it at once.

    There what `mark` matches is bold.

    With `fold`, what is longer than the terminal is wide is folded; not for what is to be copied from there.
    Control characters of what is shown never reach the terminal.
    """
    line = _time() + texts.clean(line)
    if fold:
        line = _fitting(line, sys.stdout)
    if mark is not None and colours(sys.stdout):
        line = mark.sub(lambda found: click.style(found[0], bold=True), line)
    if (colour or bold or dim) and colours(sys.stdout):
        line = click.style(line, fg=colour, bold=bold or None, dim=dim or None)
    _write(sys.stdout, line + "\n", now=now)


def emit(value: object) -> None:
    """Print `value`, a dataclass or plain types, as the one JSON value of this command."""
    from dream.reports import shape  # not needed by `dream --help`

    value = shape(value)
    encoded = json.dumps(value, ensure_ascii=False)
    try:
        encoded.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        encoded = json.dumps(value)
    _write(sys.stdout, encoded + "\n")


def problem(sentence: str) -> None:
    """Print a problem or a remark on stderr, folded on a terminal."""
    _write(sys.stderr, _fitting(f"{_time()}dream: {texts.clean(sentence)}", sys.stderr) + "\n")


def sentence(words: str) -> str:
    """Return a reason as a sentence; a name at its beginning, such as `openai/gpt-5-mini`, stays as it is."""
    words = words.strip()
    first = words.split(maxsplit=1)[0].rstrip(",;:") if words else ""
    head = words[:1].upper() if first.isalpha() else words[:1]
    return head + words[1:] + ("" if words.endswith((".", "!", "?")) else ".") if words else ""


def colours(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal that wants colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def dated() -> None:
    """Begin each line of this command with its time, for a log; systemd's journal adds its own."""
    if "JOURNAL_STREAM" not in os.environ:
        _CLOCK.append(datetime.now)
        if (context := click.get_current_context(silent=True)) is not None:
            context.call_on_close(_CLOCK.clear)


def _time() -> str:
    return f"{_CLOCK[-1]():%Y-%m-%d %H:%M:%S}  " if _CLOCK else ""


def passing(line: str) -> None:
    """Show a progress line on stderr's terminal until something else is printed; "" removes it."""
    with _TURN:
        room = shutil.get_terminal_size().columns - 1
        line = line if width(line) <= room else f"{cut(line, room - 1)}…"
        if line != _PASSING[0]:
            _PASSING[0] = line
            _attempt(sys.stderr, lambda: sys.stderr.write(f"{ERASE}{line}"))
            _attempt(sys.stderr, sys.stderr.flush)


def close() -> bool:
    """Flush the output; return whether all of it was written, or its reader had gone.

    A reader that has gone, as in `dream log | head -1`, is no error; a full disk is one.
    """
    for stream in (sys.stdout, sys.stderr):
        _attempt(stream, stream.flush)
    return not _LOST


def _fitting(line: str, stream: TextIO) -> str:
    return folded(line, shutil.get_terminal_size().columns) if stream.isatty() else line


def _write(stream: TextIO, line: str, *, now: bool = False) -> None:
    if _PASSING[0]:
        passing("")
    with _TURN:
        _attempt(stream, lambda: stream.write(line))
        if now or stream.isatty():
            _attempt(stream, stream.flush)


def _attempt(stream: TextIO, deed: Callable[[], object]) -> None:
    """Write or flush; after an error further output is dropped, so that the command still finishes its work."""
    try:
        deed()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        from dream.workspace.files import reason

        _silence(stream)
        _LOST.append(error)
        problem(f"The output could not be written ({reason(error)}); the work itself is done.")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _silence(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


# Progress on stderr: a moving line on a terminal, nothing elsewhere.


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Yield a function that shows what is being done, on a terminal and unless it is to be `quiet`."""
    from dream.reports import Step

    pace = Pace(Step(what))
    with nullcontext() if quiet or not sys.stderr.isatty() else _moving(pace):
        yield pace.see


class Pace:
    """The current step, and an estimate of the time left; safe to share between threads.

    `clock` counts seconds.
    """

    def __init__(self, step: Step, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._step = step
        self._begun = clock()  # when the first step with a known share began
        self._share: float | None = None
        self._asked: tuple[str, float] | None = None

    def see(self, step: Step) -> None:
        """Record a step."""
        now = self._clock()
        if step.ended or step.fault or (step.bill and not step.waits):
            return
        if step.waits:
            self._asked = (step.what, now)
            return
        if self._share is None and step.share is not None:
            self._share, self._begun = step.share, now
        self._step, self._asked = step, None

    def text(self) -> str:
        """Return the current step, the time left, and the model that it waits for."""
        parts, left = [self._step.what], self._left()
        if left is not None:
            parts.append(f"about {_lasting(left)} left")
        if self._asked is not None:
            model, since = self._asked
            parts.append(f"waiting for {model}, {_lasting(self._clock() - since)}")
        return " · ".join(parts)

    def _left(self) -> float | None:
        """Estimate the seconds left from the time that the finished share has taken."""
        spent, share = self._clock() - self._begun, self._step.share
        if share is None or self._share is None or share <= self._share or spent < EARLY:
            return None
        return spent * (1 - share) / (share - self._share)


@contextmanager
def _moving(pace: Pace) -> Iterator[None]:
    """Show `pace` in a progress line, below whatever is printed meanwhile."""
    over = threading.Event()

    def move() -> None:
        while not over.wait(TICK):
            passing(texts.clean(pace.text()))

    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    try:
        yield
    finally:
        over.set()
        mover.join()
        passing("")


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
