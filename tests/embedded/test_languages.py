"""Memory is written in the language the user speaks: about the user, with absolute dates."""

import pytest

from tests.embedded.asking import dreamt, facts, findings, said


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Ich heiße Anna.", "[USER] Der Nutzer heißt Anna (8. Mai 2023) {1}"),
        ("Ich arbeite als Lehrerin bei Siemens.", "[USER] Arbeitet als Lehrerin bei Siemens (8. Mai 2023) {1}"),
        ("Ich mag Nussbaum lieber als Eiche.", "[USER] Mag Nussbaum lieber als Eiche (8. Mai 2023) {1}"),
        ("Meine Freundin Lena ist Lehrerin.", "[USER] Freundin Lena ist Lehrerin (8. Mai 2023) {1}"),
        ("Bitte antworte immer auf Deutsch.", "[SOUL] Antworte immer auf Deutsch {1}"),
        ("Am 3. Mai fliege ich nach Rom.", "[MEMORY] Am 3. Mai fliegt der Nutzer nach Rom (8. Mai 2023) {1}"),
        ("はじめまして、佐藤健です。", "[USER] ユーザーの名前は佐藤健（2023年5月8日） {1}"),
        ("私は大阪に住んでいます。", "[USER] 大阪に住んでいます（2023年5月8日） {1}"),
        ("コーヒーが好きです。", "[USER] コーヒーが好きです（2023年5月8日） {1}"),
        ("いつも日本語で答えてください。", "[SOUL] いつも日本語で答えてください {1}"),
        ("我住在成都。", "[USER] 住在成都（2023年5月8日） {1}"),
        ("请把回答控制在72字以内。", "[SOUL] 把回答控制在72字以内 {1}"),
    ],
)
def test_a_fact_is_kept_in_its_own_language_and_has_its_file(text: str, finding: str) -> None:
    assert findings({}, "\n".join(f"- {line}" for line in said(text))) == [finding]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "Ich heiße Jonas und wohne in Leipzig.",
            ["Der Nutzer heißt Jonas (8. Mai 2023)", "Wohnt in Leipzig (8. Mai 2023)"],
        ),
        ("Gestern habe ich die Werkstatt besichtigt.", ["Am 7. Mai 2023 hat der Nutzer die Werkstatt besichtigt"]),
        (
            "Letzten Dienstag hat mein Hund Bruno einen Kunden gebissen.",
            ["Am 2. Mai 2023 (Dienstag) hat der Hund Bruno einen Kunden gebissen"],
        ),
        ("Morgen treffe ich Herrn Vogel.", ["Am 9. Mai 2023 trifft der Nutzer Herrn Vogel"]),
        ("Nächsten Freitag ist der Umzug der Maschinen.", ["Am 19. Mai 2023 (Freitag) ist der Umzug der Maschinen"]),
        ("Heute ist das Wetter echt mies.", []),
        ("昨日、新しい自転車を買いました。", ["2023年5月7日、新しい自転車を買いました"]),
        ("先週の火曜日に歯医者に行きました。", ["2023年5月2日（火曜日）に歯医者に行きました"]),
        ("来週の金曜日に大阪へ出張します。", ["2023年5月19日（金曜日）に大阪へ出張します"]),
        ("今日は雨ですね。", []),
        ("你好，我叫李娜，在杭州做产品经理。", ["用户叫李娜（2023年5月8日）", "在杭州做产品经理（2023年5月8日）"]),
        ("昨天我和设计师小周讨论了新首页。", ["2023年5月7日用户和设计师小周讨论了新首页"]),
        ("今天好累啊，哈哈。", []),
    ],
)
def test_a_line_is_about_the_user_and_its_dates_are_absolute(text: str, lines: list[str]) -> None:
    assert said(text) == lines


@pytest.mark.parametrize(
    ("told", "correction", "line"),
    [
        (
            "Das Gespräch lief gut, wir bekommen 20.000 Euro.",
            "Nein, eigentlich sind es 25.000 Euro.",
            "Das Gespräch lief gut, wir bekommen 25.000 Euro (8. Mai 2023)",
        ),
        ("Ich wohne in Leipzig.", "Ich wohne jetzt in Halle.", "Wohnt jetzt in Halle (8. Mai 2023)"),
        (
            "来週の金曜日に大阪へ出張します。",
            "実は出張は木曜日に変わりました。",
            "2023年5月18日（木曜日）に大阪へ出張します",
        ),
        ("下周三要给老板演示。", "其实演示改到周五了。", "2023年5月19日要给老板演示"),
        (
            "我们的项目叫青鸟，后端用Go，数据库是MySQL 8。",
            "我们把数据库从MySQL换成了PostgreSQL。",
            "我们的项目叫青鸟，后端用Go，数据库是PostgreSQL（2023年5月8日）",
        ),
    ],
)
def test_a_correction_in_any_of_them_leaves_one_value(told: str, correction: str, line: str) -> None:
    files = dreamt({}, "\n".join(f"- {text}" for text in said(told, correction)))
    lines = [text for file in files.values() for text in facts(file)]
    assert line in lines
    assert not [text for text in lines if text.startswith(said(told)[0][:12]) and text != line]
