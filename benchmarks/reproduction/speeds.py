"""Sentences a second of every model, and the time of a query against encoded candidates, to be measured on an idle machine."""

from __future__ import annotations

import csv
import os
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from . import ROWS
from .datasets import prepare
from .results import Results
from .rows import Row
from .runner import Places, circumstances, sbert_studio

if TYPE_CHECKING:
    from sbert_studio.models.base import Encoder, PairScorer

_TEXTS, _PAIRS, _ROUNDS, _UNSORTED = 2_000, 1_000, 3, 32
_LOUD = 0.5  # of other programs, as the load of one core
_SHORT = ("--epochs", "0.01", "--set", "blend=no", "--set", "soup=1")


def measure_speeds(rows: Sequence[Row], places: Places, results: Results) -> None:
    """Measure each row with a network of its own: the median of three rounds over the same texts (or pairs), after a warm-up round.

    Training does not change a network's speed: where a row's model is missing, it is made by training a few steps.
    """
    from sbert_studio.models.base import PairScorer
    from sbert_studio.services import Studio

    if (load := os.getloadavg()[0]) > _LOUD:
        print(f"note: this machine is busy (load {load:.1f}); the speeds will be too low", file=sys.stderr)
    texts, pairs = _texts(places.data / "stsb/test.csv")
    for row in rows:
        if row.network:
            print(f"-- {row.name} is as fast as {row.network}", file=sys.stderr)
        if row.missing_requirement or row.network or row.candidates:
            continue
        print(f"== speed of {row.name}", file=sys.stderr, flush=True)
        model = Studio(allow_folders=True).catalog.load_any(_made(row, places))
        found = (
            _pairs_a_second(model, pairs)
            if isinstance(model, PairScorer)
            else _texts_a_second(model, texts, is_length_sorted=row.is_length_sorted)
        )
        results.add_speed(row, {**found, "load_before": round(load, 1), **circumstances()})
    if any(row.candidates for row in rows):
        timed = [row for row in ROWS.values() if row.candidates]  # together, for their ratios
        catalog = Studio(allow_folders=True).catalog
        measure_ranking_times(timed, texts, lambda row: catalog.load_any(_made(row, places)), results)


def _made(row: Row, places: Places) -> str:
    """Return the name of the row's model, or of one with the same network trained for a few steps."""
    seed = row.seeds[0]
    name = places.resolve(row, seed, row.model)
    prepare(row.prepared, places.data, places.work)
    if not row.commands or Path(name).exists():
        return name
    brief = replace(row, name=f"{row.name}-brief")
    if not (folder := places.model(brief, seed)).exists():
        for command in row.commands:
            words = [places.resolve(brief, seed, word) for word in shlex.split(command)]
            first = ("--set", "first.epochs=0.01", "--set", "first.probe=no") if "--first" in words else ()
            sbert_studio(*words, *((*_SHORT, *first) if words[0] == "train" else ()))
    return str(folder)


def _texts_a_second(model: Encoder, texts: list[str], *, is_length_sorted: bool) -> dict[str, Any]:
    size = len(texts) if is_length_sorted else _UNSORTED

    def once() -> None:
        for start in range(0, len(texts), size):
            model.encode(texts[start : start + size])

    return {"sentences_per_second": round(len(texts) / _median_seconds(once), 1), "texts": len(texts)}


def _pairs_a_second(model: PairScorer, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    return {"pairs_per_second": round(len(pairs) / _median_seconds(lambda: model.predict(pairs)), 1), "pairs": len(pairs)}


def _median_seconds(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds[1:])


def _texts(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the file's distinct texts, and its pairs."""
    with path.open(encoding="utf-8", newline="") as file:
        pairs = [(row["sentence1"], row["sentence2"]) for row in csv.DictReader(file)]
    return list(dict.fromkeys(text for pair in pairs for text in pair))[:_TEXTS], pairs[:_PAIRS]


_RANKING_ROUNDS, _QUERIES = 7, 10
_SLOW_QUERY = 0.5  # seconds of processor time a query

Score = Callable[[str], Any]
"""Score a query with all candidates."""


def measure_ranking_times(rows: Sequence[Row], texts: Sequence[str], load: Callable[[Row], Encoder | PairScorer], results: Results) -> None:
    """Measure the milliseconds of processor time that a query takes, and the ratio to the first row.

    Each round times every row, one after the other, over the same queries; a ratio is of two times of one round, and medians are kept.
    Processor time, since other work on the machine disturbs a query of seconds more than one of milliseconds.

    Args:
        rows: the first is what the others are compared with.
        texts: distinct; first the candidates, then the queries.
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
    """Return a function that scores a query against ``candidates``, which are encoded now where the model allows it."""
    from sbert_studio.models.base import PairScorer

    if not isinstance(model, PairScorer):
        kept = model.encode(candidates)
        return lambda query: model.encode([query]) @ kept.T
    if model.candidate_encoder is None:
        return lambda query: model.predict([(query, candidate) for candidate in candidates])
    vectors = model.candidate_encoder.encode(candidates)
    return lambda query: model.score_candidates([query], vectors)  # type: ignore[attr-defined]


def compare_times(scorers: Mapping[str, Score], queries: Sequence[str], rounds: int = _RANKING_ROUNDS) -> dict[str, dict[str, Any]]:
    """Return ``{milliseconds, ratio, ratios}`` of each scorer: medians over the rounds, ratios to the first; an extra round warms up."""
    first = next(iter(scorers))
    taken: dict[str, list[float]] = {name: [_processor_seconds(score, queries[:1])] for name, score in scorers.items()}
    for _ in range(rounds):
        for name, score in scorers.items():
            # One query is enough for a slow scorer.
            taken[name].append(_processor_seconds(score, queries if taken[name][0] < _SLOW_QUERY else queries[:1]))
    found = {}
    for name, seconds in taken.items():
        ratios = [own / other for own, other in zip(seconds[1:], taken[first][1:], strict=True)]
        found[name] = {
            "milliseconds": round(1000 * median(seconds[1:]), 3), "ratio": round(median(ratios), 2),
            "ratios": [round(min(ratios), 2), round(max(ratios), 2)], "rounds": rounds,
        }  # fmt: skip
    return found


def _processor_seconds(score: Score, queries: Sequence[str]) -> float:
    began = time.process_time()
    for query in queries:
        score(query)
    return (time.process_time() - began) / len(queries)
