"""Where the rows are in a file that is one JSON object: the layouts of the Hub, of pandas, and of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....errors import StudioError

_ROWS = ("rows", "data", "examples", "records", "items", "instances", "pairs", "train")


def rows_of(value: Any, name: str) -> Iterator[Any]:
    """The rows of a document.

    ``{"data": […]}`` and the like beside whatever else there is; the Hub's viewer ``{"rows": [{"row": {…}}], "features": …}``;
    columns as lists of one length, ``{"a": […], "b": […]}``; and what pandas writes: ``{"columns", "index", "data"}``,
    ``{"a": {"0": …}}`` and ``{"0": {"a": …}}``. Any other object is one row.

    Raises:
        StudioError: several lists of rows could be meant.
    """
    if not isinstance(value, Mapping) or not value:
        return iter([value])
    if isinstance(columns := value.get("columns"), list) and isinstance(data := value.get("data"), list):
        return (dict(zip(map(str, columns), row, strict=False)) if isinstance(row, list) else row for row in data)
    if all(isinstance(part, Mapping) for part in value.values()):
        return _of_objects(value)
    lists = {key: part for key, part in value.items() if isinstance(part, list)}
    of_rows = [key for key, part in lists.items() if part and all(isinstance(row, Mapping) for row in part)]
    if of_rows:
        return iter(lists[_one_of(of_rows, name)])
    return _of_lists(value, lists)


def _one_of(keys: list[str], name: str) -> str:
    """The key whose list holds the rows."""
    usual = [key for key in _ROWS if key in keys]
    if len(keys) > 1 and not {"rows", "data"} & set(usual):
        raise StudioError(f"{name} holds several lists of rows: {', '.join(keys)}", "give each a file of its own")
    return (usual or keys)[0]


def _of_lists(value: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> Iterator[Any]:
    """The rows of columns as lists of one length, of a single list, or the object as one row."""
    if len(lists) > 1 and len(lists) == len(value) and len({len(part) for part in lists.values()}) == 1:
        return (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))
    if len(value) == 1 and lists:
        ((key, part),) = lists.items()
        return iter(part) if part and all(isinstance(row, list) for row in part) else ({key: row} for row in part)
    return iter([value])


def _of_objects(value: Mapping[str, Any]) -> Iterator[Any]:
    """The rows of an object of objects: columns by the number of their rows, rows by their number, or else one row."""
    inner = [tuple(part) for part in value.values()]
    if all(str(key).isdecimal() for keys in inner for key in keys) and any(inner):
        order = list(dict.fromkeys(key for keys in inner for key in keys))
        return ({column: part.get(key, "") for column, part in value.items()} for key in order)
    if all(str(key).isdecimal() for key in value):
        return iter(value.values())
    return iter([value])
