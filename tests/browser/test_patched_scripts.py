"""Gradio's page does with the patched scripts what it does without them."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr
import pytest
from playwright.sync_api import Browser, Page, expect

from sbert_studio.ui import gradio_patches

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


@pytest.fixture(params=[True, False], ids=["patched", "installed"])
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
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
    routes = {"routes": gradio_patches.patched_routes()} if request.param else {}
    blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, ssr_mode=False, app_kwargs=routes)
    page = chromium.new_page()
    page.goto(blocks.local_url)
    yield page
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
