"""Sentences a second of every model that is there, to be taken on a machine that does nothing else."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from .results import Results
from .rows import Row
from .running import Places, circumstances

if TYPE_CHECKING:
    from sbert_studio.encoders.base import Encoder

_TEXTS, _ROUNDS, _UNSORTED = 2_000, 3, 32
_LOUD = 0.5  # of other programs, as the load of one core


def take_speeds(rows: Sequence[Row], places: Places, results: Results) -> None:
    """Measure each row whose model is there and gives vectors: the median of three rounds over the same texts, after a first one."""
    from sbert_studio.encoders.base import Encoder
    from sbert_studio.studio import Studio

    if (load := os.getloadavg()[0]) > _LOUD:
        print(f"note: this machine is at work (load {load:.1f}); the speeds will be too low", file=sys.stderr)
    texts = _texts(places.data / "stsb/test.csv")
    for row in rows:
        name = places.named(row, row.seeds[0], row.model)
        if row.lacks or (Path(name).is_absolute() and not Path(name).exists()):
            continue
        model = Studio(allow_folders=True).catalog.load_either(name)
        if not isinstance(model, Encoder):
            continue
        print(f"== speed of {row.name}", file=sys.stderr, flush=True)
        results.add_speed(row, {**_measured(model, texts, smart=row.smart), "load_before": round(load, 1), **circumstances()})


def _measured(model: Encoder, texts: list[str], *, smart: bool) -> dict[str, Any]:
    size = len(texts) if smart else _UNSORTED
    seconds = []
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        for start in range(0, len(texts), size):
            model.encode(texts[start : start + size])
        seconds.append(time.perf_counter() - began)
    return {"sentences_per_second": round(len(texts) / median(seconds[1:]), 1), "texts": len(texts)}


def _texts(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        found = [row[side] for row in csv.DictReader(file) for side in ("sentence1", "sentence2")]
    return list(dict.fromkeys(found))[:_TEXTS]
