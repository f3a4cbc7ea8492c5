"""Figures of vectors: how fast they are made, searched and compared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import Figure, Row, studio


def untuned(data: Path, _out: Path) -> Iterator[Row]:
    """The embedded model on the STS benchmark's test set."""
    found = studio("evaluate", "all-MiniLM-L6-v2", "--data", data / "stsb/test.csv")
    low, high = found["interval"]
    yield "STSb test, untuned, Spearman", f"{found['cosine']['spearman']:.4f} (95 % interval {low:.3f}–{high:.3f})"


def encode(data: Path, _out: Path) -> Iterator[Row]:
    """10,000 distinct sentences, beside sentence-transformers."""
    found = studio("bench", "encode", "--data", data / "stsb/train.csv", "--limit", 10_000, "--repeats", 3)
    yield (
        f"encode {found['texts']:,} sentences, float32",
        f"{found['ours']:.0f} sentences/s, {found['ratio']:.2f} × sentence-transformers ({found['peer']:.0f}); "
        f"least cosine between the two {found['min_cosine']['float32']:.7f}",
    )


def encode_bfloat16(data: Path, _out: Path) -> Iterator[Row]:
    """The same in bfloat16, which is worth it only where the processor multiplies it."""
    found = studio("bench", "encode", "--data", data / "stsb/train.csv", "--limit", 10_000, "--repeats", 3, "--precision", "bfloat16")
    yield (
        f"encode {found['texts']:,} sentences, bfloat16",
        f"{found['ours']:.0f} sentences/s, {found['ratio']:.2f} × sentence-transformers in float32 ({found['peer']:.0f}); "
        f"least cosine between the two {found['min_cosine']['bfloat16']:.5f}",
    )


def search(data: Path, _out: Path) -> Iterator[Row]:
    """A customer's words against 10,003 requests."""
    found = studio("search", data / "banking77/train.csv", "the machine swallowed my card")
    again = studio("search", data / "banking77/train.csv", "the machine swallowed my card")
    right = sum(hit["fields"]["category"] == "card_swallowed" for hit in found["hits"])
    yield "search 10,003 requests", f"{right} of {len(found['hits'])} hits right; {again['milliseconds']:.0f} ms once the vectors are there"


def mine(data: Path, out: Path) -> Iterator[Row]:
    """The most similar pairs of 10,003 requests, held against brute force."""
    path = data / "banking77/train.csv"
    found = studio("mine", path, "-k", 10)
    studio("encode", path, "--out", out.with_suffix(".npy"))
    vectors = np.load(out.with_suffix(".npy"), allow_pickle=False)
    start = time.perf_counter()
    cosines = np.triu(vectors @ vectors.T, 1)
    best = np.sort(np.partition(cosines.ravel(), -10)[-10:])[::-1]
    seconds = time.perf_counter() - start
    gap = float(np.abs(best - [pair["score"] for pair in found["pairs"]]).max())
    yield "mine 10,003 requests", f"{found['seconds']:.2f} s (brute force in NumPy {seconds:.2f} s; scores differ by {gap:.1e})"


FIGURES: tuple[Figure, ...] = (untuned, encode, encode_bfloat16, search, mine)
