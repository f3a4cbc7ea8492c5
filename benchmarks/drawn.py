"""Vectors for benchmarks, as many as one likes, drawn around those of real sentences.

Uniform noise has no neighbours: in 384 dimensions all of it is equally far from all of it, so that an approximate index is tried by a
question that nobody asks. Here the distinct sentences of the public sets are encoded once (the studio's cache keeps them), and further
vectors are drawn around them:

- a place between a real vector and one of its ten nearest, anywhere on the way between the two;
- from there, in the direction of a step between two real neighbours elsewhere (differences of neighbours lie along what sentences vary
  in, isotropic noise does not), as far as the nearest neighbour of a real vector is, drawn from those distances.

``python benchmarks/drawn.py DATA [--rows N …]`` prints how alike the two are: the cosines with the nearest and the tenth neighbour, and
the local intrinsic dimension (maximum likelihood over 20 neighbours; Levina & Bickel 2004, Amsaleg et al. 2015), of the real vectors at
several sizes and of drawn ones at the same and at larger sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sbert_studio.data.samples import samples
from sbert_studio.data.tables import read_table
from sbert_studio.models.similarity import unit
from sbert_studio.services.base import Services
from sbert_studio.workspace import digest_texts

_SETS = ("banking77", "mrpc", "sick", "snli", "sts12", "sts13", "sts14", "stsb", "trec")
_BLOCK = 8192  # rows drawn at once, each block from a seed of its own, so that fewer rows are the first of more
_NEAR = 10
_QUERIES = 1 << 20  # the stream of the queries begins where no corpus ends


class Drawn:
    """A source of vectors around those of real sentences.

    Args:
        real: (r, d), the vectors of distinct sentences.
        seed: another seed, other vectors.
    """

    def __init__(self, real: np.ndarray, seed: int = 12) -> None:
        self.real = unit(np.asarray(real))
        self._seed = seed
        cosines, rows = neighbours(self.real, self.real, _NEAR + 1)
        self._near = rows[:, 1:]
        self._nearest = np.clip(cosines[:, 1], -1, 1)

    @classmethod
    def around(cls, data: Path | None, model: str | None = None, seed: int = 12, services: Services | None = None) -> Drawn:
        """Around the sentences of the public sets in ``data``, or of the samples that come with the studio."""
        return cls(real_vectors(data, model, services), seed)

    def rows(self, count: int, out: Path | None = None) -> np.ndarray:
        """(count, d) unit vectors, float32. The first of more rows are fewer rows.

        Args:
            out: an .npy file to write them to, block by block; it is returned mapped, and never stands in memory whole.
        """
        shape = (count, self.real.shape[1])
        found = np.empty(shape, np.float32) if out is None else np.lib.format.open_memmap(out, "w+", np.float32, shape)
        for number, start in enumerate(range(0, count, _BLOCK)):
            found[start : start + _BLOCK] = self._block(number)[: count - start]
        return found

    def queries(self, count: int) -> np.ndarray:
        """(count, d) unit vectors drawn in the same way, none of which :meth:`rows` gives."""
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
    """The distinct English sentences of the public sets, in the order of their files, or of the studio's samples."""
    return list(dict.fromkeys(_cells(_bundled() if data is None else _public(data))))


def real_vectors(data: Path | None, model: str | None = None, services: Services | None = None) -> np.ndarray:
    """(r, d) float32: the vectors of :func:`sentences`, from the studio's cache after the first time."""
    texts = sentences(data)
    if services is None:
        with Services() as own:
            return real_vectors(data, model, own)
    return services.vectors.get(texts, digest_texts(texts), services.catalog.load(model or services.settings.default_model))


def neighbours(queries: np.ndarray, rows: np.ndarray, k: int, block: int = 1 << 16) -> tuple[np.ndarray, np.ndarray]:
    """Brute force: the cosines (q, k) and row numbers (q, k) of the nearest among unit vectors, best first."""
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
    """The median local intrinsic dimension by the k nearest of each row: (q, k) cosines, best first, the row itself left out."""
    distances = np.sqrt(np.maximum(2 - 2 * cosines.astype(np.float64), 1e-12))
    logs = np.log(distances[:, -1:] / distances[:, :-1])
    return float(np.median(1 / np.maximum(logs.mean(1), 1e-9)))


def likeness(rows: np.ndarray, sample: int = 2000, k: int = 20) -> str:
    """Some numbers of how near to each other rows lie, in a line."""
    asked = np.random.default_rng(0).choice(len(rows), min(sample, len(rows)), replace=False)
    cosines = neighbours(np.asarray(rows[np.sort(asked)]), rows, k + 1)[0][:, 1:]
    first, tenth = (np.quantile(cosines[:, place], [0.1, 0.5, 0.9]) for place in (0, 9))
    shown = " ".join(f"{value:.3f}" for value in first), " ".join(f"{value:.3f}" for value in tenth)
    return f"nearest {shown[0]} | tenth {shown[1]} | local dimension {local_dimension(cosines):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the public sets")
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000], help="how many to draw and look at")
    parser.add_argument("--seed", type=int, default=12)
    asked = parser.parse_args()
    source = Drawn.around(asked.data, seed=asked.seed)
    total = len(source.real)
    shuffled = source.real[np.random.default_rng(0).permutation(total)]
    print("cosines: 10th, 50th and 90th percentile of 2,000 rows")
    for size in (total // 8, total // 4, total // 2, total):
        print(f"{size:>9,} real   {likeness(shuffled[:size])}", flush=True)
    for size in (total // 8, total, *asked.rows):
        print(f"{size:>9,} drawn  {likeness(source.rows(size))}", flush=True)


def _public(data: Path) -> list[Path]:
    return [path for folder in _SETS for path in sorted((data / folder).glob("*.csv"))]


def _bundled() -> list[Path]:
    return [sample.path for sample in samples() if "chinese" not in sample.path.stem]


def _cells(files: Sequence[Path]) -> Iterator[str]:
    for path in files:
        table = read_table(path)
        for name in ("text", "sentence1", "sentence2", "premise", "hypothesis"):
            if name in table.columns:
                yield from (cell for cell in table.column(name) if cell.strip())


if __name__ == "__main__":
    main()
