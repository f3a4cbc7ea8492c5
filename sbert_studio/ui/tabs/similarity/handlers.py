"""Handlers of the Similarity tab (see :mod:`..panel`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ....data.language import count_languages
from ....errors import StudioError
from ...basket.handlers import VERDICTS, toggle_pair
from ...basket.pairs import LabelledPair
from ...components import samples_of
from ...handlers import progress_callback
from ...handover import SIMILARITY, TextPair
from ...sessions.file_store import restore_form_file, save_form_file
from ...views import UNCHANGED, Unchanged, Update, props
from .view_model import (
    MAX_MODELS,
    PAIRS_VIEW,
    LinkedFile,
    MatrixView,
    PairsView,
    TextInputs,
    TextsView,
    alignment_view,
    empty_pairs,
    gauge_view,
    matrix_view,
    model_table,
    pairs_view,
)

if TYPE_CHECKING:
    import gradio as gr

    from ....data.samples import Sample
    from ...page import Page
    from ...panel import Selection
    from ...routing import Location

SAMPLE_KINDS = ("scored_pairs", "labelled_pairs", "positive_pairs")
_SAMPLE = "sample:"


def compare_texts(
    page: Page, first: str, second: str, model: str | None, saved_model: str, other_models: list[str], corpus: str | None
) -> TextsView:
    """Compare two texts: score, words, and the scores of other models. The scale comes from the selected corpus.

    Raises:
        StudioError: a text is empty.
    """
    fitting, header = page.fit_model(model, saved_model, "", count_languages([first, second]))
    selected = page.corpora.get(corpus) if corpus is not None else None
    texts = selected.corpus if selected is not None else None
    gauge = gauge_view(page.studio, first, second, fitting, texts)
    try:
        words = alignment_view(first, second, page.studio.similarity.align_words(first, second, fitting))
    except StudioError as error:
        words = {"empty": f"The contribution of each word cannot be shown: {error.message}."}
    models = list(dict.fromkeys([fitting, *other_models]))
    return TextsView(
        gauge=gauge | {"made": page.provenance(fitting, selected, "similarity-compare")},
        words=words,
        model_table=model_table(page, first, second, models, texts) if len(models) > 1 else None,
        compared=(first, second),
        header=header,
    )


def fill_texts(page: Page, pair_to_compare: TextPair | None, owner: object, model: str, other_models: list[str]) -> TextInputs | None:
    """Show the pair that another tab hands over, with its model among those that compare."""
    pair = pair_to_compare
    if pair is None:
        return None
    choices = page.model_choices(owner)
    # A model that reads pairs has no cosine to compare.
    if pair.by == model or pair.by not in {name for _, name in choices}:
        return TextInputs(pair.first, pair.second)
    models = [pair.by, *(name for name in other_models or [] if name != pair.by)][: MAX_MODELS - 1]
    return TextInputs(pair.first, pair.second, props(choices=choices, value=models))


def update_other_models(page: Page, owner: object, selected: object) -> Update:
    """Update the choices of other models; deleted ones are no longer selected."""
    choices = page.model_choices(owner)
    names = {name for _, name in choices}
    return props(choices=choices, value=[name for name in selected if name in names] if isinstance(selected, list) else [])


def label_texts(page: Page, compared: tuple[str, str] | None, owner: object, selection: Selection) -> int | Unchanged:
    """Put the compared texts into the basket, labelled by the thumb that was clicked."""
    if compared is None or selection.action not in VERDICTS:
        return UNCHANGED
    return toggle_pair(page, owner, LabelledPair(*compared, VERDICTS[selection.action], SIMILARITY))


def compare_lines(page: Page, lines: str, model: str | None, saved_model: str) -> MatrixView:
    """Compare several texts, one in each line, with each other.

    Raises:
        StudioError: too few or too many lines.
    """
    fitting, header = page.fit_model(model, saved_model, "", count_languages((lines or "").splitlines()))
    matrix = matrix_view(page.studio, lines, fitting)
    return MatrixView(matrix=matrix | {"made": page.provenance(fitting, button="matrix-compare")}, header=header)


def score_file(
    page: Page, file: str | None, owner: object, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> PairsView:
    """Score the pairs of an uploaded file, and store the file for the next visit."""
    if file is None:
        return empty_pairs()
    return _score(page, Path(file), save_form_file(page, owner, file, PAIRS_VIEW), model, saved_model, progress)


def score_sample(
    page: Page, selection: Selection, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> PairsView | None:
    """Score the pairs of the sample that was clicked."""
    sample = _sample(f"{_SAMPLE}{selection.item}")
    return None if sample is None else _score(page, sample.path, f"{_SAMPLE}{sample.id}", model, saved_model, progress)


def open_linked_file(page: Page, location: Location | None, owner: object) -> LinkedFile | None:
    """Open the file of pairs that the address names: put an upload into its box, or hand a sample to :func:`score_linked_sample`.

    Raises:
        StudioError: the file is gone or another visitor's.
    """
    if location is None or location.view != PAIRS_VIEW or not location.file:
        return None
    if _sample(location.file) is not None:
        return LinkedFile(linked=location)
    path = restore_form_file(page, owner, location.file)
    if path is None:
        raise StudioError("this file of pairs is no longer stored here", "choose it once more")
    return LinkedFile(file=path)


def score_linked_sample(
    page: Page, linked: Location | None, model: str | None, saved_model: str, progress: gr.Progress | None = None
) -> PairsView | None:
    """Score the sample that the address names."""
    sample = _sample(linked.file) if linked is not None else None
    return None if sample is None else _score(page, sample.path, UNCHANGED, model, saved_model, progress)


def label_row(page: Page, scores: str | None, owner: object, selection: Selection) -> int | Unchanged:
    """Put a pair of the file into the basket, labelled by the thumb that was clicked."""
    rows = page.pair_scores.get(scores).rows
    row = selection.row(len(rows))
    if row is None or selection.action not in VERDICTS:
        return UNCHANGED
    return toggle_pair(page, owner, LabelledPair(rows[row].a, rows[row].b, VERDICTS[selection.action], SIMILARITY))


def write_scores(page: Page, scores: str | None) -> Path:
    """Write the scored pairs as a CSV file."""
    path = page.downloads.path("similarity.csv")
    page.pair_scores.get(scores).to_csv(path)
    return path


def _score(page: Page, path: Path, source: str | Unchanged, model: str | None, saved_model: str, progress: gr.Progress | None) -> PairsView:
    table = page.studio.data.read_table(path)
    fitting, header = page.fit_model(model, saved_model, path.name, page.studio.data.count_languages(table))
    scores = page.studio.similarity.compare_file(table, fitting, progress_callback(progress, "Encoding"))
    return pairs_view(scores, page.pair_scores.put(scores), page.provenance(fitting), path.name, source, header)


def _sample(file: str) -> Sample | None:
    return next((sample for sample in samples_of(*SAMPLE_KINDS) if f"{_SAMPLE}{sample.id}" == file), None)
