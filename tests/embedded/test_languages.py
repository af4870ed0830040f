"""Memory is written in the language the user speaks: German and Japanese are kept as they were said."""

import pytest

from tests.embedded.asking import findings, said


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Ich heiße Anna und wohne in Köln.", "[USER] Ich heiße Anna und wohne in Köln (8 May 2023) {1}"),
        ("Ich arbeite als Lehrerin bei Siemens.", "[USER] Ich arbeite als Lehrerin bei Siemens (8 May 2023) {1}"),
        ("Bitte antworte immer auf Deutsch.", "[SOUL] Antworte immer auf Deutsch {1}"),
        ("Am 3. Mai fliege ich nach Rom.", "[MEMORY] Am 3. Mai fliege ich nach Rom (8 May 2023) {1}"),
        ("私は大阪に住んでいます。", "[USER] 私は大阪に住んでいます（2023年5月8日） {1}"),
        ("コーヒーが好きです。", "[USER] コーヒーが好きです（2023年5月8日） {1}"),
        ("いつも日本語で答えてください。", "[SOUL] いつも日本語で答えてください {1}"),
        ("我住在成都。", "[USER] 住在成都（2023年5月8日） {1}"),
        ("请把回答控制在72字以内。", "[SOUL] 把回答控制在72字以内 {1}"),
    ],
)
def test_a_fact_is_kept_in_its_own_language_and_has_its_file(text: str, finding: str) -> None:
    assert findings({}, "\n".join(f"- {line}" for line in said(text))) == [finding]
