"""`dream doctor`: is everything on disk as it should be?"""

from __future__ import annotations

from pathlib import Path

import click

from dream.cli import group, output
from dream.cli.group import DreamCommand


@click.command("doctor", cls=DreamCommand)
@click.option("--repair", is_flag=True, help="Mend what can be mended without loss.")
@group.workspace
@group.as_json
def command(repair: bool, directory: Path | None, as_json: bool) -> int | None:
    """Check everything on disk, and mend what can be mended without loss.

    Checks the memory files, history, the cursor, the versions, the review queue and the schedule, and says what is
    wrong with each and what you can do about it. Exits with 1 when something is wrong and was not mended.

    \b
    Examples:
      dream doctor
      dream doctor --repair
    """
    from dream.actions import doctor

    workspace = group.open_workspace(directory)
    found = doctor.examine(workspace, group.read_settings(workspace, using=()), now=group.now(), repair=repair)
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
