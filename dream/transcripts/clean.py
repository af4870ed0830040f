"""Take out of a text what no person and no agent said: injected blocks and inline images."""

from __future__ import annotations

import re

# Blocks that agents and memory engines put into a conversation for the model to read.
_INJECTED = (
    "environment_context",
    "environment_details",
    "system-reminder",
    "system_reminder",
    "user_instructions",
    "user_shell_command",
    "permissions instructions",
    "collaboration_mode",
    "apps_instructions",
    "skills_instructions",
    "plugins_instructions",
    "turn_context",
    "turn_aborted",
    "subagent_notification",
    "model_switch",
    "INSTRUCTIONS",
    "command-name",
    "command-message",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "session-start-hook",
    "post-tool-use-hook",
    "hook_context",
    "task-notification",
    "new-diagnostics",
    "ide_selection",
    "ide_opened_file",
    "ide_diagnostics",
    "session_context",
    "memory",
    "memories",
    "memory-context",
    "memory_context",
    "memory_blocks",
    "memory_metadata",
    "dream-memory",
    "dream_memory",
    "recalled-memory",
    "recalled_memory",
    "recalled_memories",
    "relevant-memories",
    "relevant_memories",
    "supermemory-context",
    "hindsight_memories",
)
# Wrappers round what the user did type: the tags go, the words stay.
_WRAPPERS = ("command-args", "user_query", "user_message", "untrusted_context")
_TAG = re.compile(rf"<(/?)({'|'.join(map(re.escape, _INJECTED))})(?:\s[^<>]{{0,1000}})?>", re.IGNORECASE)
_WRAPPER = re.compile(rf"</?(?:{'|'.join(map(re.escape, _WRAPPERS))})>")
_MARKED = re.compile(r"\[(/?)(Runtime Context)[^\[\]]{0,200}\]")
_DATA_URL = re.compile(
    r"!\[[^\]\n]{0,200}\]\(data:[^)]*\)|data:[\w.+-]{1,60}/[\w.+-]{1,60}(?:;[\w=.+-]{1,60})*;base64,[\w+/=%-]*"
)
# What a client says is pasted: Claude Code's tags, which it escapes inside; what `@file` opened for Gemini CLI.
_PASTED = re.compile(
    r'\n*<pasted_content id="(?P<id>[0-9a-f]{4})">\n(?P<pasted>.*?)\n?</pasted_content id="(?P=id)">\n*'
    r"|\n*^--- Content from referenced files ---$(?P<files>.*?)(?:^--- End of content ---$\n*|\Z)",
    re.DOTALL | re.MULTILINE,
)
_SHOWN = re.compile(r"<image name=\[[^\]\n]{0,60}\][^<>\n]{0,1000}>\s*(?:\[image\])?\s*</image>")  # Codex'
# A message that is nothing but the harness speaking.
_NOISE = (
    "[Request interrupted by user",
    "# AGENTS.md instructions for ",
    "Caveat: The messages below were generated",
    "This is the Gemini CLI. We are setting up the context",
    "I ran the following shell command:\n```",
)
_METADATA = re.compile(r"^[^\n(]{1,80}\(untrusted[^)\n]{0,60}\):\n```(?:json)?\n.*?\n```\n*", re.DOTALL | re.MULTILINE)


# The tools by which an agent asks its memory, whatever a client puts before their names: ours, and OpenClaw's.
_ASKS_MEMORY = re.compile(r"(?:^|[^a-z])memory_(?:search|get|why|context|add)$", re.IGNORECASE)
_SHELL = re.compile(r"→ [\w.-]*(?:bash|shell|exec|terminal|command|process)[\w.-]*\((.*)\)", re.IGNORECASE | re.DOTALL)
_SHOWS_MEMORY = re.compile(
    r"(?:\w+=\S*\s+)*(?:\S*/)?dream(?:-log|\s+(?:(?:-w|--workspace)[ =]\S+\s+)?(?:search|get|why|context|log|review))\b"
)
_QUOTES = re.compile(r"\"[^\"]*\"|'[^']*'")
_STEPS = re.compile(r"&&|\|\||;|\n")
_MOVES = re.compile(r"(?:cd|export|source|\.)\s")


def asks_memory(tool: str) -> bool:
    """Return whether a tool of this name answers from memory: its answers are nothing new."""
    return _ASKS_MEMORY.search(tool) is not None


def shows_memory(line: str) -> bool:
    """Return whether the line of a tool call is a shell's command that prints what memory holds, and nothing else."""
    found = _SHELL.match(line)
    steps = [step.strip() for step in _STEPS.split(_QUOTES.sub("''", found[1]))] if found else []
    steps = [step for step in steps if step and not _MOVES.match(step)]
    return bool(steps) and all(_SHOWS_MEMORY.match(step) for step in steps)


def said(value: str) -> str:
    """Return what was said in `value`, without injected blocks and images.

    What a client marks as pasted, or as a file's content, keeps its place as a quotation: each line behind `> `.
    """
    value = value.replace("\0", "")
    if value.lstrip().startswith(_NOISE):
        return ""
    if "--- Content from" in value or "<pasted_content" in value:
        value = _PASTED.sub(_quoted, value)
    if "<" in value:
        value = _SHOWN.sub("[image]", value)
        value = _WRAPPER.sub("", _without_blocks(value, _TAG))
    if "[Runtime Context" in value:
        value = _without_blocks(value, _MARKED)
    if "(untrusted" in value:
        value = _METADATA.sub("", value)
    return images(value).strip()


def _quoted(found: re.Match[str]) -> str:
    lines = (found["pasted"] or found["files"] or "").strip("\n").split("\n")
    return "\n" + "".join(f"> {line}\n" for line in lines)


def images(value: str) -> str:
    """Take inline images (`data:image/png;base64,…`) out of `value`."""
    return _DATA_URL.sub("", value) if "base64," in value or "(data:" in value else value


def _without_blocks(value: str, tag: re.Pattern[str]) -> str:
    """Cut from each opening tag to its closing one, in one pass; nested blocks go with the outer one.

    A block that is never closed reaches to the end if the text starts with it, else it is someone's words.
    """
    kept: list[str] = []
    end, start, name, depth = 0, 0, "", 0
    for match in tag.finditer(value):
        closing, found = match[1] == "/", match[2].lower()
        if depth == 0 and not closing:
            start, name, depth = match.start(), found, 1
        elif depth and found == name:
            depth += -1 if closing else 1
            if depth == 0:
                kept.append(value[end:start])
                end = match.end()
    if depth and not value[end:start].strip() and not kept:
        return ""
    kept.append(value[end:])
    return "".join(kept)
