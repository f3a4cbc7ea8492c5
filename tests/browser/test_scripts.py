"""Scripts of the page by themselves, in an empty page without the app: the stream of events, and the translator."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook
from playwright.sync_api import Browser, Page, expect

from sbert_studio.ui import theme
from sbert_studio.ui.map_value import column_value

ASSETS = Path(__file__).resolve().parents[2] / "assets"
# A server that ends its stream once nothing is under way, as Gradio's does; each join is answered when the test says so.
_SERVER = """
window.streams = []; window.answers = []; window.refusals = [];
window.fetch = async (input) => {
  const url = input.url ?? input;
  if (url.endsWith("/queue/join")) {
    const id = await new Promise((resolve) => window.answers.push(resolve));
    return new Response(JSON.stringify({ event_id: id }));
  }
  if (window.refusals.length) return window.refusals.pop()();
  return new Response(new ReadableStream({ start(controller) {
    const encoder = new TextEncoder();
    const say = (text) => controller.enqueue(encoder.encode(text));
    window.streams.push({ say, request: input, end: () => controller.close(), fail: () => controller.error(new Error()) });
  } }));
};
"""
_PAGE = """
window.heard = [];
window.join = async () => {
  const { event_id } = await (await fetch("http://page/queue/join", { body: "{}" })).json();
  window.heard.push("joined " + event_id);
};
window.listen = async (signal) => {
  const answer = await fetch(new Request("http://page/queue/data?session_hash=a", { signal }));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return window.heard.push("end");
    for (const line of value.split("\\n\\n")) if (line) window.heard.push(JSON.parse(line.slice(6)).msg);
  }
};
window.SB_PAGE = { works: { 7: "search" } };
window.SB = { busy: (...said) => window.heard.push(said.join()) };
window.ask = async (fn_index) => { await fetch("http://page/queue/join", { body: JSON.stringify({ fn_index }) }); };
window.said = (msg, id) => `data: ${JSON.stringify({ msg, event_id: id })}\\n\\n`;
"""


@pytest.fixture
def empty_page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    yield page
    page.close()


def stop_clock(page: Page) -> None:
    """Let time pass only by ``page.clock.run_for``."""
    page.clock.install(time="2026-01-01T00:00:00")
    page.clock.pause_at("2026-01-01T00:00:01")


def script(name: str) -> str:
    return (ASSETS / "page" / name).read_text(encoding="utf-8")


@pytest.fixture
def stream_page(empty_page: Page) -> Page:
    """A page with stream.js, a server that the test answers for, and one event that can be cancelled, of number 7."""
    for content in (_SERVER, script("stream.js"), _PAGE):
        empty_page.add_script_tag(content=content)
    return empty_page


def begin_two_events(page: Page) -> None:
    """Have the events 7, which can be cancelled, and 8 under way, and their stream open."""
    page.evaluate("void ask(7); void ask(8)")
    page.evaluate("answers[0]('one'); answers[1]('two'); void listen()")
    page.wait_for_function("heard.length === 1 && streams.length === 1")


def test_an_end_that_crosses_a_click_opens_the_next_stream(stream_page: Page) -> None:
    page = stream_page

    def heard(count: int) -> Any:
        page.wait_for_function(f"heard.length >= {count}", timeout=10_000)
        return page.evaluate("heard")

    page.evaluate("void join()")
    page.evaluate("answers[0]('one')")
    assert heard(1) == ["joined one"]
    page.evaluate("void listen()")
    page.wait_for_function("streams.length === 1")
    page.evaluate("void join()")  # a click, while the server ends the stream
    page.evaluate("streams[0].say(said('process_completed', 'one') + said('close_stream').slice(0, 9))")  # cut anywhere
    page.evaluate("streams[0].say(said('close_stream').slice(9)); streams[0].end()")
    page.wait_for_function("streams.length === 2")
    page.evaluate("streams[1].say(said('process_completed', 'two'))")  # the end of an event may come before the answer that names it
    page.evaluate("answers[1]('two')")
    assert sorted(heard(4)[1:]) == ["joined two", "process_completed", "process_completed"]
    page.evaluate("streams[1].say(said('close_stream')); streams[1].end()")
    assert heard(6)[4:] == ["close_stream", "end"]
    assert page.evaluate("streams.length") == 2


def test_the_page_is_busy_until_its_last_answer(stream_page: Page) -> None:
    page, busy = stream_page, "body[aria-busy=true]"
    page.evaluate("void join(); void join()")
    page.wait_for_selector(busy)
    page.evaluate("answers[0]('one'); answers[1]('two'); void listen()")
    page.wait_for_function("heard.length === 2 && streams.length === 1")
    page.evaluate("streams[0].say(said('process_completed', 'one'))")
    page.wait_for_function("heard.length === 3")
    page.wait_for_function("new Promise((resolve) => setTimeout(() => resolve(true), 200))")  # longer than it takes to settle
    assert page.locator(busy).count() == 1, "one answer is still to come"
    page.evaluate("streams[0].say(said('process_completed', 'two'))")
    page.wait_for_selector("body[aria-busy=false]")


def test_a_stream_that_was_left_at_its_end_ends_nothing_else(stream_page: Page) -> None:
    page = stream_page
    page.evaluate("""window.leave = async () => {
      const reader = (await fetch(new Request("http://page/queue/data?session_hash=a"))).body.getReader();
      await reader.read();
      await reader.cancel();
      heard.push("left");
    }; void leave();""")
    page.wait_for_function("streams.length === 1")
    page.evaluate("streams[0].say(said('close_stream'))")
    page.wait_for_function("heard.length === 1")
    page.evaluate("void join()")
    page.evaluate("answers[0]('one')")
    page.wait_for_function("heard.length === 2")
    page.evaluate("streams[0].end()")
    page.wait_for_function("new Promise((resolve) => setTimeout(() => resolve(true), 200))")  # longer than it takes to settle
    assert page.locator("body[aria-busy=true]").count() == 1, "its answer is still to come"


@pytest.mark.parametrize("ends", [False, True])
def test_a_stream_is_cut_off_but_where_the_server_is_about_to_end_it(ends: bool, stream_page: Page) -> None:
    page = stream_page
    page.evaluate("window.cut = new AbortController(); void listen(cut.signal)")
    page.wait_for_function("streams.length === 1")
    page.evaluate("(message) => streams[0].say(said(message))", "close_stream" if ends else "heartbeat")
    page.wait_for_function("heard.length === 1")
    page.evaluate("cut.abort()")
    assert page.evaluate("streams[0].request.signal.aborted") != ends


def test_a_page_that_is_being_left_opens_no_stream_unless_it_stays(stream_page: Page) -> None:
    page = stream_page
    page.evaluate("window.dispatchEvent(new Event('beforeunload')); window.asked = performance.now(); void listen()")
    page.wait_for_function("streams.length === 1", timeout=10_000)
    assert page.evaluate("performance.now() - asked") > 900


def test_the_next_stream_waits_while_the_page_is_being_left(stream_page: Page) -> None:
    page = stream_page
    begin_two_events(page)
    page.evaluate("window.dispatchEvent(new Event('beforeunload')); window.asked = performance.now()")
    page.evaluate("streams[0].say(said('process_completed', 'one') + said('close_stream')); streams[0].end()")
    page.wait_for_function("streams.length === 2", timeout=10_000)
    assert page.evaluate("performance.now() - asked") > 900


def test_a_cancel_button_shows_while_an_event_of_its_work_goes_on(stream_page: Page) -> None:
    page = stream_page
    begin_two_events(page)
    page.evaluate("streams[0].say(said('process_completed', 'two') + said('process_completed', 'one'))")
    page.wait_for_function("heard.length === 4")
    ends = ["process_completed", "process_completed", "search-cancel,one,false", "search-cancel,one,true"]
    assert sorted(page.evaluate("heard")) == ends


@pytest.mark.parametrize("breaks", ["streams[0].fail()", "streams[0].end()", "streams[0].say(said('unexpected_error')); streams[0].end()"])
def test_nothing_stays_under_way_where_the_stream_breaks(breaks: str, stream_page: Page) -> None:
    page = stream_page
    page.evaluate("void ask(7)")
    page.evaluate("answers[0]('one'); void listen().catch(() => heard.push('broken'))")
    page.wait_for_function("heard.length === 1 && streams.length === 1")
    page.evaluate(breaks)
    page.wait_for_function("heard.includes('broken')")
    heard = [said for said in page.evaluate("heard") if said != "unexpected_error"]
    assert heard == ["search-cancel,one,true", "search-cancel,one,false", "broken"]
    page.wait_for_selector("body[aria-busy=false]")


@pytest.mark.parametrize("answer", ["new Response('', { status: 404 })", "Promise.reject(new TypeError('Failed to fetch'))"])
def test_nothing_stays_under_way_where_no_stream_can_be_had(answer: str, stream_page: Page) -> None:
    page = stream_page
    page.evaluate("void ask(7)")
    page.evaluate("answers[0]('one')")
    page.wait_for_function("heard.length === 1")
    page.evaluate(f"refusals.push(() => {answer}); void listen().catch(() => {{}})")
    page.wait_for_selector("body[aria-busy=false]")
    assert "search-cancel,one,false" in page.evaluate("heard")


_FORM_HOST = """(value) => {
  document.body.innerHTML = "<div id=host><div class=sb-view></div></div>";
  window.events = []; window.watchers = [];
  const trigger = (name) => window.events.push(name);
  window.host = { element: document.querySelector("#host"), props: { value }, trigger, watch: (_, act) => window.watchers.push(act) };
  window.answer = (value) => { window.host.props.value = value; window.watchers.forEach((act) => act()); };
  SB.mount("fields", window.host);
}"""


_A_MINUTE_LATER = """() => {
  document.activeElement.blur();
  const now = performance.now.bind(performance);
  performance.now = () => now() + 60_000;
}"""


def test_an_answer_to_an_earlier_edit_of_a_form_keeps_later_ones(empty_page: Page) -> None:
    from sbert_studio.registry import Field
    from sbert_studio.ui import components as forms

    fields = [
        Field("rate", str, "", ""),
        Field("note", str, "", ""),
        Field("loss", str, "a", "", choices=("a", "b")),
        Field("on", bool, True, ""),
    ]
    items = [
        *map(forms.describe_control, fields[:3]),
        forms.group([forms.describe_control(fields[3])], name="more", visible=True),
    ]
    value = forms.form_view("x", items, {field.name: field.default for field in fields})
    page = empty_page
    page.goto("about:blank")
    for name in ("core.js", "help.js", "form.js"):
        page.evaluate(script(name))
    page.evaluate(_FORM_HOST, value)

    page.fill("#x-rate input", "1")
    sent = page.evaluate("host.props.value")
    page.fill("#x-note input", "later")
    page.select_option("#x-loss select", label="b")
    hidden = [*items[:3], {**items[3], "visible": False}]
    page.evaluate("answer", forms.answer_form(sent, forms.form_view("x", hidden, {**forms.form_values(sent), "rate": "1.0", "on": False})))
    assert page.input_value("#x-rate input") == "1.0" and page.input_value("#x-note input") == "later"
    assert not page.is_visible("#x-on") and page.evaluate("events.length") >= 3
    assert forms.form_values(page.evaluate("host.props.value")) == {"rate": "1.0", "note": "later", "loss": "b", "on": False}

    # What answers no edit, such as the defaults for another file, keeps what has just been typed and fills the form later.
    count = page.evaluate("events.length")
    page.evaluate("answer", value)
    assert forms.form_values(page.evaluate("host.props.value")) == {"rate": "1.0", "note": "later", "loss": "b", "on": True}
    assert page.evaluate("events.length") == count + 1, "what was kept is sent again"
    page.evaluate(_A_MINUTE_LATER)
    page.evaluate("answer", value)
    assert forms.form_values(page.evaluate("host.props.value")) == {"rate": "", "note": "", "loss": "a", "on": True}
    assert page.input_value("#x-note input") == "" and page.is_visible("#x-on")


_TWO_TABS = """() => {
  document.body.innerHTML = `<div role=tabpanel><div id=sight></div><div id=hits></div><div id=others></div></div>
    <div role=tabpanel><div id=map></div></div>`;
  document.body.setAttribute("aria-busy", "false");
  window.asked = 0;
  window.SB = { views: {}, arrived: () => true, select: () => { window.asked += 1; document.body.setAttribute("aria-busy", "true"); } };
}"""


def test_only_what_its_own_tab_shows_counts_as_a_first_result(empty_page: Page) -> None:
    """A map drawn for the visitor while the first hits are under way is kept, not drawn anew as a first result."""
    page, first = empty_page, "['hits', 'others', 'map'].map((id) => SB.isSighting(document.getElementById(id)))"
    page.evaluate(_TWO_TABS)
    page.add_script_tag(content=script("sight.js"))
    page.evaluate("SB.views.sight(document.getElementById('sight'), {})({ result: 'hits', by: 'data' })")
    assert page.evaluate(first) == [False] * 3
    page.wait_for_function("asked === 1")
    assert page.evaluate(first) == [True, True, False]
    page.evaluate("document.body.setAttribute('aria-busy', 'false')")
    page.wait_for_function(f"{first}.every((one) => !one)")


def test_nothing_is_asked_for_between_a_click_and_its_request(empty_page: Page) -> None:
    """The answer to the click would count as a first result, which another model replaces."""
    page = empty_page
    stop_clock(page)
    page.evaluate(_TWO_TABS)
    page.evaluate("""document.querySelector("[role=tabpanel]").insertAdjacentHTML("beforeend", "<button id=go>Go</button>")""")
    page.add_script_tag(content=script("sight.js"))
    page.evaluate(
        "SB.views.sight(document.getElementById('sight'), {})({ result: 'hits', by: 'data' }); document.getElementById('go').click()"
    )
    page.clock.run_for(350)  # longer than between two looks
    assert page.evaluate("asked") == 0
    page.evaluate("document.body.setAttribute('aria-busy', 'true')")  # the request of the click
    page.clock.run_for(600)
    assert page.evaluate("asked") == 0
    page.evaluate("document.body.setAttribute('aria-busy', 'false'); SB.soon()")
    page.clock.run_for(600)
    assert page.evaluate("asked") == 1


@pytest.mark.parametrize(("stopped", "times"), [(False, 2), (True, 1)])
def test_a_result_that_a_late_answer_clears_is_asked_for_again_unless_it_was_stopped(empty_page: Page, stopped: bool, times: int) -> None:
    page = empty_page
    stop_clock(page)
    page.evaluate(_TWO_TABS)
    page.add_script_tag(content=script("sight.js"))
    page.evaluate("SB.views.sight(document.getElementById('sight'), {})({ result: 'hits', by: 'data' })")
    page.evaluate("SB.isFirst = () => true")
    page.clock.run_for(300)
    assert page.evaluate("asked") == 1
    for content in ("<div class=sb-view>a result</div>", ""):
        page.evaluate(
            "content => { document.getElementById('hits').innerHTML = content; document.body.setAttribute('aria-busy', 'false'); }", content
        )
        page.clock.run_for(600)  # longer than between two looks
        if stopped:
            page.evaluate("SB.decline()")
        page.evaluate("SB.soon()")
        page.clock.run_for(600)
    assert page.evaluate("asked") == times


@pytest.mark.parametrize(("act", "is_first"), [("button", False), ("enter", False), ("elsewhere", True), ("tab", True)])
def test_what_the_visitor_asks_for_meanwhile_is_no_first_result(empty_page: Page, act: str, is_first: bool) -> None:
    page = empty_page
    page.evaluate(_TWO_TABS)
    page.evaluate("""document.querySelector("[role=tabpanel]").insertAdjacentHTML("beforeend", "<button id=go>Go</button><input id=query>");
      document.body.insertAdjacentHTML("beforeend", "<button id=other>Other</button><button id=tab role=tab>Tab</button>")""")
    page.add_script_tag(content=script("sight.js"))
    page.evaluate("SB.views.sight(document.getElementById('sight'), {})({ result: 'hits', by: 'data' })")
    page.wait_for_function("asked === 1")
    if act == "enter":
        page.press("#query", "Enter")
    else:
        page.click({"button": "#go", "elsewhere": "#other", "tab": "#tab"}[act])
    assert page.evaluate("SB.isSighting(document.getElementById('hits'))") is is_first


def test_a_workbook_made_in_the_browser_keeps_names_and_digits_and_has_no_formula(chromium: Browser) -> None:
    rows = [["=1+1", 12.5, "007", "日本語 & <b>", "2.50"], ["@x", -3, "15", None, "-10.0"]]
    rows.append(["-4", 4006381333931, "12345678901234567890", "a\nb \u0001", "10"])
    page = chromium.new_page()
    page.evaluate("window.SB = {}")
    page.add_script_tag(path=ASSETS / "page" / "files.js")
    made = """async ([names, rows]) => Array.from(new Uint8Array(await SB.files.xlsx(names, rows).arrayBuffer()))"""
    content = bytes(page.evaluate(made, [["=HYPERLINK(1)", "price", "code", "name", "fee"], rows]))
    table = page.evaluate("([names, rows]) => SB.files.csv(names, rows)", [["名前", "=1+1"], [["é", "\n=2"], ["\na", 'b"']]])
    page.close()
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    (sheet,) = load_workbook(io.BytesIO(content)).worksheets
    cells = list(sheet.iter_rows())
    assert [[cell.value for cell in row] for row in cells] == [
        ["=HYPERLINK(1)", "price", "code", "name", "fee"],
        ["=1+1", 12.5, "007", "日本語 & <b>", 2.5],
        ["@x", -3, "15", None, -10],
        [-4, 4006381333931, "12345678901234567890", "a\nb ", 10],
    ]
    assert {cell.data_type for row in cells for cell in row if isinstance(cell.value, str)} <= {"s", "inlineStr"}, "no formulas"
    assert cells[1][0].quotePrefix and not cells[1][2].quotePrefix
    assert [row[1].number_format for row in cells[1:]] == ["General", "General", "0"], "General shows it as 4.00638E+12"
    assert [row[4].number_format for row in cells[1:]] == ["0.00", "0.0", "General"], "zeros are shown"
    assert table == '\ufeff名前,\'=1+1\r\né,"\'\n=2"\r\n"\na","b"""\r\n'


_FILTER = """(value) => {
  const root = document.body.appendChild(document.createElement("div")), removed = new Uint8Array(value.n);
  window.filters = SB.mapping.filters(root, { n: () => value.n, removed: () => removed, columns: () => [value.name],
    column: async () => SB.mapping.column(value), changed() {} });
  filters.draw([value.name], [], true);
  filters.open([value.name]);
}"""
_KEPT = "(n) => Array.from({ length: n }, (_, row) => row).filter((row) => !filters.fails(row))"


@pytest.mark.parametrize(
    "numbers",
    [
        [0.5 + 0.5 * (row % 10) for row in range(200)],
        [(row * 7919 % 1000) / 10 for row in range(300)],
        [row * row / 7 for row in range(100)],
        [1_700_000_000_126 + row % 20 for row in range(200)],
        [1_000_000 + row * 1e-7 for row in range(100)],
        [1e308, -1e308, -0.0, 0.0, 2.5],
    ],
    ids=["halves", "tenths", "fractions", "milliseconds", "near", "huge"],
)
def test_a_bar_of_a_filter_keeps_exactly_the_texts_it_counts(chromium: Browser, numbers: list[float]) -> None:
    page = chromium.new_page(viewport={"width": 1100, "height": 800})
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_style_tag(content=f"{theme.css()} .sb-map-bars i {{ min-width: 9px; min-height: 40px; }}")
    page.add_script_tag(content=theme.scripts())
    value = column_value("price", [*map(repr, numbers), ""], "number")
    page.evaluate(_FILTER, value)
    bars = page.locator(".sb-map-bars i")
    expect(bars.first).to_be_visible()
    rows = np.array(numbers)
    total = 0
    for place in range(bars.count()):
        count = int((bars.nth(place).get_attribute("title") or "").rpartition(": ")[2].replace(",", ""))
        bars.nth(place).click()
        kept = page.evaluate(_KEPT, len(numbers) + 1)
        assert len(kept) == count, "clicking a bar keeps the texts that it counts"
        total += count
        bars.nth(place).click()  # again: no filter
        assert page.evaluate("filters.active()") == 0
    assert total == len(numbers), "every number is in a bar, and blanks are in none"
    # One end is typed; the other, which the page has filled in, stays where it is.
    middle = sorted(numbers)[len(numbers) // 2]
    page.get_by_label("From", exact=True).fill(repr(float(middle)))
    page.get_by_label("From", exact=True).press("Tab")
    kept = page.evaluate(_KEPT, len(numbers) + 1)
    assert kept == np.flatnonzero(rows >= middle).tolist()
    page.close()


_MAP = """window.mapOf = (more) => {
  const text = (array) => btoa(String.fromCharCode(...new Uint8Array(array.buffer)));
  return { title: "", n: 3, dims: 2, points: text(Float32Array.of(0, 0, 1, 1, 2, 0)), hidden: "", clusters: text(new Int16Array(3)),
    cluster_names: [{ id: 0, label: "all", size: 3 }], broad: [], typical: "", colours: ["Topics found"], labels: [], edits: [],
    by: "Topics found", ...more };
}"""


def map_page(chromium: Browser, setup: str) -> Page:
    """Open a page with the scripts of the app, where ``setup`` draws a map of three texts with a server of its own."""
    page = chromium.new_page(viewport={"width": 1100, "height": 800})
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_style_tag(content=theme.css())
    page.add_script_tag(content=theme.scripts())
    page.add_script_tag(content=_MAP)
    page.evaluate(setup)
    return page


_GONE = """() => {
  const root = document.body.appendChild(document.createElement("div")), host = { server: {} };
  for (const name of ["map_words", "map_file", "map_rows", "map_near"]) host.server[name] = () => Promise.reject(new Error("gone"));
  SB.views.map(root, host)(mapOf({ key: "k", layout_key: "2", show: { nonce: "1", rows: [0, 1], title: "two" } }));
}"""


def test_a_map_that_is_gone_is_not_said_to_lack_a_word_and_a_failed_download_says_so(chromium: Browser) -> None:
    page = map_page(chromium, _GONE)
    status = page.locator(".sb-map-count")
    page.locator(".sb-map-list").get_by_text("Actions", exact=True).click()
    page.locator(".sb-map-list").get_by_role("button", name="Download CSV").click()
    expect(status).to_have_text("The map is no longer loaded. Draw it again.")
    page.get_by_label("Find in the map").fill("card")
    page.get_by_label("Find in the map").press("Enter")
    expect(page.locator(".sb-map-list")).to_contain_text("The map is no longer loaded. Draw it again.")
    expect(page.locator(".sb-map-list")).not_to_contain_text("0 with")
    page.close()


_SLOW = """() => {
  const root = document.body.appendChild(document.createElement("div")), host = { server: {} }, answers = window.answers = [];
  const names = ["map_rows", "map_texts", "map_near", "map_find"];
  for (const name of names) host.server[name] = (request) => new Promise((done) => answers.push({ name, request, done }));
  const load = SB.views.map(root, host);
  const shown = (key, rows) => (rows ? { nonce: key, rows, title: key } : null);
  window.draw = (key, rows) => load(mapOf({ key, layout_key: key, opened: ["Topics found"], show: shown(key, rows) }));
  window.answer = (name, of, value) => answers.filter((one) => one.name === name && of(one.request)).forEach((one) => one.done(value));
}"""


def test_a_late_answer_belongs_to_the_map_and_the_point_that_asked(chromium: Browser) -> None:
    page = map_page(chromium, _SLOW)
    page.evaluate("draw('one', [0, 1])")
    page.evaluate("draw('two')")
    page.evaluate("answer('map_rows', () => true, [0, 1].map((row) => ({ row, line: row, text: 'of the first map', cells: [] })))")
    settled = "() => new Promise((done) => setTimeout(done, 250))"
    page.evaluate(settled)
    x, y = page.evaluate("SB.map.spot(0)")
    page.mouse.move(x, y)
    page.wait_for_function("answers.some((one) => one.name === 'map_texts' && one.request.key === 'two')")
    assert "of the first map" not in page.locator(".sb-tip").inner_text(), "its rows are other texts here"
    # Of two points, the one that was clicked last is shown, whichever answer comes first.
    for row in (0, 1):
        page.mouse.click(*page.evaluate(f"SB.map.spot({row})"))
    page.wait_for_function("answers.filter((one) => one.name === 'map_near').length === 2")
    for row, title in ((1, "near the second"), (0, "near the first")):
        page.evaluate(f"answer('map_near', (asked) => asked.row === {row}, {{ rows: [2], scores: [0.5], title: '{title}' }})")
        page.evaluate(settled)
    expect(page.locator(".sb-map-list strong")).to_have_text("near the second")
    # With a filter, the texts that pass it are searched by meaning: the nearest of all might be hidden.
    page.get_by_label("Search by").select_option("meaning")
    for number in (1, 2):
        page.get_by_label("Find in the map").fill("card")
        page.get_by_label("Find in the map").press("Enter")
        page.wait_for_function(f"answers.filter((one) => one.name === 'map_find').length === {number}")
        page.locator(".sb-map-parts [data-part=filters]").click()
        page.locator(".sb-map-filter li button", has_text="all").first.click()
    asked = page.evaluate("answers.filter((one) => one.name === 'map_find').map((one) => one.request.rows ?? null)")
    assert asked == [None, [0, 1, 2]]
    page.locator(".sb-map-filter li button", has_text="all").first.click()  # which the second click above took back
    page.mouse.click(*page.evaluate("SB.map.spot(0)"))
    page.wait_for_function("answers.filter((one) => one.name === 'map_near').length === 3")
    asked = page.evaluate("answers.filter((one) => one.name === 'map_near').map((one) => one.request.rows ?? null)")
    assert asked == [None, None, [0, 1, 2]]
    page.close()


_REPEATED = """() => {
  const root = document.body.appendChild(document.createElement("div")), host = { server: {} }, load = SB.views.map(root, host);
  const text = (array) => btoa(String.fromCharCode(...new Uint8Array(array.buffer))), codes = [0, 1, 2, 0, 1];
  window.draw = (key, n) => {
    const size = { name: "size", n, kind: "category", labels: ["S", "M", "L"], distinct: 3, unreadable: 0 };
    host.server.map_column = async () => ({ ...size, codes: text(Int32Array.from(codes.slice(0, n))) });
    load(mapOf({ key, n, layout_key: "same", points: text(Float32Array.from({ length: 2 * n }, (_, i) => i)),
      clusters: text(new Int16Array(n)), cluster_names: [{ id: 0, label: "all", size: n }],
      colours: ["Topics found", "size"], opened: ["Topics found", "size"] }));
  };
}"""


def test_filters_count_every_row_of_a_map_with_the_same_texts_repeated_more_often(chromium: Browser) -> None:
    page = map_page(chromium, _REPEATED)
    page.evaluate("draw('three', 3)")
    page.locator(".sb-map-parts [data-part=filters]").click()
    sizes = page.locator(".sb-map-filter[data-column=size] li button")
    sizes.filter(has_text="S").click()
    expect(page.locator(".sb-map")).to_have_attribute("data-passed", "1")
    page.evaluate("draw('five', 5)")
    expect(page.locator(".sb-map")).to_have_attribute("data-passed", "5")
    if not sizes.count():
        page.locator(".sb-map-filter[data-column=size] summary").click()
    expect(sizes).to_have_text(["S2", "M2", "L1"])
    sizes.filter(has_text="M").click()
    expect(page.locator(".sb-map")).to_have_attribute("data-passed", "2")
    page.close()


def test_a_filter_says_that_it_lists_only_the_most_frequent_values(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_script_tag(content=theme.scripts())
    for count, words in ((700, "Show the 600 most frequent of 700"), (20, "Show all 20")):
        page.evaluate(_FILTER, column_value("city", [f"city {row % count}" for row in range(1_400)], "category"))
        expect(page.locator(".sb-plain-button").last).to_have_text(words)
    page.close()


def test_each_of_2000_values_of_a_filter_can_be_found_and_chosen(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_script_tag(content=theme.scripts())
    cities = [f"city {row % 2_000:04d}" for row in range(2_500)]
    page.evaluate(_FILTER, column_value("city", [f"{city}; town" for city in cities], "list"))
    page.get_by_role("button", name="Show the 600 most frequent of 2,001").click()
    expect(page.locator("li")).to_have_count(600)
    expect(page.get_by_role("status")).to_contain_text("1,401 more values")
    for city in ("city 1999", "city 0700"):  # the last one of all, and one beyond the first 600
        page.get_by_label("Find a value").fill(city.upper())
        page.get_by_role("button", name=city).click()
    kept = page.evaluate(_KEPT, len(cities))
    assert kept == [row for row, city in enumerate(cities) if city in ("city 1999", "city 0700")]
    page.get_by_label("Find a value").fill("")
    expect(page.locator("li button[aria-pressed=true]")).to_have_text(["city 07001", "city 19991"])
    page.close()


def test_the_search_box_of_the_legend_says_what_it_finds(chromium: Browser) -> None:
    names = [{"id": number, "label": f"topic {number}", "size": 1} for number in range(15)]
    setup = """(names) => {
      const root = document.body.appendChild(document.createElement("div"));
      const text = (array) => btoa(String.fromCharCode(...new Uint8Array(array.buffer)));
      const points = text(Float32Array.from({ length: 30 }, (_, place) => place)), clusters = text(Int16Array.of(...names.keys()));
      SB.views.map(root, { server: {} })(mapOf({ n: 15, points, clusters, cluster_names: names, key: "k", layout_key: "2" }));
    }"""
    page = map_page(chromium, f"() => ({setup})({json.dumps(names)})")
    page.get_by_placeholder("Find a topic").fill("topic 14")
    expect(page.locator(".sb-legend ul li")).to_have_text(["topic 1417 %"])
    page.close()


def test_huge_numbers_are_short(empty_page: Page) -> None:
    empty_page.evaluate("() => { window.SB = { mapping: {} }; }")
    empty_page.add_script_tag(path=ASSETS / "page" / "map" / "columns.js")
    write = "(numbers) => numbers.map((value) => window.SB.mapping.write({ kind: 'number' }, value))"
    assert empty_page.evaluate(write, [-1e308, 1.23456789e20, 2e15, 123456]) == ["-1e308", "1.23456e20", "2e15", "123.456K"]


def test_amounts_show_their_currency_in_filter_legend_and_text(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content("<!doctype html><html><body></body></html>")
    page.add_script_tag(content=theme.scripts())
    value = column_value("price", ["-$12.50", "$20", "$45"] * 5)
    page.evaluate(_FILTER, value)
    expect(page.locator(".sb-map-ends")).to_contain_text("$")
    assert "$" in (page.locator(".sb-map-bars i").first.get_attribute("title") or "")
    axis = """(value) => {
      const { axis } = SB.mapping.paint(SB.mapping.column(value));
      return [axis.low, axis.high].map(axis.text).concat(axis.ticks.map((one) => one.text));
    }"""
    shown = page.evaluate(axis, value)
    assert shown[:2] == ["-$12.5", "$45"] and all("$" in text for text in shown)
    assert page.evaluate(axis, column_value("weight", ["2 kg", "30 kg", "5 kg"]))[:2] == ["2 kg", "30 kg"]
    page.close()


_PAINTED = """(value) => {
  const made = SB.mapping.paint(SB.mapping.column(value));
  return [[...made.index], made.axis.ticks];
}"""


def test_huge_numbers_differ_in_color(chromium: Browser) -> None:
    page = map_page(chromium, "() => null")
    value = column_value("size", ["-1e308", "0", "1e308", "5e307"], "number")
    found = page.evaluate(_PAINTED, value)
    assert found[0] == [0, 32, 63, 48] and [tick["share"] for tick in found[1]] == [0, 0.25, 0.5, 0.75, 1]
    page.close()


def test_dates_are_counted_by_calendar_period(empty_page: Page) -> None:
    empty_page.evaluate("() => { window.SB = { mapping: {} }; }")
    empty_page.add_script_tag(path=ASSETS / "page" / "map" / "columns.js")
    bins = """(days) => {
      const { bins, days: read, iso, histogram } = window.SB.mapping, numbers = days.map(read);
      const found = { kind: "date", n: numbers.length, numbers }, kept = bins(found);
      const name = (bin) => kept.range(bin, bin).map(iso);
      return { first: name(0), last: name(kept.count - 1), sizes: [...histogram(found, kept, () => true)] };
    }"""
    two_years = empty_page.evaluate(bins, ["2024-01-01", "2024-01-31", "2024-02-01", "2025-12-30"])
    assert two_years["first"] == ["2024-01-01", "2024-01-31"] and two_years["last"] == ["2025-12-01", "2025-12-31"]
    assert two_years["sizes"] == [2, 1, *[0] * 21, 1]
    assert empty_page.evaluate(bins, ["2024-03-05", "2024-03-07"])["sizes"] == [1, 0, 1]


def test_suspicious_labels_are_open_once_they_were_checked(empty_page: Page) -> None:
    page = empty_page
    page.evaluate("document.body.innerHTML = '<div id=labels></div>'")
    for name in ("core.js", "training/labels.js"):
        page.evaluate(script(name))
    page.evaluate("() => { window.draw = SB.views.labels(document.getElementById('labels'), { trigger: () => {} }); }")
    row = {"row": 2, "texts": ["a", "b"], "label": "1", "predicted": "4"}
    found = {"run": "r", "title": "1 label is worth a look", "note": "", "choices": [], "rows": [row]}
    page.evaluate("draw", found)
    assert not page.is_visible("#tune-labels-apply"), "a run that was checked before shows its list when it is asked for"
    page.evaluate("draw", {"run": "r", "rows": None})
    page.click("#tune-labels-check")
    page.evaluate("draw", found)
    assert page.is_visible("#tune-labels-apply") and page.get_by_label("Score of row 2").input_value() == "1"


def test_what_a_step_shows_is_scrolled_to(empty_page: Page) -> None:
    page = empty_page
    page.evaluate("document.body.innerHTML = '<div id=steps></div><div style=\"height: 3000px\"></div><div id=shown>Rows</div>'")
    page.emulate_media(reduced_motion="reduce")
    for name in ("core.js", "views.js"):
        page.evaluate(script(name))
    step = {"name": "pairs", "title": "Pairs", "status": "done", "text": "", "actions": [["Make again", "start"], ["Show", "show"]]}
    page.evaluate(
        "(value) => SB.views.steps(document.getElementById('steps'), { trigger: () => {} })(value)", {"title": "", "steps": [step]}
    )
    for label, is_moved in (("Make again", False), ("Show", True)):
        page.get_by_role("button", name=label).click()
        page.evaluate("SB.revealShown('shown')")
        assert (page.evaluate("scrollY") > 0) is is_moved, label
