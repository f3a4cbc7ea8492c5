"""A file of pairs, each with its score; how the scores that it holds go with them, and the rows that disagree most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..basket.gather import SAID, mark
from ..basket.pairs import Pair
from ..controls import cancel_button, download_button, long_work
from ..handlers import PROGRESS, guarded, told
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
    columns = [column("Row", "row"), column(a, theirs=True), column(b, theirs=True), column("Cosine", "bar"), column("Euclidean", "number")]
    rows = [[one.row, one.a, one.b, one.similarity.cosine, one.similarity.euclidean] for one in scores.rows[:_SHOWN]]
    rest = len(scores.rows) - len(rows)
    notes = [f"{scores.agreement.in_words()}."] if scores.agreement else []
    notes += [f"{scores.account.in_words('compared')}."] if scores.account.left_out else []
    notes += [*scores.notes, *([f"{rest:,} more are in the file to download."] if rest else [])]
    return table(columns, rows, caption=scores.account.in_short("compared"), note=" ".join(notes))


def worst_table(scores: PairScores) -> Value | None:
    """The rows on which the model and the scores of the file disagree most; nothing where it holds none."""
    if scores.agreement is None or not scores.agreement.worst:
        return None
    a, b = scores.columns
    rows = []
    for gap in scores.agreement.worst:
        one = scores.rows[gap.place]
        side = "alike to the model" if gap.gap > 0 else "not alike to the model"
        rows.append([one.row, one.a, one.b, gap.said, one.similarity.cosine, f"{side}, {abs(gap.gap):.0%} of the ranks apart"])
    of = column(scores.agreement.column, "text" if isinstance(rows[0][3], str) else "number", digits=2, theirs=True)
    pairs = [(scores.rows[gap.place].a, scores.rows[gap.place].b) for gap in scores.agreement.worst]
    return table(
        [
            column("Row", "row"),
            column(a, theirs=True),
            column(b, theirs=True),
            of,
            column("Cosine", "bar"),
            column("Disagreement", ours=True),
        ],
        rows,
        ids=[gap.place for gap in scores.agreement.worst],
        pairs=pairs,
        caption=f"{scores.agreement.in_words()}. The {len(rows)} rows that disagree most:",
        note="Either may be wrong. Say by a thumb what is right, and it gathers in the basket to train on.",
    )


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
            worst = view("table", elem_id="pairs-worst")
            shown = view("table", nothing("Each row of the file appears here with its score."), elem_id="pairs-table")

    def on_pairs(path: str | None, model: str, progress: Any = PROGRESS) -> Any:
        if path is None:
            return None, nothing("Each row of the file appears here with its score."), gr.update(visible=False), None
        found = pairs(studio, Path(path), model, progress)
        made = {"made": page.made(model)}
        return page.pair_scores.put(found), pairs_table(found) | made, gr.update(visible=True), worst_table(found)

    def on_thumb(key: str | None, owner: Any, event: gr.SelectData) -> Any:
        rows = page.pair_scores.get(key).rows
        if event.value not in SAID or not isinstance(event.index, int) or not 0 <= event.index < len(rows):
            return gr.skip()
        one = rows[event.index]
        return mark(page, owner, Pair(one.a, one.b, SAID[event.value], "Similarity"))

    outputs = [scored, shown, save, worst]
    worst.select(
        guarded(on_thumb),
        [scored, page.owner],
        page.basket_changed,
        trigger_mode="multiple",
        api_visibility="private",
        show_progress="hidden",
    )
    long_work(file.change, "pairs", on_pairs, [file, page.model], outputs, show_progress_on=shown)
    for item, button in zip(samples, buttons, strict=True):

        def on_sample(model: str, progress: Any = PROGRESS, path: Path = item.path) -> Any:
            return on_pairs(str(path), model, progress)

        long_work(button.click, "pairs", on_sample, page.model, outputs, show_progress_on=shown)


def _saved(page: Page, key: str | None) -> Path:
    target = page.downloads.path("similarity.csv")
    page.pair_scores.get(key).to_csv(target)
    return target
