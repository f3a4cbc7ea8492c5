"""Gradio's page does with the patched scripts what it does without them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import gradio as gr
import pytest
from playwright.sync_api import Browser, Page, expect
from waiting import wait_until

from sbert_studio.ui import gradio_patches

_ROUND_TRIPS = 3  # A page that has nothing more to send has sent nothing meanwhile.


@dataclass
class Calls:
    """The handlers that the page called, by number."""

    begun: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    proceed: threading.Event = field(default_factory=threading.Event)  # what the first call waits for

    def handle(self, number: int, text: str = "") -> None:
        """Count a call; fail at a text that says so."""
        self.begun.append(number)
        self.proceed.wait(60)
        self.ended.append(number)
        if text == "fail":
            raise gr.Error("failed", print_exception=False)


def wait_for_last(page: Page, calls: Calls) -> None:
    """Let the calls go on, and wait until no further one comes."""
    wait_until(lambda: bool(calls.begun), 30, "a call arrives")
    calls.proceed.set()
    seen = 0
    while len(calls.begun) > seen:
        seen = len(calls.begun)
        assert seen < 20, "calls are repeated endlessly"
        wait_until(lambda: len(calls.ended) == len(calls.begun), 30, "all calls have ended")
        for _ in range(_ROUND_TRIPS):
            echo = page.locator("#echo textarea")
            before = int(echo.input_value())
            page.get_by_role("button", name="Echo", exact=True).click()
            expect(echo).to_have_value(str(before + 1))


_COMPARE = """() => {
  %s
  const search = Z, seen = [];
  {
    %s
    let state = 5, count = 0;
    const random = (below) => (state = (state * 48271) %% 2147483647) %% below;
    const node = (depth) => ({ id: count++, children: depth ? Array.from({ length: random(4) }, () => node(depth - 1)) : [] });
    const root = { id: count++, children: [node(3), node(4), node(3)] };
    const all = (of) => [of, ...of.children.flatMap(all)];
    for (let round = 0; round < 400; round++) {
      const parents = all(root), parent = parents[random(parents.length)], place = random(parent.children.length + 1);
      if (random(3)) parent.children.splice(place, 0, node(2));
      else parent.children.splice(place, 1 + random(2));
      if (!random(5)) root.children = root.children.map((child) => ({ ...child }));
      for (let asked = 0; asked < 4; asked++) {
        const id = random(count + 3);
        if (search(root, id) !== Z(root, id)) seen.push([round, id]);
      }
    }
  }
  return seen;
}"""


def test_nodes_are_found_in_a_tree_that_changes(chromium: Browser) -> None:
    (patch,) = [patch for patch in gradio_patches.PATCHES if patch.old.startswith("function Z(")]
    page = chromium.new_page()
    assert page.evaluate(_COMPARE % (patch.old, patch.new)) == []
    page.close()


# Other scripts draw as well, for instance what turns while an event is pending.
_COUNT_FRAMES = """const ask = window.requestAnimationFrame;
window.frames = 0;
window.requestAnimationFrame = (draw) => {
  window.frames += /at ze .*statustracker-/.test(new Error().stack);
  return ask(draw);
};"""


_COUNT_ALONE = "() => (window.alone = (window.alone ?? 0) + 1, '')"


@pytest.fixture
def gate() -> threading.Event:
    """What the event of the button "Wait" waits for."""
    return threading.Event()


@pytest.fixture
def calls() -> Calls:
    """What was called by a choice in "color", a change in "watched", or a click on "Once"."""
    return Calls()


@pytest.fixture(params=[True, False], ids=["patched", "installed"])
def page(request: pytest.FixtureRequest, chromium: Browser, gate: threading.Event, calls: Calls) -> Iterator[Page]:
    """A small app: a column that can be hidden, a box that never is shown, and what the server reads of them."""
    with gr.Blocks() as blocks:
        with gr.Column() as column:
            typed = gr.Textbox(elem_id="typed")
            with gr.Accordion("More", open=False, elem_id="more"):
                deep = gr.Textbox(elem_id="deep")
        hidden, said = gr.Textbox("none", visible=False), gr.Textbox(elem_id="said")
        for label, shown in (("Hide", False), ("Show", True)):
            gr.Button(label).click(lambda shown=shown: gr.update(visible=shown), None, column)
        gr.Button("Set").click(lambda text: (text + "!", "set"), typed, [hidden, said])
        gr.Button("Read").click(lambda *values: " / ".join(values), [typed, deep, hidden], said)
        gr.Button("Wait").click(lambda: "over" if gate.wait(60) else "too late", None, said)
        gr.Dropdown(["red", "green"], interactive=True, elem_id="color").input(partial(calls.handle, 0))
        gr.Button("Once").click(partial(calls.handle, 0))
        gr.Button("Alone").click(None, None, said, js=_COUNT_ALONE, trigger_mode="always_last")
        echo = gr.Textbox("0", elem_id="echo")
        gr.Button("Echo").click(lambda text: str(int(text) + 1), echo, echo)
        watched = gr.Textbox(elem_id="watched")
        for number in range(3):
            watched.change(partial(calls.handle, number), watched, None)
        with gr.Tabs():
            with gr.Tab("First"):
                gr.Markdown("first")
            with gr.Tab("Second"):
                late, other = gr.Textbox("before", elem_id="late"), gr.Textbox(elem_id="other")
        gr.Button("Fill").click(lambda: ("filled", gr.update(label="renamed")), None, [late, other]).then(lambda: "again", None, late)
    routes = {"routes": gradio_patches.patched_routes()} if request.param else {}
    blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, ssr_mode=False, app_kwargs=routes)
    page = chromium.new_page()
    page.add_init_script(_COUNT_FRAMES)
    page.goto(blocks.local_url)
    yield page
    gate.set()
    calls.proceed.set()
    page.close()
    blocks.close()


def test_what_was_typed_stays_where_its_part_is_hidden_and_shown_again(page: Page) -> None:
    def press(label: str) -> None:
        page.get_by_role("button", name=label, exact=True).click()

    def box(name: str) -> str:
        return f"#{name} textarea, #{name} input"

    page.fill(box("typed"), "one")
    page.locator("#more > button").click()
    page.fill(box("deep"), "two")
    press("Set")
    expect(page.locator(box("said"))).to_have_value("set")
    press("Read")
    expect(page.locator(box("said"))).to_have_value("one / two / one!")
    page.fill(box("typed"), "three")
    press("Hide")
    expect(page.locator("#typed")).to_be_hidden()
    press("Read")
    expect(page.locator(box("said"))).to_have_value("three / two / one!")
    press("Show")
    expect(page.locator(box("typed"))).to_have_value("three")
    expect(page.locator(box("deep"))).to_have_value("two")


def test_seconds_are_counted_while_an_event_is_pending(page: Page, gate: threading.Event, request: pytest.FixtureRequest) -> None:
    page.get_by_role("button", name="Wait", exact=True).click()
    seconds = page.locator("#said .meta-text, #said .meta-text-center")
    expect(seconds).to_have_text(re.compile(r"(0\.[1-9]|[1-9]\d*\.\d)s"))
    before, frames = seconds.inner_text(), page.evaluate("window.frames")
    expect(seconds).not_to_have_text(before)
    is_patched = request.node.callspec.params["page"]
    assert (page.evaluate("window.frames") == frames) is is_patched, "frames are not drawn to count seconds"
    gate.set()
    expect(page.locator("#said textarea")).to_have_value("over")
    expect(seconds).to_have_count(0)


@pytest.mark.parametrize("page", [True], ids=["patched"], indirect=True)
@pytest.mark.parametrize("first", ["one", "fail"])
def test_changes_that_overlap_are_handled_once_more_each(page: Page, calls: Calls, first: str) -> None:
    """Gradio's own script repeats them endlessly, and forgets the second after an error of the first."""
    box = page.locator("#watched textarea, #watched input")
    box.fill(first)
    wait_until(lambda: len(calls.begun) == 1, 30, "the first change arrives")
    box.fill("two")
    wait_for_last(page, calls)
    assert {number: calls.begun.count(number) for number in range(3)} == dict.fromkeys(range(3), 2)


def test_a_choice_from_a_list_is_sent_once(page: Page, calls: Calls, request: pytest.FixtureRequest) -> None:
    page.locator("#color input").click()
    page.get_by_role("option", name="green").click()
    wait_for_last(page, calls)
    assert len(calls.begun) == (1 if request.node.callspec.params["page"] else 2)
    page.locator("#color input").click()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    calls.begun.clear()
    calls.ended.clear()
    wait_for_last(page, calls)
    assert len(calls.begun) == 1 and page.locator("#color input").input_value() == "red"


_CLICK_TWICE = "() => { for (const _ of [1, 2]) [...document.querySelectorAll('button')].find((one) => one.innerText === 'Once').click() }"


@pytest.mark.parametrize("page", [True], ids=["patched"], indirect=True)
def test_a_handler_in_the_browser_alone_runs_once_more_after_clicks_at_once(page: Page) -> None:
    expect(page.get_by_role("button", name="Alone", exact=True)).to_be_visible()
    page.evaluate(_CLICK_TWICE.replace("Once", "Alone").replace("[1, 2]", "[1, 2, 3]"))
    page.wait_for_function("window.alone === 2")


def test_two_clicks_at_once_are_one_request(page: Page, calls: Calls, request: pytest.FixtureRequest) -> None:
    expect(page.get_by_role("button", name="Once", exact=True)).to_be_visible()
    page.evaluate(_CLICK_TWICE)
    wait_for_last(page, calls)
    assert len(calls.begun) == (1 if request.node.callspec.params["page"] else 2)
    sent = len(calls.begun)
    page.get_by_role("button", name="Once", exact=True).click()
    wait_until(lambda: len(calls.begun) > sent, 30, "a later click is sent")


# Types into a box as soon as it is there, and waits until the page has drawn a few more frames.
_TYPE_AT_ONCE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const find = () => document.querySelector("#late textarea, #late input");
  const box = await new Promise((found) => {
    const observer = new MutationObserver(() => { if (find()) { observer.disconnect(); found(find()); } });
    observer.observe(document, { childList: true, subtree: true });
    [...document.querySelectorAll("[role=tab]")].find((one) => one.innerText === "Second").click();
  });
  box.value = "typed";
  box.dispatchEvent(new Event("input", { bubbles: true }));
  for (let count = 0; count < 10; count++) await frame();
  return box.value;
}"""


@pytest.mark.parametrize("page", [True], ids=["patched"], indirect=True)
def test_what_is_typed_into_a_tab_that_has_just_been_opened_stays(page: Page) -> None:
    """Gradio's own script replaces it by the value before."""
    expect(page.get_by_role("tab", name="Second")).to_be_visible()
    assert page.evaluate(_TYPE_AT_ONCE) == "typed"


def test_values_that_come_before_and_while_a_tab_is_opened_are_shown(page: Page) -> None:
    page.get_by_role("button", name="Fill", exact=True).click()
    page.get_by_role("tab", name="Second").click()
    expect(page.locator("#late textarea, #late input")).to_have_value("again")
    expect(page.locator("#other")).to_contain_text("renamed")
