"""What is under way: in the tray of the header, in the list of runs and in the title; stopped, found after a reload and resumed."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from .data import scored_pairs_csv
from .pages import App
from .pages.held import HeldAnswer, requests_held
from .serve import HOLD

FIRST, SECOND = "The first", "The second"
_PREDICT = "**/run/predict*"  # what the page asks outside the queue: its timers, and Stop
_SERVER = "**/component_server*"  # what the tray asks


def test_work_is_followed_stopped_and_resumed(app: App, tmp_path: Path) -> None:
    watch_and_stop_a_search_in_the_tray(app, tmp_path / "go on")
    follow_two_runs(app)
    stop_the_run_that_waits(app)
    find_the_run_after_a_reload(app)
    stop_a_run_while_another_browser_tab_is_looked_at(app)
    resume_a_run(app)
    app.forgive_interrupted_requests()


def expect_title(app: App, title: str | re.Pattern[str]) -> None:
    expect(app.page).to_have_title(title)


def watch_and_stop_a_search_in_the_tray(app: App, file: Path) -> None:
    """A search that waits for ``file``, which never comes."""
    tray = app.tray
    tray.open()
    expect(tray.list.locator("li")).to_have_count(0)
    app.search.open()
    app.fill("#search-query", f"{HOLD}{file}")
    app.page.click("#search-go")
    tray.expect_live()
    tray.open()
    expect(tray.entry("Search")).to_be_visible()
    expect_title(app, re.compile(r"Search – SBERT Studio$"))
    app.resize(390, 800)
    app.page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    tray.expect_within(390)
    app.resize(1280)
    with requests_held(app.page, _SERVER):
        tray.stop_button("Search").click()
        expect(tray.stop_button("Search")).to_have_text("Stopping…")
    expect(tray.entry("Search").locator(".sb-stopped")).to_be_visible()
    expect_title(app, "SBERT Studio")
    expect(app.page.locator("#search-cancel")).to_be_hidden()
    app.settle()
    app.expect_address(q=None)  # a later visit does not begin it again
    app.page.keyboard.press("Escape")
    expect(tray.list).to_be_hidden()


def follow_two_runs(app: App) -> None:
    """An answer about the first run that comes after the second was started does not stay."""
    form, page = app.fine_tune, app.page
    form.open()
    form.upload("pairs.csv", scored_pairs_csv(300))
    form.judge_by_one_part()
    form.set("epochs", "1000")
    form.set("name", FIRST)
    form.start()
    expect(form.run_name).to_have_text(FIRST)
    late = HeldAnswer(page, _PREDICT, f'"title":"{FIRST}"')
    late.wait()
    form.set("name", SECOND)
    form.start()
    expect(form.run_name).to_have_text(SECOND)
    expect(form.runs(SECOND)).to_contain_text("1 ahead")
    form.record_run_names()
    late.release()
    form.expect_recorded(FIRST)
    expect(form.run_name).to_have_text(SECOND)
    expect(form.runs(FIRST)).to_have_count(1)
    expect(form.runs(SECOND)).to_have_count(1)
    form.runs(FIRST).get_by_role("button", name=FIRST, exact=True).click()
    expect(form.run_name).to_have_text(FIRST)
    form.expect_steps()


def stop_the_run_that_waits(app: App) -> None:
    """It stays in the list, where it is resumed, stopped, renamed and deleted; each state offers what works in it."""
    form = app.fine_tune
    expect(form.run_actions(SECOND)).to_have_text(["Stop"])
    form.act_on_run(SECOND, "stop")
    expect(form.run_actions(SECOND)).to_have_text(["Resume", "Rename", "Delete"])
    form.expect_run(FIRST, "running")
    form.act_on_run(SECOND, "resume")
    form.expect_run(SECOND, "queued")
    form.act_on_run(SECOND, "stop")
    form.act_on_run(SECOND, "rename")
    app.page.keyboard.type("Another name")
    app.page.keyboard.press("Enter")
    expect(form.runs("Another name")).to_be_visible()
    expect(form.run_name).to_have_text("Another name")
    form.act_on_run("Another name", "delete")
    expect(form.runs("Another name").locator("[data-action=delete]")).to_have_text("Yes, delete")
    form.runs("Another name").locator("[data-action=delete]").click()
    expect(form.runs("Another name")).to_have_count(0)
    form.runs(FIRST).get_by_role("button", name=FIRST, exact=True).click()
    form.expect_run(FIRST, "running")


def find_the_run_after_a_reload(app: App) -> None:
    """The tray lists it without its tab being opened, and leads to the tab."""
    tray, form = app.tray, app.fine_tune
    app.open()
    app.forgive_interrupted_requests()
    tray.expect_live()
    expect_title(app, re.compile(rf"^\d+% {FIRST} – SBERT Studio$"))
    tray.open()
    expect(tray.entry(FIRST)).to_contain_text(re.compile(r"step [\d,]+ of [\d,]+[\s\S]*rows per second"))
    tray.entry(FIRST).get_by_role("button", name=FIRST, exact=True).click()
    form.expect_run(FIRST, "running")
    expect(form.stop).to_be_visible()


def stop_a_run_while_another_browser_tab_is_looked_at(app: App) -> None:
    """Stop says so before any answer comes; the title tells the end until somebody looks."""
    form, page = app.fine_tune, app.page
    with requests_held(page, _PREDICT):
        form.stop.click()
        expect(form.stop).to_have_class(re.compile("sb-stopping"))
        page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })")
    expect_title(app, f"■ {FIRST}: stopped – SBERT Studio")
    form.expect_run(FIRST, "stopped")
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    expect_title(app, "SBERT Studio")


def resume_a_run(app: App) -> None:
    """A run that goes on ends where the tray stops it; what it learned until then is a model."""
    form, tray = app.fine_tune, app.tray
    form.resume.click()
    form.expect_run(FIRST, "running")
    expect(form.resume).to_be_hidden()
    tray.expect_live()
    tray.open()
    tray.stop_button(FIRST).click()
    form.expect_run(FIRST, "stopped")
    expect(form.resume).to_be_visible()
    expect(form.at("#tune-use")).to_be_visible()
    expect(form.stop).to_be_hidden()
