"""Agent clients that are scripts on PATH: each notes how it was called and answers what its test wrote for it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FAKE = """#!{python}
import json, os, pathlib, sys, time
place = pathlib.Path({place!r})
arguments = sys.argv[1:]
if arguments[-1:] == ["--version"]:
    print("9.9.9 (fake)")
elif arguments[-1:] == ["status"]:
    sys.exit(0 if (place / "login").exists() else 1)
else:
    (system,) = [one[one.index("/"):].strip('"') for one in arguments if "system.txt" in one]
    note = {{
        "arguments": arguments,
        "environ": dict(os.environ),
        "cwd": os.getcwd(),
        "beside": sorted(os.listdir(".")),
        "system": pathlib.Path(system).read_text(),
        "text": sys.stdin.read(),
    }}
    with (place / "calls.jsonl").open("a") as log:
        log.write(json.dumps(note) + chr(10))
    answers = json.loads((place / "answers.json").read_text())
    calls = len((place / "calls.jsonl").read_text().splitlines())
    answer = answers[min(calls, len(answers)) - 1]
    if answer.get("sleep"):
        (place / "pid.new").write_text(str(os.getpid()))
        (place / "pid.new").rename(place / "pid")
        time.sleep(answer["sleep"])
    for line in answer.get("err", []):
        print(line, file=sys.stderr, flush=True)
    print(answer["out"], flush=True)
    time.sleep(answer.get("linger", 0))
    sys.exit(answer.get("status", 0))
"""


class Fake:
    """One client's program in `folder`, which is to stand on PATH."""

    def __init__(self, program: str, folder: Path) -> None:
        self._place = folder / f"{program}.d"
        self._place.mkdir(parents=True)
        path = folder / program
        path.write_text(FAKE.format(python=sys.executable, place=str(self._place)))
        path.chmod(0o755)
        self.login()

    def login(self, *, there: bool = True) -> None:
        if there:
            (self._place / "login").touch()
        else:
            (self._place / "login").unlink()

    def answer(self, *answers: dict[str, Any]) -> None:
        (self._place / "answers.json").write_text(json.dumps(answers))

    @property
    def calls(self) -> list[dict[str, Any]]:
        log = self._place / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def has_begun(self) -> bool:
        """Whether it was started and has noted its process."""
        return (self._place / "pid").exists()

    @property
    def process(self) -> int:
        return int((self._place / "pid").read_text())


def claude(text: str | None, **more: Any) -> dict[str, Any]:
    """What Claude Code prints: one JSON value, whose tokens leave out the cached ones."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10, "output_tokens": 7}
    said = {"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": usage}
    return {"out": json.dumps(said | more), "status": int(bool(more.get("is_error")))}


def codex(text: str, *, failed: str = "") -> dict[str, Any]:
    """What Codex prints: a line an event."""
    said = {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}
    usage = {"input_tokens": 150, "cached_input_tokens": 40, "output_tokens": 9}
    end = (
        {"type": "turn.failed", "error": {"message": failed}} if failed else {"type": "turn.completed", "usage": usage}
    )
    events = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}, said, end]
    return {"out": "\n".join(json.dumps(event, separators=(",", ":")) for event in events), "status": int(bool(failed))}


def path_with(folder: Path) -> str:
    """Return PATH with a folder in front."""
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
