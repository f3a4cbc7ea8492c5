"""Similarity: two texts, several texts, or a file of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ..controls import cancel_button, download_button, long_work
from ..handlers import PROGRESS, guarded, told
from ..page import Page
from ..picker import sample_buttons, samples_of, upload
from ..views import Value, column, nothing, plain, table, view

if TYPE_CHECKING:
    from ...studio import Studio
    from ...studio.results import PairScores

TITLE = "Similarity"
ORDER = 1
_SHOWN = 500
_MOST_TEXTS = 40
_FIRST = "How do I get my money back for a parcel that never came?"
_SECOND = "I'd like a refund, the package was not delivered."
_SEVERAL = """The cat sleeps on the warm windowsill.
A kitten is napping in the sun.
Our quarterly revenue grew by eight percent.
Sales were up this quarter.
How do I bake bread without yeast?"""
# Cosines of sentence encoders crowd between 0 and 1; these words fit models of the all-MiniLM kind.
_WORDS = (
    (0.80, "They say the same", "A paraphrase, or nearly one."),
    (0.60, "Close in meaning", "The same matter, told differently or in part."),
    (0.40, "Related", "They share a subject."),
    (0.20, "Loosely related", "A faint connection."),
    (-1.0, "Unrelated", "Nothing that this model would connect."),
)


def compare(studio: Studio, a: str, b: str, model: str | None) -> Value:
    """Two texts as the value of a gauge."""
    found = studio.explore.similarity(a, b, model)
    words, explain = next((words, explain) for least, words, explain in _WORDS if found.cosine >= least or least == -1.0)
    if found.doubtful:
        words, explain = "Not to be relied on", ""
    explain = " ".join((explain, *found.notes)).strip()
    shown = [
        ("Cosine", found.cosine),
        ("Dot product", found.dot),
        ("Euclidean distance", found.euclidean),
        ("Manhattan distance", found.manhattan),
    ]
    scale = ["unrelated", "loosely", "related", "close", "the same"]
    value = {"cosine": found.cosine, "place": found.cosine, "words": words, "explain": explain, "facts": shown, "scale": scale}
    return plain(value)  # type: ignore[no-any-return]


def matrix(studio: Studio, lines: str, model: str | None) -> Value:
    """Several texts, one a line, each compared with each.

    Raises:
        StudioError: fewer than two, or more than fit a page.
    """
    texts = [line.strip() for line in (lines or "").splitlines() if line.strip()]
    if not 2 <= len(texts) <= _MOST_TEXTS:
        raise StudioError(
            f"there {'is one sentence' if len(texts) == 1 else f'are {len(texts)} sentences'} here", f"write 2 to {_MOST_TEXTS}, one a line"
        )
    note = " ".join(studio.explore.reading_notes(texts, model))
    return {"labels": texts, "values": studio.explore.similarity_matrix(texts, model).tolist(), "note": note}


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
    """Draw the tab."""
    view(
        "intro",
        {
            "title": "How alike are they?",
            "text": "Compare texts by meaning. The model turns each into a vector; the angle between two vectors says how close they are.",
        },
    )
    with gr.Tabs(elem_classes=["sb-subtabs"]):
        with gr.Tab("Two texts"):
            _two(studio, page)
        with gr.Tab("Several sentences"):
            _several(studio, page)
        with gr.Tab("A file of pairs"):
            _file(studio, page)


def _two(studio: Studio, page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            a = gr.Textbox(_FIRST, label="First text", lines=3, max_lines=10, elem_id="similarity-a")
            b = gr.Textbox(_SECOND, label="Second text", lines=3, max_lines=10, elem_id="similarity-b")
            button = gr.Button("Compare", variant="primary", elem_id="similarity-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300):
            gauge = view("gauge", elem_id="similarity-gauge")
            hint = view("empty", {"text": "The score appears here."})

    def on_compare(a: str, b: str, model: str) -> tuple[Value, None]:
        return compare(studio, a, b, model) | {"made": page.made(model, again="similarity-compare")}, None

    for event in (button.click, a.submit, b.submit):
        event(guarded(on_compare), [a, b, page.model], [gauge, hint], api_visibility="private")


def _several(studio: Studio, page: Page) -> None:
    with gr.Row():
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=2):
            lines = gr.Textbox(_SEVERAL, label="Sentences, one a line", lines=8, max_lines=24, elem_id="matrix-lines")
            button = gr.Button("Compare all", variant="primary", elem_id="matrix-compare")
        with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=3):
            grid = view("matrix", elem_id="matrix-view")
            hint = view("empty", {"text": "A grid of scores appears here: darker is closer."})

    def on_matrix(lines: str, model: str) -> tuple[Value, None]:
        return matrix(studio, lines, model) | {"made": page.made(model, again="matrix-compare")}, None

    button.click(guarded(on_matrix), [lines, page.model], [grid, hint], api_visibility="private")


def _file(studio: Studio, page: Page) -> None:
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
