"""Read the blocks of README.md and docs/, so that tests and .ci/run use the very text that a newcomer copies."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"(?:^<!-- (?P<name>[^>]+) -->\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """List README.md and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def text(page: str | None = None) -> str:
    """Return one page as it stands, or the README and all pages of docs/, one after the other."""
    return "\n".join(path.read_text(encoding="utf-8") for path in ([ROOT / page] if page else pages()))


def blocks(kind: str) -> list[str]:
    """List the blocks of one language."""
    return [match["text"] for match in _BLOCK.finditer(text()) if match["kind"] == kind]


def block(name: str) -> str:
    """Return the block beneath the comment `<!-- name -->`, on whichever page it stands."""
    (found,) = [match["text"] for match in _BLOCK.finditer(text()) if match["name"] == name]
    return found


def excerpt(output: str) -> str:
    """Shorten the demo's output for the first screen: what was read, one of the files, and the start of the diff."""
    lines = output.splitlines()
    person, memory = lines.index("──── USER.md ────"), lines.index("──── memory/MEMORY.md ────")
    diff = lines.index("──── what the last dream changed ────")
    hunk = next(place for place in range(diff, len(lines)) if lines[place].startswith("+- "))
    last = max(place for place in range(person, memory) if lines[place].startswith("- "))
    parts = [lines[: lines.index("")], lines[person : last + 1], lines[diff : hunk + 1]]
    return "\n…\n".join("\n".join(part) for part in parts) + "\n…\n"


def update() -> None:
    """Write into the pages what the demo prints now."""
    head = "<!-- its output -->\n```text\n"
    stale, fresh = head + block("its output"), head + excerpt(_printed("demo"))
    for page in pages():
        page.write_text(page.read_text(encoding="utf-8").replace(stale, fresh), encoding="utf-8")


def _printed(*arguments: str) -> str:
    code = "from dream.cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    if sys.argv[1] == "update":
        update()
    else:
        print(block(sys.argv[1]), end="")
