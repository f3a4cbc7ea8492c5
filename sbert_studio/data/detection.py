"""The roles of a table's columns, found out from their names and what they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import StudioError
from .profile import ColumnProfile, numbers_of, profile_table
from .roles import KINDS, Kind, Roles
from .scales import describe_scale, detect_labels, detect_scale
from .tables import Table
from .vocabulary import ANCHOR, FIRST, GROUP, LABEL, NEGATIVE, POSITIVE, SCORE, SECOND

_FEW = 3


@dataclass(frozen=True)
class _View:
    table: Table
    profiles: tuple[ColumnProfile, ...]

    def of(self, name: str) -> ColumnProfile:
        return self.profiles[self.table.columns.index(name)]

    @property
    def texts(self) -> list[ColumnProfile]:
        return [profile for profile in self.profiles if profile.is_text]


def detect_roles(table: Table, kind: Kind | None = None, columns: Sequence[str] | None = None, target: str | None = None) -> Roles:
    """Decide what the columns are; whatever is given is kept, the rest is found out.

    With nothing given: a column called negative makes triplets; two texts with numbers make scored pairs, with 0/1 or
    words labelled pairs (where there are both, scored), with neither positive pairs; one text makes sentences.

    Args:
        table: the training file.
        kind: the kind of examples wanted.
        columns: the text columns, in the order of their parts.
        target: the column of scores or labels.

    Raises:
        StudioError: a column is not there, or the kind cannot be had from this table.
    """
    if kind is not None and kind not in KINDS:
        raise StudioError(f"there is no kind of examples called {kind!r}", f"choose one of {', '.join(KINDS)}")
    table.require(*(columns or ()), *((target,) if target else ()))
    if columns is not None and target in columns:
        raise StudioError(f"the column {target!r} is chosen for two parts", "choose a column of its own for each part")
    view = _View(table, profile_table(table))
    if kind is None and columns is not None and len(columns) != 2:
        kind = "sentences" if len(columns) == 1 else "triplets"
    if kind is None and target is None and columns is None and (found := _triplet(view)):
        return Roles("triplets", found, group=_group(view, found))
    if kind == "sentences" or (kind is None and columns is None and target is None and len(view.texts) < 2):
        return _sentences(view, columns, target)
    if kind == "triplets":
        texts = tuple(columns) if columns else _triplet(view, certain=False)
        return Roles("triplets", texts, group=_group(view, texts))
    return _pairs(view, tuple(columns) if columns else _pair(view, target), kind, target)


def _pairs(view: _View, texts: tuple[str, ...], kind: Kind | None, target: str | None) -> Roles:
    if kind != "positive_pairs":
        target = target or _target(view, texts, kind)
        if target is not None:
            scored = (kind or _kind_of(view, texts, target)) == "scored_pairs"
            return _scored(view, texts, target) if scored else _labelled(view, texts, target)
        if kind is not None:
            what = "scores" if kind == "scored_pairs" else "labels"
            raise StudioError(f"{view.table.name} has no column of {what}", "name the column, or choose the kind positive_pairs")
    return Roles("positive_pairs", texts, group=_group(view, texts))


def _sentences(view: _View, columns: Sequence[str] | None, target: str | None) -> Roles:
    texts = tuple(columns) if columns else tuple(profile.name for profile in sorted(view.texts, key=lambda text: not text.named_text)[:1])
    if not texts:
        names = ", ".join(view.table.columns[:20])
        raise StudioError(f"no column of {view.table.name} looks like text", f"name one of its columns: {names}")
    return Roles("sentences", texts, group=target or _group(view, texts, labels=True))


def _pair(view: _View, target: str | None) -> tuple[str, str]:
    texts = [text for text in view.texts if text.name != target]
    if len(texts) < 2:
        found = f"one column of text ({texts[0].name!r})" if texts else "no column of text"
        names = ", ".join(view.table.columns[:20])
        raise StudioError(
            f"{view.table.name} has {found}; pairs need two",
            f"add the second text, or name two of its columns: {names}; one column trains as the kind sentences",
        )
    first = next((text for text in texts if text.key in FIRST), None)
    second = next((text for text in texts if text.key in SECOND and text is not first), None)
    if first is None or second is None:
        rest = [text for text in texts if text not in (first, second)]
        first = first or rest.pop(0)
        second = second or rest.pop(0)
    return first.name, second.name


def _triplet(view: _View, certain: bool = True) -> tuple[str, ...]:
    """Anchor, positive and negatives; empty if ``certain`` is asked for and no column is called negative."""
    texts = view.texts
    negatives = [text for text in texts if NEGATIVE.fullmatch(text.key)]
    rest = [text for text in texts if text not in negatives]
    numbered = len(texts) == _FEW and len({text.key.rstrip("0123456789") for text in texts}) == 1
    if certain and (len(rest) < 2 or not negatives) and not (numbered and _target(view, tuple(text.name for text in texts), None) is None):
        return ()
    if len(texts) < _FEW or (negatives and len(rest) < 2):
        raise StudioError(
            f"{view.table.name} has {len(texts)} columns of text; triplets need anchor, positive and negative",
            "name three columns, or convert pairs or entailment labels to triplets",
        )
    if not negatives:
        return tuple(text.name for text in texts)
    anchor = next((text for text in rest if text.key in ANCHOR), rest[0])
    positive = next(
        (text for text in rest if text is not anchor and text.key in POSITIVE), next(text for text in rest if text is not anchor)
    )
    return (anchor.name, positive.name, *(text.name for text in negatives))


def _target(view: _View, texts: Sequence[str], kind: Kind | None) -> str | None:
    """The column of scores or labels, best name first; None if there is none."""
    candidates = []
    for place, profile in enumerate(view.profiles):
        if profile.name in texts or profile.is_identifier or not (profile.is_number or profile.is_category):
            continue
        if kind == "scored_pairs" and not profile.is_number:
            continue
        named = profile.key in SCORE or profile.key in LABEL
        if profile.key in GROUP - LABEL and not named:
            continue
        last_or_unnamed = place == len(view.profiles) - 1 or profile.name.startswith("column_")
        # A number in a column that is called a text: the two names were swapped, which the doctor tells.
        if not (named or profile.nli or last_or_unnamed or (profile.is_number and profile.named_text)):
            continue
        classes = profile.is_category or profile.distinct <= _FEW
        wanted = classes if kind == "labelled_pairs" else profile.key in SCORE and profile.is_number
        candidates.append((not wanted, not named, not profile.nli, not profile.is_number, place, profile.name))
    return min(candidates)[-1] if candidates else None


def _kind_of(view: _View, texts: Sequence[str], target: str) -> Kind:
    profile = view.of(target)
    if not profile.is_number:
        return "labelled_pairs"
    values = {value for value in numbers_of(view.table.column(target)).tolist() if not math.isnan(value)}
    if values <= {0.0, 1.0} or values <= {-1.0, 1.0} or _numbered_nli(view, texts, values):
        return "scored_pairs" if len(values) == 1 and profile.key in SCORE else "labelled_pairs"
    few_classes = len(values) <= _FEW and all(value % 1 == 0 for value in values)
    return "labelled_pairs" if few_classes and profile.key in LABEL else "scored_pairs"


def _numbered_nli(view: _View, texts: Sequence[str], values: set[float]) -> bool:
    names = {view.of(text).key for text in texts}
    return {"premise", "hypothesis"} <= names and 2.0 in values and values <= {-1.0, 0.0, 1.0, 2.0}


def _scored(view: _View, texts: tuple[str, ...], target: str) -> Roles:
    scores = numbers_of(view.table.column(target))
    good = scores[~np.isnan(scores)]
    if len(good) * 2 < len(scores) or not len(good):
        bad = view.table.lines[np.isnan(scores)][:100].tolist()
        raise StudioError(f"the column {target!r} holds words, not scores", "choose the kind labelled_pairs, or another column", bad)
    low, high = detect_scale(good)
    if low == high:
        low, high = (0.0, 1.0) if 0 <= low <= 1 else (0.0, abs(high) * 1.0) if high > 0 else (low, 0.0)
    return Roles("scored_pairs", texts, target, low, high, group=_group(view, (*texts, target)), note=describe_scale(low, high))


def _labelled(view: _View, texts: tuple[str, ...], target: str) -> Roles:
    cells = view.table.column(target)
    values = set(numbers_of(cells).tolist()) if view.of(target).is_number else {float("nan")}
    labels, note = detect_labels(cells, numbered_nli=_numbered_nli(view, texts, values))
    return Roles("labelled_pairs", texts, target, labels=labels, group=_group(view, (*texts, target)), note=note)


def _group(view: _View, used: Sequence[str], labels: bool = False) -> str | None:
    """The column of topics: by its name; for sentences a column of labels will do too."""
    for names in (GROUP, LABEL) if labels else (GROUP,):
        for profile in view.profiles:
            small = profile.is_category or (profile.is_number and profile.distinct <= max(2, 0.2 * profile.filled))
            if profile.name not in used and profile.key in names and small and not profile.sequence:
                return profile.name
    if labels:
        return next((profile.name for profile in view.profiles if profile.name not in used and profile.is_category), None)
    return None
