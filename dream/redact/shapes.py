"""Secrets that have a shape of their own: what each provider puts in front of its keys, and how long they are.

From the providers' own pages and gitleaks' rules (MIT). Patterns are text, compiled by `redact` when first needed;
each begins with a literal and each repetition has a bound.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A secret of a shape of its own. `needles`: one of them stands in every match."""

    kind: str
    needles: tuple[str, ...]
    pattern: str


def _shape(kind: str, needles: str, pattern: str) -> Shape:
    # Not inside a longer word; the end needs no such care, for the classes are greedy.
    return Shape(kind, tuple(needles.split()), rf"(?<![A-Za-z0-9_])(?:{pattern})")


SHAPES: tuple[Shape, ...] = (
    _shape("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _shape("google-api-key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _shape("google-oauth-token", "ya29. GOCSPX-", r"ya29\.[\w-]{20,2000}|GOCSPX-[\w-]{20,100}"),
    _shape(
        "github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}"
    ),
    _shape("gitlab-token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w.-]{20,300}"),
    _shape(
        "slack-token", "xox xapp-", r"xox[abeoprs](?:\.xox[bp])?-(?=[\w-]{0,60}\d)[\w-]{10,300}|xapp-\d-[\w-]{10,300}"
    ),
    _shape("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/+-]{20,200}"),
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,300}"),
    _shape("openrouter-key", "sk-or-", r"sk-or-v\d-[\w-]{16,300}"),
    _shape(
        "openai-key",
        "sk-",
        r"sk-(?:proj-|svcacct-|admin-|None-)[\w-]{20,300}|sk-(?=[a-zA-Z]{0,60}\d)[A-Za-z0-9]{20,300}",
    ),
    _shape(
        "stripe-key", "sk_ rk_ whsec_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,300}|whsec_[A-Za-z0-9+/=]{20,100}"
    ),
    _shape("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,100}"),
    _shape("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,100}"),
    _shape("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _shape("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,1000}"),
    _shape("sendgrid-key", "SG.", r"SG\.[\w-]{16,64}\.[\w-]{16,64}"),
    _shape("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _shape("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _shape("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _shape("vault-token", "hvs. hvb.", r"hv[sb]\.[\w-]{24,300}"),
    _shape("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _shape("notion-token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    _shape("twilio-key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    _shape("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![0-9A-Za-z])"),
    _shape("telegram-token", ":AA", r"\d{8,10}:AA[\w-]{33}(?![\w-])"),
    _shape("discord-token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"),
    _shape("azure-key", "AccountKey= SharedAccessKey=", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,100}={0,2}"),
    _shape("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{50,70}"),
    _shape("jwt", "eyJ", r"eyJ[\w-]{8,4000}\.[\w-]{8,8000}(?:\.[\w-]{0,4000}){1,3}"),
)
