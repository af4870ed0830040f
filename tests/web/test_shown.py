"""What the pages show: where each line comes from, and nothing of memory as markup, whatever strangers wrote."""

from __future__ import annotations

import html
import re
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import httpx
import pytest

from dream.directory import Workspace
from dream.reports import Usage
from dream.web import views
from dream.web.server import HERE
from dream.workspace import runs, stamp
from dream.workspace.bills import Bills
from tests.attacks.cases import CASES
from tests.cli.commands import dream
from tests.forking import DREAM, Program
from tests.test_layers import call, modules_after
from tests.web.conftest import HOLD, Browser, Page, served, talk

XSS = (
    "<script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<svg/onload=alert(1)>",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/beacon.png)",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "</title><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "{{ 7 * 7 }} {% raw %} ${7*7} <%= 7 * 7 %>",
    "<style>@import 'https://evil.example'</style>",
    "<base href=https://evil.example/>",
    "<form action=https://evil.example><button>x",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &amp;quot;",
    "\u2028<script>\u202ealert(1)",
    "<input autofocus onfocus=alert(1)>\"'`",
)
ATTACKS = tuple(dict.fromkeys(line for case in CASES for line in case.wanted))
OURS = {
    *("html", "head", "meta", "title", "link", "script", "body", "a", "header", "nav", "ul", "ol", "li", "main", "p"),
    *("span", "form", "input", "button", "label", "select", "option", "textarea", "table", "caption", "thead", "tbody"),
    *(
        "tr",
        "th",
        "td",
        "section",
        "article",
        "h1",
        "h2",
        "h3",
        "strong",
        "kbd",
        "code",
        "pre",
        "footer",
        "time",
        "data",
    ),
    *("mark", "blockquote", "cite", "fieldset", "legend", "div", "br", "figure", "figcaption", "details", "summary"),
    *("svg", "line", "text", "g", "polyline", "circle", "rect"),
}
PAGES = ("/", "/memory?file=SOUL.md", "/memory?file=USER.md", "/memory?file=memory/MEMORY.md", "/review", "/timeline")
PAGES += ("/search?q=alert", "/nights", "/change/HEAD~1", "/restore?sha=HEAD~1&mode=before")


def is_plain(page: Page) -> bool:
    """Return whether a page holds no element, attribute or address that is not the templates' own."""
    for tag, attributes in page.elements:
        assert tag in OURS, (tag, attributes)
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, attributes)
            assert name not in ("style", "srcdoc", "srcset", "background", "formaction"), (tag, attributes)
            if name in ("href", "src", "action"):
                assert re.fullmatch(r"|#main|#held|#all|/[^/\\].*|/", value or ""), (tag, value)
        if tag in ("script", "link"):
            assert (attributes.get("src") or attributes.get("href") or "").startswith("/static/")
    scripts = [tag for tag, _ in page.elements if tag == "script"]
    return len(scripts) == 1


def every_page(browser: Browser) -> Iterator[Page]:
    """Open each page, and the page of each line and change that it links to."""
    seen = set[str]()
    for path in PAGES:
        page = browser.get(path)
        yield page
        for found in re.findall(r'href="(/(?:line|change)[^"]*)"', page.source):
            where = html.unescape(found)
            if where not in seen and len(seen) < 30:
                seen.add(where)
                yield browser.get(where)


@pytest.mark.few(1)
@pytest.mark.parametrize("texts", [XSS, ATTACKS], ids=["xss", "attacks"])
def test_nothing_that_memory_says_is_markup(workspace: Workspace, texts: tuple[str, ...]) -> None:
    lines = "".join(f"- {text}\n" for text in texts)
    for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (workspace.root / name).write_text(f"# {texts[0]}\n\n## {texts[2]}\n{lines}", encoding="utf-8")
    flat = [" ".join(text.split()) for text in texts[:8]]
    talk(workspace, *(f"[MEMORY] {text} in writing" for text in flat))
    talk(workspace, *(f"[USER] {text} is held" for text in flat), settings=HOLD)
    with served(workspace.root) as browser:
        found = list(every_page(browser))
        assert all(is_plain(page) for page in found)
        for text in texts[:3]:
            assert any(text in page.text for page in found)
            page = browser.get(f"/search?q={quote(text)}")
            assert is_plain(page)
            assert is_plain(browser.get(f"/timeline?q={quote(text)}&file={quote(text)}"))
            assert is_plain(browser.get(f"/review?q={quote(text)}&at={quote(text)}&guard={quote(text)}"))
            assert is_plain(browser.get(f"/restore?sha={quote(text)}", 404))


def test_a_line_leads_in_one_step_to_the_message_it_rests_on(browser: Browser) -> None:
    page = browser.get(browser.get("/memory").links("dog called Rex")[0])
    assert "Has a dog called Rex." in page.text
    assert "claude-code:s1#1" in page.text
    assert "Is there more?" in page.text
    assert re.search(r"dream: \d+ lines? from 1 session: .*Rex", page.text)


def test_a_line_knows_its_earlier_forms(browser: Browser) -> None:
    page = browser.get(browser.get("/memory").links("dog called Rex")[0])
    browser.send(page.form("/line", ("act", "edit")), text="- Has a dog called Rex and a cat")
    page = browser.get(browser.get("/memory").links("and a cat")[0])
    assert "Its earlier forms" in page.text
    assert "- Has a dog called Rex\n" in page.text.replace("Rex", "Rex\n")
    assert "claude-code:s1#1" in page.text


def test_last_night_tells_what_ran_changed_and_was_held(browser: Browser) -> None:
    page = browser.get("/")
    for said in ("Works; all of history is dreamt.", "committed", "Has a dog called Rex", "every edit waits"):
        assert said in page.text
    assert "dog called Rex" in browser.get(page.links("Has a dog called Rex")[0]).text


def test_runs_of_the_day_are_not_called_a_night(workspace: Workspace, browser: Browser) -> None:
    assert "Last runs" in browser.get("/").text
    stamp.stamp(workspace.private, runs.last(workspace.private)[0].started)
    assert "Last runs" not in browser.get("/").text


def test_the_timeline_is_filtered_by_text_file_and_hand(browser: Browser, workspace: Workspace) -> None:
    (workspace.root / "SOUL.md").write_text("# Soul\n\n- Be brief\n", encoding="utf-8")
    talk(workspace, "[MEMORY] The ferry is blue")
    for query, count in QUERIES.items():
        found = re.search(r"(\d+) changes?[.,]", browser.get(f"/timeline?{query}").text)
        assert found is not None
        assert (query, found[1]) == (query, count)


QUERIES = {
    "": "5",
    "q=ferry": "1",
    "q=brief": "1",
    "q=REX": "1",
    "kind=hand": "1",
    "file=SOUL.md": "2",
}


def test_search_opens_what_it_finds(browser: Browser) -> None:
    page = browser.get("/search?q=harbour")
    assert "The harbour opens at nine" in page.text
    assert "claude-code:s1#" in browser.get(page.links("The harbour opens at nine")[0]).text


def test_a_line_that_search_finds_has_a_day_and_no_time_of_day(browser: Browser) -> None:
    found = browser.client.get("/search?q=harbour&kind=memory").text
    assert re.search(r'<span data-day="(\d{4}-\d\d-\d\d)" data-long>\1</span>', found)
    assert "<time" not in found.partition('<ol class="hits"')[2].partition("</ol>")[0]


def test_a_line_that_search_finds_leads_to_what_it_rests_on(browser: Browser) -> None:
    found = browser.get("/search?q=harbour&kind=memory").links("The harbour opens at nine")
    assert "claude-code:s1#" in browser.get(found[0]).text


def test_of_a_long_message_the_sentence_meant_is_shown_with_a_little_around_it() -> None:
    rain = "It rained all day. " * 400
    parts = views.excerpt(f"{rain}My cat is called Tom 2.0. {rain}", "A cat called Tom (3 May 2026)", meant=True)
    assert [text.strip() for text, meant in parts if meant] == ["My cat is called Tom 2.0."]
    assert sum(len(text) for text, _ in parts) < 1_000
    ((beside, _),) = views.excerpt(rain, "A cat called Tom", meant=False)
    assert len(beside) < 300


def test_a_message_opens_in_full_where_its_citation_leads(browser: Browser) -> None:
    page = browser.get(browser.get("/memory").links("dog called Rex")[0])
    opened = browser.get(page.links("claude-code:s1#1")[0])
    assert "Has a dog called Rex." in opened.text


def test_the_nights_have_a_table_behind_each_picture(browser: Browser, workspace: Workspace) -> None:
    bills = Bills(workspace.private)
    for job, tokens in (("consolidator", 900), ("phase1", 300), ("phase2", 100)):
        bills.add("openai/m", Usage(1, tokens, 0, tokens / 1e4), datetime.now(UTC), job)
    page = browser.get("/nights")
    tags = [tag for tag, _ in page.elements]
    assert tags.count("svg") == tags.count("details") == tags.count("table") >= 5
    for picture in ("Tokens, by job and model", "Money, by job and model"):
        figure = page.source.partition(picture)[2].partition("</figure>")[0]
        legend = [name for name in re.findall(r'<span class="s\d">(.*?)</span>', figure) if "openai/m" in name]
        assert legend == ["consolidation: openai/m", "analysis: openai/m", "editing: openai/m"]


def test_every_page_has_landmarks_one_heading_and_a_name_for_each_field(browser: Browser) -> None:
    for page in every_page(browser):
        tags = [tag for tag, _ in page.elements]
        assert [tags.count(one) for one in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
        named = re.sub(r"<label>.*?</label>", "", page.source, flags=re.DOTALL)
        for field in re.findall(r"<(?:input|select|textarea)[^>]*>", named):
            assert 'type="hidden"' in field or "aria-label" in field, field


BEHIND = {  # what is written on what, by the style sheet
    "ink": ("paper", "raised", "new", "new-mark", "gone", "gone-mark", "warn"),
    "dim": ("paper", "raised", "new", "gone", "warn"),
    "accent": ("paper", "raised", "warn"),
    "paper": ("accent",),
    "good": ("paper",),
    "bad": ("paper", "raised"),
    **{f"s{number}": ("paper",) for number in range(6)},
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_can_be_read_on_what_is_behind_it(scheme: str) -> None:
    light, dark = (HERE / "static" / "style.css").read_text(encoding="utf-8").split("prefers-color-scheme", 1)
    sheet = light if scheme == "light" else dark.partition("\n}\n")[0]
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", sheet))
    poor = {
        (front, behind): round(contrast(colours[front], colours[behind]), 2)
        for front, places in BEHIND.items()
        for behind in places
        if contrast(colours[front], colours[behind]) < 4.5
    }
    assert poor == {}


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 has it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_command_prints_the_address_and_ends_cleanly(
    workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    it = Program(DREAM, "web", "--port", "0", "--no-open", "-w", str(workspace.root))
    address = it.stdout.readline().strip()
    with httpx.Client(trust_env=False, verify=False) as client:
        assert "Last night" in client.get(address, follow_redirects=True).text
    it.send_signal(signal.SIGINT)
    out = it.communicate()
    assert (it.returncode, capfd.readouterr().err) == (0, ""), out


def test_a_port_that_is_taken_is_said_in_a_sentence(workspace: Workspace, browser: Browser) -> None:
    done = dream("web", "--port", browser.gate.port, "--no-open", "-w", workspace.root)
    assert done.status == 1
    assert "name another with --port" in done.err


def test_the_help_and_the_command_line_load_nothing_of_the_server() -> None:
    loaded = modules_after(call("web", "--help"), whole=True)
    assert loaded.isdisjoint({"uvicorn", "starlette", "jinja2", "dream.web"})


def test_a_page_that_is_not_there_looks_like_the_others(browser: Browser) -> None:
    page = browser.get("/nowhere", 404)

    assert "There is no such page" in page.text
    assert "Last night" in page.text
    assert "Nothing stands at history:99" in browser.get("/search?cite=history%3A99", 404).text
