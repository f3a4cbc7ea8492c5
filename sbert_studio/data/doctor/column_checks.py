"""Checks of columns: swapped or constant columns, number formats, class balance and size."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ...i18n import _
from ..findings import Finding, Fix, Severity, count, drop_rows_fix
from ..schema.content import profile_column
from ..schema.labels import is_yes
from ..schema.names import LABEL, SCORE
from ..schema.numbers import mixes_percentages, number_form, numbers_of, parse_number
from .row_checks import CheckContext

_MIN_ROWS, _FEW_ROWS = 8, 100
_MAX_IMBALANCE = 10  # maximum ratio of the most common class to a rare class
_SAME_SCORE_SHARE = 0.9
_POSITIVE_SCORE = 0.6  # same threshold as in the conversions
_SAMPLE_SIZE = 2_000
_MIN_TRIPLETS, _REVERSED_SHARE, _REVERSED_GAP = 10, 0.75, 0.15
_SEED = 12
_WORD = re.compile(r"\w+")
_FORMS = {"percent": "as percentages", "fraction": "as fractions", "number": "as plain numbers"}


def check_swapped_columns(context: CheckContext) -> Iterator[Finding]:
    """Report a text column named "score", a score column named "text", and positives that are less similar than negatives."""
    roles, table = context.roles, context.table
    if roles.target and profile_column(roles.target, ()).is_named_text and not profile_column(roles.target, ()).is_named_target:
        for name in roles.texts:
            if profile_column(name, ()).key in SCORE | LABEL:
                message = _(
                    "the columns {name} and {target} look swapped: one contains sentences, the other scores or labels",
                    name=repr(name),
                    target=repr(roles.target),
                )
                fix = Fix("swap_columns", _("Swap {name} and {target}", name=name, target=roles.target), {"columns": [name, roles.target]})
                yield Finding("warning", message, tuple(table.lines.tolist()), fix)
    if roles.kind == "triplets" and (rows := _reversed_triplets(context)):
        _unused3, positive, negative = roles.texts[:3]
        message = _(
            "{positive} and {negative} look swapped: the anchor shares more words with the negative in most rows",
            positive=repr(positive),
            negative=repr(negative),
        )
        fix = Fix(
            "swap_columns", _("Swap {positive} and {negative}", positive=positive, negative=negative), {"columns": [positive, negative]}
        )
        yield Finding("warning", message, rows, fix)


def _reversed_triplets(context: CheckContext) -> tuple[int, ...]:
    anchors, positives, negatives = context.examples.texts[:3]
    places = np.arange(0, len(anchors), max(1, len(anchors) // _SAMPLE_SIZE))
    gaps = np.array([_word_overlap(anchors[at], negatives[at]) - _word_overlap(anchors[at], positives[at]) for at in places.tolist()])
    is_reversed = gaps > 0
    if len(places) >= _MIN_TRIPLETS and is_reversed.mean() > _REVERSED_SHARE and gaps.mean() > _REVERSED_GAP:
        return context.rows(places[is_reversed])
    return ()


def _word_overlap(a: str, b: str) -> float:
    """Return the Jaccard similarity of the words, or of the characters for scripts without spaces."""
    first, second = (set(_WORD.findall(text.casefold())) if " " in text else set(text.casefold()) for text in (a, b))
    return len(first & second) / max(1, len(first | second))


def check_swapped_cells(context: CheckContext) -> Iterator[Finding]:
    """Report rows whose score is in a text column and vice versa."""
    roles, table = context.roles, context.table
    if roles.kind != "scored_pairs" or roles.target is None:
        return
    targets = table.column(roles.target)
    not_numbers = [place for place in np.flatnonzero(np.isnan(numbers_of(targets))).tolist() if targets[place].strip()]
    for name in roles.texts:
        cells = table.column(name)
        places = [place for place in not_numbers if not math.isnan(parse_number(cells[place]))]
        if places:
            rows = tuple(table.lines[places].tolist())
            message = _(
                "{rows} with the text in {target} and the score in {name}",
                rows=count(len(rows), "row"),
                target=repr(roles.target),
                name=repr(name),
            )
            fix = Fix("swap_cells", "Swap them back", {"columns": [name, roles.target], "rows": list(rows)})
            yield Finding("warning", message, rows, fix)


def check_number_forms(context: CheckContext) -> Iterator[Finding]:
    """Report scores written differently from most, such as 80% or 4/5 next to 0.8: each form has its own scale, unless both fit 0–1."""
    roles, table = context.roles, context.table
    if roles.kind != "scored_pairs" or roles.target is None:
        return
    form_of: dict[str, str | None] = {}
    rows: dict[str, list[int]] = {}
    for line, cell in zip(table.lines.tolist(), table.column(roles.target), strict=True):
        if cell not in form_of:
            form_of[cell] = number_form(cell) if parse_number(cell) else None  # zero is zero on every scale
        if form := form_of[cell]:
            rows.setdefault(form, []).append(line)
    if len(rows) < 2:
        return
    if max(roles.low or 0.0, roles.high or 0.0) <= 1 and mixes_percentages(form_of):
        odd = tuple(rows["percent"])
        yield Finding(
            "info", _("{rows} with the score written as a percentage, read as a fraction: 60% as 0.6", rows=count(len(odd), "row")), odd
        )
        return
    usual, *others = sorted(rows, key=lambda form: -len(rows[form]))
    for form in others:
        odd = tuple(rows[form])
        message = _(
            "{rows} with the score written {forms}, unlike most others ({forms2}): two scales in one column",
            rows=count(len(odd), "row"),
            forms=_FORMS[form],
            forms2=_FORMS[usual],
        )
        yield Finding("warning", message, odd, drop_rows_fix(odd))


def check_constant_columns(context: CheckContext) -> Iterator[Finding]:
    """Report columns with the same value in every row, and two text columns with identical texts."""
    roles, examples = context.roles, context.examples
    if len(examples) < 2:
        return
    for name, column in zip(roles.texts, examples.texts, strict=True):
        if len(set(column)) == 1:
            yield Finding("error", _("the column {name} contains the same text in every row", name=repr(name)), context.all_rows)
    for place, column in enumerate(examples.texts):
        for other in range(place):
            if column == examples.texts[other]:
                names = _("{texts} and {texts2}", texts=repr(roles.texts[other]), texts2=repr(roles.texts[place]))
                yield Finding("error", _("the columns {names} contain the same texts in every row", names=names), context.all_rows)
    targets = examples.targets
    if targets is not None and bool((targets == targets[0]).all()):
        what = "score" if roles.kind == "scored_pairs" else "label"
        message = _("every row has the same {what}, so nothing can be learned from {target}", what=what, target=repr(roles.target))
        yield Finding("error", message, context.all_rows, _as_positive_pairs(context))


def _as_positive_pairs(context: CheckContext) -> Fix | None:
    """Return a fix that drops a target column in which all pairs are rated as similar."""
    roles, targets = context.roles, context.examples.targets
    assert roles.target is not None and targets is not None
    is_positive = targets[0] >= _POSITIVE_SCORE if roles.kind == "scored_pairs" else is_yes(roles.labels[int(targets[0])])
    return (
        Fix("drop_column", _("Remove {target}: use the rows as positive pairs", target=roles.target), {"column": roles.target})
        if is_positive
        else None
    )


def check_balance(context: CheckContext) -> Iterator[Finding]:
    """Report classes ten times rarer than the most common one, labels without rows, and scores that are nearly constant."""
    examples, labels = context.examples, context.roles.labels
    if examples.targets is None or not len(examples):
        return
    if context.roles.kind == "scored_pairs":
        yield from _check_score_balance(context, examples.targets)
        return
    sizes = np.bincount(examples.targets, minlength=len(labels))
    rare = [index for index, size in enumerate(sizes) if 0 < size * _MAX_IMBALANCE < sizes.max()]
    if rare:
        names = ", ".join(f"{labels[index]} ({int(sizes[index]):,})" for index in rare[:6])
        largest = int(sizes.argmax())
        message = _(
            "the classes are imbalanced: {names} against {labels} ({sizes})",
            names=names,
            labels=labels[largest],
            sizes=f"{int(sizes[largest]):,}",
        )
        rows = context.rows(np.isin(examples.targets, rare))
        yield Finding("warning", message, rows, _rebalance(context, sizes, rare, rows))
    missing = [labels[index] for index in np.flatnonzero(sizes == 0)]
    if missing:
        yield Finding("info", _("no usable row has the label {missing}", missing=", ".join(missing[:6])))


def _check_score_balance(context: CheckContext, targets: np.ndarray) -> Iterator[Finding]:
    values, places, sizes = np.unique(targets, return_inverse=True, return_counts=True)
    share = sizes.max() / len(targets)
    if len(values) > 1 and share > _SAME_SCORE_SHARE:
        others = context.rows(np.flatnonzero(places != sizes.argmax()))
        fix = _undersample(context, (_MAX_IMBALANCE - 1) * len(others)) if len(others) >= _MIN_ROWS else None
        yield Finding("warning", _("{share} of the rows have the same score; only these rows differ", share=f"{share:.0%}"), others, fix)


def _rebalance(context: CheckContext, sizes: np.ndarray, rare: list[int], rows: tuple[int, ...]) -> Fix | None:
    """Undersample the common classes to ten rows for each row of the rarest class, or drop rare classes with very few rows."""
    if sizes[rare].min() >= _MIN_ROWS:
        return _undersample(context, _MAX_IMBALANCE * int(sizes[rare].min()))
    if len(rare) < np.count_nonzero(sizes) - 1:
        names = " and ".join(context.roles.labels[index] for index in rare[:3]) + (" …" if len(rare) > 3 else "")
        return drop_rows_fix(rows, _("Remove {names} ({rows})", names=names, rows=count(len(rows), "row")))
    return None


def _undersample(context: CheckContext, limit: int) -> Fix:
    """Keep at most ``limit`` rows of each target, sampled with a fixed seed."""
    targets = context.examples.targets
    assert targets is not None
    generator, dropped = np.random.default_rng(_SEED), []
    for target in np.unique(targets):
        places = np.flatnonzero(targets == target)
        if len(places) > limit:
            dropped.append(generator.permutation(places)[limit:])
    rows = context.rows(np.sort(np.concatenate(dropped)))
    if context.roles.kind == "scored_pairs":
        return drop_rows_fix(rows, _("Reduce the most common score to {rows}", rows=count(limit, "row")))
    what = "common classes" if len(dropped) > 1 else "common class"
    return drop_rows_fix(rows, _("Reduce the {what} to {rows}", what=what, rows=count(limit, "row")))


def check_singletons(context: CheckContext) -> Iterator[Finding]:
    """Report categories with a single text, which cannot form a positive pair."""
    targets = context.examples.targets
    if context.roles.kind != "labelled_texts" or targets is None:
        return
    sizes = np.bincount(targets, minlength=len(context.roles.labels))
    single = np.flatnonzero(sizes[targets] == 1)
    severity: Severity = "error" if len(single) == len(context.examples) else "info"
    message = "{categories} with a single text, which cannot be paired with another one"
    fix = None if len(single) == len(sizes) else drop_rows_fix
    yield from context.report(severity, message, single, fix, categories=count(len(single), "category", "categories"))


def check_size(context: CheckContext) -> Iterator[Finding]:
    """Report files with fewer than 100 examples: too few for training and for a reliable held-out score."""
    number = len(context.examples)
    if number < _MIN_ROWS:
        yield Finding("error", _("only {usable_rows}: too few to train on", usable_rows=count(number, "usable row")))
    elif number < _FEW_ROWS:
        message = _(
            "only {usable_rows}: expect a small gain and an imprecise score; a few hundred rows work much better",
            usable_rows=count(number, "usable row"),
        )
        yield Finding("warning", message)
