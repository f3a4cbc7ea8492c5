"""Synthetic vectors for benchmarks, as many as needed, around the vectors of real sentences.

Uniform noise has no neighbours: in 384 dimensions all points are about equally far apart, which is no test of an approximate index. Here
the distinct sentences of the public sets are encoded once (the program caches them), and further vectors are made from them:

- a random point between a real vector and one of its ten nearest neighbours;
- from there, a step along the difference of two real neighbours elsewhere (such differences lie in the directions in which sentences vary,
  isotropic noise does not), as long as the distance of a randomly chosen real vector from its nearest neighbour.

``python benchmarks/synthetic.py DATA [--rows N …]`` compares the two: cosines with the nearest and the tenth neighbour, and the local
intrinsic dimension (maximum likelihood over 20 neighbours; Levina & Bickel 2004, Amsaleg et al. 2015) of real and of synthetic vectors at
several sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sbert_studio.data.loading.table import read_table
from sbert_studio.data.samples import list_samples
from sbert_studio.models.similarity import unit
from sbert_studio.services.resources import Resources
from sbert_studio.workspace import digest_texts

_SETS = ("banking77", "mrpc", "sick", "snli", "sts12", "sts13", "sts14", "stsb", "trec")
_BLOCK = 8192  # rows made at once; each block has its own seed, so that fewer rows are the first of more
_NEAR = 10
_QUERIES = 1 << 20  # number of the first block of queries, beyond the blocks of any corpus


class SyntheticVectors:
    """A source of vectors around those of real sentences.

    Args:
        real: (r, d), the vectors of distinct sentences.
        seed: of the generator.
    """

    def __init__(self, real: np.ndarray, seed: int = 12) -> None:
        self.real = unit(np.asarray(real))
        self._seed = seed
        cosines, rows = neighbours(self.real, self.real, _NEAR + 1)
        self._near = rows[:, 1:]
        self._nearest = np.clip(cosines[:, 1], -1, 1)

    @classmethod
    def around(cls, data: Path | None, model: str | None = None, seed: int = 12, services: Resources | None = None) -> SyntheticVectors:
        """Use the sentences of the public sets in ``data``, or of the samples that come with the program."""
        return cls(real_vectors(data, model, services), seed)

    def rows(self, count: int, out: Path | None = None) -> np.ndarray:
        """Return (count, d) unit vectors, float32; fewer rows are the first of more rows.

        Args:
            out: an .npy file to write them to, block by block; the array returned is memory-mapped.
        """
        shape = (count, self.real.shape[1])
        found = np.empty(shape, np.float32) if out is None else np.lib.format.open_memmap(out, "w+", np.float32, shape)
        for number, start in enumerate(range(0, count, _BLOCK)):
            found[start : start + _BLOCK] = self._block(number)[: count - start]
        return found

    def queries(self, count: int) -> np.ndarray:
        """Return (count, d) unit vectors of the same kind, none of which :meth:`rows` returns."""
        blocks = [self._block(_QUERIES + number) for number in range(-(-count // _BLOCK))]
        return np.concatenate(blocks)[:count] if blocks else np.empty((0, self.real.shape[1]), np.float32)

    def _block(self, number: int) -> np.ndarray:
        rng = np.random.default_rng((self._seed, number))
        base, other = self._pairs(rng)
        way = rng.random((_BLOCK, 1), dtype=np.float32)
        place = unit(self.real[base] * (1 - way) + self.real[other] * way)
        here, there = self._pairs(rng)
        step = self.real[there] - self.real[here]
        step -= (step * place).sum(1, keepdims=True) * place
        cosine = rng.choice(self._nearest, (_BLOCK, 1)).astype(np.float32)
        return unit(cosine * place + np.sqrt(1 - cosine**2) * unit(step))

    def _pairs(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rows = rng.integers(len(self.real), size=_BLOCK)
        return rows, self._near[rows, rng.integers(_NEAR, size=_BLOCK)]


def sentences(data: Path | None) -> list[str]:
    """Return the distinct English sentences of the public sets, in the order of their files, or of the samples."""
    return list(dict.fromkeys(_cells(_sample_files() if data is None else _public_files(data))))


def recombined(texts: list[str], count: int) -> list[str]:
    """Return ``count`` texts; beyond those given, the first half of one text and the second half of another."""
    halves = [(text.split()[: (len(text.split()) + 1) // 2], text.split()[(len(text.split()) + 1) // 2 :]) for text in texts]
    pairs = np.random.default_rng(12).integers(len(texts), size=(count, 2)).tolist()
    return [*texts[:count], *(" ".join(halves[a][0] + halves[b][1]) for a, b in pairs[: max(0, count - len(texts))])]


def real_vectors(data: Path | None, model: str | None = None, services: Resources | None = None) -> np.ndarray:
    """Return (r, d) float32, the vectors of :func:`sentences`, from the cache after the first time."""
    texts = sentences(data)
    if services is None:
        with Resources() as own:
            return real_vectors(data, model, own)
    return services.vectors.get(texts, digest_texts(texts), services.catalog.load(model or services.settings.default_model))


def neighbours(queries: np.ndarray, rows: np.ndarray, k: int, block: int = 1 << 16) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines (q, k) and row numbers (q, k) of the nearest unit vectors by brute force, best first."""
    import faiss

    scores = np.full((len(queries), k), -np.inf, np.float32)
    found = np.full((len(queries), k), -1, np.int64)
    for start in range(0, len(rows), block):
        part = np.ascontiguousarray(rows[start : start + block])
        near, numbers = faiss.knn(np.ascontiguousarray(queries), part, min(k, len(part)), metric=faiss.METRIC_INNER_PRODUCT)
        scores, found = np.concatenate([scores, near], 1), np.concatenate([found, numbers + start], 1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores, found = np.take_along_axis(scores, best, 1), np.take_along_axis(found, best, 1)
    return scores, found


def local_dimension(cosines: np.ndarray) -> float:
    """Return the median local intrinsic dimension from (q, k) cosines with the nearest rows, best first, the row itself left out."""
    distances = np.sqrt(np.maximum(2 - 2 * cosines.astype(np.float64), 1e-12))
    logs = np.log(distances[:, -1:] / distances[:, :-1])
    return float(np.median(1 / np.maximum(logs.mean(1), 1e-9)))


def describe(rows: np.ndarray, sample: int = 2000, k: int = 20) -> str:
    """Describe in one line how near rows are to each other."""
    some = np.random.default_rng(0).choice(len(rows), min(sample, len(rows)), replace=False)
    cosines = neighbours(np.asarray(rows[np.sort(some)]), rows, k + 1)[0][:, 1:]
    first, tenth = (np.quantile(cosines[:, place], [0.1, 0.5, 0.9]) for place in (0, 9))
    shown = " ".join(f"{value:.3f}" for value in first), " ".join(f"{value:.3f}" for value in tenth)
    return f"nearest {shown[0]} | tenth {shown[1]} | local dimension {local_dimension(cosines):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the public sets")
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000], help="numbers of synthetic rows to describe")
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    source = SyntheticVectors.around(options.data, seed=options.seed)
    total = len(source.real)
    shuffled = source.real[np.random.default_rng(0).permutation(total)]
    print("cosines: 10th, 50th and 90th percentile of 2,000 rows")
    for size in (total // 8, total // 4, total // 2, total):
        print(f"{size:>9,} real      {describe(shuffled[:size])}", flush=True)
    for size in (total // 8, total, *options.rows):
        print(f"{size:>9,} synthetic {describe(source.rows(size))}", flush=True)


def _public_files(data: Path) -> list[Path]:
    return [path for folder in _SETS for path in sorted((data / folder).glob("*.csv"))]


def _sample_files() -> list[Path]:
    return [sample.path for sample in list_samples() if "chinese" not in sample.path.stem]


def _cells(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        table = read_table(path)
        for name in ("text", "sentence1", "sentence2", "premise", "hypothesis"):
            if name in table.columns:
                yield from (cell for cell in table.column(name) if cell.strip())


if __name__ == "__main__":
    main()
