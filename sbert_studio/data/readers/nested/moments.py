"""The values of a pyarrow array as Python's; dates and times that Python cannot hold are texts, and the rows of these are noted."""

from __future__ import annotations

from typing import Any

from ...findings import Finding, count

_UNHELD = (OverflowError, ValueError, KeyError)  # KeyError: a time zone of an unknown name


class Moments:
    """Makes Python values of arrays, and keeps the rows whose dates and times became texts, by column."""

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}

    def values(self, column: Any, name: str, first: int) -> list[Any]:
        """The values of a pyarrow array, ``None`` for those that are missing.

        Args:
            name: of the column, for :meth:`notes`.
            first: the number of the first row.

        Raises:
            ValueError: a value is damaged, such as text that is not UTF-8.
        """
        try:
            plain: list[Any] = column.to_pylist()
        except _UNHELD:
            plain = [self._value(scalar, name, row) for row, scalar in enumerate(column, start=first)]
        return plain

    def notes(self) -> tuple[Finding, ...]:
        """What to tell, a finding for each column that held such a value."""
        return tuple(
            Finding(
                "warning",
                f"{count(len(rows), 'row')} with a date or time in {name!r} outside the years 1 to 9999, or of an unknown time zone; "
                "it stays as text, in UTC",
                tuple(rows),
            )
            for name, rows in self._rows.items()
        )

    def _value(self, scalar: Any, name: str, row: int) -> Any:
        import pyarrow as pa

        if not scalar.is_valid:
            return None
        of = pa.types
        if of.is_struct(scalar.type):
            return {key: self._value(part, name, row) for key, part in scalar.items()}
        if of.is_map(scalar.type):
            return [tuple(self._value(pair[part], name, row) for part in ("key", "value")) for pair in scalar.values]
        if of.is_list(scalar.type) or of.is_large_list(scalar.type) or of.is_fixed_size_list(scalar.type):
            return [self._value(part, name, row) for part in scalar.values]
        try:
            return scalar.as_py()
        except _UNHELD:
            if not of.is_temporal(scalar.type):
                raise
            rows = self._rows.setdefault(name, [])
            if rows[-1:] != [row]:
                rows.append(row)
            return _text(scalar)


def _text(scalar: Any) -> str:
    """A date as ISO 8601 has it, in as many digits as its year needs; a time of day and a duration as a number and its unit."""
    import numpy as np
    import pyarrow as pa

    of, kind = pa.types, scalar.type
    unit: Any = "D" if of.is_date32(kind) else "ms" if of.is_date64(kind) else kind.unit
    if of.is_date(kind) or of.is_timestamp(kind):
        return f"{np.datetime64(scalar.value, unit)}{'+00:00' if of.is_timestamp(kind) and kind.tz else ''}"
    return str(np.timedelta64(scalar.value, unit))
