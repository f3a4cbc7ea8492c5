"""Settings checked against their own bounds, and their short name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from ..registry import fields_of


def checked(params: Any) -> None:
    """Check each value of a dataclass of :func:`~sbert_studio.registry.setting` fields.

    Raises:
        StudioError: a value is of the wrong type, out of bounds, or not a choice.
    """
    for field in fields_of(type(params)):
        # from a form a whole number may come as 15.0
        object.__setattr__(params, field.name, field.parse(getattr(params, field.name)))


def settings_key(params: Any) -> str:
    """16 hex digits that differ where any value differs."""
    text = json.dumps([type(params).__name__, asdict(params)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
