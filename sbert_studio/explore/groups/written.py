"""Steps on a map as JSON, and back; what is read is data that anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import StudioError
from .edits import MOST_STEPS, Label, Merge, Remove, Rename, Split, Step

CLUSTER_STEPS = (Rename, Merge, Split)


def written(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The steps as JSON holds them.

    Raises:
        TypeError: of a kind that is not known here.
    """
    return [_written(step) for step in steps]


def steps_of(value: Any, total: int) -> tuple[Step, ...]:
    """The steps that :func:`written` made; their rows are among ``total``.

    Raises:
        StudioError: these are none.
    """
    if not isinstance(value, list) or len(value) > MOST_STEPS:
        raise _damaged()
    return tuple(_read(one, total) for one in value)


def _written(step: Step) -> dict[str, Any]:
    if isinstance(step, Label):
        return {"do": "label", "rows": list(step.rows), "name": step.name}
    if isinstance(step, Remove):
        return {"do": "remove", "rows": list(step.rows)}
    if isinstance(step, Rename):
        return {"do": "rename", "cluster": step.cluster, "name": step.name}
    if isinstance(step, Merge):
        return {"do": "merge", "clusters": list(step.clusters)}
    if isinstance(step, Split):
        return {"do": "split", "cluster": step.cluster, "parts": [list(part) for part in step.parts], "names": list(step.names)}
    raise TypeError(type(step).__name__)


def _read(value: Any, total: int) -> Step:
    given = value if isinstance(value, Mapping) else {}
    what = given.get("do")
    if what == "label":
        return Label(_numbers(given.get("rows"), total), _name(given.get("name")))
    if what == "remove":
        return Remove(_numbers(given.get("rows"), total))
    if what == "rename":
        return Rename(_numbers([given.get("cluster")])[0], _name(given.get("name")))
    if what == "merge":
        return Merge(_numbers(given.get("clusters")))
    if what == "split":
        parts, names = given.get("parts"), given.get("names")
        if isinstance(parts, list) and isinstance(names, list) and len(parts) == len(names):
            rows = tuple(_numbers(part, total) for part in parts)
            return Split(_numbers([given.get("cluster")])[0], rows, tuple(_name(name) for name in names))
    raise _damaged()


def _numbers(value: Any, below: int | None = None) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(one, bool) or not isinstance(one, int) or one < 0 for one in value):
        raise _damaged()
    if below is not None and any(one >= below for one in value):
        raise _damaged()
    return tuple(value)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise _damaged()
    return value


def _damaged() -> StudioError:
    return StudioError("this is no list of steps", "draw the map again")
