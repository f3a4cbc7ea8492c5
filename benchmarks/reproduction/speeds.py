"""What every model gives a second, to be taken on a machine that does nothing else."""

from __future__ import annotations

import csv
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from .commands import sbert_studio
from .prepared import prepare
from .ranking import take_ranking_times
from .registry import ROWS
from .results import Results
from .rows import Row
from .running import Places, circumstances

if TYPE_CHECKING:
    from sbert_studio.models.base import Encoder
    from sbert_studio.models.pair_scorer import PairScorer

_TEXTS, _PAIRS, _ROUNDS, _UNSORTED = 2_000, 1_000, 3, 32
_LOUD = 0.5  # of other programs, as the load of one core
_SHORT = ("--epochs", "0.01", "--set", "blend=no", "--set", "soup=1")


def take_speeds(rows: Sequence[Row], places: Places, results: Results) -> None:
    """Measure each row that has a network of its own: the median of three rounds over the same texts (or pairs), after a first one.

    A network is as fast whatever it learned: where a row's model is not there, it is made with a training of a few steps.
    """
    from sbert_studio.models.pair_scorer import PairScorer
    from sbert_studio.services import Studio

    if (load := os.getloadavg()[0]) > _LOUD:
        print(f"note: this machine is at work (load {load:.1f}); the speeds will be too low", file=sys.stderr)
    texts, pairs = _texts(places.data / "stsb/test.csv")
    for row in rows:
        if row.network:
            print(f"-- {row.name} is as fast as {row.network}", file=sys.stderr)
        if row.lacks or row.network or row.candidates:
            continue
        print(f"== speed of {row.name}", file=sys.stderr, flush=True)
        model = Studio(allow_folders=True).catalog.load_either(_made(row, places))
        found = _pairs_a_second(model, pairs) if isinstance(model, PairScorer) else _texts_a_second(model, texts, smart=row.smart)
        results.add_speed(row, {**found, "load_before": round(load, 1), **circumstances()})
    if any(row.candidates for row in rows):
        timed = [row for row in ROWS.values() if row.candidates]  # together, for their ratios
        catalog = Studio(allow_folders=True).catalog
        take_ranking_times(timed, texts, lambda row: catalog.load_either(_made(row, places)), results)


def _made(row: Row, places: Places) -> str:
    """The row's model, or one of the same network that was hardly trained."""
    seed = row.seeds[0]
    name = places.named(row, seed, row.model)
    prepare(row.prepared, places.data, places.work)
    if not row.commands or Path(name).exists():
        return name
    brief = replace(row, name=f"{row.name}-brief")
    if not (folder := places.model(brief, seed)).exists():
        for command in row.commands:
            words = [places.named(brief, seed, word) for word in shlex.split(command)]
            first = ("--set", "first.epochs=0.01", "--set", "first.probe=no") if "--first" in words else ()
            sbert_studio(*words, *((*_SHORT, *first) if words[0] == "train" else ()))
    return str(folder)


def _texts_a_second(model: Encoder, texts: list[str], *, smart: bool) -> dict[str, Any]:
    size = len(texts) if smart else _UNSORTED

    def once() -> None:
        for start in range(0, len(texts), size):
            model.encode(texts[start : start + size])

    return {"sentences_per_second": round(len(texts) / _seconds(once), 1), "texts": len(texts)}


def _pairs_a_second(model: PairScorer, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    return {"pairs_per_second": round(len(pairs) / _seconds(lambda: model.predict(pairs)), 1), "pairs": len(pairs)}


def _seconds(work: Callable[[], object]) -> float:
    """The median of the rounds, after one that does not count."""
    seconds = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds[1:])


def _texts(path: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """The file's different texts, and its pairs."""
    with path.open(encoding="utf-8", newline="") as file:
        pairs = [(row["sentence1"], row["sentence2"]) for row in csv.DictReader(file)]
    return list(dict.fromkeys(text for pair in pairs for text in pair))[:_TEXTS], pairs[:_PAIRS]
