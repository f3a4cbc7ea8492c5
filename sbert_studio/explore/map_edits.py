"""Edits of a map (labels, renamed, merged and split clusters, assigned outliers, removed texts) with undo, and their JSON form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from ..errors import StudioError
from ..i18n import _, ngettext

MAX_EDITS = 1000
MAX_NAME_LENGTH = 80
NO_CLUSTER = "outliers"
"""Name for texts without a cluster."""
# Control characters (C0, C1), bidirectional embeddings, overrides and isolates, and lone surrogates.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class MapState:
    """State of the n texts of a map.

    Attributes:
        ids: (n,) int64 cluster ids, -1 for none.
        names: cluster names by id.
        labels: label of each text, empty if none.
        removed: (n,) bool.
        broad_names: names of broad topics by id, where they differ from their labels on the map.
    """

    ids: np.ndarray
    names: Mapping[int, str]
    labels: tuple[str, ...]
    removed: np.ndarray
    broad_names: Mapping[int, str] = field(default_factory=dict)

    def clusters(self) -> list[tuple[int, str, int]]:
        """Return (id, name, remaining texts) of each nonempty cluster, largest first, no cluster (-1) last."""
        sizes = zip(*(part.tolist() for part in np.unique(self.ids[~self.removed], return_counts=True)), strict=True)
        return sorted(((one, self.names[one], size) for one, size in sizes), key=lambda item: (item[0] < 0, -item[2], item[0]))

    def labelled(self) -> list[tuple[str, np.ndarray]]:
        """Return (label, remaining rows) for each label in order of first occurrence."""
        found: dict[str, list[int]] = {}
        for row, label in enumerate(self.labels):
            if label and not self.removed[row]:
                found.setdefault(label, []).append(row)
        return [(label, np.asarray(rows)) for label, rows in found.items()]

    def rows_of(self, cluster: int) -> np.ndarray:
        """Return the remaining rows of a cluster.

        Raises:
            StudioError: the cluster does not exist.
        """
        rows = np.flatnonzero((self.ids == cluster) & ~self.removed)
        if cluster < 0 or not len(rows):
            raise StudioError("this topic no longer exists", "choose one from the legend")
        return rows


class MapEdit(Protocol):
    """One edit of a map."""

    def apply(self, now: MapState) -> MapState: ...
    def describe(self) -> str: ...


@dataclass(frozen=True)
class LabelEdit:
    """Label texts, replacing earlier labels."""

    rows: tuple[int, ...]
    name: str

    def __post_init__(self) -> None:
        _require_rows(self.rows)
        object.__setattr__(self, "name", clean_name(self.name))

    def apply(self, now: MapState) -> MapState:
        labels = list(now.labels)
        for row in self.rows:
            labels[row] = self.name
        return replace(now, labels=tuple(labels))

    def describe(self) -> str:
        return _("{texts} labelled “{name}”", texts=_texts(self.rows), name=self.name)


@dataclass(frozen=True)
class RenameEdit:
    """Rename a cluster to an unused name."""

    cluster: int
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))

    def apply(self, now: MapState) -> MapState:
        now.rows_of(self.cluster)
        if any(name == self.name and cluster != self.cluster for cluster, name, _ in now.clusters()):
            raise StudioError(_("another topic is called {name}", name=repr(self.name)), "choose another name, or merge the two")
        return replace(now, names={**now.names, self.cluster: self.name})

    def describe(self) -> str:
        return _("Topic renamed to “{name}”", name=self.name)


@dataclass(frozen=True)
class NameEdit:
    """Rename clusters, and broad topics, all at once.

    Attributes:
        names: new names of ``clusters``, made unique.
        broad: ids of broad topics.
        broad_names: their new names.
    """

    clusters: tuple[int, ...]
    names: tuple[str, ...]
    broad: tuple[int, ...] = ()
    broad_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.clusters or self.broad) or len(self.clusters) != len(self.names) or len(self.broad) != len(self.broad_names):
            raise StudioError("no topic has a new name", "draw the map again")
        for name in ("names", "broad_names"):
            object.__setattr__(self, name, tuple(map(clean_name, getattr(self, name))))

    def apply(self, now: MapState) -> MapState:
        names = dict(now.names)
        taken = {name for cluster, name, _ in now.clusters() if cluster not in self.clusters}
        for cluster, name in zip(self.clusters, self.names, strict=True):
            now.rows_of(cluster)
            names[cluster] = _unique_name(name, taken)
            taken.add(names[cluster])
        return replace(now, names=names, broad_names={**now.broad_names, **dict(zip(self.broad, self.broad_names, strict=True))})

    def describe(self) -> str:
        return ngettext("{n} topic named", "{n} topics named", len(self.clusters))


@dataclass(frozen=True)
class MergeEdit:
    """Merge clusters, keeping the id and name of the first."""

    clusters: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(set(self.clusters)) < 2:
            raise StudioError("only one topic was selected", "choose two")

    def apply(self, now: MapState) -> MapState:
        for cluster in self.clusters:
            now.rows_of(cluster)
        return replace(now, ids=np.where(np.isin(now.ids, self.clusters), self.clusters[0], now.ids))

    def describe(self) -> str:
        return _("{topics} topics merged", topics=len(self.clusters))


@dataclass(frozen=True)
class SplitEdit:
    """Split a cluster.

    Attributes:
        parts: rows of each part; the first keeps the cluster's id.
        names: names of the parts, made unique.
    """

    cluster: int
    parts: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    def apply(self, now: MapState) -> MapState:
        """Return the state with the parts; removed texts stay in the first."""
        whole, parts = set(now.rows_of(self.cluster).tolist()), [set(part) for part in self.parts]
        if len(parts) < 2 or not all(parts) or sum(map(len, parts)) != len(whole) or set().union(*parts) != whole:
            raise StudioError("these are not the parts of this topic", "split it again")
        ids, names = now.ids.copy(), dict(now.names)
        taken = {name for cluster, name, _ in now.clusters() if cluster != self.cluster}
        for place, (part, name) in enumerate(zip(self.parts, self.names, strict=True)):
            number = self.cluster if place == 0 else max(names) + 1
            ids[list(part)] = number
            names[number] = _unique_name(name, taken)
            taken.add(names[number])
        return replace(now, ids=ids, names=names)

    def describe(self) -> str:
        return _("Topic split into {parts}", parts=len(self.parts))


@dataclass(frozen=True)
class AssignEdit:
    """Assign outliers to clusters.

    Attributes:
        rows: texts without a cluster.
        clusters: the new cluster of each.
    """

    rows: tuple[int, ...]
    clusters: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_rows(self.rows)

    def apply(self, now: MapState) -> MapState:
        if len(self.rows) != len(self.clusters) or not set(self.clusters) <= set(now.ids[now.ids >= 0].tolist()):
            raise StudioError("this topic no longer exists", "choose one from the legend")
        rows = np.asarray(self.rows)
        if (now.ids[rows] >= 0).any():
            raise StudioError("some of these texts have a topic", "assign those without one")
        ids = now.ids.copy()
        ids[rows] = self.clusters
        return replace(now, ids=ids)

    def describe(self) -> str:
        return _("{texts} assigned to the nearest topic", texts=_texts(self.rows))


@dataclass(frozen=True)
class RemoveEdit:
    """Remove texts."""

    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_rows(self.rows)

    def apply(self, now: MapState) -> MapState:
        removed = now.removed.copy()
        removed[list(self.rows)] = True
        if removed.all():
            raise StudioError("no texts would be left", "choose fewer to remove")
        return replace(now, removed=removed)

    def describe(self) -> str:
        return _("{texts} removed", texts=_texts(self.rows))


@dataclass(frozen=True)
class EditHistory:
    """Initial state and edits of a map; immutable."""

    start: MapState
    steps: tuple[MapEdit, ...] = ()
    now: MapState = field(init=False, compare=False)

    def __post_init__(self) -> None:
        now = self.start
        for step in self.steps:
            now = step.apply(now)
        object.__setattr__(self, "now", now)

    @classmethod
    def create(cls, ids: np.ndarray, names: Mapping[int, str], labels: Sequence[str] = ()) -> EditHistory:
        """Return a history without edits: cluster ids (n,), their names, and existing labels."""
        whole = tuple(labels) or ("",) * len(ids)
        return cls(MapState(np.asarray(ids, np.int64), {-1: NO_CLUSTER, **names}, whole, np.zeros(len(ids), bool)))

    def then(self, step: MapEdit) -> EditHistory:
        """Return the history with one more edit.

        Raises:
            StudioError: the edit does not apply, or there are too many edits.
        """
        if len(self.steps) >= MAX_EDITS:
            raise StudioError(
                _("this map already has {max_edits} edits", max_edits=f"{MAX_EDITS:,}"), "draw it again; labels and removed texts are kept"
            )
        made = object.__new__(EditHistory)
        for name, value in (("start", self.start), ("steps", (*self.steps, step)), ("now", step.apply(self.now))):
            object.__setattr__(made, name, value)
        return made

    def undo(self) -> EditHistory:
        """Return the history without the last edit, or raise a StudioError if there is none."""
        if not self.steps:
            raise StudioError("there is nothing to undo", "label or remove something first")
        return EditHistory(self.start, self.steps[:-1])


def clean_name(name: str) -> str:
    """Return a name on one line, stripped, without control and bidirectional formatting characters.

    Raises:
        StudioError: the name is empty or too long.
    """
    short = " ".join(_CONTROLS.sub("", " ".join(name.split())).split())
    seen = any(letter.isprintable() and letter != " " for letter in short)
    if not seen or len(short) > MAX_NAME_LENGTH:
        raise StudioError("a name must have 1 to 80 visible characters", "type a shorter one" if seen else "type one")
    return short


def _require_rows(rows: tuple[int, ...]) -> None:
    if not rows:
        raise StudioError("no text was selected", "lasso some texts, or click a name in the legend")


def _texts(rows: Sequence[int]) -> str:
    return "1 text" if len(rows) == 1 else _("{rows} texts", rows=f"{len(rows):,}")


def _unique_name(name: str, used: set[str]) -> str:
    number, other = 2, name
    while other in used:
        other, number = f"{name} ({number})", number + 1
    return other


CLUSTER_EDITS = (RenameEdit, NameEdit, MergeEdit, SplitEdit, AssignEdit)


_EDITS: dict[str, type[Any]] = {
    "label": LabelEdit,
    "remove": RemoveEdit,
    "rename": RenameEdit,
    "name": NameEdit,
    "merge": MergeEdit,
    "split": SplitEdit,
    "assign": AssignEdit,
}


def edits_to_json(steps: Sequence[MapEdit]) -> list[dict[str, Any]]:
    """Return edits as JSON values."""
    kinds = {kind: name for name, kind in _EDITS.items()}
    values: list[dict[str, Any]] = []
    for step in steps:
        kind: Any = type(step)
        values.append({"do": kinds[kind], **{field.name: _to_lists(getattr(step, field.name)) for field in fields(kind)}})
    return values


def edits_from_json(value: Any, total: int) -> tuple[MapEdit, ...]:
    """Read edits written by :func:`edits_to_json`; rows must be below ``total``.

    Raises:
        StudioError: the values are invalid.
    """
    if not isinstance(value, list) or len(value) > MAX_EDITS:
        raise _invalid()
    return tuple(_from_json(one, total) for one in value)


def _to_lists(value: Any) -> Any:
    return [_to_lists(one) for one in value] if isinstance(value, tuple) else value


def _from_json(value: Any, total: int) -> MapEdit:
    kind = _EDITS.get(str(value.get("do"))) if isinstance(value, Mapping) else None
    if kind is None:
        raise _invalid()
    readers: dict[str, Callable[[Any], Any]] = {
        "rows": lambda rows: _numbers(rows, total),
        "cluster": lambda cluster: _numbers([cluster])[0],
        "clusters": _numbers,
        "name": _name,
        "names": lambda names: tuple(map(_name, _list(names))),
        "broad": _numbers,
        "broad_names": lambda names: tuple(map(_name, _list(names))),
        "parts": lambda parts: tuple(_numbers(part, total) for part in _list(parts)),
    }
    read = {field.name: readers[field.name](value.get(field.name)) for field in fields(kind)}
    if "parts" in read and len(read["parts"]) != len(read["names"]):
        raise _invalid()
    edit: MapEdit = kind(**read)
    return edit


def _numbers(value: Any, below: int | None = None) -> tuple[int, ...]:
    for one in _list(value):
        if isinstance(one, bool) or not isinstance(one, int) or one < 0 or (below is not None and one >= below):
            raise _invalid()
    return tuple(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _invalid()
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid()
    return value


def _invalid() -> StudioError:
    return StudioError("this is not a list of map edits", "draw the map again")
