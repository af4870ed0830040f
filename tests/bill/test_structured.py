"""Phase 1 by a JSON schema, where the provider has that; the lines stay the contract."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from dream.dreaming import phase1
from dream.dreaming.draft import Brief
from dream.dreaming.findings import parse
from dream.errors import AnswerUnusable
from dream.llm.spending import Meter, open_model
from dream.models import Entry, Finding
from dream.settings import Settings
from tests.provider import Provider, fault, text

ENTRY = Entry("summary", "- Moved to Tokyo", cursor=41, at=datetime(2026, 11, 20, tzinfo=UTC))
MOVED = {"file": "USER", "remove": False, "text": "Lives in Tokyo", "entries": [41]}
LEFT = {"file": "USER", "remove": True, "text": "Lives in Osaka", "entries": [41]}
OLD = "- Lives in Osaka"
FOUND = (
    Finding("USER.md", "Lives in Tokyo", (41,), line=OLD),
    Finding("USER.md", "Lives in Osaka", (41,), remove=True, line=OLD),
)


def said(*findings: object) -> str:
    return json.dumps({"findings": findings})


def analyse(provider: Provider) -> tuple[Finding, ...]:
    settings = Settings(model="openai/m", api_base=provider.base, api_key="k", structured=True, retries=0)
    model = open_model(settings, "phase1", Meter(settings), schema=phase1.SCHEMA)
    return phase1.analyse([ENTRY], {"USER.md": "- Lives in Osaka\n"}, model, Brief(settings, date(2026, 11, 21), UTC))


def test_the_schema_arrives_and_its_answer_is_the_same_findings(provider: Provider) -> None:
    provider.script(text(said(MOVED, LEFT)))

    assert analyse(provider) == FOUND
    sent = provider.bodies()[0]["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", phase1.SCHEMA)


def test_a_provider_that_refuses_a_schema_is_asked_for_lines(provider: Provider) -> None:
    refusal = fault(400, "'response_format' of type 'json_schema' is not supported with this model.")
    provider.script(refusal, text("[USER] Lives in Tokyo {41}\n[USER-REMOVE] Lives in Osaka {41}"))

    assert analyse(provider) == FOUND
    assert ["response_format" in body for body in provider.bodies()] == [True, False]


def test_other_faults_are_not_taken_for_a_refusal_of_the_schema(provider: Provider) -> None:
    provider.script(fault(401, "Incorrect API key provided"))

    with pytest.raises(Exception, match="refused the key"):
        analyse(provider)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    "answer", [said(MOVED, LEFT), f"```json\n{said(MOVED, LEFT)}\n```", f"\n {said(MOVED | {'more': 1}, LEFT)}"]
)
def test_json_in_any_dress_is_read(answer: str) -> None:
    assert parse(phase1.lines(answer), [41]).findings == tuple(replace(one, line="") for one in FOUND)


def test_no_finding_is_skip_and_lines_stay_lines() -> None:
    assert phase1.lines('{"findings": []}') == "[SKIP]"
    assert phase1.lines("[USER] {a} b {41}") == "[USER] {a} b {41}"


@pytest.mark.parametrize("answer", ['{"findings": [{"file": "USER"', '{"finding": []}', '{"findings": [1]}', "{}"])
def test_what_is_not_by_the_schema_is_unusable(answer: str) -> None:
    with pytest.raises(AnswerUnusable):
        parse(phase1.lines(answer), [41])
