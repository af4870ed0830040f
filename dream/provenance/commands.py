"""Commands that an agent ran: a line of memory marks one as `$ make check`, and the agent's calls must bear it out.

What has the mark is a claim: one whole command of a call whose result is no error. All else in backticks is a setting,
a name or a command that failed, and claims nothing; but where it has several words and only an output holds it, it may
be a command that somebody else proposes. A command that only an output, a page or a file proposes is in no call of the
agent, so it never counts as one that worked.

tree-sitter takes commands apart, so that no part of a quoted text, a heredoc, a comment or a condition counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dream.models import CommandRun

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

HOW_TO = "How to"  # the heading of MEMORY.md below which these lines stand
MARK = "$ "  # in backticks before a command that worked
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`\n]+)\1(?!`)")
_BEFORE, _AFTER = r"(?<![\w./:=@-])", r"(?![\w/:=@-]|\.\w)"  # where words in a text begin and end
# Nodes of the grammar: what only groups commands, what is between them, and what is no part of a command's words.
_GROUPS = {"program", "list", "pipeline", "redirected_statement", "subshell", "compound_statement", "heredoc_redirect"}
_ENCLOSED = {"subshell", "compound_statement"}
_BETWEEN = {"&&", "||", "|", "|&", ";", "&", "\n"}
_PIPES = {"|", "|&"}
_BESIDE = {"comment", "file_redirect", "herestring_redirect", "heredoc_start", "heredoc_body", "heredoc_end"}


@dataclass(frozen=True, slots=True)
class Piped:
    """One pipeline of a call: the words of each of its commands, and the operator before it, "" for the first."""

    after: str
    commands: tuple[tuple[str, ...], ...]


def in_backticks(line: str) -> list[str]:
    """Return the texts in backticks in a line, without the mark of a command and with single blanks."""
    return [text.removeprefix(MARK) for text in _spans(line)]


def marked(line: str) -> list[str]:
    """Return the commands in a line that are marked as having worked: `$ make check`."""
    return [text.removeprefix(MARK) for text in _spans(line) if text.startswith(MARK)]


def without(line: str, texts: Sequence[str]) -> str:
    """Return a line without those of its texts in backticks."""
    return _CODE.sub(lambda span: " " if " ".join(span[2].split()).removeprefix(MARK) in texts else span[0], line)


def bear_out(line: str, runs: Sequence[CommandRun]) -> bool:
    """Return whether runs show what a line says: a command in it worked, or it tells of a run that failed."""
    return any(run.failed for run in runs) or any(worked(part, runs) for part in in_backticks(line))


def holds(text: str, part: str) -> bool:
    """Return whether a text contains `part` as whole words."""
    inside = f"{_BEFORE}{re.escape(part)}{_AFTER}"
    return bool(part) and re.search(inside, " ".join(text.split())) is not None


def worked(command: str, runs: Sequence[CommandRun]) -> bool:
    """Return whether the last of `runs`, in their order, whose call contains a command as a whole shows that it worked.

    Its result is no error. A call of several commands fails where only its last one did: the others worked if what was
    run after it succeeded.
    """
    found = [(place, is_last) for place, run in enumerate(runs) if (is_last := _ends(command, run.command)) is not None]
    if not found:
        return False
    place, is_last = found[-1]
    return not runs[place].failed or (not is_last and any(not run.failed for run in runs[place + 1 :]))


def is_fed(command: str) -> bool:
    """Return whether one part of a command reads what another one writes: `a | b`, `a <(b)`."""
    made = steps(command)
    fed = (word.startswith(("<(", ">(")) for step in made for words in step.commands for word in words)
    return any(len(step.commands) > 1 for step in made) or any(fed)


def around(command: str, runs: Sequence[CommandRun]) -> str:
    """Return a whole command that worked and of which `command` is only a part; "" if no run has one."""
    made = (
        " ".join(" ".join(step.commands[0]).split()) for run in runs if not run.failed for step in steps(run.command)
    )
    return next((whole for whole in made if holds(whole, command)), "")


def _spans(line: str) -> Iterator[str]:
    return (" ".join(found[2].split()) for found in _CODE.finditer(line))


def _ends(command: str, call: str) -> bool | None:
    """Return whether a call ends with a command that it contains as a whole; None if it doesn't contain it.

    What the call pipes a command into, and where its output goes, is left out of the command; a command with a pipe or
    a process substitution claims more than it shows. With a redirection or a comment it must stand in the call word for
    word. A command after `||` runs only where the one before it fails.
    """
    wanted, made = steps(command), steps(call)
    if not wanted or is_fed(command) or not _has_the_rest(command, call):
        return None
    for start in range(len(made) - len(wanted) + 1):
        pairs = list(zip(wanted, made[start : start + len(wanted)], strict=True))
        same = all(one.commands == other.commands[: len(one.commands)] for one, other in pairs)
        if same and pairs[0][1].after != "||" and all(one.after == other.after for one, other in pairs[1:]):
            return start + len(wanted) == len(made)
    return None


def _has_the_rest(command: str, call: str) -> bool:
    """Return whether a call holds a command's redirections, heredocs and comments, if there are any."""
    root = _parser().parse(command.encode("utf-8", "replace")).root_node
    return not any(node.type in _BESIDE for node in _below(root)) or " ".join(command.split()) in " ".join(call.split())


def _below(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _below(child)


def _ends_early(root: Node, call: str) -> bool:
    """Return whether a heredoc ends for the parser where it doesn't for the shell: not on a line of its own."""
    rows = call.split("\n")
    ends = (node for node in _below(root) if node.type == "heredoc_end")
    return any(rows[node.start_point[0]].lstrip("\t" if "<<-" in call else "") != _text(node) for node in ends)


@lru_cache(maxsize=4096)
def steps(call: str) -> tuple[Piped, ...]:
    """Return the pipelines that a call runs one after another; none if it can't be parsed as the shell does."""
    root = _parser().parse(call.encode("utf-8", "replace")).root_node
    if root.has_error or _ends_early(root, call):
        return ()
    found: list[tuple[str, list[tuple[str, ...]]]] = []
    between = ""
    for part in _parts(root, ""):
        if isinstance(part, str):
            between = part if between in ("", ";") else between
        elif between in _PIPES and found:
            found[-1][1].append(part)
            between = ""
        else:
            found.append((between or ";" if found else "", [part]))
            between = ""
    return tuple(Piped(after, tuple(commands)) for after, commands in found)


def _parts(node: Node, before: str) -> Iterator[tuple[str, ...] | str]:
    """Yield in their order the commands below a node, as words, and the operators between them.

    A condition, a loop, a function and a negated command is one word: what is inside may not have run, or have failed.
    So is a group behind an operator that decides whether it runs, or what it reads.
    """
    for child in node.children:
        kind = child.type
        if kind in _BETWEEN:
            before = ";" if kind in ("&", "\n") else kind
            yield before
        elif kind in _BESIDE or not child.is_named:
            continue
        elif kind in _GROUPS and not (kind in _ENCLOSED and before in ("||", *_PIPES)):
            yield from _parts(child, before)
            before = ""
        else:
            yield _words(child)
            before = ""


def _words(node: Node) -> tuple[str, ...]:
    parts = node.children if node.type in ("command", "declaration_command") else [node]
    return tuple(_text(part) for part in parts if part.type not in _BESIDE)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # here, so that only lines with commands pay for it
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
