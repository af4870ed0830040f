"""`dream init`, `trust`, `status` and `doctor`: make, accept, inspect and repair a workspace."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream import trust
from dream.cli import group, output, show
from dream.cli.models import ask_once
from dream.directory import Workspace
from dream.settings import reaching
from dream.text.safe import span
from dream.workspace import locate

if TYPE_CHECKING:
    from dream.actions.membership import Meeting
    from dream.actions.status import Health
    from dream.settings import Settings
    from dream.workspace.runs import RunRecord

_MODEL = "sends what it reads of history and memory to this model's provider"
# What each setting that reaches beyond the workspace does in a trusted one.
EFFECTS = {
    "model": _MODEL,
    "consolidator_model": _MODEL,
    "phase1_model": _MODEL,
    "phase2_model": _MODEL,
    "fallbacks": "sends the same to these models' providers when the first is unavailable",
    "api_base": "sends every prompt, and your API key with it, to this address",
    "api_key": "pays and is answered with this key instead of yours",
    "redact_patterns": "runs these expressions on every text; a bad one can take for ever",
    ".dream/": "is taken for what dream itself has noted here: versions, sessions under way, spending",
    "prompts/": "tells the models what to do, in place of the shipped prompts",
    "sources": "reads these transcripts of yours every night",
    "trusted_groups": "gives these group chats what you said elsewhere",
    "owners": "takes what these people say for the user's own words",
    "author": "takes what is typed into the memory files for this agent's, not for yours",
    "sync": "sends memory and history to this git remote, every night",
    "sync_encrypt": "decides who can read what is sent there",
    "tenant": "counts its spending as this tenant's in a fleet",
    "on_change": "runs this command on your machine after each change of memory",
    "on_failure": "runs this command on your machine after a failure",
}
_SECRET = ("api_key",)


@click.command("init", cls=group.DreamCommand)
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
@group.place
@group.as_json
def init_command(directory: Path | None, named: Path | None, as_json: bool) -> None:
    """Make a workspace, or adopt nanobot's, and its first commit.

    DIR is created if it does not exist; the default is DREAM_WORKSPACE, else ~/.dream/workspace.
    Existing files stay as they are. If DIR lies in another git repository, dream keeps its own git directory under
    .dream/ and leaves the other one alone.

    \b
    Examples:
      dream init                     in ~/.dream/workspace
      dream init ./memory            in a directory of your own
      dream init ~/.nanobot/workspace
    """
    place = directory or named or Workspace.default(os.environ)
    there = Workspace(locate.absolute(place))
    trust.check_private(there.root, trust.state_directory(os.environ))
    before = there.git
    was = before.head() if before.exists else None
    workspace = Workspace.create(place, now=group.now(), report=lambda told: output.problem(str(told)))
    if not workspace.is_trusted and (reached := reaching(workspace.root, environ={})):
        output.problem(f"The existing {', '.join(reached)} counts once you accept it: dream trust")
    if as_json:
        output.emit({"workspace": str(workspace.root), "commit": workspace.git.head()})
        return
    if was is None:
        output.say(f"The workspace is {workspace.root}.", bold=True)
    else:
        made = "" if was == workspace.git.head() else "; what it lacked was made"
        output.say(f"The workspace {workspace.root} was there already{made}.", bold=True)
    ask_once(workspace)
    output.say("Next: dream consolidate TRANSCRIPT, then dream run.")
    output.say(f"Model: {show.model_line(workspace.settings(using=()))}", fold=True)


@click.command("trust", cls=group.DreamCommand)
@click.option("-y", "--yes", is_flag=True, help="Accept them without asking.")
@group.workspace
@group.as_json
def trust_command(yes: bool, directory: Path | None, as_json: bool) -> None:
    """Show what an untrusted workspace's settings would do, and accept it.

    A workspace that you make or adopt is trusted on this machine. In any other, such as a clone or a copy,
    settings that would send, start or read anything beyond it are ignored until you accept them here: the
    models, addresses, sources and commands in dream.toml, and the files in prompts/. From then on they are
    used, including later changes. The same holds for the program's own state in a .dream/ from elsewhere.
    Without a terminal and without --yes, nothing is accepted.

    \b
    Examples:
      dream trust
      dream trust --yes -w ~/shared/memory
    """
    workspace = group.open_workspace(directory, to_trust=True)
    before = workspace.is_trusted
    settings = _reaching(workspace)
    if not as_json:
        _show_reaching(workspace, settings, trusted=before)
    if not before and (yes or group.somebody_answers()):
        group.only_a_person("What counts as yours", f"dream trust -w {shlex.quote(str(workspace.root))}")
    if not before and (yes or (not as_json and group.somebody_answers() and group.confirmed("Trust it?"))):
        workspace.trust()
    trusted = workspace.is_trusted
    if as_json:
        output.emit({"workspace": str(workspace.root), "trusted": trusted, "settings": settings})
    elif trusted != before:
        output.say("It is trusted on this machine from now on.", colour="green")
    elif not trusted:
        output.say("Nothing was accepted. To accept it: dream trust --yes")


def _reaching(workspace: Workspace) -> list[dict[str, object]]:
    """List the settings in the workspace's own files that reach beyond it; a key is not shown."""
    found = reaching(workspace.root, environ={})
    state = trust.state_directory(os.environ)
    if not trust.is_own(workspace.root, state) and workspace.private.is_dir():
        brought = tuple(sorted(path.name for path in workspace.private.iterdir() if path.name != ".gitignore"))
        found |= {".dream/": brought} if brought else {}
    return [
        {
            "name": name,
            "value": "…" if name in _SECRET else list(value) if isinstance(value, tuple) else value,
            "effect": EFFECTS[name],
        }
        for name, value in found.items()
    ]


def _show_reaching(workspace: Workspace, settings: list[dict[str, object]], *, trusted: bool) -> None:
    if trusted:
        output.say(f"{workspace.root} is trusted on this machine.", bold=True)
    else:
        output.say(f"{workspace.root} is not trusted: it was not made or adopted by you on this machine.", bold=True)
    if not settings:
        output.say("Its own files name nothing that sends, starts or reads beyond it, or decides who is believed.")
        return
    output.say("Its own files:" if trusted else "Its own files would do this:")
    for one in settings:
        value = one["value"]
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        output.say(f"  {one['name']} = {shown}", bold=True)
        output.say(f"    {one['effect']}")


@click.command("status", cls=group.DreamCommand)
@click.option("--check", is_flag=True, help="Exit 1 when something is wrong: for monitoring.")
@group.workspace
@group.as_json
def status_command(check: bool, directory: Path | None, as_json: bool) -> int | None:
    """Show whether it works: backlog, sizes, spending, last runs, next run.

    Calls no model and changes nothing. The first line says whether everything works.

    \b
    Examples:
      dream status
      dream status --json
      dream status --check || echo "memory needs you"
    """
    from dream.actions import status
    from dream.nights import timers

    workspace = group.open_workspace(directory)
    settings = workspace.settings(using=())
    found = status.read(workspace, settings, group.now(), timers.scheduled(workspace, settings))
    if as_json:
        from dream.directory import absent

        for sentence in absent(workspace.root):
            output.problem(sentence)
        output.emit(found)
    else:
        _show(found, settings)
    return 1 if check and found.problems else None


def _show(found: Health, settings: Settings) -> None:
    if found.problems:
        for problem in found.problems:
            output.say(f"✗ {problem}", colour="red", bold=True, fold=True)
    else:
        output.say(f"✓ {_well(found)}", colour="green", bold=True, fold=True)
    for warning in found.warnings:
        output.say(f"! {warning}", colour="yellow", fold=True)
    rows = [
        ("workspace", str(found.workspace)),
        ("model", show.model_line(settings)),
        ("history", _history(found, settings)),
        ("backlog", _backlog(found)),
        ("held", f"{show.counted(found.pending, 'edit')}: dream review" if found.pending else "nothing"),
        ("doubtful", f"{found.doubts}: dream check" if found.doubts else "nothing"),
        ("today", show.bill(found.today)),
        ("month", show.bill(found.month)),
        ("next run", _next(found)),
        *([("synced", _synced(found.sync))] if found.sync else []),
    ]
    for name, value in rows:
        output.say(f"{name:<10} {value}", fold=True)
    output.say()
    for path, size in found.files.items():
        bounds = f"{size.lines:>4} of {size.max_lines} lines  {size.bytes:>6,} of {size.max_bytes:,} bytes"
        output.say(f"{path:<18} {bounds}  ~{size.tokens:,} tokens", fold=True)
    if found.runs:
        output.say()
        for record in found.runs:
            _run(record)


def _well(found: Health) -> str:
    if not found.history.last_cursor and found.is_live:
        return "Works; a live session goes on, and nothing of it is in history yet."
    if not found.history.last_cursor:
        return "Ready; history is empty. Fill it: dream consolidate TRANSCRIPT"
    if found.backlog.entries:
        return f"Works; {show.counted(found.backlog.entries, 'entry')} to dream."
    return "Works; all of history is dreamt."


def _synced(last: Meeting) -> str:
    names = ", ".join(f"{one.name} (gone)" if one.gone else one.name for one in last.machines) or "no other machine yet"
    when = last.at[:16].replace("T", " ") or "never"
    forgot = any(one.behind for one in last.machines) or last.forgotten
    host = "; its host may keep what was forgotten in forks, pull requests and backups" if forgot else ""
    return f"{when}, over {last.remote}, with {names}{host}"


def _history(found: Health, settings: Settings) -> str:
    size = found.history
    return f"{show.counted(size.entries, 'entry')}, {size.tokens:,} of {settings.history_tokens:,} tokens"


def _backlog(found: Health) -> str:
    if not found.backlog.entries:
        return f"nothing: dreamt up to entry {found.dream_cursor}"
    waiting = span((found.dream_cursor + 1, found.history.last_cursor))
    return f"{show.counted(found.backlog.entries, 'entry')} ({waiting}), {found.backlog.tokens:,} tokens: dream run"


def _next(found: Health) -> str:
    if found.next_run is None:
        return "not scheduled: dream cron install, or dream serve"
    return f"{found.next_run.astimezone():%A %Y-%m-%d %H:%M} ({', '.join(found.scheduled)})"


def _run(record: RunRecord) -> None:
    reason = f": {record.reason}" if record.reason else ""
    which = f" {span(record.entries)}" if record.entries else ""
    cost = f"  [{show.price(record.usage)}]" if record.usage.calls else ""
    line = f"{record.ended.astimezone():%Y-%m-%d %H:%M}  {record.command}: {record.outcome}{which}{reason}{cost}"
    output.say(line, colour="red" if record.outcome == "failed" else None, fold=True)


@click.command("doctor", cls=group.DreamCommand)
@click.option("--repair", is_flag=True, help="Mend what can be mended without loss.")
@group.workspace
@group.as_json
def doctor_command(repair: bool, directory: Path | None, as_json: bool) -> int | None:
    """Check everything on disk, and repair what can be repaired without loss.

    Checks the memory files, history, the cursor, the versions and the review queue, and says what is wrong with
    each and what you can do about it. Exits with 1 when something is wrong and was not repaired.

    \b
    Examples:
      dream doctor
      dream doctor --repair
    """
    from dream.actions import doctor

    workspace = group.open_workspace(directory)
    found = doctor.examine(workspace, workspace.settings(using=()), now=group.now(), repair=repair)
    if as_json:
        output.emit(found)
    elif not found:
        output.say("✓ Everything on disk is as it should be.", colour="green", bold=True)
    else:
        for one in found:
            output.say(
                f"{'✓ mended:' if one.mended else '✗'} {one.file}: {one.text}", colour="green" if one.mended else "red"
            )
            if one.cure and not one.mended:
                output.say(f"    {one.cure}")
    return 1 if any(not one.mended for one in found) else None
