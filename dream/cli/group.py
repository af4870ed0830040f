"""What our commands have in common: they load late, and each error ends in one sentence and an exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import click

from dream.cli import output
from dream.cli.commands import COMMANDS
from dream.errors import DreamError


class DreamCommand(click.Command):
    """A command whose function returns the exit status, or None for 0.

    `failed` is what the JSON of a failure holds besides the outcome and the reason.
    """

    failed: Mapping[str, object] = {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a DreamError becomes one line on stderr and its exit status."""
        try:
            return super().invoke(ctx)
        except DreamError as error:
            output.failure(str(error), as_json=bool(ctx.params.get("as_json")), more=self.failed)
            return error.exit_status


class DreamingCommand(DreamCommand):
    """A command that dreams: also where it failed before its first dream, its JSON lists the dreams."""

    failed: Mapping[str, object] = {"batches": []}


class TextCommand(DreamCommand):
    """A command that takes a text; one that begins with a dash, as a line of a list does, is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what begins with a dash and a space, or a dash and a digit, is text."""
        texts = [word for word in args if word[:1] == "-" and (word[1:2].isspace() or word[1:2].isdigit())]
        if texts and "--" not in args:
            args = [*(word for word in args if word not in texts), "--", *texts]
        return super().parse_args(ctx, args)


class DreamGroup(DreamCommand, click.Group):
    """A group inside the group: `dream review`, `dream cron`."""

    command_class = DreamCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one the nearest is named, or all."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            all_of_them = " and ".join(f"`{ctx.command_path} {name}`" for name in self.commands)
            raise _unknown(ctx, args[0], self.commands, f" There are {all_of_them}.")
        return super().resolve_command(ctx, args)


class LazyGroup(click.Group):
    """The group `dream`: a command's module is imported when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command; None for a name that is not ours."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"dream.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; `help run` is `run --help`, and for an unknown one the nearest is named."""
        if args[0] == "help":
            args = [*args[1:], "--help"]
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _unknown(ctx, args[0], COMMANDS, " `dream --help` lists them.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _unknown(ctx: click.Context, name: str, names: Iterable[str], otherwise: str) -> click.UsageError:
    """Say that there is no such command, and which was meant if one is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    return click.UsageError(f"There is no command {name!r}.{f' Did you mean {near[0]!r}?' if near else otherwise}", ctx)
