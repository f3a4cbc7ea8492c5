"""Texts → vectors, beside sentence-transformers."""

from __future__ import annotations

import csv
import dataclasses
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from drawn import sentences

from .base import Ratio, Setting, studio

PEER = "sentence-transformers"
_TEXTS, _FEW, _MIXED, _LONG = 10_000, 1_500, 4_000, 1_000
_MOST_TOKENS = 256
_GOALS = {"float32": 1.65, "bfloat16": None, "int8": 4.5}


def encode(setting: Setting) -> Iterator[Ratio]:
    """Distinct sentences of STSb, or the samples' texts, in each precision."""
    count = _FEW if setting.data is None else _TEXTS
    data = () if setting.data is None else ("--data", setting.data / "stsb" / "train.csv")
    precisions = ",".join(name for name in _GOALS if name in setting.rates)
    found = studio("bench", "encode", *data, "--limit", count, "--precision", precisions, *_sides(setting))
    what = f"encode {found['texts']:,} {'texts of the samples' if setting.data is None else 'sentences of STSb'}"
    tokens = found["tokens"]
    for name in precisions.split(","):
        quality = f"least cosine {found['min_cosine'][name]:.6f}; the peer's batch of {found['peer_batch']}"
        seconds = statistics.median(found["texts"] / rate for rate in found["rounds"][name])
        floor = products(found["operations"] * tokens, setting, name, seconds)
        goal = _GOALS[name] if setting.data else None
        yield Ratio(
            f"encode-{name}", f"{what}, {name}", PEER, "texts/s", found["rounds"][name], found["rounds"]["peer"], quality, floor, goal
        )


def mixed(setting: Setting) -> Iterator[Ratio]:
    """Short texts among paragraphs of up to 256 tokens."""
    path = setting.scratch / "mixed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in paragraphs(setting.data))])
    precision = "float32" if setting.peer == "float32" else "bfloat16"
    found = studio("bench", "encode", "--data", path, "--precision", precision, *_sides(setting))
    seconds = statistics.median(found["texts"] / rate for rate in found["rounds"][precision])
    yield Ratio(
        f"encode-mixed-{precision}",
        f"encode {found['texts']:,} texts of 5 to {_MOST_TOKENS} tokens, {found['tokens'] / found['texts']:.0f} on average, {precision}",
        PEER,
        "texts/s",
        found["rounds"][precision],
        found["rounds"]["peer"],
        f"least cosine {found['min_cosine'][precision]:.6f}; the peer's batch of {found['peer_batch']}",
        products(found["operations"] * found["tokens"], setting, precision, seconds),
        2.0 if setting.data else None,
    )


def cached(setting: Setting) -> Iterator[Ratio]:
    """The same texts asked for again, beside encoding them."""
    from sbert_studio.services.base import Services
    from sbert_studio.settings import Settings
    from sbert_studio.workspace import digest_texts

    every = sentences(setting.data)[:_TEXTS]
    ours, theirs, same = list[float](), list[float](), True
    with Services(dataclasses.replace(Settings.from_env(), home=setting.scratch / "home")) as services:
        encoder = services.catalog.load(services.settings.default_model)
        for turn in range(setting.rounds):
            texts = [f"{text} {turn}" for text in every]  # not yet known
            found = []
            for times in (theirs, ours):
                start = time.perf_counter()
                found.append(services.vectors.get(texts, digest_texts(texts), encoder))
                times.append(time.perf_counter() - start)
            same = same and np.array_equal(*found)
    size = found[0].nbytes
    floor = f"{size / 1e6:.0f} MB: {size / setting.rates['memory'] / 1e9:.4f} s"
    what = f"the vectors of {len(every):,} texts that were encoded before"
    yield Ratio("encode-cached", what, "encoding them", "s", ours, theirs, "the same bits" if same else "other bits", floor, 100.0)


def paragraphs(data: Path | None) -> list[str]:
    """Short texts, and sentences joined to paragraphs whose lengths lie anywhere up to 256 tokens, in no order."""
    every = sentences(data)
    rng = np.random.default_rng(12)
    short = [text for text in _of(data, every) if len(text.split()) >= 3][: _MIXED if data else _FEW // 2]
    long = []
    for words in rng.integers(20, int(_MOST_TOKENS * 0.8), size=_LONG if data else _FEW // 6).tolist():
        parts: list[str] = []
        while sum(len(part.split()) for part in parts) < words:
            parts.append(every[int(rng.integers(len(every)))])
        long.append(" ".join(" ".join(parts).split()[:words]))
    both = [*short, *long]
    return [both[place] for place in rng.permutation(len(both)).tolist()]


def products(operations: float, setting: Setting, precision: str, seconds: float) -> str:
    """What so many operations would take at this machine's rate in ``precision``, and the share of what was taken."""
    floor = operations / setting.rates[precision] / 1e9
    return f"{operations / 1e9:,.0f} GFLOP: {floor:.2f} s at {setting.rates[precision]:,.0f} GFLOP/s, {floor / seconds:.0%} of ours"


def _sides(setting: Setting) -> tuple[object, ...]:
    return "--repeats", setting.rounds, "--peer-precision", setting.peer


def _of(data: Path | None, every: Sequence[str]) -> Sequence[str]:
    from sbert_studio.data.tables import read_table

    return every if data is None else read_table(data / "banking77" / "train.csv").column("text")
