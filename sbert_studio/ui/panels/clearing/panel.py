"""The workbench: which texts say nearly the same, which of each group stays, and the file without the rest."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ...basket.handlers import VERDICTS, toggle_pair
from ...basket.pairs import LabelledPair
from ...components import cancel_button, download_button, start_task
from ...handlers import PROGRESS, handle_errors, progress_callback
from ...page import Page
from ...routing import on_location
from ...views import Value, placeholder, view
from .choices import Choices, alike_value
from .choices import told as in_words

if TYPE_CHECKING:
    from ...routing import Location

_NOTHING = "Texts that say nearly the same appear here, in groups. You decide from which likeness on, and which text of a group stays."
_NONE = "No category"
NEAR = "near"
_REMEMBER = f"() => SB.place({{ tab: 'search', view: '{NEAR}', alike: '{Choices().threshold:.3f}' }})"
_SAY = "say "  # before what the thumbs say: of a whole group "apart" is said as well


def look(page: Page, key: str | None, model: str | None, keep: str, progress: Any = None) -> tuple[str, str, Choices, Value, Any]:
    """Compare every text of the corpus with every other.

    Returns:
        the corpus' key, the key of what was found, the choices, the value of the view and the update of the column's chooser.
    """
    key, chosen = page.corpora.current(key)
    reading = progress_callback(progress, "Comparing every text with every other") if progress is not None else None
    found = page.studio.explore.duplicates(chosen.corpus, model, reading)
    columns = found.corpus.category_columns()
    choices = Choices(column=columns[0] if columns else None, made=page.provenance(model, chosen, "alike-go")).with_keep(keep)
    shown = gr.update(choices=[(_NONE, ""), *((name, name) for name in columns)], value=choices.column or "", visible=bool(columns))
    return key, page.duplicates.put(found), choices, alike_value(found, choices), shown


def change(page: Page, found_key: str | None, choices: Choices | None, **changed: Any) -> tuple[Choices, Value]:
    """The choices and the view after one of the controls was changed; before anything was found there is nothing to draw."""
    now = replace(choices or Choices(), **changed)
    return now, placeholder(_NOTHING) if found_key is None else alike_value(page.duplicates.get(found_key), now)


def click(page: Page, found_key: str | None, choices: Choices | None, kind: Any, index: Any) -> tuple[Choices, Value]:
    """The same after a click in the view."""
    found = page.duplicates.get(found_key)
    now = (choices or Choices()).after(kind, index, found)
    return now, alike_value(found, now)


def judge(page: Page, found_key: str | None, choices: Choices | None, said: str, row: Any, owner: Any) -> int:
    """Put a text of a group into the basket beside the first one that stays, as the thumbs say; ``row`` comes from the browser.

    Raises:
        StudioError: there is no such row in a group.
    """
    found = page.duplicates.get(found_key)
    group = next((one for one in (choices or Choices()).groups(found) if row in one.rows), None)
    if group is None or isinstance(row, bool):
        raise StudioError("there is no such row", "look for near-duplicates once more")
    first = group.rows[0] if group.kept is None else group.kept
    texts = found.corpus.texts
    return toggle_pair(page, owner, LabelledPair(texts[first], texts[row], VERDICTS[said], "Near-duplicates"))


def take(page: Page, key: str | None, found_key: str | None, choices: Choices | None) -> str:
    """The texts that stay as the visitor's corpus: its key.

    Raises:
        StudioError: another corpus was chosen meanwhile.
    """
    found, (_, chosen) = page.duplicates.get(found_key), page.corpora.current(key)
    if chosen.corpus.digest != found.corpus.digest:
        raise StudioError("another file was chosen meanwhile", "find its near-duplicates first")
    groups = (choices or Choices()).groups(found)
    gr.Info(f"{in_words(groups)}. Search and Map work on what stays; choose the file again for all of it.", duration=8, title="Cleared")
    return page.corpora.put(replace(chosen, corpus=found.clean(groups), id=""))  # a link would lead to the whole file


def save(page: Page, found_key: str | None, choices: Choices | None, *, gone: bool) -> Path:
    """The file without the texts that go, or a file of these."""
    found = page.duplicates.get(found_key)
    groups = (choices or Choices()).groups(found)
    stem = Path(found.corpus.name).stem or "corpus"
    target = page.downloads.path(f"{stem} {'removed' if gone else 'clean'}.csv")
    (found.write_gone if gone else found.write_clean)(groups, target)
    return target


def build(page: Page) -> None:
    """Draw it."""
    found, choices = gr.State(None), gr.State(None)
    with gr.Column(elem_classes=["sb-panel"]):
        with gr.Row():
            keep = gr.Radio(
                [("The first", "first"), ("The longest", "longest")],
                value="first",
                label="Keep of each group",
                elem_id="alike-keep",
                min_width=240,
            )
            column = gr.Dropdown(
                [(_NONE, "")],
                value="",
                label="Category",
                info="Groups whose texts carry different ones are marked.",
                visible=False,
                elem_id="alike-column",
                elem_classes=["sb-data"],
                min_width=200,
            )
        button = gr.Button("Find near-duplicates", variant="primary", elem_id="alike-go")
        cancel_button("alike")
    # Above the groups, of which there may be hundreds.
    with gr.Row(elem_classes=["sb-downloads"], visible=False) as ways:
        download_button("Download clean file", partial(save, page, gone=False), [found, choices], elem_id="alike-clean")
        download_button("What was removed", partial(save, page, gone=True), [found, choices], elem_id="alike-gone")
        use = gr.Button("Go on with what stays", elem_id="alike-use")
    shown = view("alike", placeholder(_NOTHING), elem_id="alike-view")

    def on_look(key: str | None, model: str, keep: str, progress: Any = PROGRESS) -> Any:
        return (*look(page, key, model, keep, progress), gr.update(visible=True))

    def on_click(found_key: str | None, choices: Choices | None, owner: Any, event: gr.SelectData) -> Any:
        said = event.value.removeprefix(_SAY) if isinstance(event.value, str) and event.value.startswith(_SAY) else None
        if said in VERDICTS:
            return gr.skip(), gr.skip(), judge(page, found_key, choices, said, event.index, owner)
        return *click(page, found_key, choices, event.value, event.index), gr.skip()

    def on_arrive(place: Location | None) -> Any:
        return gr.skip() if place is None or place.view != NEAR or not place.alike else place

    def on_arrived(place: Location | None, saved: Any, key: str | None, model: str, keep: str, progress: Any = PROGRESS) -> Any:
        if place is None:  # a request that the page did not send
            return gr.skip()
        key, made, now, _, columns = look(page, key, model, keep, progress)
        now = now.restored(saved, page.duplicates.get(made), place.alike)
        return key, made, now, alike_value(page.duplicates.get(made), now), columns, gr.update(visible=True), now.keep

    def on_choices(now: Choices | None, found_key: str | None) -> Any:
        kept = now is not None and found_key is not None and found_key in page.duplicates
        return now.saved(page.duplicates.get(found_key)) if kept else gr.skip()  # type: ignore[union-attr]

    def on_corpus(found_key: str | None, key: str | None) -> Any:
        if found_key is None or (key is not None and page.corpora.get(key).corpus.digest == page.duplicates.get(found_key).corpus.digest):
            return (gr.skip(),) * 4
        return None, None, placeholder(_NOTHING), gr.update(visible=False)

    outputs = [page.corpus, found, choices, shown, column, ways]
    looked = start_task(button.click, "alike", on_look, [page.corpus, page.model, keep], outputs, show_progress_on=shown)
    looked.success(None, js=_REMEMBER)  # another threshold is told to the address by the view
    quiet = {"api_visibility": "private", "show_progress": "hidden"}
    # A hand may be quicker than the answers: each of its clicks counts, one after the other.
    each = {**quiet, "trigger_mode": "multiple", "concurrency_limit": 1, "concurrency_id": "alike-choices"}
    shown.select(handle_errors(on_click), [found, choices, page.owner], [choices, shown, page.basket_version], **each)
    keep.input(handle_errors(lambda key, now, value: change(page, key, now, keep=value)), [found, choices, keep], [choices, shown], **each)
    column.input(
        handle_errors(lambda key, now, value: change(page, key, now, column=value or None)),
        [found, choices, column],
        [choices, shown],
        **each,
    )
    use.click(handle_errors(partial(take, page)), [page.corpus, found, choices], page.corpus, api_visibility="private")
    start_task(
        on_location(page, on_arrive, [page.location]),
        "alike",
        on_arrived,
        [page.location, page.saved_duplicates, page.corpus, page.model, keep],
        [*outputs, keep],
        show_progress_on=shown,
    )
    choices.change(handle_errors(on_choices), [choices, found], page.saved_duplicates, **quiet)
    page.corpus.change(handle_errors(on_corpus), [found, page.corpus], [found, choices, shown, ways], **quiet)
