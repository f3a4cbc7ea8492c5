"""A file of pairs, each with its score; how the scores that it holds go with them, and the rows that disagree most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....errors import StudioError
from ...page import Page
from ...pieces.controls import cancel_button, download_button, long_work
from ...pieces.handlers import PROGRESS, guarded, told
from ...pieces.picker import sample_buttons, samples_of, upload
from ...pieces.views import Value, column, nothing, table, view
from ...places import arriving
from ...visitors import given
from ..basket.gather import SAID, mark
from ..basket.pairs import Pair

if TYPE_CHECKING:
    from ....data.loading.table import Table
    from ....data.samples import Sample
    from ....services import Studio
    from ....services.results import PairScores
    from ...places import Place

_SHOWN = 500
_KINDS = ("scored_pairs", "labelled_pairs", "positive_pairs")
VIEW = "pairs"
_SAMPLE = "sample:"
_EITHER = "Either may be wrong. Say by a thumb what is right, and it gathers in the basket to train on."
_REMEMBER = "(file) => SB.place({ tab: 'similarity', view: 'pairs', file })"


def pairs(studio: Studio, path: Path | Table, model: str | None, progress: Any = None) -> PairScores:
    """A file of pairs, scored."""
    return studio.explore.similarity_pairs(path, model, told(progress, "Encoding") if progress is not None else None)


def pairs_table(scores: PairScores) -> Value:
    """The first rows of scored pairs as a table."""
    a, b = scores.columns
    columns = [column("Row", "row"), column(a, theirs=True), column(b, theirs=True), column("Cosine", "bar"), column("Euclidean", "number")]
    rows = [[one.row, one.a, one.b, one.similarity.cosine, one.similarity.euclidean] for one in scores.rows[:_SHOWN]]
    rest = len(scores.rows) - len(rows)
    above = bool(scores.agreement and scores.agreement.worst)  # there both stand already
    notes = [f"{scores.agreement.in_words()}."] if scores.agreement and not above else []
    notes += [f"{scores.account.describe('compared')}."] if scores.account.skipped and not above else []
    notes += [*scores.notes, *([f"{rest:,} more are in the file to download."] if rest else [])]
    return table(columns, rows, caption=scores.account.summarize("compared"), note=" ".join(notes))


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
        caption=_headline(scores, scores.agreement.in_words(), len(rows)),
        note=" ".join([*_scale(scores), _EITHER]),
    )


def _headline(scores: PairScores, agreement: str, worst: int) -> str:
    unsaid = len(scores.rows) - (scores.agreement.rows if scores.agreement else 0)
    account = scores.account.describe("compared") if scores.account.skipped or unsaid else ""
    if unsaid:
        account = f"{account}; {unsaid:,} of those compared have nothing in the column of scores or labels"
    if not account:
        return f"{agreement}. The {worst} rows that disagree most:"
    return f"{agreement}. {account}. The {worst} rows that disagree most:"


def made_of(page: Page, model: str, name: str) -> Value:
    """What a file of pairs was scored with, for every view of its scores; see :meth:`~sbert_studio.ui.page.Page.made`."""
    made = page.made(model)
    return {"made": {**made, "words": f"{made['words']} · {name}", "theirs": [*made["theirs"], name]}}


def scores_of(page: Page, path: Path, model: str, progress: Any = None, table: Table | None = None) -> tuple[str, Value, Any, Value | None]:
    """A file of pairs on the page: the key of its scores, all of them, the button to save them, and the rows that disagree most.

    Args:
        table: the rows of the file, where they were read already.
    """
    found = pairs(page.studio, path if table is None else table, model, progress)
    made, worst = made_of(page, model, path.name), worst_table(found)
    return page.pair_scores.put(found), pairs_table(found) | made, gr.update(visible=True), None if worst is None else worst | made


def _scale(scores: PairScores) -> list[str]:
    scale = scores.agreement.scale if scores.agreement else ()
    return [f"Scores as the file has them: {scale[0]:g} is least alike, {scale[1]:g} most."] if scale else []


def build(studio: Studio, page: Page) -> None:
    """Draw it."""
    samples = samples_of(*_KINDS)
    scored = gr.State(None)
    known = gr.Textbox("", visible="hidden", label="known", elem_id="pairs-known")
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
            file = upload("A file with two columns of texts", "pairs-file")
            buttons = sample_buttons(samples, "pairs")
            cancel_button("pairs")
            save = download_button("Download CSV", lambda key: _saved(page, key), [scored], elem_id="pairs-save", visible=False)
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=2):
            worst = view("table", elem_id="pairs-worst")
            shown = view("table", nothing("Each row of the file appears here with its score."), elem_id="pairs-table")

    def scored_by_fitting(path: Path, known: Any, model: str, kept: Any, progress: Any) -> tuple[Any, ...]:
        """The values of ``outputs``; ``known`` is the one of the box of that name."""
        read = page.studio.read.table(path)
        fitting, *updates = page.fit_model(model, kept, path.name, page.studio.read.languages(read))
        return *scores_of(page, path, fitting, progress, read), known, *updates

    def on_pairs(path: str | None, owner: Any, model: str, kept: Any, progress: Any = PROGRESS) -> Any:
        if path is None:
            empty = nothing("Each row of the file appears here with its score.")
            return None, empty, gr.update(visible=False), None, gr.skip(), gr.skip(), gr.skip()
        return scored_by_fitting(Path(path), given.keep(page, owner, path, VIEW), model, kept, progress)

    def on_thumb(key: str | None, owner: Any, event: gr.SelectData) -> Any:
        rows = page.pair_scores.get(key).rows
        if event.value not in SAID or not isinstance(event.index, int) or not 0 <= event.index < len(rows):
            return gr.skip()
        one = rows[event.index]
        return mark(page, owner, Pair(one.a, one.b, SAID[event.value], "Similarity"))

    def on_arrive(place: Place | None, owner: Any) -> Any:
        update, sample = arrived(page, owner, place)
        return update, gr.skip() if sample is None else place

    def on_arrived(place: Place | None, owner: Any, model: str, kept: Any, progress: Any = PROGRESS) -> Any:
        sample = arrived(page, owner, place)[1]
        return (gr.skip(),) * 7 if sample is None else scored_by_fitting(sample.path, gr.skip(), model, kept, progress)

    outputs = [scored, shown, save, worst, known, page.model, page.brought]
    models = [page.model, page.kept_model]
    worst.select(
        guarded(on_thumb),
        [scored, page.owner],
        page.basket_changed,
        trigger_mode="multiple",
        api_visibility="private",
        show_progress="hidden",
    )
    read = [long_work(file.change, "pairs", on_pairs, [file, page.owner, *models], outputs, show_progress_on=shown)]
    # A file that is put into the box is read as one that is chosen.
    to_read = arriving(page, on_arrive, [page.arrived, page.owner], [file])
    long_work(to_read, "pairs", on_arrived, [page.arrived, page.owner, *models], outputs, show_progress_on=shown)
    for item, button in zip(samples, buttons, strict=True):

        def on_sample(model: str, kept: Any, progress: Any = PROGRESS, item: Sample = item) -> Any:
            return scored_by_fitting(item.path, f"{_SAMPLE}{item.id}", model, kept, progress)

        read.append(long_work(button.click, "pairs", on_sample, models, outputs, show_progress_on=shown))
    for event in read:
        event.success(None, known, None, js=_REMEMBER)


def arrived(page: Page, owner: Any, place: Place | None) -> tuple[Any, Sample | None]:
    """What an address names: an update of the upload box, or a sample.

    Raises:
        StudioError: the file is no longer kept, or somebody else's.
    """
    if place is None or place.view != VIEW or not place.file:
        return gr.skip(), None
    sample = next((one for one in samples_of(*_KINDS) if f"{_SAMPLE}{one.id}" == place.file), None)
    if sample is not None:
        return gr.skip(), sample
    path = given.again(page, owner, place.file)
    if path is None:
        raise StudioError("this file of pairs is no longer kept here", "choose it once more")
    return path, None


def _saved(page: Page, key: str | None) -> Path:
    target = page.downloads.path("similarity.csv")
    page.pair_scores.get(key).to_csv(target)
    return target
