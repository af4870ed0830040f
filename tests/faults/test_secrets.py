"""No secret gets from what is said, or from what a model answers, to a model, to disk, or into git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.faults.support import called, git, memory
from tests.faults.test_misbehaviour import phases, root
from tests.provider import Body, Provider, Reply, fault, text, tools

__all__ = ["root"]

# Made up, and put together here so that no scanner takes this file for a leak: (what is secret, how it is said).
HEX = "9f86d081884c7d659a2feaa0c55ad015"
SHAPES = {
    "AWS key": ("AKIA" + "QYLPMN5HFIQR7XYA", "the key id is {}"),
    "AWS secret": ("wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzzKQ9LmTva", "aws_secret_access_key = {}"),
    "GitHub token": ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "push with {}"),
    "GitLab token": ("glpat-" + "xYz12AbC34dEf56GhI78", "CI uses {}"),
    "OpenAI key": ("sk-proj-" + "Abc123Def456Ghi789Jkl012Mno345Pqr678Stu901Vwx234", "export OPENAI_API_KEY={}"),
    "Anthropic key": ("sk-ant-api03-" + "Zz9" * 31 + "AA", "use {} for Claude"),
    "Slack token": ("xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", "the bot has {}"),
    "Google key": ("AIza" + "SyD3vRk9QmXw2LpZ7tNcE5hJbGfUaYoKiTs", "maps key {}"),
    "Stripe key": ("sk_live_" + "51HxYzAbCdEfGhIjKlMnOpQr", "billing runs on {}"),
    "JWT": (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "cookie {}",
    ),
    "private key": (
        "MIIEpAIBAAKCAQEA" + HEX + HEX,
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    ),
    "database url": ("p4ssW0rdOfBob", "postgres://bob:{}@db.example/x"),
    "password": ("Tr0ub4dor&3x", "the password is {}"),
    "Chinese password": ("Mima8848zz", "数据库密码：{}"),
    "bearer": ("v2." + HEX, "curl -H 'Authorization: Bearer {}'"),
    "npm token": ("npm_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", "//registry.npmjs.org/:_authToken={}"),
}


SAID = [frame.format(secret) for secret, frame in SHAPES.values()]


def leaked(data: bytes | str) -> list[str]:
    """Name the secrets that stand in `data`."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return [name for name, (secret, _) in SHAPES.items() if secret in text]


def kept(root: Path) -> dict[str, list[str]]:
    """Name every file of the workspace, and git's objects, that hold a secret, with the secrets."""
    every = ["git", "cat-file", "--batch-all-objects", "--unordered", "--batch"]
    places = {"git": subprocess.run(every, cwd=root, capture_output=True, check=True).stdout}
    places |= {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: found for name, data in places.items() if (found := leaked(data))}


def sent(provider: Provider) -> list[str]:
    return leaked(json.dumps([request.body for request in provider.requests], ensure_ascii=False))


def test_of_what_a_user_says_or_notes(root: Path, provider: Provider, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    roles = ("user", "tool", "assistant")
    lines = [json.dumps({"role": role, "content": f"Remember: {said}"}) for said in SAID for role in roles]
    talk.write_text("\n".join(lines) + "\n", encoding="utf-8")
    provider.script(fault(500))
    for said in SAID:
        assert called(root, "note", f"Remember this: {said}").status == 0
    called(root, "consolidate", talk)  # no summary is to be had: the messages are kept as they were said
    assert called(root, "status", "--json").json["history"]["entries"] > 4 + len(SAID)
    provider.script(text("[USER] Keeps many keys {5}"))
    assert called(root, "run").status in (0, 3)
    assert (sent(provider), kept(root)) == ([], {})


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_of_what_a_model_answers(root: Path, provider: Provider, tmp_path: Path, every: int) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps({"role": "user", "content": "I moved to Kobe in May."}) + "\n", encoding="utf-8")
    told = SAID[::every]
    flat = [" ".join(said.split()) for said in told]

    def answer(body: Body) -> Reply:
        if "tools" in body:
            edits = [
                (
                    "edit_file",
                    {"path": "USER.md", "old_text": "", "new_text": f"- Noted {said}\n", "findings": [number]},
                )
                for number, said in enumerate(told, start=1)
            ]
            skipped = [("skip_finding", {"finding": len(told) + n, "reason": said}) for n, said in enumerate(flat, 1)]
            return tools(*edits, *skipped)
        if "<history>" in body["messages"][-1]["content"]:
            files = ("USER", "SOUL", "MEMORY")
            return text("\n".join(f"[{file}] Noted {said} {{4}}" for file in files for said in flat))
        return text("- Moved to Kobe in May\n" + "\n".join(f"- {said}" for said in flat))

    provider.script(answer)
    assert called(root, "consolidate", talk).status == 0
    done = called(root, "run", "--json")
    assert done.status in (0, 3), done.err
    shown = [
        called(root, "review"),
        called(root, "log", git(root, "rev-parse", "HEAD").strip()),
        called(root, "status"),
    ]
    assert leaked(done.out + done.err + "".join(one.out for one in shown)) == []
    assert "[REDACTED:" in memory(root)["USER.md"]
    assert (sent(provider), kept(root)) == ([], {})


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_of_what_a_provider_s_error_says(root: Path, provider: Provider, every: int) -> None:
    for said in SAID[::every]:
        provider.script(fault(400, f"bad request: {said}"))
        done = called(root, "run", "--json")
        assert done.status == 1
        assert leaked(done.out + done.err + called(root, "status").out) == []
    assert kept(root) == {}


def test_of_what_a_person_typed_nothing_leaves_the_machine_and_doctor_tells_where_it_is(
    root: Path, provider: Provider
) -> None:
    user = root / "USER.md"
    user.write_text(user.read_text(encoding="utf-8") + "\n".join(SAID) + "\n", encoding="utf-8")
    provider.script(phases(text("[USER] Plays the oboe {4}"), tools(("read_file", {"path": "USER.md"}))))
    assert called(root, "run").status in (0, 3)
    assert leaked(memory(root)["USER.md"]) == list(SHAPES)  # it is theirs
    assert sent(provider) == []
    named = called(root, "doctor", "--json")
    assert [one for one in named.json if one["file"] == "USER.md" and "secret" in one["text"].lower()], named.out
    assert leaked(named.out + named.err + git(root, "log", "--format=%B")) == []
