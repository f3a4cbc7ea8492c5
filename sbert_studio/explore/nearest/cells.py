"""An inverted file over vectors of eight bits a number (FAISS; Sivic & Zisserman 2003, Jégou et al. 2011).

Each row lies in the cell of its nearest centre, and a query reads the nearest cells only. It takes rows in and lets rows go without
being built anew, which a graph (HNSW) does not; its file is mapped, not read; and it holds a quarter of what the vectors do. The
vectors themselves rank what it finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...data.progress import checkpoint
from ...encoders.unit import unit
from .centroids import centroids

_BLOCK = 8192
_PER_CELL = 40  # rows of the sample for each cell
_ROWS_A_CELL = 4  # times the root of the rows: as many cells
_SEED = 12
_BY_CELLS = 1  # the cells of one query are shared out among the threads, where FAISS by itself shares out queries


@dataclass(frozen=True)
class Cells:
    """The rows of a corpus in cells.

    Attributes:
        index: FAISS's; its ids are row numbers.
        trained: how many rows there were when the cells were made.
    """

    index: Any
    trained: int

    def __len__(self) -> int:
        return int(self.index.ntotal)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return int(self.index.nlist)

    def candidates(self, queries: np.ndarray, count: int, probes: int) -> np.ndarray:
        """About the nearest ``count`` rows of each of (q, d) queries, (q, count) int64, from ``probes`` cells; -1 where there are fewer."""
        import faiss

        asked: Any = faiss.SearchParametersIVF()
        asked.nprobe = probes
        found: np.ndarray = self.index.search(unit(queries), count, params=asked)[1]
        return found

    @classmethod
    def of(cls, vectors: np.ndarray) -> Cells:
        """Cells of (n, d) vectors of any length; ten thousand rows at least.

        Raises:
            StoppedError: the work was asked to end.
        """
        rows = len(vectors)
        count = 1 << round(np.log2(_ROWS_A_CELL * rows**0.5))
        chosen = np.sort(np.random.default_rng(_SEED).permutation(rows)[: count * _PER_CELL])
        sample = unit(vectors[chosen])
        index = _empty(centroids(sample, count))
        index.train(sample[:: max(1, len(sample) // 50_000)])  # the centres are there; the range of each of the numbers is left to learn
        found = cls(index, rows)
        found._take(vectors, np.arange(rows))
        return found

    def grown(self, vectors: np.ndarray, came: np.ndarray) -> Cells:
        """The cells of another corpus that shares rows with this one; what is shared is moved, and only the rest is looked at.

        Args:
            vectors: (m, d), all of the other corpus.
            came: (m,) int64: the row that each was here, each at most once; -1 where it is new.
        """
        import faiss

        old = self.index
        index = _empty(old.quantizer.reconstruct_n(0, old.nlist))
        faiss.copy_array_to_vector(faiss.vector_to_array(old.sq.trained).copy(), index.sq.trained)
        index.is_trained = True
        now = np.full(len(self), -1, np.int64)
        now[came[came >= 0]] = np.flatnonzero(came >= 0)
        source = old.invlists
        for cell in range(old.nlist):
            size = source.list_size(cell)
            if not size:
                continue
            ids = now[faiss.rev_swig_ptr(source.get_ids(cell), size)]
            codes = faiss.rev_swig_ptr(source.get_codes(cell), size * old.code_size).reshape(size, -1)[ids >= 0]
            ids = np.ascontiguousarray(ids[ids >= 0])
            if len(ids):
                codes = np.ascontiguousarray(codes)
                index.invlists.add_entries(cell, len(ids), faiss.swig_ptr(ids), faiss.swig_ptr(codes))
                index.ntotal += len(ids)
        found = Cells(index, self.trained)
        found._take(vectors, np.flatnonzero(came < 0))
        return found

    def write(self, path: Path) -> None:
        """Write FAISS's file.

        Raises:
            OSError: the disk takes nothing.
        """
        import faiss

        try:
            faiss.write_index(self.index, str(path))
        except RuntimeError as error:
            raise OSError(f"the index was not written: {str(error).splitlines()[0]}") from error

    @classmethod
    def read(cls, path: Path, trained: int) -> Cells:
        """Open a file that :meth:`write` wrote, mapped where the system can: next to nothing of it is in memory."""
        import faiss

        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        index.parallel_mode = _BY_CELLS
        return cls(index, trained)

    def _take(self, vectors: np.ndarray, rows: np.ndarray) -> None:
        for start in range(0, len(rows), _BLOCK):
            checkpoint()
            part = rows[start : start + _BLOCK]
            self.index.add_with_ids(unit(vectors[part]), np.ascontiguousarray(part, np.int64))


def _empty(centres: np.ndarray) -> Any:
    """An index without rows, of (c, d) centres."""
    import faiss

    count, width = centres.shape
    quantizer: Any = faiss.IndexFlatIP(width)
    quantizer.add(centres)
    index: Any = faiss.IndexIVFScalarQuantizer(quantizer, width, count, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index.own_fields, index.parallel_mode = True, _BY_CELLS
    quantizer.this.disown()
    return index
