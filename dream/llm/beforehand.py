"""Check a model's name, key and login before LiteLLM is imported, which takes seconds."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from dream.errors import ModelInaccessible
from dream.llm import known_names
from dream.llm.faults import Fault, translate
from dream.text.tokens import litellm_folder

# The providers whose key LiteLLM takes from one variable alone, and how variables of theirs begin.
KEYED: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_",),
    "anthropic": ("ANTHROPIC_",),
    "gemini": ("GEMINI_", "GOOGLE_"),
    "mistral": ("MISTRAL_",),
    "deepseek": ("DEEPSEEK_",),
    "openrouter": ("OPENROUTER_", "OR_"),
}
# Logins that LiteLLM keeps in a file, and else asks for with a code on standard output, for a quarter of an hour: the
# variable that names their folder, the folder, the variable that names the file, the file.
LOGINS = {
    "chatgpt": ("CHATGPT_TOKEN_DIR", ".config/litellm/chatgpt", "CHATGPT_AUTH_FILE", "auth.json"),
    "github_copilot": (
        "GITHUB_COPILOT_TOKEN_DIR",
        ".config/litellm/github_copilot",
        "GITHUB_COPILOT_ACCESS_TOKEN_FILE",
        "access-token",
    ),
}


def check(model: str, environ: Mapping[str, str], *, has_key: bool, has_address: bool) -> None:
    """Raise ModelInaccessible for a name without a provider, and for a key or a login that is not there.

    LiteLLM decides where it may know better: any variable of the provider's may hold a key, and with an address of the
    user's own no key is needed.
    """
    provider = model.partition("/")[0]
    if provider in LOGINS:
        folder, place, variable, name = LOGINS[provider]
        path = Path(environ.get(folder) or Path.home() / place) / environ.get(variable, name)
        if not path.exists():
            raise ModelInaccessible(
                f"{model} has no login here ({path}), and would wait for somebody to type a code: log in once with"
                " LiteLLM in a terminal, or choose one of `dream models`."
            )
    if has_key or has_address or "litellm" in sys.modules:
        return
    known = _providers()
    if known and provider not in known and model not in known_names():
        raise translate(Fault(model, "LLM Provider NOT provided", 400))
    begins = KEYED.get(provider, ()) if "/" in model else ()
    if begins and not any(name.startswith(begins) and value for name, value in environ.items()):
        raise translate(Fault(model, "Missing credentials", 401))


@functools.cache
def _providers() -> frozenset[str]:
    """Return the names of LiteLLM's providers, out of its own table; none where that can't be found."""
    try:
        text = (litellm_folder() / "types" / "utils.py").read_text(encoding="utf-8")
    except OSError:
        return frozenset()
    table = re.search(r"^class LlmProviders\(.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r'^    [A-Z0-9_]+ = "([^"]+)"', table[0], re.MULTILINE) if table else ()
    return frozenset((*rows, "litellm_proxy"))
