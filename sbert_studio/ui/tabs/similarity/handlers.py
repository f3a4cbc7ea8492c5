"""Handlers of the Similarity tab (see :mod:`..panel`), and the values of its views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ....data.language import count_languages
from ....data.samples import default_sample
from ....errors import StudioError
from ....explore.duplicates import similarity_order
from ....i18n import _, join, to_sentence
from ....models.similarity import score_note
from ....serialization import to_plain
from ...basket import VERDICTS, LabelledPair, toggle_pair
from ...handlers import progress_callback
from ...state import SIMILARITY, ModelUpdate, SelectedCorpus, TextPair
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, table

if TYPE_CHECKING:
    import gradio as gr

    from ....data.corpus import Corpus
    from ....explore.explain import ScoreDistribution, Span, WordAlignment
    from ....services import Studio
    from ....services.results import PairScores
    from ...page import Page
    from ...panel import Selection

BUTTON = "pairs-go"
PAIRS_VIEW = "pairs"
NO_SCORES = "Each row of the file appears here with its score."
MAX_MODELS, MAX_TEXTS = 5, 200
_MAX_FIRST_PAIRS = 2_000  # pairs that are scored without being asked
_MAX_ROWS, _MAX_SAMPLE_ROWS = 500, 20  # rows shown of the data, and of a sample in its place
_IDENTICAL = 1 - 1e-6
# Share of random pairs that are less similar → description.
_DESCRIPTIONS = (
    (0.999, "Very close"),
    (0.99, "Close in meaning"),
    (0.9, "Related"),
    (0.7, "Loosely related"),
    (-1.0, "No closer than chance"),
)
_MARKS = ((0.5, "half of random pairs"), (0.9, "9 of 10"), (0.99, "99 of 100"))
_BINS = 48
_UNRELIABLE = "Unreliable"
_VERDICT_HINT = "Either may be wrong. Click a thumb to label the pair; labelled pairs are collected in the basket for training."


@dataclass(frozen=True)
class TextsView:
    gauge: Value
    words: Value
    model_table: Value | None
    compared: tuple[str, str]
    header: ModelUpdate = field(default_factory=ModelUpdate)
    hint: None = None


@dataclass(frozen=True)
class MatrixView:
    matrix: Value
    header: ModelUpdate = field(default_factory=ModelUpdate)
    hint: None = None


@dataclass(frozen=True)
class PairsView:
    scores: str | None  # key in ``page.pair_scores``
    table: Value
    save: Update  # updates of the download buttons
    save_xlsx: Update
    worst: Value | None
    missing: Value | None = None  # note on why the sample is shown instead of the data
    button: Update = field(default_factory=lambda: props(interactive=True))
    header: ModelUpdate = field(default_factory=ModelUpdate)


def describe_cosine(cosine: float, usual: ScoreDistribution) -> tuple[str, str]:
    """Return a short description of a cosine, and a sentence that compares it with random pairs."""
    low, high = usual.quantile(0.25), usual.quantile(0.75)
    explanation = _(
        "More similar than {odds} random pairs from {of}; half of them score between {low} and {high}.",
        odds=usual.odds(cosine),
        of=usual.of,
        low=f"{low:.2f}",
        high=f"{high:.2f}",
    )
    if cosine >= _IDENTICAL:
        return "Identical for this model", explanation
    return next(words for share, words in _DESCRIPTIONS if usual.share(cosine) >= share), explanation


def gauge_view(studio: Studio, first: str, second: str, model: str | None, corpus: Corpus | None = None) -> Value:
    """Return the value of a ``gauge`` view, with a scale from random pairs of ``corpus``, or of everyday sentences by default."""
    found = studio.similarity.compare(first, second, model)
    usual = studio.similarity.baseline(corpus, model)
    words, explanation = describe_cosine(found.cosine, usual)
    if found.doubtful:
        words, explanation = _UNRELIABLE, ""
    low = min(found.cosine, usual.quantile(0), 0.0)

    def position(cosine: float) -> float:
        return (cosine - low) / (1 - low)

    value: Value = {
        "cosine": found.cosine,
        "place": position(found.cosine),
        "words": words,
        "explain": join(" ", filter(None, (explanation, *found.notes))),
        "facts": [
            ("Cosine", found.cosine),
            ("Dot product", found.dot),
            ("Euclidean distance", found.euclidean),
            ("Manhattan distance", found.manhattan),
        ],
        "bins": usual.bins(low, 1.0, _BINS),
        "marks": [[position(usual.quantile(share)), label] for share, label in _MARKS],
        "pair": [first.strip(), second.strip()],
    }
    return to_plain(value)  # type: ignore[no-any-return]


def model_table(page: Page, first: str, second: str, models: Sequence[str], corpus: Corpus | None = None) -> Value:
    rows = []
    for model in models[:MAX_MODELS]:
        found, usual = page.studio.similarity.compare(first, second, model), page.studio.similarity.baseline(corpus, model)
        words = _UNRELIABLE if found.doubtful else describe_cosine(found.cosine, usual)[0]
        rows.append([page.model_title(model), found.cosine, usual.quantile(0.5), usual.odds(found.cosine), words])
    of = page.studio.similarity.baseline(corpus, models[0]).of
    columns = [
        column("Model", main=True),
        column("Cosine", "bar"),
        column("Median", "number"),
        column("Random pairs below", ours=True),
        column("Assessment", ours=True),
    ]
    note = _("Cosines of different models are not comparable; the share of random pairs from {of} with a lower score is.", of=of)
    return table(columns, rows, caption=_("Comparison of {rows} models", rows=len(rows)), note=note)


def alignment_view(first: str, second: str, alignment: WordAlignment) -> Value:
    """Return the value of a ``words`` view: both texts split into words, and how well each word matches the other text."""
    recall, precision, f1 = alignment.match
    facts = [
        _(
            "Word matching: {recall} of the first text is found in the second, and {precision} of the second in the first (F₁ {f1}).",
            recall=f"{recall:.2f}",
            precision=f"{precision:.2f}",
            f1=f"{f1:.2f}",
        )
    ]
    if alignment.cosine is not None and alignment.parts is not None:
        parts = [
            _(
                "The cosine of {cosine} is a sum: word pairs contribute {parts}.",
                cosine=f"{alignment.cosine:.3f}",
                parts=f"{alignment.parts.sum():+.2f}",
            )
        ]
        parts += [_("Special tokens contribute {rest}.", rest=f"{alignment.rest:+.2f}")] if abs(alignment.rest) >= 0.005 else []
        facts = [*parts, *facts]
        facts.append("The shade of a word shows its contribution to the cosine.")
    else:
        facts.append("This model's score is not a sum over words; the shade of a word shows how well the other text matches it.")
    best = alignment.alike.max(axis=1), alignment.alike.max(axis=0)
    totals = best if alignment.parts is None else (alignment.parts.sum(axis=1), alignment.parts.sum(axis=0))
    value = {
        "texts": [_split_at_words(first, alignment.words[0]), _split_at_words(second, alignment.words[1])],
        "alike": [[round(float(cell), 3) for cell in row] for row in alignment.alike],
        "partners": [partners.tolist() for partners in alignment.partners],
        "totals": [[round(float(cell), 4) for cell in total] for total in totals],
        "sums": alignment.parts is not None,
        "facts": facts,
    }
    return to_plain(value)  # type: ignore[no-any-return]


def _split_at_words(text: str, words: tuple[Span, ...]) -> dict[str, object]:
    ends = [0, *(end for _, end in words)]
    parts = [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, words, strict=False)]
    return {"words": parts, "tail": text[ends[-1] :]}


def matrix_view(studio: Studio, lines: str, model: str | None) -> Value:
    """Return the value of a ``matrix`` view for texts in lines, with an order that places similar texts next to each other."""
    texts = [line.strip() for line in (lines or "").splitlines() if line.strip()]
    if not 2 <= len(texts) <= MAX_TEXTS:
        raise StudioError(
            _("number of sentences: {texts}", texts=len(texts)), _("enter 2 to {max_texts}, one per line", max_texts=MAX_TEXTS)
        )
    encoder = studio.catalog.load(model or studio.settings.default_model)
    note = join(" ", (*score_note(encoder.name, encoder.similarity_name), *studio.languages.reading_notes(texts, model)))
    scores = studio.similarity.compare_all(texts, model)
    # Dot products and distances have no fixed scale, so the shades cover the observed range.
    low, high = (0.0, 1.0) if encoder.similarity_name == "cosine" else (float(scores.min()), float(scores.max()))
    order = similarity_order((scores - low) / ((high - low) or 1))
    values = [[round(float(cell), 4) for cell in row] for row in scores]
    return {"labels": texts, "values": values, "order": order, "low": low, "high": high, "note": note}


def clear_pairs() -> PairsView:
    """Clear the scores when other data is selected."""
    return PairsView(scores=None, table=placeholder(NO_SCORES), save=props(visible=False), save_xlsx=props(visible=False), worst=None)


def pairs_view(scores: PairScores, key: str, provenance: Value, header: ModelUpdate, max_rows: int = _MAX_ROWS) -> PairsView:
    """Return the view of a scored file.

    Args:
        key: key of the scores in ``page.pair_scores``.
        provenance: provenance of the model that scored it, see :meth:`.page.Page.provenance`.
        max_rows: largest number of rows to show.
    """
    made = {"made": provenance}
    worst = worst_table(scores)
    return PairsView(
        scores=key,
        table=pairs_table(scores, max_rows) | made,
        save=props(visible=True),
        save_xlsx=props(visible=True),
        worst=None if worst is None else worst | made,
        header=header,
    )


def pairs_table(scores: PairScores, max_rows: int) -> Value:
    a, b = scores.columns
    columns = [column("Row", "row"), column(a, theirs=True), column(b, theirs=True), column("Cosine", "bar"), column("Euclidean", "number")]
    rows = [[one.row, one.a, one.b, one.similarity.cosine, one.similarity.euclidean] for one in scores.rows[:max_rows]]
    rest = len(scores.rows) - len(rows)
    # The table of the worst rows, if any, is shown above this one and has both notes.
    has_worst = bool(scores.agreement and scores.agreement.worst)
    notes = [_("{agreement}.", agreement=scores.agreement.describe())] if scores.agreement and not has_worst else []
    notes += [_("{account}.", account=scores.account.describe("compared"))] if scores.account.skipped and not has_worst else []
    notes += [*scores.notes, *([_("The download also contains {rest} more rows.", rest=f"{rest:,}")] if rest else [])]
    return table(columns, rows, caption=scores.account.summarize("compared"), note=join(" ", notes))


def worst_table(scores: PairScores) -> Value | None:
    """Return a table of the rows on which the model and the file's scores disagree most; ``None`` if the file has no scores."""
    agreement = scores.agreement
    if agreement is None or not agreement.worst:
        return None
    a, b = scores.columns
    rows = []
    for gap in agreement.worst:
        row = scores.rows[gap.place]
        side = "similar according to the model" if gap.gap > 0 else "dissimilar according to the model"
        rows.append(
            [
                row.row,
                row.a,
                row.b,
                gap.gold,
                row.similarity.cosine,
                _("{side}; its ranks differ by {gap}", side=side, gap=f"{abs(gap.gap):.0%}"),
            ]
        )
    columns = [
        column("Row", "row"),
        column(a, theirs=True),
        column(b, theirs=True),
        column(agreement.column, "text" if isinstance(rows[0][3], str) else "number", digits=2, theirs=True),
        column("Cosine", "bar"),
        column("Disagreement", ours=True),
    ]
    scale = agreement.scale
    notes = (
        [_("Scores as in the file: {scale} is least similar, {scale2} most.", scale=f"{scale[0]:g}", scale2=f"{scale[1]:g}")]
        if scale
        else []
    )
    return table(
        columns,
        rows,
        ids=[gap.place for gap in agreement.worst],
        pairs=[(scores.rows[gap.place].a, scores.rows[gap.place].b) for gap in agreement.worst],
        caption=_headline(scores, agreement.describe(), agreement.rows, len(rows)),
        note=join(" ", [*notes, _VERDICT_HINT]),
    )


def _headline(scores: PairScores, agreement: str, scored: int, worst: int) -> str:
    unscored = len(scores.rows) - scored
    account = scores.account.describe("compared") if scores.account.skipped or unscored else ""
    if unscored:
        account = _("{account}; {unscored} of the compared rows have no score or label", account=account, unscored=f"{unscored:,}")
    if not account:
        return _("{agreement}. The {worst} rows that disagree most:", agreement=agreement, worst=worst)
    return _("{agreement}. {account}. The {worst} rows that disagree most:", agreement=agreement, account=account, worst=worst)


def compare_texts(
    page: Page, first: str, second: str, model: str | None, saved_model: str, other_models: list[str], corpus: str | None
) -> TextsView:
    fitting, header = page.fit_model(model, saved_model, "", count_languages([first, second]))
    selected = page.corpora.get(corpus) if corpus is not None else None
    texts = selected.corpus if selected is not None else None
    gauge = gauge_view(page.studio, first, second, fitting, texts)
    try:
        words = alignment_view(first, second, page.studio.similarity.align_words(first, second, fitting))
    except StudioError as error:
        words = {"empty": _("The contribution of each word cannot be shown: {message}.", message=error.message)}
    models = list(dict.fromkeys([fitting, *other_models]))
    return TextsView(
        gauge=gauge | {"made": page.provenance(fitting, selected, "similarity-compare")},
        words=words,
        model_table=model_table(page, first, second, models, texts) if len(models) > 1 else None,
        compared=(first, second),
        header=header,
    )


def fill_texts(
    page: Page, pair_to_compare: TextPair | None, owner: object, model: str, other_models: list[str]
) -> tuple[str, str, Update | Unchanged] | None:
    """Return the texts of a pair passed by another tab, and the models to compare with, including its own."""
    pair = pair_to_compare
    if pair is None:
        return None
    choices = page.model_choices(owner)
    # A model that scores pairs has no cosine to compare.
    if pair.by == model or pair.by not in {name for _, name in choices}:
        return pair.first, pair.second, UNCHANGED
    models = [pair.by, *(name for name in other_models or [] if name != pair.by)][: MAX_MODELS - 1]
    return pair.first, pair.second, props(choices=choices, value=models)


def label_texts(page: Page, compared: tuple[str, str] | None, owner: object, selection: Selection) -> int | Unchanged:
    if compared is None or selection.action not in VERDICTS:
        return UNCHANGED
    return toggle_pair(page, owner, LabelledPair(*compared, VERDICTS[selection.action], SIMILARITY))


def compare_lines(page: Page, lines: str, model: str | None, saved_model: str) -> MatrixView:
    fitting, header = page.fit_model(model, saved_model, "", count_languages((lines or "").splitlines()))
    matrix = matrix_view(page.studio, lines, fitting)
    return MatrixView(matrix=matrix | {"made": page.provenance(fitting, button="matrix-compare")}, header=header)


def score_data(page: Page, corpus: str | None, model: str | None, saved_model: str, progress: gr.Progress | None = None) -> PairsView:
    """Score the pairs of the selected data.

    Raises:
        StudioError: the data has fewer than two columns of texts.
    """
    selected = page.corpora.selected(corpus)
    name = selected.corpus.name
    table = page.corpora.table(selected.path, name, progress_callback(progress, "Reading"))
    fitting, header = page.fit_model(model, saved_model, name, page.studio.data.count_languages(table))
    scores = page.studio.similarity.compare_file(table, fitting, progress_callback(progress, "Encoding"))
    return pairs_view(scores, page.pair_scores.put(scores), page.provenance(fitting, selected, BUTTON), header)


def score_first_data(
    page: Page, corpus: str | None, model: str | None, saved_model: str, language: str, progress: gr.Progress | None = None
) -> PairsView | None:
    """Score the pairs that the part opens with: those of the data, or of a sample if it has none; many are only scored when asked for."""
    selected = page.corpora.selected(corpus)
    if not page.studio.similarity.has_pairs(page.corpora.table(selected.path, selected.corpus.name)):
        return _score_sample(page, selected, model, language, progress)
    if selected.corpus.account.read > _MAX_FIRST_PAIRS:
        return clear_pairs()
    try:
        return score_data(page, corpus, model, saved_model, progress)
    except StudioError as error:
        return replace(clear_pairs(), table=placeholder(join(" ", [to_sentence(part) for part in (error.message, error.hint) if part])))


def _score_sample(
    page: Page, selected: SelectedCorpus, model: str | None, language: str, progress: gr.Progress | None = None
) -> PairsView | None:
    """Score the pairs of a sample, and say that the data has none."""
    sample, name = default_sample(language, "scored_pairs"), selected.corpus.name
    disabled = props(interactive=False)
    if sample is None:
        return replace(clear_pairs(), button=disabled)
    table = page.corpora.table(sample.path, sample.title)
    fitting, _unused = page.fit_model(model, "", sample.title, page.studio.data.count_languages(table))
    scores = page.studio.similarity.compare_file(table, fitting, progress_callback(progress, "Encoding"))
    text = _(
        "{name} has only one text column, but pairs need two. Below are the pairs of the sample “{sample}”.", name=name, sample=sample.title
    )
    made = page.provenance(fitting)
    made |= {"form": "first", "key": "", "words": join(" · ", [made["words"], sample.title])}  # follows the header by itself
    view = pairs_view(scores, page.pair_scores.put(scores), made, ModelUpdate(), _MAX_SAMPLE_ROWS)
    return replace(view, missing={"text": text, "theirs": page.corpora.user_names(selected)}, button=disabled)


def label_row(page: Page, scores: str | None, owner: object, selection: Selection) -> int | Unchanged:
    rows = page.pair_scores.get(scores).rows
    row = selection.row(len(rows))
    if row is None or selection.action not in VERDICTS:
        return UNCHANGED
    return toggle_pair(page, owner, LabelledPair(rows[row].a, rows[row].b, VERDICTS[selection.action], SIMILARITY))


def write_scores(page: Page, scores: str | None, suffix: str = ".csv") -> Path:
    """Write the scores of all pairs as .csv or .xlsx."""
    path = page.downloads.path(f"similarity{suffix}")
    page.pair_scores.get(scores).write(path)
    return path
