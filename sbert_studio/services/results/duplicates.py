"""Which texts of a corpus say nearly the same, and what stays when they are cleared away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...errors import StudioError

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.duplicates import DuplicateTree

Keep = Literal["first", "longest"]
KEEPS: tuple[Keep, ...] = ("first", "longest")
REMOVAL_REASON = "nearly the same as another text"


@dataclass(frozen=True)
class DuplicateGroup:
    """A text that stays, and those that are at least as like it as the threshold says.

    Attributes:
        rows: of the corpus, from 0, ascending.
        kept: the one that stays; ``None``: all of them do.
        scores: the cosine of each with the one that stays (with the first, where all do).
        values: what each says in the column of categories; empty without such a column.
    """

    rows: tuple[int, ...]
    kept: int | None
    scores: tuple[float, ...]
    values: tuple[str, ...] = ()

    @property
    def gone(self) -> tuple[int, ...]:
        """The rows that go."""
        return () if self.kept is None else tuple(row for row in self.rows if row != self.kept)

    @property
    def contradicts(self) -> bool:
        """Whether its texts carry different categories; a blank is none, and capitals and blanks around it make none of their own."""
        return len({" ".join(value.casefold().split()) for value in self.values} - {""}) > 1


@dataclass(frozen=True)
class Duplicates:
    """The near-duplicates of a corpus at any threshold from that of the tree to 1.

    Attributes:
        linkage: which rows hang together by how much.
        vectors: (n, d), the corpus'.
        seconds: the comparison alone.
        notes: what else to tell, in sentences.
    """

    corpus: Corpus
    linkage: DuplicateTree
    vectors: np.ndarray
    seconds: float
    notes: tuple[str, ...] = ()

    def groups(
        self,
        threshold: float,
        keep: Keep = "first",
        *,
        chosen: Sequence[int] = (),
        apart: Collection[tuple[int, ...]] = (),
        column: str | None = None,
    ) -> tuple[DuplicateGroup, ...]:
        """The groups, the largest first, and which text of each stays. No text goes that is less like the one that stays.

        Args:
            threshold: the cosine from which two texts are alike.
            keep: the first text of a group or its longest one stays,
            chosen: unless one of these rows is among them; the last that was chosen counts.
            apart: groups, by their rows, of which all texts stay, at every threshold; no row is in two.
            column: the column of categories.

        Raises:
            StudioError: the threshold is below that of the tree or above 1, there is no such rule or column.
        """
        if keep not in KEEPS:
            raise StudioError(f"there is no rule {keep!r}", f"choose one of {', '.join(KEEPS)}")
        if column is not None and column not in self.corpus.fields:
            raise StudioError(f"there is no column {column!r}", f"choose one of {', '.join(self.corpus.fields)}")
        cells = self.corpus.fields[column] if column is not None else None
        places = {row: place for place, row in enumerate(chosen)}
        found: list[DuplicateGroup] = []
        for rows in self.linkage.groups(threshold):
            together = [sorted(set(one).intersection(rows)) for one in apart]
            found += [self._group(tuple(one), None, cells) for one in together if len(one) > 1]
            left = set(rows).difference(*together)
            found += [self._group(tuple(sorted(star)), star[0], cells) for star in self._stars(left, threshold, keep, places)]
        return tuple(sorted(found, key=lambda group: (-len(group.rows), group.rows[0])))

    def clean(self, groups: Sequence[DuplicateGroup]) -> Corpus:
        """The corpus without the rows that go."""
        gone = {row for group in groups for row in group.gone}
        return self.corpus.subset([row for row in range(len(self.corpus)) if row not in gone], self.corpus.name, REMOVAL_REASON)

    def write_clean(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """The texts that stay, with all their columns, as a CSV without live formulas."""
        from ...data.loading.table import write_csv

        write_csv(path, self.clean(groups).columns())

    def write_gone(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """The texts that go, each beside the one that stays in its place, as a CSV without live formulas.

        Behind them stand, by their numbers, the rows that were left out before, such as those without a text: with the clean file, that
        is all of the file.
        """
        from ...data.loading.table import write_csv

        corpus = self.corpus
        found = [
            (row, group.kept, score)
            for group in groups
            if group.kept is not None
            for row, score in zip(group.rows, group.scores, strict=True)
            if row != group.kept
        ]
        found.sort()
        silent = [(row, reason.why) for reason in corpus.account.reasons for row in reason.rows]
        blank = [""] * len(silent)
        columns: dict[str, list[Any]] = {
            "row": [*(corpus.lines[row] for row, _, _ in found), *(row for row, _ in silent)],
            "why": [*(REMOVAL_REASON for _ in found), *(why for _, why in silent)],
            "text": [*(corpus.texts[row] for row, _, _ in found), *blank],
            "cosine": [*(score for _, _, score in found), *blank],
            "kept_row": [*(corpus.lines[kept] for _, kept, _ in found), *blank],
            "kept_text": [*(corpus.texts[kept] for _, kept, _ in found), *blank],
        }
        own = set(corpus.fields) - set(columns)
        for name, cells in corpus.fields.items():
            called = name
            while called in columns or (called in own and called != name):
                called += "_"
            columns[called] = [*(cells[row] for row, _, _ in found), *blank]
        write_csv(path, columns)

    def _stars(self, rows: set[int], threshold: float, keep: Keep, chosen: dict[int, int]) -> list[tuple[int, ...]]:
        """Those of some rows that are alike, the one that stays first: chosen by hand, else by the rule."""
        from ...explore.duplicates import group_around_centers

        texts = self.corpus.texts
        order = sorted(rows, key=lambda row: (-chosen.get(row, -1), -len(texts[row]) if keep == "longest" else 0, row))
        return group_around_centers(self.vectors, order, threshold, texts)

    def _group(self, rows: tuple[int, ...], kept: int | None, cells: Sequence[str] | None) -> DuplicateGroup:
        from ...explore.products import exact_products

        with_ = rows[0] if kept is None else kept
        scores = exact_products(self.vectors, np.full(len(rows), with_), np.asarray(rows)).tolist()
        return DuplicateGroup(rows, kept, tuple(scores), () if cells is None else tuple(cells[row] for row in rows))

    def to_json(self, groups: Sequence[DuplicateGroup], threshold: float) -> dict[str, Any]:
        """``{threshold, groups: [{rows, kept, scores}], goes, seconds, account, notes}``, rows as a spreadsheet numbers them."""
        lines = self.corpus.lines
        return {
            "threshold": threshold,
            "groups": [
                {
                    "rows": [lines[row] for row in group.rows],
                    "kept": None if group.kept is None else lines[group.kept],
                    "scores": list(group.scores),
                }
                for group in groups
            ],
            "goes": sum(len(group.gone) for group in groups),
            "seconds": self.seconds,
            "account": self.corpus.account.to_json(),
            "notes": list(self.notes),
        }
