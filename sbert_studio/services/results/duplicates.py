"""Near-duplicates of a corpus, and the corpus without them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...errors import StudioError
from ...i18n import _
from .similarity import unique_name

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ...explore.duplicates import DuplicateTree

Keep = Literal["first", "longest"]
KEEPS: tuple[Keep, ...] = ("first", "longest")
REMOVAL_REASON = "nearly identical to another text"


@dataclass(frozen=True)
class DuplicateGroup:
    """A kept text and its near-duplicates.

    Attributes:
        rows: rows of the corpus, from 0, ascending.
        kept: the row that is kept; ``None`` to keep all.
        scores: cosine of each row with the kept one (with the first if all are kept).
        values: category of each row; empty without a category column.
    """

    rows: tuple[int, ...]
    kept: int | None
    scores: tuple[float, ...]
    values: tuple[str, ...] = ()

    @property
    def removed(self) -> tuple[int, ...]:
        """Rows that are removed."""
        return () if self.kept is None else tuple(row for row in self.rows if row != self.kept)

    @property
    def contradicts(self) -> bool:
        """True if the texts have different categories, ignoring blanks, case and surrounding whitespace."""
        return len({" ".join(value.casefold().split()) for value in self.values} - {""}) > 1


@dataclass(frozen=True)
class Duplicates:
    """Near-duplicates of a corpus at any threshold between that of the linkage and 1.

    Attributes:
        linkage: single-linkage tree of similar rows.
        vectors: (n, d) vectors of the corpus.
        seconds: duration of the comparison.
        notes: notes, one sentence each.
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
        """Return groups of near-duplicates, largest first. Every removed text reaches the threshold with the kept one.

        Args:
            threshold: minimum cosine of near-duplicates.
            keep: whether to keep the first or the longest text of a group.
            chosen: rows to keep instead, in their groups; the last one in a group wins.
            apart: groups of rows that are all kept, at every threshold; no row is in two.
            column: category column.

        Raises:
            StudioError: the threshold is below that of the linkage or above 1, or the rule or column does not exist.
        """
        if keep not in KEEPS:
            raise StudioError(_("there is no rule {keep}", keep=repr(keep)), _("choose one of {keeps}", keeps=", ".join(KEEPS)))
        if column is not None and column not in self.corpus.fields:
            raise StudioError(
                _("there is no column {column}", column=repr(column)), _("choose one of {fields}", fields=", ".join(self.corpus.fields))
            )
        cells = self.corpus.fields[column] if column is not None else None
        places = {row: place for place, row in enumerate(chosen)}
        found: list[DuplicateGroup] = []
        for rows in self.linkage.groups(threshold):
            kept_together = [sorted(set(one).intersection(rows)) for one in apart]
            found += [self._group(tuple(one), None, cells) for one in kept_together if len(one) > 1]
            left = set(rows).difference(*kept_together)
            found += [self._group(tuple(sorted(star)), star[0], cells) for star in self._stars(left, threshold, keep, places)]
        return tuple(sorted(found, key=lambda group: (-len(group.rows), group.rows[0])))

    def clean(self, groups: Sequence[DuplicateGroup]) -> Corpus:
        """Return the corpus without the removed rows."""
        removed = {row for group in groups for row in group.removed}
        return self.corpus.subset([row for row in range(len(self.corpus)) if row not in removed], self.corpus.name, REMOVAL_REASON)

    def write_clean(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """Write the kept rows with all columns as CSV without live formulas."""
        from ...data.cells import write_csv

        write_csv(path, self.clean(groups).columns())

    def write_removed(self, groups: Sequence[DuplicateGroup], path: Path) -> None:
        """Write the removed rows, each with the row kept in its place, as CSV without live formulas.

        Rows skipped earlier, such as those without text, are included by row number, so that this and the clean file make up the whole
        file.
        """
        from ...data.cells import write_csv

        corpus = self.corpus
        found = [
            (row, group.kept, score)
            for group in groups
            if group.kept is not None
            for row, score in zip(group.rows, group.scores, strict=True)
            if row != group.kept
        ]
        found.sort()
        skipped = [(row, reason.why) for reason in corpus.account.reasons for row in reason.rows]
        blank = [""] * len(skipped)
        columns: dict[str, list[Any]] = {
            "row": [*(corpus.lines[row] for row, _, _ in found), *(row for row, _ in skipped)],
            "why": [*(REMOVAL_REASON for _ in found), *(why for _, why in skipped)],
            "text": [*(corpus.texts[row] for row, _, _ in found), *blank],
            "cosine": [*(score for _, _, score in found), *blank],
            "kept_row": [*(corpus.lines[kept] for _, kept, _ in found), *blank],
            "kept_text": [*(corpus.texts[kept] for _, kept, _ in found), *blank],
        }
        own = set(corpus.fields) - set(columns)
        for name, cells in corpus.fields.items():
            # A renamed column must not collide with a later column of the file.
            title = name if name not in columns else unique_name(name, {*columns, *own})
            columns[title] = [*(cells[row] for row, _, _ in found), *blank]
        write_csv(path, columns)

    def _stars(self, rows: set[int], threshold: float, keep: Keep, chosen: dict[int, int]) -> list[tuple[int, ...]]:
        from ...explore.duplicates import group_around_centers

        texts = self.corpus.texts
        order = sorted(rows, key=lambda row: (-chosen.get(row, -1), -len(texts[row]) if keep == "longest" else 0, row))
        return group_around_centers(self.vectors, order, threshold, texts)

    def _group(self, rows: tuple[int, ...], kept: int | None, cells: Sequence[str] | None) -> DuplicateGroup:
        from ...explore.products import exact_products

        anchor = rows[0] if kept is None else kept
        scores = exact_products(self.vectors, np.full(len(rows), anchor), np.asarray(rows)).tolist()
        return DuplicateGroup(rows, kept, tuple(scores), () if cells is None else tuple(cells[row] for row in rows))

    def to_json(self, groups: Sequence[DuplicateGroup], threshold: float) -> dict[str, Any]:
        """Return ``{threshold, groups: [{rows, kept, scores}], goes, seconds, account, notes}`` with spreadsheet row numbers."""
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
            "goes": sum(len(group.removed) for group in groups),
            "seconds": self.seconds,
            "account": self.corpus.account.to_json(),
            "notes": list(self.notes),
        }
