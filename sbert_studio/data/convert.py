"""Conversion of examples from one kind to another that may train better."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Annotated

import numpy as np

from ..errors import StudioError, describe_rows
from ..i18n import _
from ..serialization import Internal, JsonResult, doc
from .examples import Examples
from .findings import Finding, count
from .loading.table import Table, table_from_columns
from .schema.labels import inference_class
from .schema.roles import Kind

_POSITIVE, _NEGATIVE = 0.6, 0.2
_ROUNDING = 1e-6  # scores are float32
_NLI_LABELS = ("contradiction", "neutral", "entailment")  # as numbers (2, 1, 0) they would be read as degrees of similarity
_HINT = "choose another conversion"
_Triplet = tuple[str, str, str, int, str]


@dataclass(frozen=True)
class PossibleConversion(JsonResult):
    """Another kind that the file can be converted to."""

    name: str
    label: Annotated[str, doc("the label of its button")]
    rows: Annotated[int, doc("number of rows after the conversion")]
    kind: Internal[Kind]
    left: Annotated[int, doc("number of rows that it cannot convert")] = 0

    def describe(self) -> str:
        return _("{label}: {rows}", label=_(self.label), rows=self.describe_rows())

    def describe_rows(self) -> str:
        """Return how many rows the result has, and how many rows are not converted."""
        rows = count(self.rows, "row")
        return _("{rows}, {left} not converted", rows=rows, left=f"{self.left:,}") if self.left else rows


# Each conversion raises a StudioError if it is not possible for the examples.


def nli_to_triplets(examples: Examples) -> Examples:
    """Build (premise, entailed hypothesis, contradicting hypothesis) triplets from each premise that has both; the shorter list is cycled.

    Same construction as the supervised SimCSE data (Gao et al., 2021, section 4.2). A triplet keeps the row number of its positive.
    """
    classes, targets = _nli_class_ids(examples), examples.targets
    if classes is None or targets is None:
        raise StudioError("the labels are not entailment and contradiction", _HINT)
    contradiction, entailment = classes
    return _triplets_by_anchor(examples, targets == entailment, targets == contradiction, symmetric=False)


def pairs_to_triplets(examples: Examples) -> Examples:
    """Build (text, positive, negative) triplets from each text that occurs in both positive and negative pairs.

    Positive pairs are labelled pairs of the last class and scored pairs with a score of at least 0.6. Negative pairs are labelled pairs of
    the first class and scored pairs with a score of at most 0.2.
    """
    targets = examples.targets
    if targets is not None and examples.kind == "labelled_pairs" and examples.ordered:
        last, symmetric = len(examples.labels) - 1, _nli_class_ids(examples) is None
        return _triplets_by_anchor(examples, targets == last, targets == 0, symmetric=symmetric)
    if targets is not None and examples.kind == "scored_pairs":
        return _triplets_by_anchor(examples, targets >= _POSITIVE - _ROUNDING, targets <= _NEGATIVE + _ROUNDING, symmetric=True)
    raise StudioError("only scored or labelled pairs can provide the negatives for triplets", _HINT)


def scored_to_labelled(examples: Examples, edges: Sequence[float] = (0.5,), labels: Sequence[str] | None = None) -> Examples:
    """Bin scores into classes named ``labels`` (``0, 1, …`` if None). ``edges`` are the lower bounds, increasing and in (0, 1)."""
    if examples.kind != "scored_pairs" or examples.targets is None:
        raise StudioError("only scored pairs can be binned into classes", _HINT)
    names = tuple(labels) if labels is not None else tuple(map(str, range(len(edges) + 1)))
    if not edges or list(edges) != sorted(set(edges)) or len(names) != len(edges) + 1:
        raise StudioError(
            _("the edges {edges} do not divide scores into {names} classes", edges=list(edges), names=len(names)),
            "use increasing edges, and one more label than edges",
        )
    classes = np.searchsorted(np.asarray(edges, dtype=np.float32), examples.targets, side="right").astype(np.int64)
    return Examples("labelled_pairs", examples.texts, classes, examples.lines, names, examples.groups)


def labelled_to_positive(examples: Examples) -> Examples:
    """Keep the positive pairs: those of the last class (entailment, 1, yes), or with a score of at least 0.6."""
    if examples.targets is None or examples.kind not in ("scored_pairs", "labelled_pairs"):
        raise StudioError("only scored or labelled pairs indicate which pairs are positive", _HINT)
    if not (examples.ordered or _nli_class_ids(examples)):
        raise StudioError("the labels have no order, so it is unknown which pairs are positive", _HINT)
    threshold = _POSITIVE - _ROUNDING if examples.kind == "scored_pairs" else len(examples.labels) - 1
    positive = np.flatnonzero(examples.targets >= threshold)
    if not len(positive):
        raise StudioError("no pair is positive", _HINT)
    kept = examples.take(positive)
    return Examples("positive_pairs", kept.texts, None, kept.lines, (), kept.groups)


def classes_to_pairs(examples: Examples) -> Examples:
    """Pair each text with the next distinct text of its category, and the last with the first."""
    rows = []
    for group, members in _texts_by_category(examples).items():
        texts = list(members)
        following = texts[1:] + (texts[:1] if len(texts) > 2 else [])
        rows += [(text, other, members[text], group) for text, other in zip(texts, following, strict=False)]
    if not rows:
        raise StudioError("no class has two different sentences", _HINT)
    first, second, lines, groups = zip(*rows, strict=True)
    return Examples("positive_pairs", (first, second), None, np.array(lines, dtype=np.int64), (), groups)


def classes_to_triplets(examples: Examples) -> Examples:
    """Build triplets of a text, the next distinct text of its category, and a text of another category, cycling through the other
    categories.
    """
    categories = _texts_by_category(examples)
    rows: list[_Triplet] = []
    for group, members in categories.items():
        texts = list(members)
        negatives = cycle([text for other, others in categories.items() if other != group for text in others])
        if len(texts) > 1 and len(categories) > 1:
            pairs = zip(texts, texts[1:] + texts[:1], strict=True)
            rows += [(text, positive, next(negatives), members[text], group) for text, positive in pairs]
    if not rows:
        raise StudioError("triplets need a class with two different texts, and at least one other class", _HINT)
    return _triplet_examples(rows, with_groups=True)


def _texts_by_category(examples: Examples) -> dict[str, dict[str, int]]:
    if examples.kind == "labelled_texts" and examples.targets is not None:
        groups: Sequence[str] = [examples.labels[index] for index in examples.targets.tolist()]
    elif examples.kind == "sentences" and examples.groups:
        groups = examples.groups
    else:
        raise StudioError("only texts with a category can be paired by category", _HINT)
    categories: dict[str, dict[str, int]] = defaultdict(dict)
    for text, group, line in zip(examples.texts[0], groups, examples.lines.tolist(), strict=True):
        if group.strip():
            categories[group].setdefault(text, line)
    return categories


CONVERSIONS: dict[str, tuple[str, Callable[[Examples], Examples]]] = {
    "nli_to_triplets": ("Entailment labels → triplets", nli_to_triplets),
    "pairs_to_triplets": ("Pairs → triplets by shared text", pairs_to_triplets),
    "scored_to_labelled": ("Scores → 0/1 labels", scored_to_labelled),
    "labelled_to_positive": ("Keep the positive pairs only", labelled_to_positive),
    "classes_to_pairs": ("Texts with a category → positive pairs", classes_to_pairs),
    "classes_to_triplets": ("Texts with a category → triplets", classes_to_triplets),
}


def find_conversions(examples: Examples) -> tuple[PossibleConversion, ...]:
    """Return the conversions that are possible for the examples."""
    found: list[PossibleConversion] = []
    for name, (label, apply) in CONVERSIONS.items():
        if name == "pairs_to_triplets" and any(offer.name == "nli_to_triplets" for offer in found):
            continue
        try:
            converted = apply(examples)
        except StudioError:
            continue  # not possible for these examples
        found.append(PossibleConversion(name, label, len(converted), converted.kind, len(find_unconverted_rows(examples, converted))))
    return tuple(found)


def convert(examples: Examples, name: str) -> Examples:
    """Apply the conversion called ``name``; raise a ``StudioError`` if it is unknown or not possible."""
    if name not in CONVERSIONS:
        raise StudioError(
            _("there is no conversion called {name}", name=repr(name)),
            _("the conversions are: {conversions}", conversions=", ".join(CONVERSIONS)),
        )
    return CONVERSIONS[name][1](examples)


def convert_to_table(examples: Examples, conversion: str, name: str, dev: Examples | None = None) -> Table:
    """Return the converted examples as a table called ``name``, with rows numbered from 2, as in a file with a header.

    The table's note lists the rows that could not be converted.

    Args:
        dev: the validation rows of the same file, converted separately; a column ``split`` distinguishes them.
    """
    converted = convert(examples, conversion)
    rows, total = find_unconverted_rows(examples, converted), len(set(examples.lines.tolist()))
    message = _("{examples} made from {usable_rows}", examples=count(len(converted), "example"), usable_rows=count(total, "usable row"))
    if rows:
        note = Finding(
            "warning",
            _(
                "{message}; {rows} not converted ({rows2} of the original file)",
                message=message,
                rows=count(len(rows), "row"),
                rows2=describe_rows(rows),
            ),
        )
    else:
        note = Finding("info", _("{message}; every row was converted", message=message))
    notes, parts = [note], [converted]
    if dev is not None:
        try:
            parts.append(convert(dev, conversion))
        except StudioError as error:
            message = _("{rows} for validation cannot be converted: {reason}", rows=count(len(dev), "row"), reason=error.message)
            notes.append(Finding("warning", message))
    tables = [examples_to_table(part, name) for part in parts]
    columns = {column: [cell for table in tables for cell in table.column(column)] for column in tables[0].columns}
    if dev is not None:
        columns["split"] = [cell for table, cell in zip(tables, ("train", "dev"), strict=False) for _line in table.lines]
    return replace(table_from_columns(name, columns), notes=tuple(notes))


def find_unconverted_rows(examples: Examples, converted: Examples) -> tuple[int, ...]:
    """Return the numbers of the rows that do not occur in ``converted``.

    A pair counts as converted if its texts occur together in one row; a single text, if it occurs anywhere.
    """
    if len(examples.texts) == 1:
        texts = {text for column in converted.texts for text in column}
        kept = np.array([text in texts for text in examples.texts[0]], dtype=bool)
    else:
        first, *others = converted.texts
        together = {pair for other in others for pair in zip(first, other, strict=True)}
        pairs = zip(examples.texts[0], examples.texts[1], strict=True)
        kept = np.array([pair in together or pair[::-1] in together for pair in pairs], dtype=bool)
    return tuple(sorted(set(examples.lines[~kept].tolist()) - set(examples.lines[kept].tolist())))


def examples_to_table(examples: Examples, name: str) -> Table:
    """Return the examples as a table with conventional column names, which can be read back as the same examples."""
    if examples.kind == "triplets":
        names = ["anchor", "positive", "negative", *(f"negative_{index}" for index in range(2, len(examples.texts) - 1))]
    else:
        names = ["text"] if examples.kind in ("sentences", "labelled_texts") else ["sentence1", "sentence2"]
    columns: dict[str, Sequence[str]] = dict(zip(names, examples.texts, strict=True))
    if examples.targets is not None:
        if examples.kind == "scored_pairs":
            columns["score"] = [f"{target:.6g}" for target in examples.targets.tolist()]
        else:
            labels = _NLI_LABELS if examples.labels == ("2", "1", "0") else examples.labels
            columns["category" if examples.kind == "labelled_texts" else "label"] = [labels[index] for index in examples.targets.tolist()]
    if examples.groups:
        columns["category" if examples.kind == "sentences" else "group"] = examples.groups
    return table_from_columns(name, columns, examples.lines)


def _nli_class_ids(examples: Examples) -> tuple[int, int] | None:
    classes = [inference_class(label) for label in examples.labels]
    if examples.kind != "labelled_pairs" or "entailment" not in classes or "contradiction" not in classes:
        return None
    return classes.index("contradiction"), classes.index("entailment")


def _triplets_by_anchor(examples: Examples, positive: np.ndarray, negative: np.ndarray, *, symmetric: bool) -> Examples:
    """Combine the positive and the negative pairs of each text, given as masks. If ``symmetric``, the second text is also used as an
    anchor.
    """
    pairs = list(zip(*examples.texts, (positive.astype(int) - negative.astype(int)).tolist(), strict=True))
    # In a large file, few texts occur in both positive and negative pairs; collect only these.
    in_positive, in_negative = (
        {text for a, b, sign in pairs if sign == wanted for text in ((a, b) if symmetric else (a,))} for wanted in (1, -1)
    )
    anchors = in_positive & in_negative
    positives: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    negatives: dict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    groups = examples.groups or ("",) * len(examples)
    for (a, b, sign), line, group in zip(pairs, examples.lines.tolist(), groups, strict=True):
        if sign and a != b:
            partners = positives if sign > 0 else negatives
            if a in anchors:
                partners[a].setdefault(b, (line, group))
            if symmetric and b in anchors:
                partners[b].setdefault(a, (line, group))
    rows: list[_Triplet] = []
    for anchor, own in positives.items():
        others = [text for text in negatives.get(anchor, {}) if text not in own]
        if others:
            both = islice(zip(cycle(own), cycle(others)), max(len(own), len(others)))
            rows += [(anchor, text, other, *own[text]) for text, other in both]
    if not rows:
        raise StudioError("no text occurs in both a positive and a negative pair", _HINT)
    return _triplet_examples(rows, with_groups=bool(examples.groups))


def _triplet_examples(rows: Sequence[_Triplet], *, with_groups: bool) -> Examples:
    anchors, positives, negatives, lines, groups = zip(*rows, strict=True)
    return Examples("triplets", (anchors, positives, negatives), None, np.array(lines, dtype=np.int64), (), groups if with_groups else ())
