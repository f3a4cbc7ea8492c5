"""A file of pairs, each with its score; how the scores that it holds go with them, and the rows that disagree most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..controls import cancel_button, download_button, long_work
from ..handlers import PROGRESS, told
from ..page import Page
from ..picker import sample_buttons, samples_of, upload
from ..views import Value, column, nothing, table, view

if TYPE_CHECKING:
    from ...studio import Studio
    from ...studio.results import PairScores

_SHOWN = 500


def pairs(studio: Studio, path: Path, model: str | None, progress: Any = None) -> PairScores:
    """A file of pairs, scored."""
    return studio.explore.similarity_pairs(path, model, told(progress, "Encoding") if progress is not None else None)


def pairs_table(scores: PairScores) -> Value:
    """The first rows of scored pairs as a table."""
    a, b = scores.columns
    columns = [column("Row", "row"), column(a), column(b), column("Cosine", "bar"), column("Euclidean", "number")]
    rows = [[one.row, one.a, one.b, one.similarity.cosine, one.similarity.euclidean] for one in scores.rows[:_SHOWN]]
    rest = len(scores.rows) - len(rows)
    notes = [f"{scores.agreement.in_words()}."] if scores.agreement else []
    notes += [f"{scores.account.in_words('compared')}."] if scores.account.left_out else []
    notes += [*scores.notes, *([f"{rest:,} more are in the file to download."] if rest else [])]
    return table(columns, rows, caption=scores.account.in_short("compared"), note=" ".join(notes))


def build(studio: Studio, page: Page) -> None:
    """Draw it."""
    samples = samples_of("scored_pairs", "labelled_pairs", "positive_pairs")
    scored = gr.State(None)
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            file = upload("A file with two columns of texts", "pairs-file")
            buttons = sample_buttons(samples, "pairs")
            cancel_button("pairs")
            save = download_button("Download CSV", lambda key: _saved(page, key), [scored], elem_id="pairs-save", visible=False)
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=2):
            shown = view("table", nothing("Each row of the file appears here with its score."), elem_id="pairs-table")

    def on_pairs(path: str | None, model: str, progress: Any = PROGRESS) -> Any:
        if path is None:
            return None, nothing("Each row of the file appears here with its score."), gr.update(visible=False)
        found = pairs(studio, Path(path), model, progress)
        return page.pair_scores.put(found), pairs_table(found) | {"made": page.made(model)}, gr.update(visible=True)

    outputs = [scored, shown, save]
    long_work(file.change, "pairs", on_pairs, [file, page.model], outputs, show_progress_on=shown)
    for item, button in zip(samples, buttons, strict=True):

        def on_sample(model: str, progress: Any = PROGRESS, path: Path = item.path) -> Any:
            return on_pairs(str(path), model, progress)

        long_work(button.click, "pairs", on_sample, page.model, outputs, show_progress_on=shown)


def _saved(page: Page, key: str | None) -> Path:
    target = page.downloads.path("similarity.csv")
    page.pair_scores.get(key).to_csv(target)
    return target
