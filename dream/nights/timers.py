"""Crontab, systemd and launchd: what to install for a workspace, from the files in cron/, and installing it.

Each kind has its own way of quoting; a path with a blank, a percent sign or a quote stays one word in all of them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Literal

from dream.crontime import WEEKDAYS, Cron, Timetable, parse
from dream.errors import DreamError, UsageError
from dream.prompts import shipped
from dream.workspace.files import explained, replace_file

if TYPE_CHECKING:
    import subprocess

    from dream.directory import Workspace
    from dream.settings import Settings

Timer = Literal["crontab", "systemd", "launchd"]
MOST_TIMES = 500  # launchd wants each time written out; a schedule with more is a mistake
_RUNNING = {"running", "degraded"}


@dataclass(frozen=True, slots=True)
class TimerJob:
    """What to start, for which workspace, and when. Paths are absolute; `program` is a whole command line.

    `zone` is the setting `timezone`, "" where there is none: of the three only systemd's timers can go by it.
    """

    program: tuple[str, ...]
    workspace: Path
    cron: Cron
    search_path: str
    home: Path
    zone: str = ""

    @property
    def name(self) -> str:
        """A name that is one workspace's own and good for files: `dream-workspace-1a2b3c4d`."""
        digest = hashlib.sha256(str(self.workspace).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        word = re.sub("[^A-Za-z0-9]+", "-", self.workspace.name).strip("-") or "workspace"
        return f"dream-{word}-{digest}"

    @property
    def mark(self) -> str:
        """The end of our line in a crontab: how it is found again."""
        return f"# {self.name}"

    @property
    def environment(self) -> Path:
        """The file that keys for the model are read from, if it is there."""
        return self.home / ".config" / "dream" / "environment"

    @property
    def log(self) -> Path:
        """The log file for cron and launchd; systemd has its journal."""
        return self.workspace / ".dream" / "nightly.log"


def timer_files(kind: Timer, job: TimerJob) -> dict[Path, str]:
    """Return what is to be installed, by path; for a crontab the one line, under the path `crontab`."""
    if any(ord(letter) < 32 for letter in str(job.workspace)):
        raise UsageError(f"A workspace whose path has a line break or control character can't be scheduled by {kind}.")
    texts = [crontab_line(job)] if kind == "crontab" else _systemd(job) if kind == "systemd" else [_launchd(job)]
    return dict(zip(timer_paths(kind, job), texts, strict=True))


def timer_paths(kind: Timer, job: TimerJob) -> list[Path]:
    """Return the paths of the files that `timer_files` returns; reads nothing."""
    if kind == "systemd":
        folder = job.home / ".config" / "systemd" / "user"
        return [folder / f"{job.name}.service", folder / f"{job.name}.timer"]
    if kind == "launchd":
        return [job.home / "Library" / "LaunchAgents" / f"{job.name}.plist"]
    return [Path("crontab")]


def crontab_line(job: TimerJob) -> str:
    """Return the line for a crontab, without its end."""
    template = shipped("cron/crontab").rstrip("\n").rpartition("\n")[2]
    line = Template(template).substitute(
        schedule="$schedule",
        path=_cron(job.search_path),
        environment=_cron(str(job.environment)),
        program=" ".join(map(_cron, job.program)),
        workspace=_cron(str(job.workspace)),
        log=_cron(str(job.log)),
        mark=job.mark,
    )
    return line.replace("$schedule", job.cron.expression, 1)


def with_line(crontab: str, job: TimerJob) -> str:
    """Return `crontab` with our line in it once; other people's lines stay byte for byte."""
    lines = crontab.splitlines(keepends=True)
    own = [place for place, line in enumerate(lines) if _is_ours(line, job)]
    if own:  # it stays where it is
        lines[own[0]] = f"{crontab_line(job)}\n"
        return "".join(line for place, line in enumerate(lines) if place not in own[1:])
    end = "" if not crontab or crontab.endswith("\n") else "\n"
    return f"{crontab}{end}{crontab_line(job)}\n"


def without_line(crontab: str, job: TimerJob) -> str:
    """Return `crontab` without our line."""
    lines = crontab.splitlines(keepends=True)
    return "".join(line for line in lines if not _is_ours(line, job))


def _is_ours(line: str, job: TimerJob) -> bool:
    return line.rstrip().endswith(job.mark)


def schedule_of(kind: Timer, text: str, job: TimerJob) -> tuple[str, str] | None:
    """Read the cron expression and the zone ("" is the machine's) from `text`, which is installed for `job`.

    None where the job is not in it, or a file of an older version does not say.
    """
    if kind == "crontab":
        own = next((line for line in text.splitlines() if _is_ours(line, job)), "").lstrip()
        words = own.split(maxsplit=1 if own.startswith("@") else 5)
        return (" ".join(words[:-1]), "") if len(words) > 1 else None
    found = re.search(r"(?m)^(?:#|<!--) schedule: (.+?)(?: in (\S+))?(?: -->)?$", text)
    return (found[1], found[2] or "") if found else None


def zone_note(kind: Timer, job: TimerJob) -> str:
    """Return which zone the times of the schedule are in."""
    if not job.zone:
        return "The times are in this machine's time zone."
    if kind == "systemd":
        return f"The times are in {job.zone}, the setting timezone."
    return f"{kind} goes by this machine's time zone, not by the setting timezone = {job.zone}; systemd and serve do."


def calendar(cron: Cron, zone: str = "") -> list[str]:
    """Write a schedule as systemd's calendar events (systemd.time(7)); two where either of two days is enough."""
    clock = f"{_numbers(cron.hours)}:{_numbers(cron.minutes)}:00" + (f" {zone}" if zone else "")
    months = "*" if len(cron.months) == 12 else _numbers(cron.months)
    days = "*" if cron.days is None else _numbers(cron.days)
    names = "" if cron.weekdays is None else ",".join(WEEKDAYS[day].capitalize() for day in cron.weekdays) + " "
    if cron.days is not None and cron.weekdays is not None:
        return [f"*-{months}-{days} {clock}", f"{names}*-{months}-* {clock}"]
    return [f"{names}*-{months}-{days} {clock}"]


def times(cron: Cron) -> list[dict[str, int]]:
    """Write a schedule as launchd's calendar intervals: each time of it, one by one."""
    months: list[dict[str, int]] = [{}] if len(cron.months) == 12 else [{"Month": month} for month in cron.months]
    days: list[dict[str, int]] = [{"Day": day} for day in cron.days or ()]
    days += [{"Weekday": day} for day in cron.weekdays or ()]
    clock = [{"Hour": hour, "Minute": minute} for hour in cron.hours for minute in cron.minutes]
    if len(months) * max(len(days), 1) * len(clock) > MOST_TIMES:
        raise UsageError(f"The schedule {cron.expression!r} has more than {MOST_TIMES} times; choose a simpler one.")
    return [month | day | at for month, day, at in itertools.product(months, days or [{}], clock)]


def _systemd(job: TimerJob) -> list[str]:
    """Return the service and its timer."""
    label = str(job.workspace).replace("%", "%%")
    service = Template(shipped("cron/systemd/dream.service")).substitute(
        name=job.name,
        label=label,
        path=_systemd_word(job.search_path),
        environment=str(job.environment).replace("%", "%%"),
        program=" ".join(map(_systemd_word, job.program)),
        workspace=_systemd_word(str(job.workspace)),
    )
    timer = Template(shipped("cron/systemd/dream.timer")).substitute(
        name=job.name,
        label=label,
        calendar="\n".join(f"OnCalendar={event}" for event in calendar(job.cron, job.zone)),
        schedule=f"{job.cron.expression} in {job.zone}" if job.zone else job.cron.expression,
    )
    return [service, timer]


def _launchd(job: TimerJob) -> str:
    from xml.sax.saxutils import escape

    command = (*_with_keys(job), *job.program, "nightly", "--workspace", str(job.workspace))
    intervals = "\n".join(
        "    <dict>" + "".join(f"<key>{key}</key><integer>{value}</integer>" for key, value in at.items()) + "</dict>"
        for at in times(job.cron)
    )
    return Template(shipped("cron/launchd/dream.plist")).substitute(
        name=job.name,
        arguments="\n".join(f"    <string>{escape(word)}</string>" for word in command),
        path=escape(job.search_path),
        log=escape(str(job.log)),
        calendar=intervals,
        schedule=job.cron.expression,
    )


def _with_keys(job: TimerJob) -> tuple[str, ...]:
    """Read the keys for the model before the program is started: launchd has no file of variables of its own."""
    file = shlex.quote(str(job.environment))
    return ("/bin/sh", "-c", f'set -a; [ ! -r {file} ] || . {file}; exec "$@"', "sh")


def _cron(word: str) -> str:
    """Quote a word for the shell, and its percent signs for cron, to which they are line ends."""
    return shlex.quote(word).replace("%", "\\%")


def _systemd_word(word: str) -> str:
    """Quote a word for a unit file (systemd.service(5), quoting; specifiers and variables)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != word or " " in word or "'" in word or ";" in word else word


def _numbers(values: tuple[int, ...]) -> str:
    return ",".join(f"{value:02d}" for value in values)


# Install a job in crontab, systemd or launchd, and remove it; other lines of the crontab stay as they are.


def usual_kind() -> Timer:
    """Choose the scheduler of this machine: launchd on macOS, systemd where a user's instance runs, else crontab."""
    if sys.platform == "darwin":
        return "launchd"
    if shutil.which("systemctl") and _run(["systemctl", "--user", "is-system-running"]).stdout.strip() in _RUNNING:
        return "systemd"
    return "crontab"


def job(workspace: Path, schedule: Cron, environ: Mapping[str, str], zone: str = "") -> TimerJob:
    """Make the job for a workspace: this Python, by its absolute path, and a PATH that leads to git."""
    git = shutil.which("git", path=environ.get("PATH"))
    search = [str(Path(git).parent)] if git else []
    search += ["/usr/local/bin", "/usr/bin", "/bin"]
    home = Path(environ.get("HOME") or Path.home())
    program = (str(Path(sys.executable).absolute()), "-P", "-m", "dream")
    return TimerJob(program, workspace.absolute(), schedule, ":".join(dict.fromkeys(search)), home, zone)


def install(kind: Timer, wanted: TimerJob) -> list[str]:
    """Install the job, in place of an earlier one for the same workspace; return what was done, in sentences."""
    if kind == "crontab":
        before, after = _changed(with_line, wanted)
        if after == before:
            return ["Your crontab already has this line."]
        return ["Added a line to your crontab." if wanted.mark not in before else "Replaced the line in your crontab."]
    files = timer_files(kind, wanted)
    for path, text in files.items():
        with explained("made", path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8", "surrogateescape"))
    return [f"Written: {path}" for path in files] + _start(kind, wanted, list(files))


def remove(kind: Timer, wanted: TimerJob) -> list[str]:
    """Remove the job; return what was done, in sentences. A job that is not installed is no error."""
    if kind == "crontab":
        before, after = _changed(without_line, wanted)
        if after == before:
            return ["Your crontab has no line for this workspace."]
        return ["Removed the line from your crontab."]
    paths = [path for path in timer_paths(kind, wanted) if path.exists()]
    if not paths:
        return [f"Nothing is installed in {kind} for this workspace."]
    done = _end(kind, wanted, paths)
    for path in paths:
        with explained("removed", path):
            path.unlink()
    if kind == "systemd":
        _run(["systemctl", "--user", "daemon-reload"])
    return [*done, *(f"Removed: {path}" for path in paths)]


def installed(wanted: TimerJob) -> dict[Timer, TimerJob]:
    """Return where the job is installed, each with its schedule; with that of `wanted` where the file does not say."""
    texts: dict[Timer, str] = {}
    for kind in ("systemd", "launchd"):
        there = [path for path in timer_paths(kind, wanted) if path.exists()]
        if there:
            texts[kind] = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in there)
    if shutil.which("crontab"):
        listed = _run(["crontab", "-l"]).stdout
        if without_line(listed, wanted) != listed:
            texts["crontab"] = listed
    return {kind: _as_installed(kind, text, wanted) for kind, text in texts.items()}


def _as_installed(kind: Timer, text: str, wanted: TimerJob) -> TimerJob:
    said = schedule_of(kind, text, wanted)
    try:
        return dataclasses.replace(wanted, cron=parse(said[0]), zone=said[1]) if said else wanted
    except UsageError:  # a person has written a schedule that we can't parse
        return wanted


def _start(kind: Timer, wanted: TimerJob, paths: list[Path]) -> list[str]:
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


def _end(kind: Timer, wanted: TimerJob, paths: list[Path]) -> list[str]:
    step = ["systemctl", "--user", "disable", "--now", f"{wanted.name}.timer"]
    if kind == "launchd":
        step = ["launchctl", "unload", "-w", str(paths[0])]
    ended = _run(step)
    return [f"`{' '.join(step)}` said: {ended.stderr.strip()}"] if ended.returncode and ended.stderr.strip() else []


def _changed(change: Callable[[str, TimerJob], str], wanted: TimerJob) -> tuple[str, str]:
    """Change this user's crontab, which may be missing; return its text before and after."""
    if shutil.which("crontab") is None:
        raise UsageError("There is no `crontab` on this machine: install cron, or use `dream serve`.")
    listed = _run(["crontab", "-l"])
    if listed.returncode and "no crontab" not in listed.stderr.lower():
        raise DreamError(f"`crontab -l` failed, so nothing was changed: {listed.stderr.strip()}")
    before = "" if listed.returncode else listed.stdout
    after = change(before, wanted)
    ended = _run(["crontab", "-"], after) if after != before else None
    if ended and ended.returncode:
        raise DreamError(f"`crontab -` refused the new line, and yours are as they were: {ended.stderr.strip()}")
    return before, after


def _run(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of the system; one that is not there ends with 127, as in a shell."""
    import subprocess

    try:
        return subprocess.run(
            command, input=text, capture_output=True, check=False, encoding="utf-8", errors="surrogateescape"
        )
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def scheduled(workspace: Workspace, settings: Settings) -> dict[str, Timetable]:
    """Find what starts the nights of the workspace, and by which schedule in which zone."""
    wanted = job(workspace.root, parse(settings.schedule), os.environ, settings.timezone or "")
    found: dict[str, Timetable] = {}
    for kind, one in installed(wanted).items():
        zone = one.zone if kind == "systemd" else ""
        found[kind] = one.cron, dataclasses.replace(settings, timezone=zone).zone() if zone else None
    return found
