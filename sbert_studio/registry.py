"""One file registers one thing; its ``Params`` dataclass describes itself to the command line, the panel and the docs.

Settings that are checked against their own bounds, and have a short name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from .errors import StudioError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names → classes, in the order of registration.

    Args:
        kind: what is registered, in the singular; error messages use it.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """Class decorator: enter the class under ``name`` and set its ``name`` attribute."""

        def enter(item: type[T]) -> type[T]:
            if name in self._items:
                raise ValueError(f"two {self.kind}s are called {name!r}")
            self._items[name] = item
            item.name = name  # type: ignore[attr-defined]
            return item

        return enter

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._items:
            raise StudioError(f"there is no {self.kind} {name!r}", f"choose one of {', '.join(self._items)}")
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


@dataclass(frozen=True)
class Field:
    """One setting as plain data, enough to draw a slider, a choice or a check box.

    Attributes:
        name: the attribute's name.
        type: ``bool``, ``int``, ``float`` or ``str``.
        default: its value where nothing is said.
        help: one sentence.
        min, max, step: bounds of a number, inclusive; ``None`` where there is none.
        choices: the allowed values of a string; empty where any will do.
    """

    name: str
    type: type
    default: Any
    help: str
    min: float | None = None
    max: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()

    def parse(self, raw: Any) -> Any:
        """``raw`` (a string from ``--set``, or a JSON value) as this field's type, within its bounds.

        Raises:
            StudioError: it is of the wrong type, out of bounds, or not a choice.
        """
        try:
            value = _convert(raw, self.type)
        except (TypeError, ValueError):
            raise StudioError(f"{self.name} is {raw!r}, which is not {_NOUNS[self.type]}", self.help) from None
        if self.choices and value not in self.choices:
            raise StudioError(
                f"{self.name} is {value!r}", f"choose one of {', '.join(choice or 'nothing (leave it out)' for choice in self.choices)}"
            )
        if (self.min is not None and not value >= self.min) or (self.max is not None and not value <= self.max):
            low, high = ("" if bound is None else f"{bound:g}" for bound in (self.min, self.max))
            between = f"between {low} and {high}" if low and high else f"at least {low}" if low else f"at most {high}"
            raise StudioError(f"{self.name} is {value}", f"choose a value {between}")
        return value


_NOUNS = {bool: "yes or no", int: "a whole number", float: "a number", str: "text"}
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
) -> Any:
    """A dataclass field that carries what a form needs to draw it."""
    return dataclasses.field(default=default, metadata={"help": help, "min": min, "max": max, "step": step, "choices": tuple(choices)})


def fields_of(params: type) -> list[Field]:
    """The fields of a ``Params`` dataclass, in order."""
    hints = typing.get_type_hints(params)
    return [
        Field(name=item.name, type=hints[item.name], default=item.default, **{"help": "", **item.metadata})
        for item in dataclasses.fields(params)
    ]


P = TypeVar("P")


def parse_params(params: type[P], values: Mapping[str, Any]) -> P:
    """Build ``params`` from names and values, each checked against its field.

    Raises:
        StudioError: an unknown name, or a value that its field refuses.
    """
    known = {field.name: field for field in fields_of(params)}
    for name in values:
        if name not in known:
            raise StudioError(f"there is no setting {name!r} here", f"known: {', '.join(known) or 'none'}")
    return params(**{name: known[name].parse(raw) for name, raw in values.items()})


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
