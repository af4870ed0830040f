"""The page in a real browser: clicks, keys, two tabs, a narrow window, no JavaScript, and nothing of memory run."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from dream.directory import Workspace
from tests.web.conftest import HOLD, Browser, served, talk
from tests.web.test_acts import known_places
from tests.web.test_shown import ATTACKS, PAGES, XSS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
Visit = Callable[..., "Page"]
# Of every element that shows text itself: how its colour stands out from what is behind it, where that is too little.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const channels = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  for (const one of document.body.querySelectorAll("*")) {
    const shows = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!shows || !one.getClientRects().length) continue;
    const svg = one instanceof SVGElement;
    const style = getComputedStyle(one);
    const [a, b] = [light(channels(svg ? style.fill : style.color)), light(behind(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`);
  }
  return poor;
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """A headless Chromium; without one, or without Playwright, these tests are passed over."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with driver.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: object, browser: Browser) -> Iterator[Visit]:
    """Come in with the printed address: in a new window, made as is asked for."""
    contexts: list[BrowserContext] = []

    def come_in(path: str = "/", at: Browser = browser, **window: object) -> Page:
        context = chromium.new_context(base_url=f"http://127.0.0.1:{at.gate.port}", **window)  # type: ignore[attr-defined]
        contexts.append(context)
        page = context.new_page()
        page.goto(at.gate.address)
        page.goto(path)
        return page

    yield come_in
    for context in contexts:
        context.close()


def test_two_clicks_lead_from_the_first_page_to_the_message(visit: Visit) -> None:
    page = visit("/")
    page.click("text=Memory >> nth=0")
    page.click("text=Has a dog called Rex")
    page.wait_for_selector(".opened >> text=Has a dog called Rex.")
    assert page.url.endswith("/memory")
    assert "claude-code:s1#1" in page.inner_text(".opened")


def press(page: Page, key: str, shown: str) -> None:
    """Press a key, and wait for what the next page shows, its script too."""
    page.keyboard.press(key)
    page.wait_for_selector(shown)
    page.wait_for_load_state()


def test_the_keys_decide_and_move(visit: Visit, workspace: Workspace) -> None:
    page = visit("/review")
    press(page, "j", "h2 >> text=2. USER.md")
    press(page, "k", "h2 >> text=1. USER.md")
    press(page, "a", "text=1 finding accepted.")
    press(page, "r", "text=1 finding rejected this time.")
    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.type("a j n r")  # in a text they are letters
    assert [one.id for one in workspace.pending()] == [3]
    page.click("h1")
    press(page, "n", "text=Nothing is held for review.")
    press(page, "u", "text=Undone")
    assert "Likes green tea" in workspace.read_file("USER.md")
    assert "stays remembered" in page.inner_text("[role=status]")
    assert ([one.id for one in workspace.pending()], len(workspace.rejected())) == ([3], 1)


def test_437_findings_are_cleared_in_under_a_minute(visit: Visit, workspace: Workspace) -> None:
    path = workspace.memory / ".pending.jsonl"
    tea, oboe, port = path.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(one.replace("green tea", f"tea {n}")) | {"id": n} for n, one in enumerate([tea] * 435, 1)]
    rows += [json.loads(oboe) | {"id": 436}, json.loads(port) | {"id": 437}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    began = time.monotonic()
    page = visit("/review")
    page.keyboard.press("Control+End")
    page.fill("input[name=q]", "tea")
    page.click("button >> text=Filter")
    page.click("text=Decide on many at once")
    page.check("text=all 435 that the filter leaves")
    page.click("fieldset button >> text=Reject this time")
    page.wait_for_selector("text=435 findings rejected this time.")
    page.goto("/review")
    press(page, "a", "text=1 finding accepted.")
    press(page, "n", "text=1 finding put away for good.")
    assert time.monotonic() - began < 60
    assert workspace.pending() == []


def test_a_restore_is_shown_and_done_by_clicks(visit: Visit, workspace: Workspace) -> None:
    page = visit("/timeline")
    page.click("text=/dream: .*Rex/")
    page.click("text=Memory as it was before it…")
    page.wait_for_selector("text=This would change:")
    page.click("text=Restore this")
    page.wait_for_selector("text=Memory is as it was just before")
    assert "Rex" not in workspace.read_file("USER.md")
    page.click("button >> text=Undo")
    page.wait_for_selector("text=Undone")
    assert "Rex" in workspace.read_file("USER.md")


def test_two_tabs_and_an_editor_never_overwrite_each_other(visit: Visit, workspace: Workspace) -> None:
    one, other = visit("/review"), visit("/review")
    one.keyboard.press("a")
    one.wait_for_selector("text=1 finding accepted.")
    other.wait_for_selector("#changed:not([hidden])")  # told without being asked
    other.keyboard.press("a")
    other.wait_for_selector("text=1 is no longer held")
    line = visit("/memory")
    line.click("text=Has a dog called Rex")
    line.wait_for_selector(".opened textarea")
    saved = workspace.read_file("USER.md") + "- Saved meanwhile\n"
    (workspace.root / "USER.md").write_text(saved, encoding="utf-8")
    line.fill(".opened textarea", "- Mine")
    line.click("text=Save as your own words")
    line.wait_for_selector("text=USER.md changed")
    assert workspace.read_file("USER.md") == saved


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_page_fits_a_narrow_window_and_can_be_read(visit: Visit, scheme: str) -> None:
    page = visit("/", viewport={"width": 360, "height": 640}, color_scheme=scheme)
    for path in PAGES:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
        assert page.evaluate(CONTRAST) == [], path


def test_all_of_it_works_without_javascript(visit: Visit, workspace: Workspace) -> None:
    page = visit("/", java_script_enabled=False)
    page.click("nav >> text=Review")
    page.click("button >> text=Accept")
    page.wait_for_selector("text=1 finding accepted.")
    page.check("text=all 2 that are held")
    page.click("fieldset button >> text=Never again")
    page.wait_for_selector("text=2 findings put away for good.")
    page.goto(page.url.split("/review")[0] + "/")
    page.click("a.why >> text=Has a dog called Rex")
    page.wait_for_selector("text=What it rests on")
    assert "claude-code:s1#1" in page.inner_text("main")
    page.fill("textarea", "- Has a cat")
    page.click("text=Save as your own words")
    page.wait_for_selector("text=USER.md is as you wrote it.")
    assert workspace.pending() == []


def test_the_keyboard_alone_is_enough(visit: Visit, workspace: Workspace) -> None:
    page = visit("/review")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(40):
        if page.evaluate("document.activeElement.textContent").startswith("Accept"):
            break
        page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 finding accepted.")
    assert "Likes green tea" in workspace.read_file("USER.md")


@pytest.mark.parametrize("texts", [XSS, ATTACKS], ids=["xss", "attacks"])
def test_nothing_that_memory_says_runs_or_is_loaded(visit: Visit, workspace: Workspace, texts: tuple[str, ...]) -> None:
    lines = "".join(f"- {text}\n" for text in texts)
    for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (workspace.root / name).write_text(f"# {texts[0]}\n{lines}", encoding="utf-8")
    talk(workspace, *(f"[USER] {' '.join(text.split())} is held" for text in texts[:8]), settings=HOLD)
    with served(workspace.root) as hostile:
        page = visit("/", hostile)
        ran: list[str] = []
        page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: ran.append(message.text))
        page.on("request", lambda asked: None if f":{hostile.gate.port}/" in asked.url else ran.append(asked.url))
        for path in PAGES:
            page.goto(path)
            assert page.evaluate("document.scripts.length") == 1
            for link in page.query_selector_all("a[data-open]")[:12]:
                link.click()
            page.wait_for_timeout(100)
        assert ran == []


def test_dates_and_numbers_are_as_the_browser_s_language_has_them(visit: Visit) -> None:
    page = visit("/timeline", locale="de-DE", timezone_id="UTC")
    assert "21.11.2026" in page.inner_text("tbody")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_line_moves_only_to_a_file_that_is_chosen_and_two_projects_are_told_apart(
    visit: Visit, workspace: Workspace, width: int
) -> None:
    known_places(workspace)
    page = visit("/memory?file=memory/MEMORY.md", viewport={"width": width, "height": 900})
    same, other = (page.get_by_role("button", name=name).bounding_box() for name in ("The same:", "Not the same"))
    assert same
    assert other
    beside = same["x"] + same["width"] < other["x"]
    assert beside or same["y"] + same["height"] < other["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("link", name="The harbour opens").click()
    page.get_by_role("button", name="Move").click()
    assert page.locator("select[name=to]:invalid").count() == 1
    page.select_option("select[name=to]", "places/crumb/MEMORY.md")
    page.get_by_role("button", name="Move").click()
    page.get_by_text("Moved to places/crumb/MEMORY.md.").wait_for()
    assert "harbour" in workspace.read_file("places/crumb/MEMORY.md")
    page.get_by_role("link", name="places/crumb/MEMORY.md").click()
    page.get_by_role("button", name="Not the same").click()
    page.get_by_text("crumb-2 and crumb stay apart.").wait_for()
    assert page.get_by_role("button", name="Not the same").count() == 0
