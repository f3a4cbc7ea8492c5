"""The time of a query against candidates that were read before, of a bi-, a poly- and a cross-encoder in turns in one process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from .results import Results
from .rows import Row
from .running import circumstances

if TYPE_CHECKING:
    from sbert_studio.models.base import Encoder
    from sbert_studio.models.pair_scorer import PairScorer

_ROUNDS, _QUERIES = 7, 10
_LONG = 0.5  # seconds of processor time a query

Score = Callable[[str], Any]
"""A query → its scores with all candidates."""


def take_ranking_times(rows: Sequence[Row], texts: Sequence[str], load: Callable[[Row], Encoder | PairScorer], results: Results) -> None:
    """Measure the milliseconds of processor time that a query takes, and the ratio to the first row.

    Each round times every row, one after the other, over the same queries; a ratio is of two times of one round, and medians are kept.
    Processor time, because beside other work a query of milliseconds runs undisturbed on the clock and one of seconds does not.

    Args:
        rows: the first is what the others are compared with.
        texts: distinct; the first ones are the candidates, those that follow the queries.
    """
    number = rows[0].candidates
    candidates, queries = list(texts[:number]), list(texts[number : number + _QUERIES])
    if len(candidates) < number or not queries:
        raise ValueError(f"{len(texts)} texts are too few for {number} candidates and {_QUERIES} queries")
    scorers = {row.name: scorer(load(row), candidates) for row in rows}
    print(f"== time of a query against {number} candidates: {', '.join(scorers)}", file=sys.stderr, flush=True)
    for name, found in compare_times(scorers, queries).items():
        row = next(row for row in rows if row.name == name)
        results.add_speed(row, {**found, "candidates": number, **circumstances()})


def scorer(model: Encoder | PairScorer, candidates: list[str]) -> Score:
    """Return what scores a query against ``candidates``, read now where the model can keep them."""
    from sbert_studio.models.pair_scorer import PairScorer

    if not isinstance(model, PairScorer):
        kept = model.encode(candidates)
        return lambda query: model.encode([query]) @ kept.T
    if model.candidates is None:
        return lambda query: model.predict([(query, candidate) for candidate in candidates])
    vectors = model.candidates.encode(candidates)
    return lambda query: model.against([query], vectors)  # type: ignore[attr-defined]


def compare_times(scorers: Mapping[str, Score], queries: Sequence[str], rounds: int = _ROUNDS) -> dict[str, dict[str, Any]]:
    """Return ``{milliseconds, ratio, ratios}`` of each scorer: medians over the rounds, ratios to the first; an extra round warms up."""
    first = next(iter(scorers))
    taken: dict[str, list[float]] = {name: [_seconds(score, queries[:1])] for name, score in scorers.items()}
    for _ in range(rounds):
        for name, score in scorers.items():
            # One query is enough of a scorer that takes long.
            taken[name].append(_seconds(score, queries if taken[name][0] < _LONG else queries[:1]))
    found = {}
    for name, seconds in taken.items():
        ratios = [own / other for own, other in zip(seconds[1:], taken[first][1:], strict=True)]
        found[name] = {
            "milliseconds": round(1000 * median(seconds[1:]), 3), "ratio": round(median(ratios), 2),
            "ratios": [round(min(ratios), 2), round(max(ratios), 2)], "rounds": rounds,
        }  # fmt: skip
    return found


def _seconds(score: Score, queries: Sequence[str]) -> float:
    """Seconds of processor time a query, the mean over ``queries``."""
    began = time.process_time()
    for query in queries:
        score(query)
    return (time.process_time() - began) / len(queries)
