"""Settings that are checked against their own bounds, and have a short name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from ..registry import fields_of


class KeyedSettings:
    """What a frozen dataclass of :func:`~sbert_studio.registry.setting` fields inherits, so that what it makes can be kept by its name.

    Raises:
        StudioError: a value is of the wrong type, out of bounds, or not a choice.
    """

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            # from a form a whole number may come as 15.0
            object.__setattr__(self, field.name, field.parse(getattr(self, field.name)))

    @property
    def key(self) -> str:
        """16 hex digits that differ where any value differs."""
        values: Any = self
        text = json.dumps([type(self).__name__, asdict(values)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
