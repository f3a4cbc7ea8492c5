"""Base of result classes, whose JSON form and schema are derived from their annotated fields.

The API, ``--json`` and docs/api.md all use this form.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import ConfigDict, Field, GetPydanticSchema, TypeAdapter
from pydantic_core import core_schema

T = TypeVar("T")
_OPTIONAL = "x-optional"

Internal = Annotated[T, Field(exclude=True), GetPydanticSchema(lambda _type, _handler: core_schema.any_schema())]
"""A field that is not part of the JSON form."""
OMIT_EMPTY = Field(exclude_if=lambda value: not value, json_schema_extra={_OPTIONAL: True})
"""Annotation of a field that the JSON form leaves out if it is empty."""


def doc(description: str, *, name: str | None = None) -> Any:
    """Return the annotation of a field with its description and, if it differs, its name in JSON."""
    return Field(description=description, serialization_alias=name)


def describe_schema(schema: dict[str, Any], kind: type) -> None:
    """Describe a JSON schema by the first paragraph of its class; only fields that are never omitted are required."""
    schema["description"] = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    schema["required"] = [name for name, part in schema.get("properties", {}).items() if not part.pop(_OPTIONAL, False)]


class JsonResult:
    """Base of a frozen dataclass or a pydantic model that has a JSON form.

    Field types are resolved at run time, so that they are imported outside of ``TYPE_CHECKING``.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", json_schema_extra=describe_schema)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form. Messages are kept as :class:`~sbert_studio.i18n.Message`, to be translated later."""
        kind: Any = type(self)
        found: dict[str, Any] = to_plain(_adapter(kind).dump_python(self, by_alias=True))
        return found


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a class of results, or of a union of such classes."""
    return _adapter(kind).json_schema(mode="serialization")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_plain(value: Any) -> Any:
    """Return JSON data: NumPy values become numbers or lists, tuples become lists, paths strings, and infinities and NaN ``None``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(name): to_plain(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [to_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, PurePath) else value
