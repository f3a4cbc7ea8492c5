"""What became of every row: read, learned from, held out, or left out and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import describe_rows
from .findings import Finding, count

if TYPE_CHECKING:
    from .loading.table import Table

DROPPED = "left out as asked"
UNTOLD = "needed for nothing"
SHARED = "shares a text with a held-out row"
"""Why a row may be neither learned from nor held out, although nothing is wrong with it."""


def _done(number: str, verb: str) -> str:
    """``74 learned from``; whole phrases, because other languages put their words in another order."""
    said = {
        "used": f"{number} used",
        "judged": f"{number} judged",
        "compared": f"{number} compared",
        "learned from": f"{number} learned from",
        "judged by": f"{number} judged by",
        "to learn from": f"{number} to learn from",
        "to be judged by": f"{number} to be judged by",
        "can be learned from": f"{number} can be learned from",
    }
    return said.get(verb, f"{number} {verb}")


@dataclass(frozen=True)
class LeftOut:
    """Rows that were not used.

    Attributes:
        why: in words, without the count and the numbers, such as ``the score is not a number``.
        rows: their numbers in a spreadsheet.
    """

    why: str
    rows: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"why": self.why, "rows": list(self.rows)}


@dataclass(frozen=True)
class RowAccount:
    """Every row of a file, once: ``read == used + held_out + left_out``.

    Attributes:
        read: rows of the file, blank ones too.
        used: rows learned from, encoded or judged.
        held_out: rows put aside to judge by; 0 where nothing is trained.
        reasons: the rows that were left out, by why; no row stands in two of them.
        examples: how many examples the rows learned from make, where lists in them were spread over several; else 0.
        in_turn: whether each row that is learned from was held out once as well, from a training of its own: the folds of a run.
    """

    read: int
    used: int
    held_out: int = 0
    reasons: tuple[LeftOut, ...] = ()
    in_turn: bool = False
    examples: int = 0

    @property
    def left_out(self) -> int:
        """How many rows were not used."""
        return sum(len(reason.rows) for reason in self.reasons)

    def in_words(self, verb: str = "used") -> str:
        """One sentence: ``120 rows read, 74 learned from, 0 held out, 46 left out: the score is not a number (46: rows 3, 5, …)``."""
        found = self.in_short(verb)
        why = "; ".join(f"{reason.why} ({len(reason.rows):,}: {describe_rows(reason.rows)})" for reason in self.reasons)
        return f"{found}: {why}" if why else found

    def divided(self, rows: np.ndarray, used: np.ndarray, held_out: np.ndarray, why: str) -> RowAccount:
        """The account once its used rows were divided.

        Args:
            rows: the row numbers that are used so far.
            used, held_out: those of them that are learned from and put aside.
            why: why the others are left out.
        """
        learned, aside = _numbers(used), np.setdiff1d(_numbers(held_out), _numbers(used))
        rest = np.setdiff1d(_numbers(rows), np.union1d(learned, aside))
        reasons = (*self.reasons, LeftOut(why, tuple(rest.tolist()))) if len(rest) else self.reasons
        return RowAccount(self.read, len(learned), len(aside), reasons, self.in_turn, len(used) if self.examples else 0)

    def in_short(self, verb: str = "used") -> str:
        """The counts alone: ``120 rows read, 74 learned from, 46 left out``."""
        read, left = count(self.read, "row"), f"{self.left_out:,}"
        used = _done(f"{self.used:,}", verb) + (f" ({count(self.examples, 'example')})" if self.examples else "")
        if self.held_out:
            return f"{read} read, {used}, {self.held_out:,} held out, {left} left out"
        if self.in_turn:
            return f"{read} read, {used}, each of them held out once, {left} left out"
        return f"{read} read, {used}, {left} left out"

    def to_json(self) -> dict[str, Any]:
        """``read, used, held_out, left_out, reasons`` as plain data, and ``in_turn`` where it is so."""
        return {
            "read": self.read,
            "used": self.used,
            "held_out": self.held_out,
            "left_out": self.left_out,
            "reasons": [reason.to_json() for reason in self.reasons],
            **({"in_turn": True} if self.in_turn else {}),
            **({"examples": self.examples} if self.examples else {}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RowAccount:
        """The inverse of :meth:`to_json`."""
        reasons: Sequence[Mapping[str, Any]] = value.get("reasons") or ()
        return cls(
            int(value["read"]),
            int(value["used"]),
            int(value.get("held_out", 0)),
            tuple(LeftOut(str(reason["why"]), tuple(int(row) for row in reason["rows"])) for reason in reasons),
            bool(value.get("in_turn", False)),
            int(value.get("examples", 0)),
        )


def account_of(
    table: Table,
    findings: Iterable[Finding],
    used: Sequence[int] | np.ndarray,
    held_out: Sequence[int] | np.ndarray = (),
    *,
    otherwise: str = UNTOLD,
) -> RowAccount:
    """The account of a file's rows, from what reading it and building its examples noted.

    A row that stands in several places (a list spread over several examples) counts once: as used, else as held out.

    Args:
        table: the file as read and mended; what its notes say was left out is left out.
        findings: what left rows out after that; those with ``left_out`` count, the others say nothing here.
        used, held_out: the row numbers of the examples that are learned from (encoded, judged) and put aside.
        otherwise: why rows of the table that none of these name were left out.
    """
    learned = _numbers(used)
    aside = np.setdiff1d(_numbers(held_out), learned)
    told = np.union1d(learned, aside)
    reasons: dict[str, np.ndarray] = {}
    causes: list[tuple[str, Sequence[int] | np.ndarray]] = [
        (finding.left_out, finding.rows) for finding in (*table.notes, *findings) if finding.left_out
    ]
    for why, rows in [*causes, (DROPPED, table.dropped), (otherwise, table.lines)]:
        new = np.setdiff1d(_numbers(rows), told)
        if len(new):
            told = np.union1d(told, new)
            reasons[why] = np.union1d(reasons.get(why, _numbers(())), new)
    left = tuple(LeftOut(why, tuple(rows.tolist())) for why, rows in reasons.items())
    spread = len(used) if len(used) > len(learned) else 0
    return RowAccount(len(told), len(learned), len(aside), left, examples=spread)


def _numbers(rows: Sequence[int] | np.ndarray) -> np.ndarray:
    """The distinct row numbers, ascending."""
    return np.unique(np.asarray(rows, dtype=np.int64))
