"""Names that stand in what is said are the speakers', where people speak; a label is none."""

from __future__ import annotations

from dream.llm.embedded.sections import Said
from dream.llm.embedded.speakers import named


def talk(*said: str, roles: tuple[str, ...] = ("user", "assistant")) -> list[Said]:
    """Make messages, the roles in turns."""
    return [Said(roles[number % len(roles)], "", None, text) for number, text in enumerate(said)]


def speakers(messages: list[Said]) -> list[tuple[str, str]]:
    return [(message.name, message.text) for message in named(messages)]


def test_names_that_stand_before_what_is_said_are_the_speakers() -> None:
    found = speakers(talk("Ines: I moved to Braga.", "Tom: When?", "Ines: Last week.", "Tom: Nice!"))

    assert found == [("Ines", "I moved to Braga."), ("Tom", "When?"), ("Ines", "Last week."), ("Tom", "Nice!")]


def test_several_people_of_a_bridge_speak_to_one_assistant() -> None:
    found = speakers(talk("Ines: I moved.", "Noted.", "Tom O'Hara: I did not.", "Noted too."))

    assert found == [("Ines", "I moved."), ("", "Noted."), ("Tom O'Hara", "I did not."), ("", "Noted too.")]


def test_chinese_names_are_names() -> None:
    assert speakers(talk("小明：我搬家了。", "小红：搬去哪儿？"))[0] == ("", "小明：我搬家了。")  # once each: too few
    assert speakers(talk("小明：我搬家了。", "小红：去哪儿？", "小明：北京。", "小红：好！"))[0] == (
        "小明",
        "我搬家了。",
    )


def test_labels_are_no_names() -> None:
    said = ("Question: what is it?", "Answer: a pipe.", "Question: why?", "Answer: because.")

    assert [text for _, text in speakers(talk(*said))] == list(said)


def test_whoever_is_addressed_does_not_speak() -> None:
    said = ("Jarvis: turn on the light", "Done.", "Jarvis: turn it off", "Done.")

    assert [text for _, text in speakers(talk(*said))] == list(said)


def test_a_few_colons_are_not_a_habit() -> None:
    said = ("Ines: the one from work", "Who?", "I mean my colleague", "Tom: that one?", "yes", "ok")

    assert [text for _, text in speakers(talk(*said))] == list(said)


def test_a_name_that_is_given_stays() -> None:
    messages = [Said("user", "Ada", None, "Ines: hi"), Said("assistant", "Max", None, "Tom: hi")] * 2

    assert named(messages) == messages
