"""Registries of classes by name, and self-describing settings: forms, command-line options and docs are derived from them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from .errors import StudioError
from .i18n import _

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes by name, in order of registration.

    Args:
        kind: singular noun for error messages.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Return a class decorator that registers the class under ``name`` and sets its ``name`` attribute."""

        def decorate(item: type[T]) -> type[T]:
            if name in self._items:
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._items[name] = item
            item.name = name  # type: ignore[attr-defined]
            return item

        return decorate

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._items:
            raise StudioError(
                _("there is no {kind} {name}", kind=self.kind, name=repr(name)), _("choose one of {items}", items=", ".join(self._items))
            )
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


def registered_names(folder: str, registry: str) -> list[str]:
    """Return the names that the modules of a folder register with ``registry``, read from their source without importing them.

    The help of the command line lists losses and exports, whose modules import PyTorch, which takes seconds.

    Args:
        folder: folder of the package, such as ``runs/export``.
        registry: the registry's variable, such as ``EXPORTS``.
    """
    pattern = re.compile(rf'^@{registry}\.register\("([^"]+)"\)', re.MULTILINE)
    files = sorted((Path(__file__).parent / folder).glob("*.py"))
    return [name for path in files for name in pattern.findall(path.read_text(encoding="utf-8"))]


@dataclass(frozen=True)
class Field:
    """A setting as plain data, sufficient for building a form control.

    Attributes:
        type: ``bool``, ``int``, ``float`` or ``str``.
        help: one sentence.
        min, max: inclusive bounds of a number; ``None`` for none.
        step: increment of a form control.
        choices: allowed values of a string; empty for any.
        label: name of its control; empty for the words of ``name``.
    """

    name: str
    type: type
    default: Any
    help: str
    min: float | None = None
    max: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    label: str = ""

    def parse(self, raw: Any) -> Any:
        """Convert ``raw`` (a string from ``--set``, or a JSON value) to the type of this field.

        Raises:
            StudioError: the value is invalid.
        """
        try:
            value = _convert(raw, self.type)
        except (TypeError, ValueError):
            raise StudioError(
                _("{name} is {raw}, which is not {nouns}", name=self.name, raw=repr(raw), nouns=_NOUNS[self.type]), self.help
            ) from None
        if self.choices and value not in self.choices:
            raise StudioError(
                _("{name} is {value}", name=self.name, value=repr(value)),
                _("choose one of {choices}", choices=", ".join(choice or "nothing (omit it)" for choice in self.choices)),
            )
        if (self.min is not None and not value >= self.min) or (self.max is not None and not value <= self.max):
            low, high = ("" if bound is None else f"{bound:g}" for bound in (self.min, self.max))
            between = (
                _("between {low} and {high}", low=low, high=high)
                if low and high
                else _("at least {low}", low=low)
                if low
                else _("at most {high}", high=high)
            )
            raise StudioError(_("{name} is {value}", name=self.name, value=value), _("choose a value {between}", between=between))
        return value


_NOUNS = {bool: "yes or no", int: "an integer", float: "a number", str: "text"}
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def _convert(raw: Any, kind: type) -> Any:
    if kind is bool:
        return raw if isinstance(raw, bool) else _TRUTH[str(raw).strip().lower()] if str(raw).strip().lower() in _TRUTH else int("no")
    if kind is int and isinstance(raw, float) and not raw.is_integer():
        raise ValueError(raw)
    return kind(raw)


def setting(
    default: Any,
    help: str,
    *,
    min: float | None = None,
    max: float | None = None,
    step: float | None = None,
    choices: Sequence[str] = (),
    **more: str,
) -> Any:
    """Return a dataclass field with the metadata that a form needs, plus ``more``."""
    metadata = {"help": help, "min": min, "max": max, "step": step, "choices": tuple(choices), **more}
    return dataclasses.field(default=default, metadata=metadata)


def fields_of(params: type) -> list[Field]:
    """Return the fields of a ``Params`` dataclass, in order."""
    hints = typing.get_type_hints(params)
    return [
        Field(name=item.name, type=hints[item.name], default=item.default, **{"help": "", **item.metadata})
        for item in dataclasses.fields(params)
    ]


P = TypeVar("P")


def parse_params(params: type[P], values: Mapping[str, Any]) -> P:
    """Create ``params`` from names and values.

    Raises:
        StudioError: a name is unknown or a value is invalid.
    """
    known = {field.name: field for field in fields_of(params)}
    for name in values:
        if name not in known:
            raise StudioError(_("there is no setting {name} here", name=repr(name)), _("known: {known}", known=", ".join(known) or "none"))
    return params(**{name: known[name].parse(raw) for name, raw in values.items()})


class KeyedSettings:
    """Mixin for frozen dataclasses of :func:`setting` fields: validates values and provides a cache key."""

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            # a form sends integers as 15.0
            object.__setattr__(self, field.name, field.parse(getattr(self, field.name)))

    @property
    def key(self) -> str:
        """Digest of the values, 16 hex digits."""
        values: Any = self
        text = json.dumps([type(self).__name__, asdict(values)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
