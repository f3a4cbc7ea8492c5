"""A folder of shards that ``encode`` wrote, searched where it lies: of this machine's owner alone, for it names any folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ...components import cancel_button, start_task
from ...handlers import PROGRESS, progress_callback
from ...page import Page
from ...sessions.tasks import TASKS
from ...views import Value, column, placeholder, table, view

if TYPE_CHECKING:
    from ....services.results import SearchResult

SHARDS = "shards"


def find(page: Page, folder: str, query: str, k: int, progress: Any = None) -> Value:
    """The nearest texts of a folder, with their ids.

    Raises:
        StudioError: strangers reach the page, or the folder holds no vectors.
    """
    if not page.studio.catalog.allow_folders:
        raise StudioError("folders of this machine are not open to visitors", "search a file of your own")
    if not folder.strip():
        raise StudioError("no folder is named", "name one that sbert-studio encode wrote")
    reading = progress_callback(progress, "Indexing the rows") if progress is not None else None
    return _table(page.studio.scale.search(Path(folder.strip()), query, int(k), progress=reading))


def _table(found: SearchResult) -> Value:
    rows = [[hit.fields["id"], hit.text, hit.score] for hit in found.hits]
    by_cosine = found.similarity_fn_name == "cosine"
    score = column("Cosine", "bar", low=0, high=1, digits=3) if by_cosine else column("Score", "number", digits=3)
    columns = [column("Id", theirs=True), column("Text", "text", main=True), score]
    caption = f"{len(found.hits)} of {found.account.read:,} texts · {found.milliseconds:.0f} ms"
    return table(columns, rows, caption=caption, note=" ".join(found.notes), empty="Nothing was found.")


def build(page: Page) -> None:
    """Draw the part of the tab."""
    with gr.Column(elem_classes=["sb-panel"]):
        folder = gr.Textbox(
            label="Folder of shards",
            info="Made by sbert-studio encode, on this machine or many; its rows stay on disk.",
            elem_id="shards-folder",
            elem_classes=["sb-data"],
        )
        query = gr.Textbox(label="What are you looking for?", elem_id="shards-query", lines=1)
        k = gr.Slider(1, 100, 10, step=1, label="Results", elem_id="shards-k")
        button = gr.Button("Search", variant="primary", elem_id="shards-go")
        cancel_button("shards")
    hits = view("table", placeholder("Results appear here, the closest first."), elem_id="shards-hits")

    def on_search(folder: str, query: str, k: int, progress: Any = PROGRESS) -> Value:
        TASKS.supersede_earlier()
        return find(page, folder, query, k, progress)

    for event in (button.click, query.submit):
        start_task(event, "shards", on_search, [folder, query, k], hits, newest=True, show_progress_on=hits)
