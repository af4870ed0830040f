"""Put a job into crontab, systemd or launchd, and take it away: whoever else has lines there keeps them."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dream.crontime import Cron, parse
from dream.errors import DreamError, UsageError
from dream.nights import timers
from dream.nights.timers import Job, Kind
from dream.store.files import explained, replace

if TYPE_CHECKING:
    import subprocess


def usual_kind(platform: str = sys.platform) -> Kind:
    """Choose the clock of this machine: launchd on macOS, systemd where a user's own instance runs, else cron."""
    if platform == "darwin":
        return "launchd"
    if shutil.which("systemctl") and _run(["systemctl", "--user", "is-system-running"]).stdout.strip() in _RUNNING:
        return "systemd"
    return "crontab"


_RUNNING = {"running", "degraded"}


def job(workspace: Path, schedule: Cron, environ: Mapping[str, str], zone: str = "") -> Job:
    """Make the job for a workspace: this Python, by its absolute path, and a PATH that leads to git."""
    git = shutil.which("git", path=environ.get("PATH"))
    search = [str(Path(git).parent)] if git else []
    search += ["/usr/local/bin", "/usr/bin", "/bin"]
    home = Path(environ.get("HOME") or Path.home())
    program = (str(Path(sys.executable).absolute()), "-P", "-m", "dream")
    return Job(program, workspace.absolute(), schedule, ":".join(dict.fromkeys(search)), home, zone)


def install(kind: Kind, wanted: Job) -> list[str]:
    """Install the job, in place of an earlier one for the same workspace; return what was done, in sentences."""
    if kind == "crontab":
        before = _crontab()
        after = timers.with_line(before, wanted)
        if after == before:
            return ["Your crontab has this line already."]
        _set_crontab(after)
        return ["Your crontab has one more line." if wanted.mark not in before else "The line in your crontab is new."]
    files = timers.files(kind, wanted)
    for path, text in files.items():
        with explained("made", path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, text.encode("utf-8", "surrogateescape"))
    return [f"Written: {path}" for path in files] + _start(kind, wanted, list(files))


def remove(kind: Kind, wanted: Job) -> list[str]:
    """Take the job away; return what was done, in sentences; nothing is no error."""
    if kind == "crontab":
        before = _crontab()
        after = timers.without_line(before, wanted)
        if after == before:
            return ["Your crontab has no line for this workspace."]
        _set_crontab(after)
        return ["The line is gone from your crontab."]
    paths = [path for path in timers.paths(kind, wanted) if path.exists()]
    if not paths:
        return [f"Nothing is installed in {kind} for this workspace."]
    done = _end(kind, wanted, paths)
    for path in paths:
        with explained("removed", path):
            path.unlink()
    if kind == "systemd":
        _run(["systemctl", "--user", "daemon-reload"])
    return [*done, *(f"Removed: {path}" for path in paths)]


def installed(wanted: Job) -> dict[Kind, Job]:
    """Tell where the job is installed, and with which schedule: that of `wanted` where what is there does not say."""
    texts: dict[Kind, str] = {}
    for kind in ("systemd", "launchd"):
        there = [path for path in timers.paths(kind, wanted) if path.exists()]
        if there:
            texts[kind] = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in there)
    if shutil.which("crontab"):
        listed = _run(["crontab", "-l"]).stdout
        if timers.without_line(listed, wanted) != listed:
            texts["crontab"] = listed
    return {kind: _as_installed(kind, text, wanted) for kind, text in texts.items()}


def _as_installed(kind: Kind, text: str, wanted: Job) -> Job:
    said = timers.schedule_of(kind, text, wanted)
    try:
        return dataclasses.replace(wanted, cron=parse(said[0]), zone=said[1]) if said else wanted
    except UsageError:  # somebody has written another one into it, which we can't read
        return wanted


def _start(kind: Kind, wanted: Job, paths: list[Path]) -> list[str]:
    if kind == "systemd":
        steps = [["systemctl", "--user", "daemon-reload"]]
        steps.append(["systemctl", "--user", "enable", "--now", f"{wanted.name}.timer"])
        hint = "To dream while you are logged out too: loginctl enable-linger"
    else:
        steps = [["launchctl", "unload", str(paths[0])], ["launchctl", "load", "-w", str(paths[0])]]
        hint = "launchd has it now."
    for step in steps:
        ended = _run(step)
        if ended.returncode and step[1] != "unload":
            return [f"But `{' '.join(step)}` failed: {ended.stderr.strip() or ended.returncode}. Run it yourself."]
    return [hint]


def _end(kind: Kind, wanted: Job, paths: list[Path]) -> list[str]:
    step = ["systemctl", "--user", "disable", "--now", f"{wanted.name}.timer"]
    if kind == "launchd":
        step = ["launchctl", "unload", "-w", str(paths[0])]
    ended = _run(step)
    return [f"`{' '.join(step)}` said: {ended.stderr.strip()}"] if ended.returncode and ended.stderr.strip() else []


def _crontab() -> str:
    """Read this user's crontab; none is an empty one."""
    if shutil.which("crontab") is None:
        raise UsageError("There is no `crontab` on this machine: install cron, or use `dream serve`.")
    listed = _run(["crontab", "-l"])
    if listed.returncode and "no crontab" not in listed.stderr.lower():
        raise DreamError(f"`crontab -l` failed, so nothing was changed: {listed.stderr.strip()}")
    return "" if listed.returncode else listed.stdout


def _set_crontab(text: str) -> None:
    ended = _run(["crontab", "-"], text)
    if ended.returncode:
        raise DreamError(f"`crontab -` refused the new line, and yours are as they were: {ended.stderr.strip()}")


def _run(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of the system; one that is not there ends with 127, as in a shell."""
    import subprocess

    try:
        return subprocess.run(
            command, input=text, capture_output=True, check=False, encoding="utf-8", errors="surrogateescape"
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))
