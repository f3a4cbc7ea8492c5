"""A run as a row of the database, and back: JSON where a value has parts, paths from the home on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from .record import Run

COLUMNS = tuple(item.name for item in fields(Run))
_JSON = ("spec", "before", "after")
_ID = re.compile(r"run-[0-9a-f]{10}")


def is_run_id(name: str) -> bool:
    """Whether ``name`` can be that of a run, or of its folder."""
    return _ID.fullmatch(name) is not None


def to_row(values: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """Values of a run as the database keeps them.

    Args:
        home: paths below it are kept from there on, so that it may be moved.
    """
    row: dict[str, Any] = {}
    for name, value in values.items():
        if name in _JSON:
            row[name] = json.dumps(dict(value), ensure_ascii=False)
        elif isinstance(value, Path):
            row[name] = value.relative_to(home).as_posix() if value.is_relative_to(home) else str(value)
        else:
            row[name] = value
    return row


def from_row(row: tuple[Any, ...], home: Path) -> Run:
    """The run of a row; a value that is damaged reads as nothing, so that the run can still be listed, and deleted."""
    values = dict(zip(COLUMNS, row, strict=True))
    for name in _JSON:
        values[name] = _read(values[name])
    for item in fields(Run):
        if item.type in ("int", "float") and not isinstance(values[item.name], int | float):
            values[item.name] = 0
    values["model_path"] = _model(values["id"], values["model_path"], home)
    return Run(**values)


def _read(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _model(run_id: str, kept: Any, home: Path) -> Path | None:
    """Where the model lies; the way to it as an older version wrote it may lead to where the home was."""
    if not kept:
        return None
    path = home / str(kept)
    here = home / "runs" / run_id / "model"
    return here if not path.exists() and here.exists() else path
