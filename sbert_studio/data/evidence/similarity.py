"""What a model says of a table: its similarity of two texts, set against every other column, on a sample of the rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from ..loading.table import Table
from ..values.no_answer import answered
from ..values.profile import numbers_of
from ..values.scales import off_scale, same_class
from .apart import LEAST, THE_MODEL, Ranked, Separated, auc, separated

Similar = Callable[[Sequence[str], Sequence[str]], np.ndarray]
"""(n,) cosines in [-1, 1] of n texts with n others, by the model that is about to be tuned, or what it was before it knew them."""

FEW, MANY = 300, 900
_LONGEST = 1_000  # characters of a text that are looked at


class Evidence:
    """A sample of a table's rows, at even distances, and what ``similar`` says of them; every comparison is made once.

    Args:
        table: the file.
        similar: the cosines of a model; None: there is none, and every answer is None.
        rows: the most rows to look at.
    """

    def __init__(self, table: Table, similar: Similar | None, rows: int = FEW) -> None:
        self.table, self.similar, self.rows = table, similar, rows
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    @property
    def model(self) -> str:
        """What people call the model that says it."""
        return self.similar.model if isinstance(self.similar, SimilarBy) else THE_MODEL

    @cached_property
    def sample(self) -> Table:
        """The rows that are looked at."""
        number = min(self.rows, len(self.table))
        return self.table.select(np.linspace(0, len(self.table) - 1, number).astype(np.int64))

    @cached_property
    def closer(self) -> Evidence:
        """The same with three times the rows, where there are more."""
        return Evidence(self.table, self.similar, MANY) if self.rows < MANY and len(self.table) > self.rows else self

    def cells(self, name: str) -> list[str]:
        """The cells of a column in the sample, without blanks around them."""
        return [cell.strip() for cell in self.sample.column(name)]

    def cosines(self, first: str, second: str, shift: int = 0) -> np.ndarray:
        """(rows,) similarity of two columns' texts, the second moved on by ``shift`` rows; NaN where one is blank."""
        key = (first, second, str(shift))
        if key not in self._known:
            a, b = (answered(self.cells(name)) for name in (first, second))
            self._known[key] = self.compare(a, b[shift:] + b[:shift])
        return self._known[key]

    def compare(self, a: Sequence[str], b: Sequence[str]) -> np.ndarray:
        """(rows,) similarity of texts with others; NaN where one is blank."""
        assert self.similar is not None
        found = np.full(len(a), np.nan)
        places = [place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x and y]
        if places:
            found[places] = self.similar([a[place][:_LONGEST] for place in places], [b[place][:_LONGEST] for place in places])
        return found

    def ranked(self, texts: Sequence[str], target: str, *, as_written: bool = False) -> Ranked | None:
        """A column of numbers beside the similarity of two columns of texts; what may be a code for no answer has no part in it."""
        if self.similar is None:
            return None
        numbers = numbers_of(self.cells(target), as_written=as_written)
        if (strange := off_scale(numbers)).any():
            numbers = np.where(strange, np.nan, numbers)
        both = ~np.isnan(cosines := self.cosines(texts[0], texts[1])) & ~np.isnan(numbers)
        if both.sum() < LEAST or np.ptp(numbers[both]) == 0 or np.ptp(cosines[both]) == 0:
            return None
        from scipy.stats import spearmanr

        rho, p = spearmanr(numbers[both], cosines[both])
        return Ranked(float(rho), float(p), int(both.sum()), self.model)

    def separated(self, texts: Sequence[str], target: str, classes: Sequence[str]) -> Separated | None:
        """A column of few values beside the similarity of two columns of texts; cells that are none of ``classes`` are left out."""
        if self.similar is None:
            return None
        cosines, cells = self.cosines(texts[0], texts[1]), self.cells(target)
        place = {cell: same_class(cell, classes) for cell in set(cells)}
        members: dict[str, list[float]] = {}
        for cell, cosine in zip(cells, cosines.tolist(), strict=True):
            if place[cell] >= 0 and not math.isnan(cosine):
                members.setdefault(classes[place[cell]], []).append(cosine)
        return separated({name: np.array(values) for name, values in members.items()}, self.model)

    def aligned(self, first: str, second: str) -> float | None:
        """How much more alike two columns are row by row than shuffled: the AUC, 0.5 where they have nothing to do with each other."""
        if self.similar is None or len(self.sample) < LEAST:
            return None
        straight, turned = self.cosines(first, second), self.cosines(first, second, max(1, len(self.sample) // 2))
        return auc(straight[~np.isnan(straight)], turned[~np.isnan(turned)])

    def nearer(self, anchor: str, positive: str, negative: str) -> float | None:
        """The share of rows whose anchor is more like the positive than like the negative."""
        if self.similar is None:
            return None
        gaps = self.cosines(anchor, positive) - self.cosines(anchor, negative)
        gaps = gaps[~np.isnan(gaps)]
        return float((gaps > 0).mean()) if len(gaps) >= LEAST else None


class SimilarBy:
    """The cosines of an encoder that encodes each text but once, whatever pairs it stands in.

    Args:
        encode: gives (n, d) vectors of n texts; they are brought to length 1.
        model: what people call it.
    """

    def __init__(self, encode: Callable[[list[str]], np.ndarray], model: str = THE_MODEL) -> None:
        self.encode, self.model = encode, model
        self._known: dict[bytes, np.ndarray] = {}

    def __call__(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """(n,) cosines in [-1, 1] of n texts with n others."""
        known = self._known
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest() for text in (*first, *second)]
        new = {key: text for key, text in zip(keys, (*first, *second), strict=True) if key not in known}
        if new:
            vectors = np.asarray(self.encode(list(new.values())), dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            known.update(zip(new, vectors / np.where(lengths > 0, lengths, 1), strict=True))
        a, b = (np.stack([known[key] for key in part]) for part in (keys[: len(first)], keys[len(first) :]))
        cosines: np.ndarray = np.einsum("ij,ij->i", a, b).astype(np.float64)
        return cosines
