"""Examples of one kind made into another where that trains better."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from ...errors import StudioError
from ..examples import Examples
from ..findings import count
from ..loading.table import Table, table_from_columns
from ..schema.labels import inference_class
from ..schema.roles import Kind
from .carried import carried_note, left_behind

_HIGH, _LOW = 0.6, 0.2
_ROUNDING = 1e-6  # scores are float32
_INFERENCE = ("contradiction", "neutral", "entailment")  # which stand in the file as 2, 1, 0, and would be taken for degrees
_Triplet = tuple[str, str, str, int, str]


@dataclass(frozen=True)
class Offer:
    """A conversion that fits some examples.

    Attributes:
        name: of the conversion; ``label`` is what a button says.
        rows: how many examples of which ``kind`` it gives.
        left: how many rows it cannot carry over.
    """

    name: str
    label: str
    rows: int
    kind: Kind
    left: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON: ``name, label, rows, left``."""
        return {"name": self.name, "label": self.label, "rows": self.rows, "left": self.left}

    def in_words(self) -> str:
        """``Pairs → triplets by shared text: 80 rows, 12 left behind``."""
        return f"{self.label}: {count(self.rows, 'row')}" + (f", {self.left:,} left behind" if self.left else "")


def nli_to_triplets(examples: Examples) -> Examples:
    """(premise, what it entails, what contradicts it) for every premise that has both; the shorter list is gone through again.

    As the supervised SimCSE data (Gao et al., 2021, section 4.2). A triplet keeps the row number of its positive.

    Raises:
        StudioError: the labels are not those of entailment, or no premise has both.
    """
    classes = _nli_ids(examples)
    if classes is None:
        raise StudioError("the labels are not entailment and contradiction", "choose another conversion")
    contradiction, entailment = classes
    return _by_anchor(examples, lambda target: target == entailment, lambda target: target == contradiction, both_ways=False)


def pairs_to_triplets(examples: Examples) -> Examples:
    """(text, its positive, its negative) for every text that stands in pairs of both kinds.

    Labelled pairs: the last class against the first. Scored pairs: a score of 0.6 or more against one of 0.2 or less.

    Raises:
        StudioError: the examples have no scores or labels, or no text stands in both.
    """
    if examples.kind == "labelled_pairs" and examples.ordered:
        last = len(examples.labels) - 1
        return _by_anchor(examples, lambda target: target == last, lambda target: target == 0, both_ways=_nli_ids(examples) is None)
    if examples.kind == "scored_pairs":
        return _by_anchor(examples, lambda target: target >= _HIGH - _ROUNDING, lambda target: target <= _LOW + _ROUNDING, both_ways=True)
    raise StudioError("only scored or labelled pairs hold the negatives of a triplet", "choose another conversion")


def scored_to_labelled(examples: Examples, edges: Sequence[float] = (0.5,), labels: Sequence[str] | None = None) -> Examples:
    """Scores cut into classes: a score's class is the number of ``edges`` that it reaches.

    Args:
        examples: scored pairs.
        edges: rising scores in (0, 1) at which a class begins.
        labels: the class names; ``0, 1, …`` if None.

    Raises:
        StudioError: the examples are not scored pairs, or edges and labels do not fit.
    """
    if examples.kind != "scored_pairs" or examples.targets is None:
        raise StudioError("only scored pairs can be cut into classes", "choose another conversion")
    names = tuple(labels) if labels is not None else tuple(map(str, range(len(edges) + 1)))
    if not edges or list(edges) != sorted(set(edges)) or len(names) != len(edges) + 1:
        raise StudioError(
            f"the edges {list(edges)} do not cut scores into {len(names)} classes", "give rising edges, and one label more than edges"
        )
    classes = np.searchsorted(np.asarray(edges, dtype=np.float32), examples.targets, side="right").astype(np.int64)
    return Examples("labelled_pairs", examples.texts, classes, examples.lines, names, examples.groups)


def labelled_to_positive(examples: Examples) -> Examples:
    """The pairs of the last class (entailment, 1, yes) as positive pairs; those of 0.6 or more, if they are scored.

    Raises:
        StudioError: the examples are not scored or labelled pairs, or none is positive.
    """
    if examples.targets is None or examples.kind not in ("scored_pairs", "labelled_pairs") or not (examples.ordered or _nli_ids(examples)):
        raise StudioError("only scored pairs, and labelled ones in an order, say which pairs are positive", "choose another conversion")
    positive = examples.targets >= _HIGH - _ROUNDING if examples.kind == "scored_pairs" else examples.targets == len(examples.labels) - 1
    if not positive.any():
        raise StudioError("no pair is positive", "choose another conversion")
    kept = examples.take(np.flatnonzero(positive))
    return Examples("positive_pairs", kept.texts, None, kept.lines, (), kept.groups)


def classes_to_pairs(examples: Examples) -> Examples:
    """Texts with a category: each is paired with the next different one of its category, the last with the first.

    Raises:
        StudioError: the texts have no category, or no category has two different texts.
    """
    rows = []
    for group, texts in _members(examples).items():
        names = list(texts)
        if len(names) > 1:
            ring = names[1:] + names[:1] if len(names) > 2 else names[1:]
            rows += [(text, other, texts[text], group) for text, other in zip(names, ring, strict=False)]
    if not rows:
        raise StudioError("no class has two different sentences", "choose another conversion")
    first, second, lines, groups = zip(*rows, strict=True)
    return Examples("positive_pairs", (first, second), None, np.array(lines, dtype=np.int64), (), groups)


def classes_to_triplets(examples: Examples) -> Examples:
    """Texts with a category: (text, the next different one of its category, one of another category, each in turn).

    Raises:
        StudioError: the texts have no category, fewer than two categories, or no category has two different texts.
    """
    members = _members(examples)
    rows: list[_Triplet] = []
    others = {group: cycle([text for name, texts in members.items() if name != group for text in texts]) for group in members}
    for group, texts in members.items():
        names = list(texts)
        if len(names) > 1 and len(members) > 1:
            ring = names[1:] + names[:1]
            rows += [(text, sibling, next(others[group]), texts[text], group) for text, sibling in zip(names, ring, strict=True)]
    if not rows:
        raise StudioError("no class has two different texts beside texts of another class", "choose another conversion")
    first, second, third, lines, groups = zip(*rows, strict=True)
    return Examples("triplets", (first, second, third), None, np.array(lines, dtype=np.int64), (), groups)


def _members(examples: Examples) -> dict[str, dict[str, int]]:
    """The different texts of each category, with the row of each."""
    if examples.kind == "labelled_texts" and examples.targets is not None:
        groups: Sequence[str] = [examples.labels[index] for index in examples.targets.tolist()]
    elif examples.kind == "sentences" and examples.groups:
        groups = examples.groups
    else:
        raise StudioError("only texts with a column of categories can be brought together by category", "choose another conversion")
    members: dict[str, dict[str, int]] = defaultdict(dict)
    for text, group, line in zip(examples.texts[0], groups, examples.lines.tolist(), strict=True):
        if group.strip():
            members[group].setdefault(text, line)
    return members


CONVERSIONS: dict[str, tuple[str, Callable[[Examples], Examples]]] = {
    "nli_to_triplets": ("Entailment labels → triplets", nli_to_triplets),
    "pairs_to_triplets": ("Pairs → triplets by shared text", pairs_to_triplets),
    "scored_to_labelled": ("Scores → 0/1 labels", scored_to_labelled),
    "labelled_to_positive": ("Keep the positive pairs only", labelled_to_positive),
    "classes_to_pairs": ("Texts of one category → positive pairs", classes_to_pairs),
    "classes_to_triplets": ("Texts with a category → triplets", classes_to_triplets),
}


def offers(examples: Examples) -> tuple[Offer, ...]:
    """The conversions that fit, each tried."""
    found: list[Offer] = []
    for name, (label, apply) in CONVERSIONS.items():
        if name == "pairs_to_triplets" and any(offer.name == "nli_to_triplets" for offer in found):
            continue
        try:
            made = apply(examples)
        except StudioError:
            continue  # it does not fit these examples, and is not offered
        found.append(Offer(name, label, len(made), made.kind, len(left_behind(examples, made))))
    return tuple(found)


def convert(examples: Examples, name: str) -> Examples:
    """Apply the conversion called ``name``.

    Raises:
        StudioError: there is none of that name, or it does not fit.
    """
    if name not in CONVERSIONS:
        raise StudioError(f"there is no conversion called {name!r}", f"the conversions are: {', '.join(CONVERSIONS)}")
    return CONVERSIONS[name][1](examples)


def converted(examples: Examples, conversion: str, name: str) -> Table:
    """:func:`convert` as a file of its own: a table called ``name`` whose rows are numbered from 2 on, as it would be written.

    Its note tells what became of the rows, those included that could not be carried over.
    """
    found = convert(examples, conversion)
    table = examples_to_table(replace(found, lines=np.arange(2, len(found) + 2, dtype=np.int64)), name)
    return replace(table, notes=(carried_note(examples, found),))


def examples_to_table(examples: Examples, name: str) -> Table:
    """Examples as a table whose columns have their usual names, so that it reads back as the same examples."""
    if examples.kind == "triplets":
        names = ["anchor", "positive", "negative", *(f"negative_{index}" for index in range(2, len(examples.texts) - 1))]
    else:
        names = ["text"] if examples.kind in ("sentences", "labelled_texts") else ["sentence1", "sentence2"]
    columns: dict[str, Sequence[str]] = dict(zip(names, examples.texts, strict=True))
    if examples.targets is not None:
        if examples.kind == "scored_pairs":
            columns["score"] = [f"{target:.6g}" for target in examples.targets.tolist()]
        else:
            labels = _INFERENCE if examples.labels == ("2", "1", "0") else examples.labels
            columns["category" if examples.kind == "labelled_texts" else "label"] = [labels[index] for index in examples.targets.tolist()]
    if examples.groups:
        columns["category" if examples.kind == "sentences" else "group"] = examples.groups
    return table_from_columns(name, columns, examples.lines)


def _nli_ids(examples: Examples) -> tuple[int, int] | None:
    classes = [inference_class(label) for label in examples.labels]
    if examples.kind != "labelled_pairs" or "entailment" not in classes or "contradiction" not in classes:
        return None
    return classes.index("contradiction"), classes.index("entailment")


def _by_anchor(
    examples: Examples, is_positive: Callable[[float], bool], is_negative: Callable[[float], bool], *, both_ways: bool
) -> Examples:
    assert examples.targets is not None
    positives: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    negatives: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    sides = {target: 1 if is_positive(target) else -1 if is_negative(target) else 0 for target in set(examples.targets.tolist())}
    pairs = [(a, b, sides[target]) for a, b, target in zip(*examples.texts, examples.targets.tolist(), strict=True)]
    # Few texts of a large file stand in pairs of both kinds; only these are gone into.
    alike, unlike = ({text for a, b, side in pairs if side == wanted for text in ((a, b) if both_ways else (a,))} for wanted in (1, -1))
    anchors = alike & unlike
    groups = examples.groups or ("",) * len(examples)
    for (a, b, side), line, group in zip(pairs, examples.lines.tolist(), groups, strict=True):
        if side and a != b:
            known = positives if side > 0 else negatives
            if a in anchors:
                known[a].setdefault(b, (line, group))
            if both_ways and b in anchors:
                known[b].setdefault(a, (line, group))
    rows: list[_Triplet] = []
    for anchor, partners in positives.items():
        others = [text for text in negatives.get(anchor, {}) if text not in partners]
        if others:
            longest = max(len(partners), len(others))
            for positive, negative in islice(zip(cycle(partners), cycle(others)), longest):
                rows.append((anchor, positive, negative, *partners[positive]))
    if not rows:
        raise StudioError("no text stands in both a positive and a negative pair", "choose another conversion")
    shared, first, second, lines, named = zip(*rows, strict=True)
    return Examples("triplets", (shared, first, second), None, np.array(lines, dtype=np.int64), (), named if examples.groups else ())
