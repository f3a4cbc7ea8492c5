"""Edits of a map (labels, merged and split clusters, removed texts) with undo, and their JSON form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..errors import StudioError

MOST_STEPS = 1000
LONGEST_NAME = 80
NO_CLUSTER = "no cluster"
"""What texts of no cluster are called: the one name that is neither a visitor's nor made of texts."""
# Control characters (C0, C1), embeddings, overrides and isolates of the direction of writing, and halves of surrogate pairs.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Arranged:
    """How n texts stand.

    Attributes:
        ids: (n,) int64, the cluster of each, -1 for none.
        names: of the clusters, by id.
        labels: of each text, given by hand; empty where there is none.
        removed: (n,) bool.
    """

    ids: np.ndarray
    names: Mapping[int, str]
    labels: tuple[str, ...]
    removed: np.ndarray

    def clusters(self) -> list[tuple[int, str, int]]:
        """(id, name, texts that are left) of each cluster that has any, the largest first, no cluster (-1) last."""
        sizes = Counter(self.ids[~self.removed].tolist())
        return sorted(((one, self.names[one], size) for one, size in sizes.items()), key=lambda item: (item[0] < 0, -item[2], item[0]))

    def labelled(self) -> list[tuple[str, np.ndarray]]:
        """(label, rows that are left) of each label, in the order in which they first stand in the corpus."""
        left = [row for row in np.flatnonzero(~self.removed).tolist() if self.labels[row]]
        found: dict[str, list[int]] = {}
        for row in left:
            found.setdefault(self.labels[row], []).append(row)
        return [(label, np.asarray(rows)) for label, rows in found.items()]

    def rows_of(self, cluster: int) -> np.ndarray:
        """The rows that are left of a cluster.

        Raises:
            StudioError: there is no such cluster (any more).
        """
        rows = np.flatnonzero((self.ids == cluster) & ~self.removed)
        if cluster < 0 or not len(rows):
            raise StudioError("there is no such cluster any more", "choose one of the legend")
        return rows


class Step(Protocol):
    """One thing that was done."""

    def apply(self, now: Arranged) -> Arranged:
        """What stands after it; ``now`` stays as it is."""
        ...

    def in_words(self) -> str:
        """What was done, as a person would say it."""
        ...


@dataclass(frozen=True)
class Label:
    """Some texts are called by a name, whatever they were called before."""

    rows: tuple[int, ...]
    name: str

    def __post_init__(self) -> None:
        _some(self.rows)
        object.__setattr__(self, "name", named(self.name))

    def apply(self, now: Arranged) -> Arranged:
        """With the label."""
        labels = list(now.labels)
        for row in self.rows:
            labels[row] = self.name
        return replace(now, labels=tuple(labels))

    def in_words(self) -> str:
        """See :class:`Step`."""
        return f"{_texts(self.rows)} labelled “{self.name}”"


@dataclass(frozen=True)
class Rename:
    """A cluster gets a name, which no other may have."""

    cluster: int
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", named(self.name))

    def apply(self, now: Arranged) -> Arranged:
        """With the name."""
        now.rows_of(self.cluster)
        if any(name == self.name and one != self.cluster for one, name, _ in now.clusters()):
            raise StudioError(f"another cluster is called {self.name!r}", "choose another name, or merge the two")
        return replace(now, names={**now.names, self.cluster: self.name})

    def in_words(self) -> str:
        """See :class:`Step`."""
        return f"A cluster renamed to “{self.name}”"


@dataclass(frozen=True)
class Merge:
    """Clusters become one, under the id and name of the first."""

    clusters: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(set(self.clusters)) < 2:
            raise StudioError("a cluster is merged with another one", "choose two")

    def apply(self, now: Arranged) -> Arranged:
        """With one cluster in place of several."""
        for cluster in self.clusters:
            now.rows_of(cluster)
        return replace(now, ids=np.where(np.isin(now.ids, self.clusters), self.clusters[0], now.ids))

    def in_words(self) -> str:
        """See :class:`Step`."""
        return f"{len(self.clusters)} clusters merged"


@dataclass(frozen=True)
class Split:
    """A cluster becomes several.

    Attributes:
        parts: the rows of each; the first keeps the cluster's id.
        names: of the parts, made unlike the names that there are.
    """

    cluster: int
    parts: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    def apply(self, now: Arranged) -> Arranged:
        """With the parts in place of the whole; texts that were removed stay with the first."""
        whole, parts = set(now.rows_of(self.cluster).tolist()), [set(part) for part in self.parts]
        if len(parts) < 2 or not all(parts) or sum(map(len, parts)) != len(whole) or set().union(*parts) != whole:
            raise StudioError("these are not the parts of this cluster", "split it again")
        ids, names = now.ids.copy(), dict(now.names)
        taken = {name for one, name, _ in now.clusters() if one != self.cluster}
        for place, (part, name) in enumerate(zip(self.parts, self.names, strict=True)):
            number = self.cluster if place == 0 else max(names) + 1
            ids[list(part)] = number
            names[number] = _unlike(name, taken)
            taken.add(names[number])
        return replace(now, ids=ids, names=names)

    def in_words(self) -> str:
        """See :class:`Step`."""
        return f"A cluster split in {len(self.parts)}"


@dataclass(frozen=True)
class Remove:
    """Some texts are taken away."""

    rows: tuple[int, ...]

    def __post_init__(self) -> None:
        _some(self.rows)

    def apply(self, now: Arranged) -> Arranged:
        """Without them."""
        removed = now.removed.copy()
        removed[list(self.rows)] = True
        if removed.all():
            raise StudioError("no text would be left", "choose fewer to remove")
        return replace(now, removed=removed)

    def in_words(self) -> str:
        """See :class:`Step`."""
        return f"{_texts(self.rows)} removed"


@dataclass(frozen=True)
class Edits:
    """A beginning and the steps since; every step makes another one, so that whoever holds the former still has it."""

    start: Arranged
    steps: tuple[Step, ...] = ()
    now: Arranged = field(init=False, compare=False)

    def __post_init__(self) -> None:
        now = self.start
        for step in self.steps:
            now = step.apply(now)
        object.__setattr__(self, "now", now)

    @classmethod
    def of(cls, ids: np.ndarray, names: Mapping[int, str], labels: Sequence[str] = ()) -> Edits:
        """Before the first step: clusters (n,) and their names, and labels that were given before."""
        whole = tuple(labels) or ("",) * len(ids)
        return cls(Arranged(np.asarray(ids, np.int64), {-1: NO_CLUSTER, **names}, whole, np.zeros(len(ids), bool)))

    def then(self, step: Step) -> Edits:
        """After one more step.

        Raises:
            StudioError: it makes no sense now, or there are too many.
        """
        if len(self.steps) >= MOST_STEPS:
            raise StudioError(f"{MOST_STEPS:,} steps were done on this map", "draw it again; labels and removed texts stay")
        made = object.__new__(Edits)
        for name, value in (("start", self.start), ("steps", (*self.steps, step)), ("now", step.apply(self.now))):
            object.__setattr__(made, name, value)
        return made

    def undone(self) -> Edits:
        """Without the last step.

        Raises:
            StudioError: there is none.
        """
        if not self.steps:
            raise StudioError("there is nothing to undo", "label or remove something first")
        return Edits(self.start, self.steps[:-1])


def named(name: str) -> str:
    """A name as it is kept: on one line, with no blanks around it, without control characters and what turns the direction of writing.

    Raises:
        StudioError: nothing is left to be seen, or it is too long.
    """
    short = " ".join(_CONTROLS.sub("", " ".join(name.split())).split())
    seen = any(letter.isprintable() and letter != " " for letter in short)
    if not seen or len(short) > LONGEST_NAME:
        raise StudioError("a name has a letter at least, and 80 at most", "type a shorter one" if seen else "type one")
    return short


def _some(rows: tuple[int, ...]) -> None:
    if not rows:
        raise StudioError("no text was chosen", "draw a lasso around some, or click a name of the legend")


def _texts(rows: Sequence[int]) -> str:
    return "1 text" if len(rows) == 1 else f"{len(rows):,} texts"


def _unlike(name: str, taken: set[str]) -> str:
    number, other = 2, name
    while other in taken:
        other, number = f"{name} ({number})", number + 1
    return other


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
