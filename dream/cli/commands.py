"""The list of commands. `dream --help` is made from it alone, so that it loads none of them."""

from __future__ import annotations

# Name → what it does, in the order of the help. A test holds each sentence to the first of the command's own help.
COMMANDS: dict[str, str] = {
    "init": "Make a workspace, or adopt nanobot's, and its first commit.",
    "sources": "List the agents found on this machine, and choose which are read every night.",
    "consolidate": "Read transcripts and append to history what is new in them.",
    "run": "Dream until nothing is left: distil new history into the memory files.",
    "nightly": "Consolidate the configured sources, then dream: what cron calls.",
    "log": "List the changes of memory, newest first, or show one.",
    "why": "Tell where a line of memory comes from: the changes that wrote it, and what was said.",
    "restore": "Put memory back as it was just before a change.",
    "review": "Show what is held for review, and accept or reject it.",
    "forget": "Take a fact or a secret out of files, history and every version, for good.",
    "context": "Print memory for an agent's prompt: the three files, then what was not dreamt yet.",
    "note": "Put a fact into history now.",
    "status": "Tell whether it works: backlog, sizes, spending, last runs, next run.",
    "doctor": "Check everything on disk, and mend what can be mended without loss.",
    "trust": "Show what an untrusted workspace's settings would do, and accept it.",
    "serve": "Stay and dream on a cron schedule.",
    "cron": "Let crontab, systemd or launchd dream every night.",
    "eval": "Measure what memory keeps of conversations, what it costs and what it lets in; no model judges.",
    "demo": "Run the whole pipeline on a shipped conversation, with nothing configured.",
}
