"""The one error that a user can put right. Anything else that is raised is a bug."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN_ROWS = 10


class StudioError(Exception):
    """Something the user can mend.

    Args:
        message: what was wrong, without a full stop at the end.
        hint: how to mend it.
        rows: the row numbers at fault, as a spreadsheet would show them (the header is row 1).
    """

    def __init__(self, message: str, hint: str = "", rows: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.rows = tuple(int(row) for row in rows)

    def __str__(self) -> str:
        """One line: ``what (rows 3, 7). hint: how.`` as the command line prints it after ``error:``."""
        where = f" ({describe_rows(self.rows)})" if self.rows else ""
        how = f" hint: {self.hint.rstrip('.')}." if self.hint else ""
        return f"{self.message.rstrip('.')}{where}.{how}"


def describe_rows(rows: Sequence[int]) -> str:
    """Row numbers in words, the first ten of many: ``row 3``, ``rows 3, 7 and 12 more``."""
    shown = ", ".join(str(row) for row in rows[:_SHOWN_ROWS])
    rest = len(rows) - _SHOWN_ROWS
    return f"row{'s' if len(rows) != 1 else ''} {shown}" + (f" and {rest} more" if rest > 0 else "")


class DiskFull(StudioError):
    """No space was left on the disk of a run."""
