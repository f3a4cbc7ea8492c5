"""Near-duplicates of a corpus, and the corpus without them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...explore.duplicates import DuplicateGroup, DuplicateTree, Keep, find_groups
from ...i18n import _
from .similarity import unique_name

if TYPE_CHECKING:
    import numpy as np

    from ...data.corpus import Corpus

REMOVAL_REASON = "nearly the same as another text"


@dataclass(frozen=True)
class Duplicates:
    """Near-duplicates of a corpus at any threshold from that of the tree to 1.

    Attributes:
        tree: tree of similar rows.
        vectors: (n, d) vectors of the corpus.
        seconds: duration of the comparison.
        notes: notes, one sentence each.
    """

    corpus: Corpus
    tree: DuplicateTree
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
        """Return the groups at a threshold; see :func:`~sbert_studio.explore.duplicates.find_groups`.

        Args:
            column: column of categories.

        Raises:
            StudioError: the threshold is below that of the tree or above 1, or there is no such rule or column.
        """
        corpus = self.corpus
        if column is not None and column not in corpus.fields:
            raise StudioError(
                _("there is no column {column}", column=repr(column)), _("choose one of {fields}", fields=", ".join(corpus.fields))
            )
        values = None if column is None else corpus.fields[column]
        return find_groups(self.tree, self.vectors, corpus.texts, threshold, keep, chosen=chosen, apart=apart, values=values)

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
