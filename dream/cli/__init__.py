"""Start `dream`, `dream-log` and `dream-restore`; agents' hooks are answered before any command is loaded.

An agent kills a hook that takes long. So nothing slow is imported before the agent has its answer, and slow work goes
on in a process of its own.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dream.workspace.places import Scope

LOG = "hook.log"  # in .dream/: the output of processes that work in the background
TOKENS = 4_000  # of context: a twentieth of a small window, and for most people all of the three files
LOG_BYTES = 1 << 18  # of the log; a larger one is emptied first
AT = re.compile(r"(?<!\\)@")  # Gemini CLI replaces `@path` by the file, also in a hook's output; `\@` is text


def check_system() -> None:
    """End with a sentence on a system whose locks, links and rights are not POSIX's."""
    if os.name != "posix":
        sys.exit("dream: Windows is not supported; run dream in WSL (`wsl --install`), where it is used as on Linux.")


def main() -> None:
    """Run `dream`; a hook is answered, or goes on in the background, before anything else is loaded.

    A hook of a client that `dream` itself asks as a model (DREAM_CALL) ends at once: it would read its own calls.
    """
    check_system()
    if os.environ.get("DREAM_CALL") and "--hook" in sys.argv:
        return
    if detach_hook(os.environ) or answer_prompt(os.environ):
        return
    from dream.cli import group

    group.finish(group.dream_group, "dream")


def main_log() -> None:
    """Run `dream-log`, the same as `dream log`."""
    check_system()
    from dream.cli import group

    group.finish(group.loaded("log"), "dream-log")


def main_restore() -> None:
    """Run `dream-restore`, the same as `dream restore`."""
    check_system()
    from dream.cli import group

    group.finish(group.loaded("restore"), "dream-restore")


# Hooks: memory for a prompt, and consolidation in the background.


def detach(private: Path) -> bool:
    """Fork a background process in a session of its own, whose output goes to the log in `private`.

    Returns True in the background process, whose standard input is empty, and False in the foreground one, which has
    nothing left to do. A signal to the foreground process or its group does not reach the background one.
    """
    from dream.door import check_folder, open_file

    check_folder(private)
    log = open_file(private / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    if os.fstat(log).st_size > LOG_BYTES:
        os.ftruncate(log, 0)
    if os.fork():
        os.close(log)
        return False
    os.setsid()
    os.nice(5)  # so that several at once do not slow down the person's work
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for number, place in enumerate((nowhere, log, log)):
        os.dup2(place, number)
    os.closerange(3, 256)  # a pipe that stayed open would keep the agent waiting
    return True


def detach_hook(environ: Mapping[str, str]) -> bool:
    """Detach `dream consolidate --hook --detach`; return True in the foreground process, which is done then.

    The background process has the agent's JSON as its standard input. Any error is left to the command itself, which
    reports it.
    """
    words = sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    if not {"consolidate", "--hook", "--detach"} <= set(words) or {"-h", "--help"} & set(words) or sys.stdin is None:
        return False
    from dream.errors import DreamError
    from dream.workspace import locate

    try:
        named = _workspace(words)
        root = locate.absolute(named) if named else locate.find(Path(), environ)
        said = sys.stdin.buffer.read()
        sys.stdin = io.TextIOWrapper(io.BytesIO(said), "utf-8")
        if root is None or not locate.is_workspace(root) or b'"transcript_path"' not in said:
            return False
        if not detach(root / ".dream"):
            return True
    except (DreamError, OSError):
        return False
    sys.argv.remove("--detach")
    return False


def answer_prompt(environ: Mapping[str, str]) -> bool:
    """Answer `dream context --hook`; return False where another command was called.

    An error is one sentence on stderr, and the prompt goes on without memory: a person is waiting.
    """
    words = sys.argv[1:]
    if not {"context", "--hook"} <= set(words) or {"-h", "--help"} & set(words):
        return False
    answer(_workspace(words), environ, as_json="--json" in words)
    return True


def answer(named: Path | str | None, environ: Mapping[str, str], *, as_json: bool) -> None:
    """Print the answer to the hook on standard input; `as_json` in the format of Gemini CLI and Copilot CLI."""
    from dream.errors import DreamError

    try:
        _answer(named, environ, as_json=as_json)
    except (DreamError, OSError, ValueError) as fault:
        if sys.stderr is not None:
            sys.stderr.write(f"dream: {fault}\n")


def _answer(named: Path | str | None, environ: Mapping[str, str], *, as_json: bool) -> None:
    import orjson

    from dream.errors import UsageError, WorkspaceError
    from dream.workspace import locate

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("`dream context --hook` reads a hook's JSON on standard input, with a prompt.")
    try:
        asked = orjson.loads(sys.stdin.buffer.read())
        event, cwd, session = asked.get("hook_event_name"), asked.get("cwd") or ".", asked.get("session_id") or ""
        chat = asked.get("chat") or ""
        prompt = "" if event == "SessionStart" else asked["prompt"]
    except (ValueError, KeyError, AttributeError):
        raise UsageError('A hook\'s JSON was expected on standard input, like {"prompt": "…", "cwd": "…"}.') from None
    if not all(isinstance(text, str) for text in (prompt, cwd, session, chat)):
        raise UsageError("The prompt, cwd, chat and session_id of a hook's JSON have to be texts.")
    if "<hook_context>" in prompt:  # Gemini CLI puts a hook's last output before the prompt
        from dream.transcripts import clean

        prompt = clean.said(prompt)
    root = locate.absolute(named) if named else locate.find(Path(cwd), environ)
    if root is None or not locate.is_workspace(root):
        raise WorkspaceError("There is no workspace here; make one with `dream init`.")
    from dream import trust
    from dream.recall.prompt import Kept, recalled
    from dream.workspace.places import Places

    trust.check_private(root, trust.state_directory(environ))
    scope = Places(root, root / ".dream", Path.home()).scope(str(Path.cwd() / cwd), chat)
    kept = Kept(root, scope)
    block = recalled(kept, prompt, session=session) if prompt else _all(root, scope) if event == "SessionStart" else ""
    if block and sys.stdout is not None:
        if as_json:
            block = AT.sub(r"\\@", block)
        context = {"additionalContext": block}  # where Copilot CLI reads it, and Gemini CLI
        told = {**context, "hookSpecificOutput": {"hookEventName": event, **context}}
        sys.stdout.buffer.write(orjson.dumps(told) + b"\n" if as_json else block.encode("utf-8"))
        sys.stdout.flush()
    indexed = kept.is_indexed()
    kept.index.close()
    if not indexed and detach(root / ".dream"):
        from dream.directory import Workspace

        kept.take_in(Workspace.open(root))


def _all(root: Path, scope: Scope) -> str:
    from dream.actions import morning
    from dream.directory import Workspace

    workspace = Workspace.open(root)
    block = workspace.context(TOKENS, place=scope)
    news = "" if scope.is_group else morning.news_once(workspace)
    if not (block and news):
        return block
    text, close, rest = block.rpartition("</dream-memory>")
    return f"{text}(Tell the user once: since the last session {news}. `dream log` shows it.)\n{close}{rest}"


def _workspace(words: list[str]) -> str | None:
    """Return the value of `-w`, in each form that click accepts; the last one counts."""
    named = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word in ("-w", "--workspace"):
            named = following
        elif word.startswith("--workspace="):
            named = word.partition("=")[2]
        elif word.startswith("-w"):
            named = word[2:]
    return named
