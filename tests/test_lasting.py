"""What is the last to go of a full memory is told by the form of its sentence, in every language of memory."""

import pytest

from dream.dreaming.commit import lasting


@pytest.mark.parametrize(
    "line",
    [
        "- The user is called Vera (3 May 2023)",
        "- Lives in Bergen",
        "- Is allergic to nuts (3 May 2023)",
        '- "We decided to build the hull of larch" (3 May 2023)',
        "- Vera: “The API timeout of Plover is 300 ms” (3 May 2023)",
        "- We decided to build the hull of larch",
        "- Otto is responsible for the rigging (3 May 2023)",
        "- The API timeout of Plover is 300 ms",
        "- We deploy Plover every Monday",
        "- We want to launch Plover on 20 January 2024",
        "- Our wiki is at https://wiki.plover.example/start",
        "- The charts live in /srv/charts",
        "- Melanie, a friend of Caroline, has kids and a job",
        "- Melanie has been married for 5 years (as of June 2023)",
        "- Caroline has a guinea pig called Oscar, whose favorite food is veggies such as parsley",
        "- Otto is from Orkney: his art tells of the sea; he shows it in the harbour, where people come to see it",
        "- The tests of Plover are run with just check",
        "- The leak came from the pump; a new seal fixed it",
        "- Der Testserver läuft auf Port 8080 (3. Mai 2023)",
        "- 测试服务器的端口是8080（2023年5月3日）",
        "- サーバーのポートは8080です（2023年5月3日）",
    ],
)
def test_who_the_user_is_decisions_and_values_last(line: str) -> None:
    assert lasting(line)


@pytest.mark.parametrize(
    "line",
    [
        "- Vera sailed to Bergen on 3 May 2023",
        "- Saw 12 herons near mile 4",
        "- The regatta was on Monday",
        "- Otto is looking for a new mast",
        "- Is kind of tired of the rain",
        "- Otto is a bit tired",
        "- Melanie went swimming on 8 May 2023, with her kids and a friend from the north; her kids and she have a dog",
        "- We went to see the islands on Friday",
        "- 昨天去了12个岛了（2023年5月3日）",
    ],
)
def test_what_somebody_did_does_not(line: str) -> None:
    assert not lasting(line)
