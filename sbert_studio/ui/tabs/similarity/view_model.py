"""View models of the Similarity tab: frozen dataclasses whose fields name components, and the values of the tab's views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....errors import StudioError
from ....explore.duplicates import similarity_order
from ....models.similarity import score_note
from ...page import ModelUpdate
from ...views import UNCHANGED, Unchanged, Update, Value, column, placeholder, props, table, to_json

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....explore.explain import ScoreDistribution, Span, WordAlignment
    from ....services import Studio
    from ....services.results import PairScores, Similarity
    from ...page import Page
    from ...routing import Location

PAIRS_VIEW = "pairs"
NO_SCORES = "Each row of the file appears here with its score."
MAX_MODELS, MAX_TEXTS = 5, 200
_MAX_ROWS = 500
_IDENTICAL = 1 - 1e-6
# Share of random pairs that are less similar → description.
_DESCRIPTIONS = ((0.999, "Very close"), (0.99, "Close"), (0.9, "Related"), (0.7, "Loosely related"), (-1.0, "No closer than chance"))
_MARKS = ((0.5, "half of random pairs"), (0.9, "9 of 10"), (0.99, "99 of 100"))
_BINS = 48
_UNRELIABLE = "Unreliable"
_VERDICT_HINT = "Either may be wrong. Click a thumb to label the pair; labelled pairs gather in the basket for training."


@dataclass(frozen=True)
class TextsView:
    """Two compared texts."""

    gauge: Value
    words: Value
    model_table: Value | None
    compared: tuple[str, str]
    header: ModelUpdate = field(default_factory=ModelUpdate)
    hint: None = None


@dataclass(frozen=True)
class TextInputs:
    """Two texts and the other models to compare them with."""

    first: str
    second: str
    other_models: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class MatrixView:
    """Several texts, each compared with each."""

    matrix: Value
    header: ModelUpdate = field(default_factory=ModelUpdate)
    hint: None = None


@dataclass(frozen=True)
class PairsView:
    """A scored file of pairs.

    Attributes:
        scores: key in ``page.pair_scores``.
        save: update of the download button.
        source: id by which an address names the file.
    """

    scores: str | None
    table: Value
    save: Update
    worst: Value | None
    source: str | Unchanged = UNCHANGED
    header: ModelUpdate = field(default_factory=ModelUpdate)


@dataclass(frozen=True)
class LinkedFile:
    """A file of pairs from an address: an upload for its box, or the location of a sample."""

    file: str | Unchanged = UNCHANGED
    linked: Location | Unchanged = UNCHANGED


def describe_cosine(cosine: float, usual: ScoreDistribution) -> tuple[str, str]:
    """Return a short description of a cosine, and a sentence that compares it with random pairs."""
    low, high = usual.quantile(0.25), usual.quantile(0.75)
    explanation = (
        f"More similar than {usual.odds(cosine)} random pairs from {usual.of}; half of them score between {low:.2f} and {high:.2f}."
    )
    if cosine >= _IDENTICAL:
        return "Identical to this model", explanation
    return next(words for share, words in _DESCRIPTIONS if usual.share(cosine) >= share), explanation


def gauge_view(studio: Studio, first: str, second: str, model: str | None, corpus: Corpus | None = None) -> Value:
    """Return the value of a ``gauge`` view. Its scale comes from random pairs of ``corpus``, by default of everyday sentences."""
    found = studio.similarity.compare(first, second, model)
    usual = studio.similarity.baseline(corpus, model)
    words, explanation = describe_cosine(found.cosine, usual)
    if found.doubtful:
        words, explanation = _UNRELIABLE, ""
    low = min(found.cosine, usual.quantile(0), 0.0)

    def position(cosine: float) -> float:
        return (cosine - low) / (1 - low)

    value = {
        "cosine": found.cosine,
        "place": position(found.cosine),
        "words": words,
        "explain": " ".join((explanation, *found.notes)).strip(),
        "facts": _facts(found),
        "bins": usual.bins(low, 1.0, _BINS),
        "marks": [[position(usual.quantile(share)), label] for share, label in _MARKS],
        "pair": [first.strip(), second.strip()],
    }
    return to_json(value)  # type: ignore[no-any-return]


def _facts(similarity: Similarity) -> list[tuple[str, float]]:
    return [
        ("Cosine", similarity.cosine),
        ("Dot product", similarity.dot),
        ("Euclidean distance", similarity.euclidean),
        ("Manhattan distance", similarity.manhattan),
    ]


def model_table(page: Page, first: str, second: str, models: Sequence[str], corpus: Corpus | None = None) -> Value:
    """Return a table of the two texts' scores by several models, each compared with what is usual for the model."""
    rows = []
    for model in models[:MAX_MODELS]:
        found, usual = page.studio.similarity.compare(first, second, model), page.studio.similarity.baseline(corpus, model)
        words = _UNRELIABLE if found.doubtful else describe_cosine(found.cosine, usual)[0]
        rows.append([page.model_title(model), found.cosine, usual.quantile(0.5), usual.odds(found.cosine), words])
    of = page.studio.similarity.baseline(corpus, models[0]).of
    columns = [
        column("Model", main=True),
        column("Cosine", "bar"),
        column("ScoreDistribution", "number"),
        column("Random pairs below", ours=True),
        column("Assessment", ours=True),
    ]
    note = f"Cosines of different models are not comparable; the share of random pairs from {of} that score lower is."
    return table(columns, rows, caption=f"By {len(rows)} models", note=note)


def alignment_view(first: str, second: str, alignment: WordAlignment) -> Value:
    """Return the value of a ``words`` view: both texts split into words, and how well each word matches the other text."""
    recall, precision, f1 = alignment.match
    facts = [
        f"Word matching: {recall:.2f} of the first text is found in the second, "
        f"and {precision:.2f} of the second in the first (F₁ {f1:.2f})."
    ]
    if alignment.cosine is not None and alignment.parts is not None:
        parts = [f"The cosine of {alignment.cosine:.3f} is a sum: word pairs contribute {alignment.parts.sum():+.2f}."]
        parts += [f"Special tokens contribute {alignment.rest:+.2f}."] if abs(alignment.rest) >= 0.005 else []
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
    return to_json(value)  # type: ignore[no-any-return]


def _split_at_words(text: str, words: tuple[Span, ...]) -> dict[str, object]:
    """Return each word with the characters before it, and the characters after the last one."""
    ends = [0, *(end for _, end in words)]
    parts = [[text[before:start], text[start:end]] for before, (start, end) in zip(ends, words, strict=False)]
    return {"words": parts, "tail": text[ends[-1] :]}


def matrix_view(studio: Studio, lines: str, model: str | None) -> Value:
    """Return the value of a ``matrix`` view for texts in lines, with an order that places similar ones next to each other.

    Raises:
        StudioError: fewer than 2 texts, or more than :data:`MAX_TEXTS`.
    """
    texts = [line.strip() for line in (lines or "").splitlines() if line.strip()]
    if not 2 <= len(texts) <= MAX_TEXTS:
        raise StudioError(f"number of sentences: {len(texts)}", f"enter 2 to {MAX_TEXTS}, one per line")
    encoder = studio.catalog.load(model or studio.settings.default_model)
    note = " ".join((*score_note(encoder.name, encoder.similarity_name), *studio.languages.reading_notes(texts, model)))
    scores = studio.similarity.compare_all(texts, model)
    # Dot products and distances have no fixed scale: the shades cover the range that occurs.
    low, high = (0.0, 1.0) if encoder.similarity_name == "cosine" else (float(scores.min()), float(scores.max()))
    order = similarity_order((scores - low) / ((high - low) or 1))
    values = [[round(float(cell), 4) for cell in row] for row in scores]
    return {"labels": texts, "values": values, "order": order, "low": low, "high": high, "note": note}


def empty_pairs() -> PairsView:
    """Return the view without a file."""
    return PairsView(scores=None, table=placeholder(NO_SCORES), save=props(visible=False), worst=None)


def pairs_view(scores: PairScores, key: str, provenance: Value, name: str, source: str | Unchanged, header: ModelUpdate) -> PairsView:
    """Return the view of a scored file.

    Args:
        key: of the scores in ``page.pair_scores``.
        provenance: of the model that scored it, see :meth:`.page.Page.provenance`.
        name: of the file.
    """
    made = {"made": {**provenance, "words": f"{provenance['words']} · {name}", "theirs": [*provenance["theirs"], name]}}
    worst = worst_table(scores)
    return PairsView(
        scores=key,
        table=pairs_table(scores) | made,
        save=props(visible=True),
        worst=None if worst is None else worst | made,
        source=source,
        header=header,
    )


def pairs_table(scores: PairScores) -> Value:
    """Return the first rows of scored pairs as a table."""
    a, b = scores.columns
    columns = [column("Row", "row"), column(a, theirs=True), column(b, theirs=True), column("Cosine", "bar"), column("Euclidean", "number")]
    rows = [[one.row, one.a, one.b, one.similarity.cosine, one.similarity.euclidean] for one in scores.rows[:_MAX_ROWS]]
    rest = len(scores.rows) - len(rows)
    # The table of the worst rows, where there is one, stands above this one and has both notes.
    has_worst = bool(scores.agreement and scores.agreement.worst)
    notes = [f"{scores.agreement.describe()}."] if scores.agreement and not has_worst else []
    notes += [f"{scores.account.describe('compared')}."] if scores.account.skipped and not has_worst else []
    notes += [*scores.notes, *([f"{rest:,} more rows are in the file to download."] if rest else [])]
    return table(columns, rows, caption=scores.account.summarize("compared"), note=" ".join(notes))


def worst_table(scores: PairScores) -> Value | None:
    """Return a table of the rows on which the model and the file's scores disagree most; ``None`` if the file has no scores."""
    agreement = scores.agreement
    if agreement is None or not agreement.worst:
        return None
    a, b = scores.columns
    rows = []
    for gap in agreement.worst:
        row = scores.rows[gap.place]
        side = "similar to the model" if gap.gap > 0 else "dissimilar to the model"
        rows.append([row.row, row.a, row.b, gap.said, row.similarity.cosine, f"{side}, {abs(gap.gap):.0%} of the ranks apart"])
    columns = [
        column("Row", "row"),
        column(a, theirs=True),
        column(b, theirs=True),
        column(agreement.column, "text" if isinstance(rows[0][3], str) else "number", digits=2, theirs=True),
        column("Cosine", "bar"),
        column("Disagreement", ours=True),
    ]
    scale = agreement.scale
    notes = [f"Scores as in the file: {scale[0]:g} is least similar, {scale[1]:g} most."] if scale else []
    return table(
        columns,
        rows,
        ids=[gap.place for gap in agreement.worst],
        pairs=[(scores.rows[gap.place].a, scores.rows[gap.place].b) for gap in agreement.worst],
        caption=_headline(scores, agreement.describe(), agreement.rows, len(rows)),
        note=" ".join([*notes, _VERDICT_HINT]),
    )


def _headline(scores: PairScores, agreement: str, scored: int, worst: int) -> str:
    unscored = len(scores.rows) - scored
    account = scores.account.describe("compared") if scores.account.skipped or unscored else ""
    if unscored:
        account = f"{account}; {unscored:,} of those compared have no score or label"
    if not account:
        return f"{agreement}. The {worst} rows that disagree most:"
    return f"{agreement}. {account}. The {worst} rows that disagree most:"
