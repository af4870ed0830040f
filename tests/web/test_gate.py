"""Who gets in: with the printed address, on this machine, and from no other page."""

from __future__ import annotations

import httpx

from dream.web.server import HEADERS
from tests.web.conftest import Browser


def test_without_the_token_nothing_is_shown(browser: Browser) -> None:
    for path in ("/", "/memory", "/pulse", "/nowhere", "/?token=wrong", "/memory?token=" + browser.gate.token):
        answer = httpx.get(f"http://127.0.0.1:{browser.gate.port}{path}", trust_env=False, verify=False)
        assert (answer.status_code, "Rex" in answer.text) == (403, False), path


def test_the_first_visit_leaves_a_strict_cookie_and_takes_the_token_out_of_the_address(browser: Browser) -> None:
    answer = httpx.get(browser.gate.address, trust_env=False, verify=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.gate.token.lower() not in cookie


def test_another_host_is_refused(browser: Browser) -> None:
    for host in (
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1.evil.example:{port}",
        "[::1:{port}",
        "[v]",
    ):
        answer = browser.client.get("/", headers={"host": host.format(port=browser.gate.port)})
        assert answer.status_code == 403, host


def test_another_origin_is_refused(browser: Browser) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    for origin in ("null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"):
        headers = {"origin": origin.format(port=browser.gate.port)}
        assert browser.client.post("/review", data=form.values, headers=headers).status_code == 403, origin
        assert browser.client.get("/", headers=headers).status_code == 403, origin


def test_what_another_page_loads_is_refused(browser: Browser) -> None:
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert browser.client.get("/memory", headers=headers).status_code == 403, site


def test_a_form_without_its_token_does_nothing(browser: Browser) -> None:
    form = browser.get("/review").form("/review", ("act", "accept"))
    for values in ({**form.values, "form": "x"}, {k: v for k, v in form.values.items() if k != "form"}):
        assert browser.client.post("/review", data=values).status_code == 403
    assert "3 of 3 findings" in browser.get("/review").text


def test_a_form_is_no_json_and_not_too_large(browser: Browser) -> None:
    assert browser.client.post("/review", json={"form": browser.gate.form}).status_code == 415
    assert browser.client.post("/review", data={"text": "x" * 3_000_000}).status_code == 413
    assert browser.client.get("/undo").status_code == 405


def test_every_answer_bids_the_browser_to_run_nothing_but_ours(browser: Browser) -> None:
    for path in ("/", "/static/page.js", "/nowhere", "/pulse"):
        headers = browser.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in headers
        assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "same-origin")


def test_so_does_every_refusal_and_every_error(browser: Browser) -> None:
    strange = httpx.Client(base_url=browser.client.base_url, trust_env=False, verify=False)
    form = browser.get("/review").form("/review", ("act", "accept"))
    post = browser.client.post
    answers = {
        "no cookie": (403, strange.get("/memory")),
        "another host": (403, strange.get("/", headers={"host": "evil.example"})),
        "another origin": (403, post("/review", data=form.values, headers={"origin": "http://evil.example"})),
        "no token": (403, post("/review", data={"act": "accept"})),
        "no form": (415, post("/review", json={})),
        "too large": (413, post("/review", data={"text": "x" * 3_000_000})),
        "another edit": (409, post("/review", data={**form.values, "item": "1:0000"})),
        "no such line": (400, browser.client.get("/line?file=USER.md&is=0")),
        "no such change": (404, browser.client.get("/change/0000000")),
        "no such file": (404, browser.client.get("/static/nowhere.js")),
        "outside the folder": (404, browser.client.get("/static/..%2fserver.py")),
        "no such method": (405, browser.client.put("/review")),
        "the first visit": (303, strange.get(browser.gate.address)),
    }
    assert {name: answer.status_code for name, (_, answer) in answers.items()} == {
        name: status for name, (status, _) in answers.items()
    }
    for name, (_, answer) in answers.items():
        assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"], name
        assert answer.headers["cache-control"] == "no-store", name
        assert "Traceback" not in answer.text, name
    strange.close()
