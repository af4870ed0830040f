"""How many tokens a text is, off-line and without surprises.

Two counts, because loading a tokenizer costs about 0.3 s and 90 MB once a process:

- `estimate(text)`: by classes of characters, some 20 ms a megabyte, no import. For everything that must be quick or
  has no model in hand: `Workspace.context`, `status`, file budgets, the `tokens` of a history entry, the `embedded`
  model, every size that `tests/quality` prints.
- `count(text, model)`: a real tokenizer. For what is sent to a model: batches cut against its window, spending.

`count` without a model, or for `embedded`, is the estimate, so that no command loads a tokenizer by accident.
Both are never 0 for text that is not empty, never an error, and treat `<|endoftext|>` as the ordinary text it is.

The tokenizer files are those that LiteLLM ships; they are found without importing LiteLLM and parsed here, because
tiktoken's own loader would download them. OpenAI's newer models use o200k; for all others the older cl100k stands
in: it is within a tenth of Claude's on every script measured, where o200k is up to four times too low.
"""

from __future__ import annotations

import binascii
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

# Longer pieces overflow the stack of tiktoken's regular expressions (a million blanks do); shorter ones cost time.
PIECE_CHARS = 20_000
# File names (the SHA-1 of the address they come from) and split patterns as in tiktoken_ext/openai_public.py, MIT.
_FILES = {
    "o200k": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
_PATTERNS = {
    "o200k": "|".join(
        (
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
_O200K_MODELS = ("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt", "o1", "o3", "o4")

# Tokens of a character by its class, told by its first UTF-8 byte, and more where two classes meet: most of a word's
# cost is at its beginning. Fitted on chats in six languages, prose and Python to lie midway between o200k and cl100k,
# which differ by a fifth on Chinese and Japanese; on texts not fitted to, it is within a tenth of that midway.
_CLASSES: tuple[tuple[str, bytes, float], ...] = (
    ("a", b"abcdefghijklmnopqrstuvwxyz", 0.105),
    ("A", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.4),
    ("0", b"0123456789", 0.8),
    (".", b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 0.25),
    ("n", b"\n", 1.4),
    (" ", b" \t\r\v\f", 0.03),
    ("l", bytes(range(0xC2, 0xCB)), 2.6),  # Latin letters with accents
    ("c", bytes(range(0xCB, 0xD5)), 0.42),  # Greek, Cyrillic, Armenian
    ("h", bytes(range(0xD5, 0xE0)), 0.6),  # Hebrew, Arabic
    ("i", bytes(range(0xE0, 0xE2)), 0.7),  # Indic scripts, Thai, Georgian
    ("m", b"\xe2", 1.6),  # typographic marks, arrows, boxes
    ("k", b"\xe3", 0.79),  # Japanese syllables
    ("z", bytes(range(0xE4, 0xEA)), 1.05),  # Chinese characters
    ("o", bytes(range(0xEA, 0xEE)), 1.0),  # Korean
    ("f", bytes(range(0xEE, 0xF0)), 0.9),  # full-width marks
    ("e", bytes(range(0xF0, 0xF5)), 2.3),  # emoji and rare characters
    ("x", bytes(range(0x09)) + bytes(range(0x0E, 0x20)) + b"\x7f", 1.0),  # control characters
)
_MEETING = ((b" a", 0.64), (b" A", 0.2), (b" 0", 1.0), (b".a", 1.2), (b"..", -0.2))
_WEIGHTS = (*((name.encode(), weight) for name, _, weight in _CLASSES), *_MEETING)
_CLASS_OF = {byte: ord(name) for name, members, _ in _CLASSES for byte in members}
_TO_CLASSES = bytes(_CLASS_OF.get(byte, ord("x")) for byte in range(256))
_FOLLOWING = bytes(range(0x80, 0xC0))  # of a character of several bytes


def estimate(text: str) -> int:
    """Estimate the tokens of `text`, whichever model reads it."""
    if not text:
        return 0
    total = 0.0
    for start in range(0, len(text), 1_000_000):
        data = text[start : start + 1_000_000].encode("utf-8", "replace").translate(_TO_CLASSES, _FOLLOWING)
        total += sum(data.count(sign) * weight for sign, weight in _WEIGHTS)
    return max(1, round(total + 0.5))


def count(text: str, model: str | None = None) -> int:
    """Count the tokens of `text` for `model`; the estimate where no tokenizer is meant or to be had."""
    if not text:
        return 0
    if model is None or model == "embedded":
        return estimate(text)
    encoder = _encoder(tokenizer_of(model))
    if encoder is None:
        return estimate(text)
    return max(1, sum(_count_piece(encoder, piece) for piece in _pieces(text)))


def tokenizer_of(model: str) -> str:
    """Name the tokenizer that stands for `model`: `o200k` or `cl100k`."""
    return "o200k" if model.rsplit("/", 1)[-1].lower().startswith(_O200K_MODELS) else "cl100k"


def litellm_folder() -> Path:
    """Return where LiteLLM is installed, without importing it; a folder that isn't there if it is not."""
    spec = importlib.util.find_spec("litellm")
    return Path(spec.origin).parent if spec is not None and spec.origin else Path("/nonexistent")


class _Encoder(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@functools.cache
def _encoder(name: str) -> _Encoder | None:
    """Load a tokenizer once, or None where LiteLLM's files or tiktoken are not there or not as expected."""
    path = litellm_folder() / "litellm_core_utils" / "tokenizers" / _FILES[name]
    try:
        ranks = _ranks(path.read_bytes())
        import tiktoken
    except (OSError, ValueError, binascii.Error, ImportError):
        return None
    return tiktoken.Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


def _ranks(data: bytes) -> dict[bytes, int]:
    words = data.split()  # each token in base64, and its rank
    return dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _count_piece(encoder: _Encoder, piece: str) -> int:
    try:
        return len(encoder.encode_ordinary(piece))
    except ValueError:  # its regular expression gave up
        return estimate(piece)


def _pieces(text: str) -> Iterator[str]:
    """Cut `text` so that memory stays flat and no piece can overflow; each cut costs at most a token or two."""
    for start in range(0, len(text), PIECE_CHARS):
        # A lone surrogate can't be encoded; the mark in its place costs about as much.
        yield text[start : start + PIECE_CHARS].encode("utf-8", "replace").decode("utf-8")
