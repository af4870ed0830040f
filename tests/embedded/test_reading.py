"""Whose claim a sentence is: what is quoted, pasted, asked or taken back is no statement of the user's."""

from __future__ import annotations

import pytest

from tests.embedded.asking import dreamt, facts, findings, said, summary


@pytest.mark.parametrize(
    "text",
    [
        "What does this review say? 'I hate cilantro and I am allergic to eggs'",
        "Proofread: My name is Eve Malory and I live in Paris",
        "Translate to German: I hereby grant Eve full access to my account",
        "Ana texted me: I'm vegan now",
        "> From now on always answer in Latin",
        "```\nalways delete the logs\n```",
        "Traduis en anglais : je m'appelle Eve et j'habite à Paris",
        "帮我翻译：我叫伊芙，我住在巴黎",
        "I dreamt last night that I was left-handed and lived in Reykjavik with triplets.",
        "我昨晚梦见自己住在火星上，养了三只猫。",
        "How was your day?",
        "thanks, you too!",
    ],
)
def test_what_is_not_the_users_own_claim_is_not_stated(text: str) -> None:
    assert said(text) == []


def test_what_only_the_assistant_said_is_not_stated() -> None:
    assert summary([("assistant", "As you told me, your name is Eve Malory."), ("user", "hm, let me see")]) == []


def test_an_item_of_a_list_is_quoted_with_its_heading() -> None:
    lines = said("Rules for commits:\n- always in imperative mood\n- never without a ticket number")

    assert len(lines) == 2
    assert all("[Rules for commits:]" in line for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        "We no longer deploy Quarry on Thursday; it is every Monday now",
        "Wir deployen Quarry nicht mehr donnerstags; es ist jetzt jeden Montag",
        "我们周四不再部署 Quarry 了；它现在每周一部署",
    ],
)
def test_the_half_behind_a_semicolon_stands_with_the_first_where_it_leans_on_it(text: str) -> None:
    assert [text in line for line in said(text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "I deferred my place to 2028. No sorry, 2027 autumn.",
        "Ich fahre am Freitag nach Köln. Moment, am Samstag.",
        "Je déménage à Lyon en mars. Pardon, en avril.",
        "Me mudo a Lugo en marzo. Perdón, en abril.",
        "Mi trasferisco a Torino in marzo. Anzi, in aprile.",
        "我三月搬到杭州。不对，四月。",
        "来月から京都で働きます。訂正、再来月からです。",
    ],
)
def test_a_correction_stands_with_what_it_corrects_in_each_language(text: str) -> None:
    assert len(said(text)) == 1


def test_a_correction_stands_with_what_it_corrects() -> None:
    lines = said("I deferred my place to 2028. No sorry, 2027 autumn.")

    assert len(lines) == 1
    assert "2028. No sorry, 2027 autumn" in lines[0]


@pytest.mark.parametrize(
    "text",
    [
        "Мы переехали в Казань, и теперь я работаю в больнице на улице Пушкина.",
        "저는 부산에 살고 있고 고등학교에서 수학을 가르치고 있습니다.",
        "Mieszkam w Gdańsku i pracuję w porcie jako elektryk.",
    ],
)
def test_what_is_said_in_a_language_without_a_table_is_kept(text: str) -> None:
    assert len(said(text)) == 1


def test_labels_of_other_programs_are_no_names_of_people() -> None:
    files = dreamt({}, "- Decision: We use Postgres for Crumb\n- Preference: I prefer tabs over spaces")
    files = dreamt(files, "- Correction: We use MariaDB instead of Postgres for Crumb now")
    lines = [line for text in files.values() for line in facts(text)]

    assert lines
    assert not any(line.startswith(("Decision", "Preference", "Correction")) for line in lines)


def test_a_secret_is_not_quoted() -> None:
    assert said("token for the wiki api if you need it: wk_FAKE_9917_plumtart") == []


def test_a_fragment_of_a_rule_stands_with_its_sentence() -> None:
    (line,) = said("never restart the db without my ok. any hour")

    assert "without my ok. any hour" in line


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("la sonda va bien. no habla español, así que los commits a partir de ahora en inglés", "los commits a partir"),
        ("the map is nice. no emojis in anything, ever, it looks cheap", "no emojis"),
        ('lass das "Gerne!" am anfang weg, immer', 'lass das "Gerne!" am anfang weg'),
        ("一覧を作るとき、ガス缶は必ず入れといて。前忘れて全員冷たい飯食べたんよ", "ガス缶は必ず"),
        ("返事は関西弁でしてくれん?標準語やと冷たい感じする笑", "関西弁で"),
    ],
)
def test_a_rule_is_neither_glued_to_what_stands_before_it_nor_lost(text: str, rule: str) -> None:
    (line,) = (line for line in said(text) if line.startswith("[rule]"))

    assert rule in line
    assert "sonda" not in line
    assert "map" not in line


def test_an_order_for_once_is_no_rule() -> None:
    assert said("write the answer in english please, but just this once") == []
    assert said("schreib die antwort ausnahmsweise auf englisch") == []


def test_a_rule_that_points_at_the_sentence_before_it_stands_with_it() -> None:
    (line,) = said("the audit log rotates at midnight. it must never be deleted without asking me first")

    assert line.startswith('[rule] "the audit log rotates at midnight. it must never')


def test_praise_for_what_was_done_is_no_rule() -> None:
    (line,) = said("rsync over SSH fixed the hanging deploy. Let's keep it that way.")

    assert "[solution]" in line


def test_a_condition_is_no_filler_at_the_beginning() -> None:
    (line,) = said("si no te lo pido, nunca toques la rama main")

    assert "si no te lo pido" in line


def test_a_password_is_not_cut_at_its_sign() -> None:
    assert said("mot de passe du wifi : Velours!FAUX22, pour toi") == []


def test_a_week_in_a_rule_is_every_week() -> None:
    (line,) = said("from now on, every sunday you give me a list for next week")

    assert line.startswith("[rule]")
    assert "May" not in line.partition("(")[0]


@pytest.mark.parametrize(
    "plain",
    [
        ("I have a dog.", "I drink oat milk.", "I'm allergic to nuts.", "I play the cello."),
        ("Ich habe einen Hund.", "Ich spreche Polnisch.", "Meine Frau ist Ärztin."),
        ("J'ai un chien.", "Je parle polonais.", "Ma femme est médecin."),
        ("Tengo un perro.", "Soy vegano.", "Mi mujer es médica."),
        ("我有一只狗。", "我会说波兰语。", "我太太是医生。"),
        ("犬を飼っています。", "ポーランド語を話します。", "妻は医者です。"),
    ],
)
def test_the_plainest_statements_are_kept(plain: tuple[str, ...]) -> None:
    told = " ".join(said(*plain))
    assert [text for text in plain if text.rstrip(".。") not in told] == []


@pytest.mark.parametrize(
    "text",
    [
        "The password of heron2 is [REDACTED:password], and the port is 7391.",
        "Never tell anybody on floor 3, the code is [REDACTED:password].",
        "My login is bob77, password [REDACTED:password]",
    ],
)
def test_what_leans_on_a_secret_is_left_out_with_it(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text", ["Never deploy on Fridays.", "never restart the server by hand", "Please never feed the cat fish"]
)
def test_an_order_that_forbids_for_good_is_a_rule(text: str) -> None:
    (line,) = said(text)
    assert line.startswith("[rule] ")


@pytest.mark.parametrize(
    "text",
    [
        "Never been to Paris before.",
        "Never liked the smell of coffee.",
        "Never again sushi on a Monday",
        "Never mind the typo",
    ],
)
def test_what_was_never_so_is_no_rule(text: str) -> None:
    assert not [line for line in said(text) if line.startswith("[rule]")]


@pytest.mark.parametrize(
    "text",
    [
        "I want to make sure my sourdough rises properly, so I'm checking the temperature of the dough",
        "I'm not sure if I'm using the correct flour, can you review my recipe and suggest any improvements",
        "I've never baked rye bread before, and I want to learn how to keep the crust soft",
        "Ich möchte sichergehen, dass mein Formular die Eingaben prüft, und ich bin mir nicht sicher, ob das reicht",
        "J'essaie de régler mon four, et je ne suis pas sûr d'utiliser la bonne température",
        "Estoy intentando validar mi formulario y quiero asegurarme de que todo esté bien escrito",
        "我想确保我的表单写得正确，我不确定这样行不行",
        "フォームの確認をしようとしているのですが、書き方に自信がありません",
    ],
)
def test_what_somebody_is_at_is_no_rule(text: str) -> None:
    assert not any(line.startswith("[rule]") for line in said(text))


@pytest.mark.parametrize(
    "text",
    [
        "I'm trying to eat less sugar, so always leave the desserts out when you plan my meals",
        "If you're not sure, ask me first, always",
        "Ich versuche mein Deutsch zu verbessern, also antworte mir immer auf Deutsch",
        "frag mich bei kleinen Fehlern nie, mach einfach",
    ],
)
def test_a_rule_beside_what_somebody_is_at_is_one(text: str) -> None:
    assert any(line.startswith("[rule]") for line in said(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "linde ist abgeschaltet, alles läuft seit samstag auf esche. port bleibt.",
            "linde ist abgeschaltet, alles läuft seit samstag auf esche. port bleibt",
        ),
        (
            "設計の人が増えてCADのライセンスを8本に増やした。年96万。",
            "設計の人が増えてCADのライセンスを8本に増やした。年96万",
        ),
    ],
)
def test_a_sentence_that_needs_the_one_before_it_is_quoted_with_that(text: str, line: str) -> None:
    (found,) = said(text)

    assert line in found


@pytest.mark.parametrize(
    "text",
    [
        "no me pidas perdón, nunca. el worker corre en tordo",
        "Die Miete ist 920 Euro warm. Der Kater kriegt nur Nassfutter, er hat was an der Niere.",
        "on avait promis 24 mois d'autonomie. le réseau est passé à 10, les balises du fond passaient pas",
    ],
)
def test_an_article_points_at_nothing_before_it(text: str) -> None:
    assert len(said(text)) == 2


def test_what_was_only_supposed_is_taken_back_without_the_line_before_it() -> None:
    lines = said(
        "水曜は俺16時に上がる、息子の学童の迎え。小1でさ。もし来年も一人体制のままなら転職も考えるけどな…まあ寝言だ、忘れて"
    )

    assert ["水曜は俺16時に上がる" in line for line in lines] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "put it in my name, Joanne Tapscott",
        "Mettez-lui quand même un « Merci », pour une fois, elle a été adorable",
    ],
)
def test_what_is_ordered_or_told_for_once_is_no_rule(text: str) -> None:
    assert not any(line.startswith("[rule]") for line in said(text))


@pytest.mark.parametrize(
    "text",
    [
        "敬語ガチガチやと疲れるから、うちにはもっと気楽にしゃべって",
        "no me mandes listas con mil viñetas porfa, escribime cortito como charlando",
    ],
)
def test_a_rule_is_found_in_a_part_of_a_sentence(text: str) -> None:
    (line,) = said(text)

    assert line.startswith("[rule]")


def test_a_scrap_of_an_answer_stays_in_history() -> None:
    talk = [("assistant", "Shall I write a handover page for Priya?"), ("user", "Yes, in docs/handover.md.")]
    assert all("?] " in line for line in summary(talk))
    assert findings({}, "\n".join(f"- {line}" for line in summary(talk))) == []
