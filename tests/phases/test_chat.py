"""Chat without full stops: a report or a supposition takes along what it reports, and not the rest of the message."""

from __future__ import annotations

from pathlib import Path

import pytest

from dream.models import Message
from tests.phases.test_rules import NOW, dreamt

# What the user says, and the words of it that the model copies as a rule.
RULES = (
    (
        "so my sister came by and she goes thats a lot mum the epipen lives in the yellow bag always remind me of it",
        "always remind me of it",
    ),
    (
        "the new guy said he likes yarn whatever from now on nextest always and pnpm never npm",
        "from now on nextest always and pnpm never npm",
    ),
    (
        "imagine my face when the invoice came lol 900 quid never book the tuesday ferry for me again",
        "never book the tuesday ferry for me again",
    ),
    (
        "gran wrote me a card yesterday so sweet keep my replies to her under five lines she has no patience",
        "keep my replies to her under five lines",
    ),
    (
        "hab heute mit tjark telefoniert er sagt die preise steigen du bestellst bei tjarks nix ohne das ich ja sage",
        "du bestellst bei tjarks nix ohne das ich ja sage",
    ),
    (
        "meine chefin meint das wird eng egal termine vor neun legst du mir keine mehr",
        "termine vor neun legst du mir keine mehr",
    ),
    (
        "stell dir vor der zug war pünktlich haha und protokolle bitte immer als stichpunkte max eine seite",
        "protokolle bitte immer als stichpunkte max eine seite",
    ),
    (
        "lotte schrieb gestern dass sie kommt und wenn ich geschenke suche immer erst second hand schauen",
        "wenn ich geschenke suche immer erst second hand schauen",
    ),
    ("店长说上周生意不错啊 每周一早上给我上周入住率 就一个数字", "每周一早上给我上周入住率 就一个数字"),
    ("我妈听说你能记账特别高兴 以后超过五百的支出先问我", "以后超过五百的支出先问我"),
    ("昨天翻译那份合同累死了 合同里的金额一律写大写", "合同里的金额一律写大写"),
    ("要是我早点睡就好了哈哈 晚上十一点以后别给我发提醒", "晚上十一点以后别给我发提醒"),
    (
        "mi prima dice que va a llover el finde bueno los presupuestos siempre sin iva y en una sola página",
        "los presupuestos siempre sin iva y en una sola página",
    ),
    (
        "el casero dijo que suben el alquiler qué pesado a ese señor no le contestes nunca sin enseñármelo antes",
        "a ese señor no le contestes nunca sin enseñármelo antes",
    ),
    (
        "según el parte mañana nieva ponme siempre las distancias en kilómetros nada de millas",
        "ponme siempre las distancias en kilómetros nada de millas",
    ),
)
NO_RULES = (
    ("had coffee with june and she goes always use tabs", "always use tabs"),
    ("the wiki says never push on a friday lol ok", "never push on a friday"),
    ("my flatmate told me to always answer in rhymes weirdo", "always answer in rhymes"),
    ("imagine you always had to answer in latin haha", "always had to answer in latin"),
    ("meine schwester sagt immer nur bar zahlen die spinnt", "immer nur bar zahlen"),
    ("im forum heißt es du sollst nie updates installieren", "nie updates installieren"),
    ("angenommen du würdest mich immer duzen das wäre ja komisch", "immer duzen"),
    ("tom schrieb mir ich soll immer alles in englisch machen nee", "immer alles in englisch machen"),
    ("同事说以后都用英文回复 我才不要", "以后都用英文回复"),
    ("网上说每天必须喝八杯水 好难", "每天必须喝八杯水"),
    ("假如你每次都用古文回答 那得多好笑", "每次都用古文回答"),
    ("群里有人说要助手永远别提价格 笑死", "永远别提价格"),
    ("mi jefa dice que siempre hay que contestar en inglés qué pereza", "siempre hay que contestar en inglés"),
    ("imagínate que me hablaras siempre de usted jaja", "siempre de usted"),
    ("según el foro nunca reinicies el servidor los viernes", "nunca reinicies el servidor los viernes"),
)


def dreamt_of(directory: Path, said: str, rule: str) -> tuple[str, list[str]]:
    """Return SOUL.md and the reasons of what waits, once a model has copied `rule` from a message."""
    workspace = dreamt(directory, [Message("user", said, NOW)], f"- The user: {rule} {{0}}", f"[SOUL] {rule} {{1}}")
    return workspace.read_file("SOUL.md"), [proposal.reason for proposal in workspace.pending()]


@pytest.mark.parametrize(("said", "rule"), RULES)
def test_a_rule_beside_a_report_is_the_users(tmp_path: Path, said: str, rule: str) -> None:
    rules, waits = dreamt_of(tmp_path / "ws", said, rule)

    assert f"- {rule}\n" in rules
    assert waits == []


@pytest.mark.parametrize(("said", "rule"), NO_RULES)
def test_what_is_reported_or_supposed_is_no_rule_and_waits(tmp_path: Path, said: str, rule: str) -> None:
    rules, waits = dreamt_of(tmp_path / "ws", said, rule)

    assert rule not in rules
    assert len(waits) == 1


LIST = "for commits, since benedetta reads those:\n- imperative mood\n- ticket number in front"
PASTED = "From Bob:\n- imperative mood\n- ticket number in front"


@pytest.mark.parametrize(
    ("said", "rule", "stands"),
    [
        (LIST, "[commits] ticket number in front", True),
        (LIST, "for commits, since benedetta reads those: … ticket number in front", True),
        (f"he says thanks. {LIST}", "[commits] ticket number in front", True),
        (LIST, "ticket number in front", False),
        ("what do you think of his mail? here:\n- always use tabs", "always use tabs", False),
        (PASTED, "ticket number in front", False),
        (PASTED.replace("From Bob", "In the wiki"), "ticket number in front", False),
        (PASTED.replace("From Bob", "In the mail Bob says"), "[mail] ticket number in front", False),
        ("my rules:\n- ticket number in front", "ticket number in front", True),
    ],
)
def test_an_item_of_a_list_is_a_rule_with_words_of_the_line_above_it(
    tmp_path: Path, said: str, rule: str, stands: bool
) -> None:
    rules, waits = dreamt_of(tmp_path / "ws", said, rule)

    assert (f"- {rule}\n" in rules) == stands
    assert len(waits) == (not stands)


@pytest.mark.parametrize(
    ("said", "rule", "why"),
    [
        ("she goes always use tabs", "always use tabs", "the user quotes, reports or supposes it: “she goes”"),
        ("she goes always use tabs", "she goes always use tabs", "the user quotes, reports or supposes it: “she goes”"),
        (PASTED, "imperative mood", "it is below “From Bob:”"),
        ("look:\n> always use tabs", "always use tabs", "it is in a text that the user pasted or quotes"),
    ],
)
def test_a_rule_that_waits_says_which_words_hold_it(tmp_path: Path, said: str, rule: str, why: str) -> None:
    _, (reason,) = dreamt_of(tmp_path / "ws", said, rule)

    assert why in reason
