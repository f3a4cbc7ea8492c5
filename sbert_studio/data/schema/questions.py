"""Questions to the owner of a table, each with a few of its rows and the flags that answer it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..questions import ExampleRow, Option, Question
from .labels import BLANK, class_index
from .numbers import number_form, numbers_of, parse_number
from .overrides import NO_ORDER, format_names, format_scale
from .roles import Kind, Roles

if TYPE_CHECKING:
    from ..loading.table import Table

_LONGEST_TEXT = 160  # characters
_MOST_LABELS = 8

_KINDS: dict[Kind, str] = {
    "scored_pairs": "pairs with a score",
    "labelled_pairs": "pairs with a label",
    "positive_pairs": "pairs that belong together",
    "triplets": "an anchor, a similar text and a dissimilar one",
    "labelled_texts": "texts with a category: texts of one category are similar",
    "sentences": "texts without labels",
}
TEXTS_ALONE = Option("none of them: the texts have no category", "--kind sentences", {"kind": "sentences"})
PAIRS_ALONE = Option("none of them: the two texts of a row belong together", "--kind positive_pairs", {"kind": "positive_pairs"})

Reading = tuple[Kind, Sequence[str], str | None]
"""A kind, its text columns and its target."""


def ask_columns(table: Table, candidates: Sequence[Sequence[str]], why: str, *, is_favored: bool) -> Question:
    """Ask which text columns are meant, and in which order.

    Args:
        candidates: the columns to choose from; the first are used if nobody answers.
        is_favored: something speaks for the first, and nothing against it.
    """
    options = tuple(_list_option(" and ".join(names), "--columns", names, "columns") for names in candidates)
    every = list(dict.fromkeys(name for names in candidates for name in names))
    rows = _example_rows(table, every, _spread(table, every, 2))
    return Question("columns", "Which columns contain the two texts?", options, why, tuple(rows), 0 if is_favored else None)


def ask_kind(
    table: Table, roles: Roles, others: Sequence[Reading], text: str, why: str, columns: Sequence[str] = (), *, is_favored: bool
) -> Question:
    """Ask what the rows are.

    Args:
        roles: what is used if nobody answers; the first answer.
        others: what they may be instead.
        text: the question.
        columns: the text columns whose rows are displayed; none: those of the roles.
        is_favored: something speaks for the roles, and nothing against them.
    """
    options = []
    for kind, texts, target in ((roles.kind, roles.texts, roles.target), *others):
        flag = f"--kind {kind}"
        choice: dict[str, object] = {"kind": kind, "columns": list(texts)}
        if len(table.columns) > 2 or kind not in ("labelled_texts", "sentences"):
            flag += f" --columns {shlex.quote(format_names(texts))}"
        if target is not None:
            flag, choice = f"{flag} --target {shlex.quote(target)}", {**choice, "target": target}
        if [one for one, _, _ in others].count(kind) + (roles.kind == kind) > 1:
            answer = f"{_KINDS[kind]}: {format_names(texts)}"
        elif text.endswith("be similar?") and kind == "labelled_texts":
            answer = "yes"
        else:
            answer = _KINDS[kind] if kind != "sentences" else "no, use the texts without labels"
        options.append(Option(answer, flag, choice))
    target = roles.target or next((name for _, _, name in others if name), None)
    names = columns or roles.texts
    rows = tuple(_example_rows(table, names, _spread(table, names), target))
    return Question("kind", text, tuple(options), why, rows, 0 if is_favored else None)


def ask_target(
    table: Table,
    texts: Sequence[str],
    names: Sequence[str],
    why: str,
    *,
    is_used: bool = True,
    category_of: str | None = None,
    is_favored: bool,
) -> Question:
    """Ask which column holds the scores or labels of pairs.

    Args:
        names: the columns to choose from, the likeliest first.
        is_used: the first is used if nobody answers; else none, and the texts of a row belong together.
        category_of: the text that the first column may categorize instead.
        is_favored: name and evidence speak for what is used, and nothing against it.
    """
    options = _target_options(names)
    options = (*options, PAIRS_ALONE) if is_used else (PAIRS_ALONE, *options)
    if category_of is not None:
        options = (*options, _category_option(category_of, names[0]))
    text = "Which column contains the score or the label?"
    if len(names) == 1:
        text = f"Does the column {names[0]!r} say how similar the two texts are?"
    return Question("target", text, options, why, _rows_with_values(table, texts, names), 0 if is_favored else None)


def ask_category(table: Table, text: str, names: Sequence[str], why: str) -> Question:
    """Ask which column holds the categories of texts."""
    options = (*_target_options(names), TEXTS_ALONE)
    return Question("target", "Which column contains the categories of the texts?", options, why, _rows_with_values(table, [text], names))


def _category_option(text: str, target: str) -> Option:
    flag = f"--kind labelled_texts --columns {shlex.quote(format_names([text]))} --target {shlex.quote(target)}"
    return Option(f"it is a category of {text!r}", flag, {"kind": "labelled_texts", "columns": [text], "target": target})


def ask_order(
    table: Table,
    roles: Roles,
    why: str,
    others: Sequence[Sequence[str]] = (),
    *,
    category_of: str | None = None,
    is_favored: bool = True,
) -> Question:
    """Ask whether the classes of labelled pairs are in the right order.

    Args:
        others: further orders to choose from.
        category_of: the text that the labels may categorize instead.
        is_favored: something speaks for the order of the roles, and nothing against it.
    """
    assert roles.target is not None
    labels = roles.labels
    names = ", ".join(map(_quote, labels[:_MOST_LABELS])) + (" …" if len(labels) > _MOST_LABELS else "")
    if not roles.ordered:
        text = f"Are the labels {names} without an order, as kinds of relations are?"
    elif len(labels) == 2:
        text = f"Are pairs labelled {_quote(labels[1])} more similar than pairs labelled {_quote(labels[0])}?"
    else:
        text = f"Is this the order from least to most similar: {names}?"
    orders = [("yes", labels), ("the other way round", labels[::-1])]
    orders += [(f"no, {' < '.join(map(_quote, order))}", tuple(order)) for order in others]
    options = [_list_option(answer, "--order", order, "order") for answer, order in orders]
    options.insert(len(options) if roles.ordered else 0, Option("they have no order", f"--order {NO_ORDER}", {"order": []}))
    if category_of is not None:
        options.append(_category_option(category_of, roles.target))
    cells = table.column(roles.target)
    place = {cell: class_index(cell, labels) for cell in set(cells)}
    complete = _complete_rows(table, roles.texts)
    rows = [
        example
        for wanted, read_as in ((len(labels) - 1, "most similar"), (0, "least similar"))
        for example in _example_rows(
            table, roles.texts, [row for row in complete if place[cells[row]] == wanted][:1], roles.target, read_as
        )
    ]
    return Question("order", text, tuple(options), why, tuple(rows), 0 if is_favored else None)


def ask_direction(table: Table, roles: Roles, why: str, proposed: int | None) -> Question:
    """Ask which end of the scale is most similar; ``proposed``: 0 for yes, 1 for the other way round, None for neither."""
    assert roles.target is not None and roles.low is not None and roles.high is not None
    low, high = roles.low, roles.high
    scores = numbers_of(table.column(roles.target))
    places = np.array([place for place in _complete_rows(table, roles.texts) if not np.isnan(scores[place])], int)
    by_score = places[np.argsort(scores[places] * (1 if high > low else -1), kind="stable")].tolist()
    rows = [
        *_example_rows(table, roles.texts, by_score[-1:], roles.target, "most similar"),
        *_example_rows(table, roles.texts, by_score[:1], roles.target, "least similar"),
    ]
    options = (_scale_option("yes", low, high), _scale_option("the other way round", high, low))
    text = f"Does a {roles.target} of {high:g} mean most similar, and one of {low:g} least similar?"
    return Question("scale", text, options, why, tuple(rows), proposed)


def ask_zero(table: Table, roles: Roles, why: str) -> Question:
    """Ask whether 0 is the lowest score, or means no answer."""
    assert roles.target is not None and roles.high is not None
    options = (
        _scale_option("yes, skip these rows", 1.0, roles.high),
        _scale_option("no, it is the lowest score", 0.0, roles.high),
    )
    text = f"Does a {roles.target} of 0 mean that there is no answer?"
    return Question("scale", text, options, why, _rows_of_numbers(table, roles, [0.0]))


def ask_missing_code(table: Table, roles: Roles, outliers: np.ndarray, why: str, *, is_direction_open: bool, is_favored: bool) -> Question:
    """Ask whether numbers far beyond all other scores stand for no answer, or are the ends of the scale.

    Args:
        outliers: the numbers.
        is_direction_open: each answer also chooses the end of the scale that is most similar.
        is_favored: they usually stand for no answer.
    """
    assert roles.target is not None and roles.low is not None and roles.high is not None
    least, most = min(roles.low, roles.high), max(roles.low, roles.high)
    wide = (min(least, float(outliers.min())), max(most, float(outliers.max())))
    options = []
    for answer, ends in (("no answer: skip the rows", (least, most)), ("an ordinary score", wide)):
        for is_reversed in (roles.low > roles.high, roles.low <= roles.high)[: 2 if is_direction_open else 1]:
            low, high = ends[::-1] if is_reversed else ends
            options.append(_scale_option(f"{answer}; {high:g} is most similar" if is_direction_open else answer, low, high))
    numbers = " or ".join(f"{one:g}" for one in outliers)
    text = f"Does a {roles.target} of {numbers} mean that there is no answer?"
    return Question("scale", text, tuple(options), why, _rows_of_numbers(table, roles, outliers), 0 if is_favored else None)


def ask_percentages(table: Table, roles: Roles, why: str) -> Question:
    """Ask whether plain numbers up to 1 beside percentages are shares, or percentages without their sign."""
    assert roles.target is not None and roles.low is not None and roles.high is not None
    cells = table.column(roles.target)
    complete = _complete_rows(table, roles.texts)
    plain = [place for place in complete if number_form(cells[place]) == "number" and parse_number(cells[place])]
    percents = [place for place in complete if number_form(cells[place]) == "percent"]
    example = cells[plain[0]].strip() if plain else "1"
    share = 100 * parse_number(example)
    options = (
        _scale_option(f"{example} is {share:g}%", roles.low, roles.high),
        _scale_option(f"{example} is {example}%", 100 * roles.low, 100 * roles.high),
    )
    rows = tuple(_example_rows(table, roles.texts, [*plain[:2], *percents[:1]], roles.target))
    return Question("scale", f"Is a {roles.target} of {example}, beside percentages, {share:g}%?", options, why, rows)


def _quote(label: str) -> str:
    return repr(label) if label else BLANK


def _list_option(answer: str, flag: str, names: Sequence[str], field: str) -> Option:
    return Option(answer, f"{flag} {shlex.quote(format_names(names))}", {field: list(names)})


def _scale_option(answer: str, low: float, high: float) -> Option:
    return Option(answer, f"--scale {shlex.quote(format_scale(low, high))}", {"scale": [low, high]})


def _target_options(names: Sequence[str]) -> tuple[Option, ...]:
    return tuple(Option(name, f"--target {shlex.quote(name)}", {"target": name}) for name in names)


def _complete_rows(table: Table, names: Sequence[str]) -> list[int]:
    """Return the places of the rows with a text in each of the columns; of all rows if there are none."""
    columns = [table.column(name) for name in names]
    return [place for place in range(len(table)) if all(column[place].strip() for column in columns)] or list(range(len(table)))


def _spread(table: Table, names: Sequence[str], most: int = 3) -> list[int]:
    places = _complete_rows(table, names)
    return [places[at] for at in np.linspace(0, len(places) - 1, min(most, len(places))).astype(int).tolist()]


def _example_rows(
    table: Table, texts: Sequence[str], places: Sequence[int], target: str | None = None, read_as: str = ""
) -> list[ExampleRow]:
    part = table.select(list(places))
    columns = [part.column(name) for name in texts]
    values = part.column(target) if target else [""] * len(part)
    cut = [
        tuple(text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…" for text in row) for row in zip(*columns, strict=True)
    ]
    return [ExampleRow(int(line), row, value[:_LONGEST_TEXT], read_as) for line, row, value in zip(part.lines, cut, values, strict=True)]


def _rows_of_numbers(table: Table, roles: Roles, numbers: Sequence[float] | np.ndarray) -> tuple[ExampleRow, ...]:
    assert roles.target is not None
    scores = numbers_of(table.column(roles.target))
    places = [place for place in _complete_rows(table, roles.texts) if scores[place] in numbers][:3]
    return tuple(_example_rows(table, roles.texts, places, roles.target))


def _rows_with_values(table: Table, texts: Sequence[str], names: Sequence[str]) -> tuple[ExampleRow, ...]:
    rows = []
    for place in _spread(table, texts):
        values = ", ".join(f"{name}: {cell}" for name in names for cell in [table.select([place]).column(name)[0]])
        rows += [ExampleRow(one.row, one.texts, values) for one in _example_rows(table, texts, [place])]
    return tuple(rows)
