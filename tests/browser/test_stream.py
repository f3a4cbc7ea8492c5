"""The page's stream of events: an end that the server sends while something is under way is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

_STREAM = Path(__file__).resolve().parents[2] / "assets" / "page" / "stream.js"
# A server that ends its stream once nothing is under way, as Gradio's does; each join is answered when the test says so.
_SERVER = """
window.streams = []; window.answers = [];
window.fetch = async (input) => {
  const url = input.url ?? input;
  if (url.endsWith("/queue/join")) {
    const id = await new Promise((resolve) => window.answers.push(resolve));
    return new Response(JSON.stringify({ event_id: id }));
  }
  return new Response(new ReadableStream({ start(controller) {
    const encoder = new TextEncoder();
    window.streams.push({ say: (text) => controller.enqueue(encoder.encode(text)), end: () => controller.close() });
  } }));
};
"""
_PAGE = """
window.heard = [];
window.join = async () => {
  const { event_id } = await (await fetch("http://page/queue/join")).json();
  window.heard.push("joined " + event_id);
};
window.listen = async () => {
  const answer = await fetch(new Request("http://page/queue/data?session_hash=a"));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return window.heard.push("end");
    for (const line of value.split("\\n\\n")) if (line) window.heard.push(JSON.parse(line.slice(6)).msg);
  }
};
window.said = (msg, id) => `data: ${JSON.stringify({ msg, event_id: id })}\\n\\n`;
"""


def test_an_end_that_crosses_a_click_opens_the_next_stream(chromium: Browser) -> None:
    page = chromium.new_page()
    for script in (_SERVER, _STREAM.read_text(encoding="utf-8"), _PAGE):
        page.add_script_tag(content=script)

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
    page.close()
