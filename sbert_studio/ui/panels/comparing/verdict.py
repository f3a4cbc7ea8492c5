"""A score in words: beside what is usual for the model, for the same cosine means one thing to one and another to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...pieces.views import Value, column, plain, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....data.corpus import Corpus
    from ....explore.explain import ScoreDistribution
    from ....services import Studio
    from ....services.results import Similarity
    from ...page import Page

_SAME = 1 - 1e-6
# How many of the random pairs are less alike, and what that is called.
_WORDS = ((0.999, "Very close"), (0.99, "Close"), (0.9, "Related"), (0.7, "Loosely related"), (-1.0, "No closer than chance"))
_MARKS = ((0.5, "half of random pairs"), (0.9, "9 of 10"), (0.99, "99 of 100"))
_BINS = 48
MOST_MODELS = 5


def in_words(cosine: float, usual: ScoreDistribution) -> tuple[str, str]:
    """A cosine in a word or two, and in a sentence with the numbers behind it."""
    low, high = usual.quantile(0.25), usual.quantile(0.75)
    told = f"Closer than {usual.odds(cosine)} pairs taken at random from {usual.of}, of which half lie between {low:.2f} and {high:.2f}."
    if cosine >= _SAME:
        return "The same to this model", told
    return next(words for least, words in _WORDS if usual.share(cosine) >= least), told


def compare(studio: Studio, a: str, b: str, model: str | None, corpus: Corpus | None = None) -> Value:
    """Two texts as the value of a gauge, whose scale is what is usual in ``corpus``, or of everyday sentences."""
    found = studio.explore.similarity(a, b, model)
    usual = studio.explore.usual(corpus, model)
    words, explain = in_words(found.cosine, usual)
    if found.doubtful:
        words, explain = "Not to be relied on", ""
    low = min(found.cosine, usual.quantile(0), 0.0)

    def place(cosine: float) -> float:
        return (cosine - low) / (1 - low)

    value = {
        "cosine": found.cosine,
        "place": place(found.cosine),
        "words": words,
        "explain": " ".join((explain, *found.notes)).strip(),
        "facts": _facts(found),
        "bins": usual.bins(low, 1.0, _BINS),
        "marks": [[place(usual.quantile(share)), label] for share, label in _MARKS],
        "pair": [a.strip(), b.strip()],
    }
    return plain(value)  # type: ignore[no-any-return]


def _facts(found: Similarity) -> list[tuple[str, float]]:
    return [
        ("Cosine", found.cosine),
        ("Dot product", found.dot),
        ("Euclidean distance", found.euclidean),
        ("Manhattan distance", found.manhattan),
    ]


def by_models(page: Page, a: str, b: str, models: Sequence[str], corpus: Corpus | None = None) -> Value:
    """The same two texts by several models, each beside what is usual for it."""
    rows = []
    for model in models[:MOST_MODELS]:
        found, usual = page.studio.explore.similarity(a, b, model), page.studio.explore.usual(corpus, model)
        words = "Not to be relied on" if found.doubtful else in_words(found.cosine, usual)[0]
        rows.append([page.titled(model), found.cosine, usual.quantile(0.5), usual.odds(found.cosine), words])
    of = page.studio.explore.usual(corpus, models[0]).of
    columns = [
        column("Model", main=True),
        column("Cosine", "bar"),
        column("Usual", "number"),
        column("Random pairs below", ours=True),
        column("In words", ours=True),
    ]
    note = f"Cosines of two models cannot be compared with each other; how many pairs taken at random from {of} are less alike, can."
    return table(columns, rows, caption=f"By {len(rows)} models", note=note)
