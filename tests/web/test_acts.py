"""Each act of the page does what the command line does, on the very state that was shown, or nothing."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from dream.actions import review
from dream.actions.restore import restore
from dream.directory import Workspace
from dream.workspace.lock import run_lock
from tests.cli.commands import dream
from tests.web.conftest import HOLD, NOW, Browser, served, talk
from tests.workspaces import distrusted


def user(workspace: Workspace) -> str:
    return workspace.read_file("USER.md")


def test_a_fact_is_noted_on_the_page_and_backticks_of_memory_are_shown_as_code(
    browser: Browser, workspace: Workspace
) -> None:
    talk(workspace, "[MEMORY] Tests run with `make <b>` and a lone ` stays")
    page = browser.get("/memory?file=memory/MEMORY.md")
    assert "Tests run with <code>make &lt;b&gt;</code> and a lone ` stays" in page.source

    said = browser.send(page.form("/note"), text="I keep bees\r\nand two hives")

    assert "Noted as entry" in said.text
    (entry,) = [one for one in workspace.history.after(0) if one.kind == "note"]
    assert (entry.content, {line.voice for line in entry.lines}) == ("I keep bees\nand two hives", {"user"})
    browser.send(page.form("/note"), 400)


def known_places(workspace: Workspace) -> None:
    told = 'name = "{0}"\npaths = ["/work/{0}"]\nremotes = ["host.example/lena/crumb"]\n'
    (workspace.root / "places").mkdir(exist_ok=True)
    rows = [f"[p-0000000{number}]\n{told.format(name)}" for number, name in enumerate(("crumb", "crumb-2"))]
    (workspace.root / "places" / "places.toml").write_text("\n".join(rows), encoding="utf-8")


def test_a_line_is_moved_to_another_place_or_file_on_the_page_and_undone(
    browser: Browser, workspace: Workspace
) -> None:
    known_places(workspace)
    (line,) = browser.get("/memory?file=memory/MEMORY.md").links("The harbour opens")
    form = browser.get(line).form("/move")
    done = browser.send(form, to="places/crumb/MEMORY.md")
    assert "Moved to places/crumb/MEMORY.md" in done.text
    assert "harbour" in workspace.read_file("places/crumb/MEMORY.md")
    assert "harbour" not in workspace.read_file("memory/MEMORY.md")
    assert "is another now" in browser.send(form, 409, to="USER.md").text
    browser.send(done.form("/undo"))
    assert "harbour" in workspace.read_file("memory/MEMORY.md")
    again = browser.get(line).form("/move")
    (workspace.root / "USER.md").write_text("# User\n- typed meanwhile\n", encoding="utf-8")
    assert "USER.md changed" in browser.send(again, 409, to="USER.md").text
    assert "no place" in browser.send(browser.get(line).form("/move"), 400, to="places/other/SOUL.md").text.lower()
    browser.send(browser.get(line).form("/move"), 400, to="../../etc/passwd")
    (waiting,) = browser.get("/memory?file=USER.md").links("typed meanwhile")
    browser.send(browser.get(waiting).form("/move"), to="memory/MEMORY.md")
    assert "typed meanwhile" in workspace.read_file("memory/MEMORY.md")


def test_the_page_asks_once_whether_two_projects_are_the_same(browser: Browser, workspace: Workspace) -> None:
    known_places(workspace)
    shown = browser.get("/")
    assert "crumb-2 has the git remote of crumb. Is it the same project?" in " ".join(shown.text.split())
    done = browser.send(browser.get("/memory").form("/places", ("act", "apart")))
    assert "stay apart" in done.text
    assert not [form for form in browser.get("/").forms if form.action == "/places"]
    browser.send(done.form("/undo"))
    assert "Something changed" in browser.send(shown.form("/places", ("act", "same")), 409).text
    assert "crumb-2 is crumb" in browser.send(browser.get("/").form("/places", ("act", "same"))).text
    (place,) = workspace.places().all()
    assert (place.name, place.paths) == ("crumb", ("/work/crumb", "/work/crumb-2"))


def test_a_fact_that_is_added_on_a_place_s_file_counts_for_that_place(browser: Browser, workspace: Workspace) -> None:
    known_places(workspace)
    (workspace.root / "places" / "crumb").mkdir()
    (workspace.root / "places" / "crumb" / "SOUL.md").write_text("- Use tabs\n", encoding="utf-8")
    browser.send(browser.get("/memory?file=places/crumb/SOUL.md").form("/note"), text="Staging is at port 7391")
    assert [one.place for one in workspace.history.after(0) if one.kind == "note"] == ["p-00000000"]


def press(browser: Browser, act: str, path: str = "/review", **typed: str) -> str:
    form = browser.get(path).form("/review", ("act", act))
    return browser.send(form, **typed).text


def test_accept_writes_exactly_this_and_leaves_the_others(browser: Browser, workspace: Workspace) -> None:
    said = press(browser, "accept")
    assert "1 finding accepted." in said
    assert "- Likes green tea\n" in user(workspace)
    assert [one.id for one in workspace.pending()] == [2, 3]


def test_what_is_accepted_as_edited_is_the_person_s_own(browser: Browser, workspace: Workspace) -> None:
    press(browser, "edit", text="- Likes oolong\r\n- And no coffee")
    assert "- Likes oolong\n- And no coffee\n" in user(workspace)
    newest = workspace.git.log(1)[0]
    assert (newest.kind, "edited and accepted in review: 1" in newest.subject) == ("hand", True)


@pytest.mark.few(1)
@pytest.mark.parametrize(("act", "remembered"), [("reject", []), ("never", ["Likes green tea"])])
def test_reject_puts_away_and_never_again_remembers(
    browser: Browser, workspace: Workspace, act: str, remembered: list[str]
) -> None:
    press(browser, act)
    assert "green tea" not in user(workspace)
    assert [one.id for one in workspace.pending()] == [2, 3]
    assert [one.text for one in workspace.rejected()] == remembered


def test_many_are_decided_by_a_filter_in_one_commit_and_undone_at_once(browser: Browser, workspace: Workspace) -> None:
    before = user(workspace)
    commits = len(workspace.git.log())
    page = browser.get("/review?file=USER.md")
    assert "2 of 3 findings" in page.text
    many = next(form for form in page.forms if "shown" in form.values)
    done = browser.send(many, act="accept", all="1")
    assert "2 findings accepted." in done.text
    assert (len(workspace.git.log()), [one.id for one in workspace.pending()]) == (commits + 1, [3])
    assert "Undone" in browser.send(done.form("/undo")).text
    assert (user(workspace), [one.id for one in workspace.pending()]) == (before, [1, 2, 3])


def test_a_filter_that_leaves_something_else_meanwhile_decides_nothing(browser: Browser, workspace: Workspace) -> None:
    page = browser.get("/review?file=USER.md")
    many = next(form for form in page.forms if "shown" in form.values)
    talk(workspace, "[USER] Was born in Goa", settings=HOLD)
    assert "no longer what was shown" in browser.send(many, 409, act="never", all="1").text
    assert (len(workspace.pending()), workspace.rejected()) == (4, [])


def test_two_tabs_decide_once(browser: Browser, workspace: Workspace) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    browser.send(form)
    assert "1 is no longer held" in browser.send(form, 409).text
    assert user(workspace).count("green tea") == 1


def test_an_edit_that_is_another_meanwhile_is_not_accepted(browser: Browser, workspace: Workspace) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    path = workspace.memory / ".pending.jsonl"
    path.write_bytes(path.read_bytes().replace(b"green tea", b"black tea"))
    assert "1 is another edit now" in browser.send(form, 409).text
    assert "tea" not in user(workspace)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["before", "at", "only"])
def test_a_restore_is_previewed_then_done_as_the_command_does_it(
    browser: Browser, workspace: Workspace, mode: str
) -> None:
    sha = next(one.sha for one in workspace.git.log() if "USER.md" in one.files)
    preview = browser.get(f"/restore?sha={sha}&mode={mode}&forget=1")
    plan = restore(workspace, sha, mode=mode, forget=True, dry_run=True, now=NOW)  # type: ignore[arg-type]
    before = user(workspace)
    if mode == "at":
        assert plan.reason or not plan.diff.text or preview.forms
    else:
        assert "Has a dog called Rex" in preview.text
        done = browser.send(preview.form("/restore"))
        assert user(workspace) != before
        assert "Rex" not in user(workspace)
        assert {one.text for one in workspace.rejected()} == {one.text for one in plan.forgotten}
        browser.send(done.form("/undo"))
        assert user(workspace) == before


def test_a_restore_of_what_changed_meanwhile_does_nothing_and_says_what_changed(
    browser: Browser, workspace: Workspace
) -> None:
    sha = next(one.sha for one in workspace.git.log() if "USER.md" in one.files)
    form = browser.get(f"/restore?sha={sha}&mode=before").form("/restore")
    review.accept(workspace, [2], now=NOW)
    saved = workspace.read_file("SOUL.md") + "- Be brief\n"
    (workspace.root / "SOUL.md").write_text(saved, encoding="utf-8")
    said = browser.send(form, 409).text
    assert "accepted in review: 2" in said
    assert "SOUL.md changed" in said
    assert "Rex" in user(workspace)
    assert workspace.read_file("SOUL.md") == saved


@pytest.mark.slow
def test_a_restore_in_a_terminal_meanwhile_is_told_of_and_not_written_over(
    browser: Browser, workspace: Workspace
) -> None:
    page = browser.get(line(browser, "dog called Rex"))
    sha = next(one.sha for one in workspace.git.log() if "USER.md" in one.files)
    assert dream("restore", sha, "--yes", "-w", workspace.root).status == 0
    restored = user(workspace)
    refused = browser.send(page.form("/line", ("act", "edit")), 409, text="- Has two dogs")
    assert "restore" in refused.text or "is another now" in refused.text
    assert "- Has two dogs" in refused.text
    assert (user(workspace), "Rex" in restored) == (restored, False)


@pytest.mark.slow
def test_of_several_findings_in_one_edit_each_is_decided_for_itself(browser: Browser, workspace: Workspace) -> None:
    path = workspace.memory / ".pending.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    row["new_text"] = f"{row['old_text']}\n- Likes green tea\n- Likes black coffee"
    row["findings"] = ["[USER] Likes green tea {3}", "[USER] Likes black coffee {3}"]
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    who = ("-c", "user.name=x", "-c", "user.email=x@x.example")
    subprocess.run(["git", "-C", workspace.root, *who, "commit", "-qam", "as if held so"], check=True)
    page = browser.get("/review")
    assert "2 of 2 findings" in page.text
    browser.send(page.form("/review", ("act", "accept")))
    assert "- Likes green tea\n" in user(workspace)
    left = browser.get("/review")
    assert "Likes black coffee" in left.text
    browser.send(left.form("/review", ("act", "never")))
    assert ("coffee" in user(workspace), workspace.pending()) == (False, [])
    assert [one.text for one in workspace.rejected()] == ["Likes black coffee"]


def line(browser: Browser, text: str) -> str:
    return browser.get("/memory?file=USER.md").links(text)[0]


def test_a_line_is_edited_in_place_as_the_person_s(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(line(browser, "dog called Rex"))
    browser.send(page.form("/line", ("act", "edit")), text="- Has two dogs")
    assert "- Has two dogs\n" in user(workspace)
    assert "Rex" not in user(workspace)
    assert workspace.git.log(1)[0].kind == "hand"


def test_a_line_that_somebody_saved_meanwhile_is_not_written_over(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(line(browser, "dog called Rex"))
    (workspace.root / "USER.md").write_text(user(workspace) + "- Typed just now\n", encoding="utf-8")
    refused = browser.send(page.form("/line", ("act", "edit")), 409, text="- My long sentence")
    assert "USER.md changed" in refused.text
    assert "- My long sentence" in refused.text
    assert "Typed just now" in user(workspace)
    assert "Rex" in user(workspace)


def test_never_again_takes_a_line_out_and_remembers_it(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(line(browser, "dog called Rex"))
    done = browser.send(page.form("/line", ("act", "never")))
    assert "no later dream writes it again" in done.text
    assert "Rex" not in user(workspace)
    assert [one.text for one in workspace.rejected()] == ["Has a dog called Rex"]


def test_forget_shows_first_where_it_stands(browser: Browser, workspace: Workspace) -> None:
    page = browser.get(line(browser, "dog called Rex"))
    preview = browser.send(page.form("/forget"))
    assert "memory/history.jsonl" in preview.text
    assert "Rex" in user(workspace)
    done = browser.send(preview.form("/forget", ("act", "forget")))
    assert "Forgotten." in done.text
    assert "Rex" not in user(workspace) + (workspace.memory / "history.jsonl").read_text(encoding="utf-8")


def test_while_a_run_is_under_way_nothing_is_done(browser: Browser, workspace: Workspace) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    with run_lock(workspace.private, "dream run"):
        assert "A run is under way" in browser.get("/").text
        assert "`dream run`" in browser.send(form, 409).text
    assert "1 finding accepted." in browser.send(form).text


def test_a_repository_that_is_gone_shows_what_there_is(browser: Browser, workspace: Workspace) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    shutil.rmtree(workspace.root / ".git")
    for path in ("/", "/memory", "/review", "/timeline", "/nights", "/search?q=Rex"):
        page = browser.get(path)
        assert "Its versions are gone" in page.text
        assert [one.action for one in page.forms if one.method == "post"] in ([], ["/review"])
    assert "Has a dog called Rex" in browser.get("/memory").text
    assert "no versions yet" in browser.send(form, 503).text


def test_a_workspace_that_is_gone_says_so(browser: Browser, workspace: Workspace) -> None:
    workspace.history.close()
    shutil.rmtree(workspace.root)
    assert "is no workspace" in browser.get("/memory", 503).text


def test_an_untrusted_workspace_shows_what_there_is_and_says_so(workspace: Workspace) -> None:
    distrusted(workspace)
    (workspace.root / "dream.toml").write_text('on_change = "echo"\n', encoding="utf-8")
    with served(workspace.root) as browser:
        page = browser.get("/memory")
    assert "not trusted on this machine: its own settings (on_change)" in page.text
    assert "Has a dog called Rex" in page.text
