"""`dream models`: list the models available on this machine, choose one, or try one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dream import trust
from dream.cli import group, output, show
from dream.errors import UsageError
from dream.settings import CALLING, EMBEDDED, FILE_NAME, PREFIX, Settings, is_client, load
from dream.workspace import locate

if TYPE_CHECKING:
    from dream.actions.trial import Trial
    from dream.directory import Workspace
    from dream.llm.found import FoundModel

LOOPBACK = "http://127.0.0.1"
_name = click.argument("name", metavar="NAME")


@click.group("models", cls=group.DreamGroup, invoke_without_command=True)
@group.workspace
@group.as_json
@click.pass_context
def models_command(context: click.Context, directory: Path | None, as_json: bool) -> None:
    """List the models available on this machine, choose one, or try one.

    It lists installed agent clients with their login, servers on this machine (Ollama, LM Studio, llama.cpp,
    vLLM) with their models, and keys in the environment. Nothing is sent and no model is called. Any other
    LiteLLM name can be used too. Each line shows what a usual night costs, and who receives your messages.

    \b
    Examples:
      dream models
      dream models test claude-code/haiku
      dream models use claude-code/haiku
      dream models use openai/gpt-5-mini
    """
    if context.invoked_subcommand is not None:
        return
    from dream.llm.found import readers

    found = readers(_settings(directory), os.environ)
    if as_json:
        output.emit(found)
        return
    for one in found:
        mark = "●" if one.chosen else " " if one.ready else "–"
        output.say(f"{mark} {one.name}", bold=one.chosen, dim=not one.ready)
        output.say(f"    {one.about}", fold=True, dim=not one.ready)
        output.say(f"    a usual night: {_night(one)}; read by {one.provider}", fold=True, dim=not one.ready)
    output.say("● is the one that is set. Try one: dream models test NAME. Choose one: dream models use NAME")


def _settings(directory: Path | None) -> Settings:
    if directory is None and locate.find(Path(), os.environ) is None:
        return load(None, using=())
    return group.open_workspace(directory).settings(using=())


def _night(reader: FoundModel) -> str:
    from dream.llm.found import NIGHT

    if reader.night_usd is None:
        return f"about {NIGHT.tokens:,} tokens" + (" of your plan" if reader.kind == "client" else ", price not known")
    return f"about ${reader.night_usd:.2f}" if reader.night_usd else "free"


@models_command.command("use")
@_name
@click.option("-y", "--yes", is_flag=True, help="Choose it without asking.")
@group.workspace
@group.as_json
def use(name: str, yes: bool, directory: Path | None, as_json: bool) -> int | None:
    """Use a model from now on: write its name into dream.toml.

    NAME is one of `dream models`, or any LiteLLM name. What is sent to whom is said before, and asked.

    \b
    Examples:
      dream models use claude-code/haiku
      dream models use embedded --yes
    """
    group.only_a_person("Which model reads", f"dream models use {shlex.quote(name)}")
    workspace = group.open_workspace(directory)
    reader = _found(name, workspace.settings(using=()))
    if not reader.ready:
        raise UsageError(f"{name} cannot read yet: {reader.about}.")
    if not as_json:
        _consent(reader)
    if not (yes or (not as_json and group.somebody_answers() and group.confirmed(f"Use {name}?"))):
        output.problem("Nothing was changed; add --yes to choose it.")
        return 1
    _choose(workspace, reader)
    if as_json:
        output.emit(reader)
    else:
        output.say(f"Model: {show.model_line(workspace.settings(using=()))}", bold=True, fold=True)
        if reader.kind != "default" and _has_read_otherwise(workspace, reader.name):
            output.say("To have it read the earlier messages again: dream reread --estimate", fold=True)
    return None


def _has_read_otherwise(workspace: Workspace, name: str) -> bool:
    """Return whether history has messages, still kept, that another model was the last to read."""
    from dream.consolidate.reread import Rereading, stretches

    return next(stretches(workspace.history, Rereading(model=name)), None) is not None


def _found(name: str, settings: Settings) -> FoundModel:
    """Find a model by its name; any other LiteLLM name is accepted unchecked."""
    from dream.llm import card
    from dream.llm.found import NIGHT, FoundModel, readers

    listed = readers(settings, os.environ)
    for one in listed:
        if one.name == name:
            return one
    if is_client(name):
        alike = next((one for one in listed if one.name.partition("/")[0] == name.partition("/")[0]), None)
        if alike is None:
            raise UsageError(f"{name.partition('/')[0]} is not installed here; `dream models` lists what is.")
        return FoundModel(name, "client", alike.provider, alike.about, alike.ready, alike.window)
    if "/" not in name:
        raise UsageError(f"{name!r} is none of `dream models`, and no LiteLLM name like openai/gpt-5-mini.")
    price = card(name)
    return FoundModel(name, "key", name.partition("/")[0], "a provider's model", True, price.window, price.cost(NIGHT))


def _consent(reader: FoundModel) -> None:
    from dream.llm.clients import CLIENTS

    if reader.kind in ("default", "server"):
        output.say(f"{reader.name}: what was said stays on this machine.", fold=True)
        return
    output.say(
        f"{reader.name}: from now on {reader.provider} receives what was said to any of your agents, so also what you "
        f"told one of another provider. Secrets are marked before. A usual night: {_night(reader)}.",
        fold=True,
    )
    if reader.kind == "client":
        output.say(CLIENTS[reader.name.partition("/")[0]].terms, fold=True)


def _choose(workspace: Workspace, reader: FoundModel) -> None:
    """Write a model into dream.toml, and remove the settings that an earlier local server needed."""
    from dream.actions.configure import set_values

    settings = workspace.settings(using=())
    values: dict[str, str | int | None] = {"model": reader.name}
    if (settings.api_base or "").startswith(LOOPBACK):
        values |= dict.fromkeys(("api_base", "api_key", "context_window"))
    set_values(workspace.root, values | dict(reader.needs))
    if not workspace.is_trusted:
        output.problem(f"What {FILE_NAME} says counts once you accept it: dream trust")
    if os.environ.get(f"{PREFIX}MODEL"):
        output.problem(f"{PREFIX}MODEL in the environment overrides it.")


def ask_once(workspace: Workspace) -> None:
    """Ask a person on a terminal which of the models found here reads, where dream.toml names none.

    Enter keeps the default, which is then named there: nobody is asked twice.
    """
    from dream.actions.configure import opened, set_values

    if not group.somebody_answers() or trust.inside_agent(os.environ) or os.environ.get(f"{PREFIX}MODEL"):
        return
    if "model" in opened(workspace.root / FILE_NAME):
        return
    settings = workspace.settings(using=())
    from dream.llm.found import readers

    ready = [one for one in readers(settings, os.environ) if one.ready and one.kind != "default"]
    if not ready:
        return
    output.say("Models that can read here:", bold=True)
    for number, one in enumerate(ready, 1):
        output.say(f"  {number}  {one.name}: {one.about}; a usual night: {_night(one)}", fold=True)
    answer = click.prompt("Which one reads? Enter keeps the small default", default="", show_default=False, err=True)
    reader = ready[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(ready) else None
    if reader is not None:
        _consent(reader)
        if group.confirmed(f"Use {reader.name}?"):
            _choose(workspace, reader)
            return
    set_values(workspace.root, {"model": EMBEDDED})
    output.say("The default stays. Another time: dream models")


@models_command.command("test")
@_name
@group.workspace
@group.as_json
def test(name: str, directory: Path | None, as_json: bool) -> int | None:
    """Try a model on two sample conversations, and show the result.

    It takes about a minute and some 20,000 tokens. Nothing of yours is sent, and no workspace is changed. Of what is
    looked for, words decide, so a line can be right that does not count: read the lines.

    \b
    Examples:
      dream models test embedded
      dream models test claude-code/haiku
      dream models test openai/gpt-5-mini --json
    """
    from dream.actions import trial

    reader = _found(name, _settings(directory))
    if not reader.ready:
        raise UsageError(f"{name} cannot read yet: {reader.about}.")
    settings = load(None, flags={**reader.needs, "model": name, "timezone": "UTC", "durable": False}, using=CALLING)
    done: list[Trial] = []
    with output.progress("reading", quiet=as_json) as shown:
        for conversation in trial.conversations():
            done.append(trial.run(conversation, settings, shown))
            if done[-1].outcome == "failed":
                break
    if as_json:
        output.emit({"model": name, "conversations": done})
    else:
        for one in done:
            _show(one)
    if done[-1].outcome == "failed":
        output.problem(done[-1].reason)
        return 1
    return None


def _show(one: Trial) -> None:
    output.say(f"──── {one.title} ────", bold=True)
    for path, text in one.files.items():
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        if lines:
            output.say(path, dim=True)
        for line in lines:
            output.say(f"  {line}", fold=True)
    for looked in one.looked:
        right = looked.held == looked.wanted
        what = "" if looked.wanted else "not: "
        output.say(f"{'✓' if right else '✗'} {what}{looked.says}", fold=True, dim=right)
    held, wanted = sum(one.held for one in one.looked if one.wanted), sum(one.wanted for one in one.looked)
    wrong = sum(one.held for one in one.looked if not one.wanted)
    output.say(f"{held} of {wanted} held, {wrong} that must not be. {show.bill(one.usage)}", fold=True)
    output.say()
