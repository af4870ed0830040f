"""What counts as a summary: the model's finished answer, in lines, and shorter than what it summarises."""

from __future__ import annotations

import re
from collections.abc import Callable

from dream.errors import AnswerUnusable
from dream.llm.model import Completion
from dream.provenance.citing import without_citation
from dream.wording import coverage

SLACK_TOKENS = 200  # a chunk of a few words may need more than its own length to be told in whole sentences
ECHO_SHARE = 0.5  # of an answer's lines that are lines of the prompt's own making
SAID = 0.5  # of an example's words that the conversation must hold for it to be a fact of the conversation too

_BULLET = re.compile(r"^\s*(?:[-*+•–·]|\d{1,3}[.)、])\s*\S", re.MULTILINE)
_HEADER = re.compile(
    r"^\s*\[\d+\] (?:\d{4}-\d\d-\d\d \d\d:\d\d (?:[A-Z][a-z]{2} )?)?(?:user|assistant|tool)\b[^:\n]*: ?"
)
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)
_NOTHING = re.compile(r"(?:[-*•]\s*)?[`\"'*_]*\(nothing\)[`\"'*_]*\.?", re.IGNORECASE)
_CALL = re.compile(
    r"^\s*(?:<\|?(?:tools?|tool_calls?|function_calls?|python_tag)\|?>|<function=|\[TOOL_CALLS\]|<｜tool)", re.M
)
_REFUSAL = re.compile(
    r"(?:i['’]m|i am) (?:very |so |really )?(?:sorry|afraid|unable|not able|not comfortable)"
    r"|(?:i|we) (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|am not able)\b|sorry\b|apolog|unfortunately"
    r"|as an ai\b|as a language model|es tut mir leid|(?:das )?kann ich (?:leider )?nicht|ich kann (?:\w+ )?nicht"
    r"|lo siento|no puedo|je suis désolé|désolé|je ne peux|mi dispiace|desculpe|не могу|извините|к сожалению"
    r"|抱歉|对不起|對不起|我无法|我無法|我不能|很遗憾|申し訳|すみません|できません|죄송",
    re.IGNORECASE,
)


def read(completion: Completion, conversation: str, most: int, count: Callable[[str], int], *, prompt: str = "") -> str:
    """Return the summary in `completion`; empty means `(nothing)`.

    `most` is the tokens that it may have. A line that only copies an example of the `prompt` is left out.
    Raises AnswerUnusable for an answer that is not finished, empty, a tool call, a refusal, an echo of the
    conversation or of the prompt, or longer than the conversation.
    """
    if completion.tool_calls or completion.finish == "tool_calls":
        raise AnswerUnusable("it calls a tool where only text was asked for")
    if completion.finish == "length":
        raise AnswerUnusable("it was cut off at the longest answer allowed")
    text = _bare(completion.text)
    if _CALL.search(text):
        raise AnswerUnusable("it calls a tool in its text where only text was asked for")
    if completion.finish == "refusal" or (not _BULLET.search(text) and _REFUSAL.match(text)):
        raise AnswerUnusable("it is a refusal")
    if completion.finish != "stop":
        raise AnswerUnusable("it was not finished")
    if not text:
        raise AnswerUnusable("it is empty")
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _NOTHING.fullmatch(line.strip())]
    if len(lines) > 1 and lines[0].endswith((":", "：")) and _BULLET.match(lines[1]) and not _BULLET.match(lines[0]):
        del lines[0]  # "Here is the summary:"
    told = [line for line in lines if not _is_example(line, prompt, conversation)]
    if lines and not told:
        raise AnswerUnusable("it repeats the prompt's example")
    lines = told
    _check_size(lines, conversation, most, count)
    return "\n".join(lines)


def _bare(text: str) -> str:
    text = text.strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _is_example(line: str, prompt: str, conversation: str) -> bool:
    """Tell whether `line` is one of the prompt, with whatever numbers, that the conversation does not bear out."""
    fact = without_citation(line)[0].strip()
    if _numberless(fact) not in (_numberless(without_citation(own)[0].strip()) for own in prompt.splitlines()):
        return False
    return coverage(fact, conversation) < SAID


def _numberless(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def _check_size(lines: list[str], conversation: str, most: int, count: Callable[[str], int]) -> None:
    if not lines:
        return
    tokens, given = count("\n".join(lines)), count(conversation)
    if tokens > most:
        raise AnswerUnusable(f"it has {tokens:,} tokens; a summary may have {most:,}")
    if tokens > given + SLACK_TOKENS:
        raise AnswerUnusable("it is longer than what it summarises")
    headers = sum(1 for line in lines if _HEADER.match(line))
    said = {line.strip() for line in conversation.splitlines()}
    copied = sum(1 for line in lines if line.strip() in said)
    if headers > ECHO_SHARE * len(lines) or (copied > ECHO_SHARE * len(lines) and 2 * tokens > given > SLACK_TOKENS):
        raise AnswerUnusable("it repeats the conversation instead of summarising it")
