"""The questions to a table's owner, each with a few of their own rows and the flags that answer it."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Sequence

import numpy as np

from ..columns.roles import Kind, Roles
from ..loading.table import Table
from ..questions import Option, Question, Shown
from ..values.numbers import number_form, parse_number
from ..values.profile import numbers_of
from ..values.scales import BLANK, same_class

_READABLE = 160  # characters of a text that is shown
_LABELS = 8
NO_ORDER = "none"
"""What stands for "these labels have no order" behind ``--order``."""

_KINDS: dict[Kind, str] = {
    "scored_pairs": "pairs with a score",
    "labelled_pairs": "pairs with a label",
    "positive_pairs": "pairs that belong together",
    "triplets": "an anchor, what is like it, and what is not",
    "labelled_texts": "texts with a category: those of one category should lie together",
    "sentences": "texts alone",
}


def in_one_line(names: Sequence[str]) -> str:
    """Names with commas between them, as in a CSV: one that holds a comma stands in quotation marks."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def scale_in_words(low: float, high: float) -> str:
    """A scale as it is typed: ``0-5``; ``-1 to 1``; ``5-0`` where 0 is most alike."""
    first, last = (np.format_float_positional(end, trim="-") for end in (low, high))
    return f"{first}-{last}" if low >= 0 and high >= 0 else f"{first} to {last}"


def about_order(table: Table, roles: Roles, why: str, others: Sequence[Sequence[str]] = (), *, favoured: bool = True) -> Question:
    """Whether the classes of labelled pairs stand in the right order.

    Args:
        others: further orders to choose from.
        favoured: whether anything speaks for the order of the roles, and nothing against it.
    """
    assert roles.target is not None
    labels = roles.labels
    named = ", ".join(map(_quoted, labels[:_LABELS]))
    if len(labels) == 2:
        text = f"Pairs labelled {_quoted(labels[1])} count as most alike, those labelled {_quoted(labels[0])} as least: right?"
    else:
        text = f"From least to most alike: {named}{' …' if len(labels) > _LABELS else ''}: right?"
    options = (
        _option("yes", "--order", labels, {"order": list(labels)}),
        _option("the other way round", "--order", labels[::-1], {"order": list(labels[::-1])}),
        *(_option(f"rather {' < '.join(map(_quoted, order))}", "--order", order, {"order": list(order)}) for order in others),
        Option("they have no order", f"--order {NO_ORDER}", {"order": []}),
    )
    if not roles.ordered:
        options = (options[-1], *options[:-1])
        text = f"The labels {named}{' …' if len(labels) > _LABELS else ''} have no order, as kinds of relations have none: right?"
    cells, whole = table.column(roles.target), _whole(table, roles.texts)
    shown = [
        one
        for place, read_as in ((len(labels) - 1, "most alike"), (0, "least alike"), (len(labels) - 1, "most alike"))
        for one in _rows(table, roles.texts, [at for at in whole if same_class(cells[at], labels) == place][:2], roles.target, read_as)
    ]
    rows = {one.row: one for one in (shown[0::2] if len(shown) > 3 else shown)}
    return Question("order", text, options, why, tuple(rows.values())[:3], 0 if favoured else None)


def about_direction(table: Table, roles: Roles, why: str, proposed: int | None) -> Question:
    """Whether the end of the scale that counts as most alike is the right one.

    Args:
        proposed: 0 for yes, 1 for the other way round, None for neither.
    """
    assert roles.target is not None and roles.low is not None and roles.high is not None
    low, high = roles.low, roles.high
    scores = numbers_of(table.column(roles.target))
    places = np.array([place for place in _whole(table, roles.texts) if not np.isnan(scores[place])], int)
    by_score = places[np.argsort(scores[places] * (1 if high > low else -1), kind="stable")].tolist()
    shown = [
        *_rows(table, roles.texts, by_score[-1:], roles.target, "most alike"),
        *_rows(table, roles.texts, by_score[:1], roles.target, "least alike"),
    ]
    options = tuple(
        Option(answer, f"--scale {shlex.quote(scale_in_words(*ends))}", {"scale": list(ends)})
        for answer, ends in (("yes", (low, high)), ("the other way round", (high, low)))
    )
    text = f"A {roles.target} of {high:g} counts as most alike, one of {low:g} as least: right?"
    return Question("scale", text, options, why, tuple(shown), proposed)


def about_nought(table: Table, roles: Roles, why: str) -> Question:
    """Whether 0 is the lowest score, or stands for no answer."""
    assert roles.target is not None and roles.high is not None
    options = tuple(
        Option(answer, f"--scale {shlex.quote(scale_in_words(low, roles.high))}", {"scale": [low, roles.high]})
        for answer, low in (("it is no answer: leave its rows out", 1.0), ("it is the lowest score", 0.0))
    )
    scores = numbers_of(table.column(roles.target))
    places = [place for place in _whole(table, roles.texts) if scores[place] == 0][:3]
    shown = tuple(_rows(table, roles.texts, places, roles.target))
    return Question("scale", f"Does a {roles.target} of 0 say that there is no answer?", options, why, shown)


def about_no_answer(table: Table, roles: Roles, strays: np.ndarray, why: str, *, either_way: bool, favoured: bool) -> Question:
    """Whether numbers far beyond all other scores stand for no answer, or are the ends of the scale.

    Args:
        strays: the numbers.
        either_way: whether it is open as well which end of the scale is most alike; each answer then says so.
        favoured: whether they are such as usually stand for no answer.
    """
    assert roles.target is not None and roles.low is not None and roles.high is not None
    least, most = min(roles.low, roles.high), max(roles.low, roles.high)
    wide = (min(least, float(strays.min())), max(most, float(strays.max())))
    options = []
    for answer, ends in (("no answer: leave the rows out", (least, most)), ("a score like the others", wide)):
        for turned in (roles.low > roles.high, roles.low <= roles.high)[: 2 if either_way else 1]:
            low, high = ends[::-1] if turned else ends
            said = f"{answer}; {high:g} is most alike" if either_way else answer
            options.append(Option(said, f"--scale {shlex.quote(scale_in_words(low, high))}", {"scale": [low, high]}))
    scores = numbers_of(table.column(roles.target))
    places = [place for place in _whole(table, roles.texts) if scores[place] in strays][:3]
    named = " or ".join(f"{stray:g}" for stray in strays)
    text = f"Does a {roles.target} of {named} say that there is no answer?"
    return Question("scale", text, tuple(options), why, tuple(_rows(table, roles.texts, places, roles.target)), 0 if favoured else None)


def about_percentages(table: Table, roles: Roles, why: str) -> Question:
    """Whether plain numbers up to 1 beside percentages are parts of 1, or percentages without their sign."""
    assert roles.target is not None and roles.low is not None and roles.high is not None
    cells = table.column(roles.target)
    whole = _whole(table, roles.texts)
    plain = [place for place in whole if number_form(cells[place]) == "number" and parse_number(cells[place])]
    percents = [place for place in whole if number_form(cells[place]) == "percent"]
    example = cells[plain[0]].strip() if plain else "1"
    part = 100 * parse_number(example)
    options = tuple(
        Option(answer, f"--scale {shlex.quote(scale_in_words(*ends))}", {"scale": list(ends)})
        for answer, ends in (
            (f"{example} is {part:g}%", (roles.low, roles.high)),
            (f"{example} is {example}%", (100 * roles.low, 100 * roles.high)),
        )
    )
    rows = tuple(_rows(table, roles.texts, [*plain[:2], *percents[:1]], roles.target))
    return Question("scale", f"Is a {roles.target} of {example}, beside percentages, {part:g}%?", options, why, rows)


def about_target(
    table: Table,
    texts: Sequence[str],
    names: Sequence[str],
    why: str,
    *,
    none: bool = False,
    what: str = "score or the label",
    favoured: bool = False,
) -> Question:
    """Which column holds the scores, the labels or the categories.

    Args:
        names: the columns that may, the one that is read first.
        none: none of them is read so, and the rows are pairs that belong together.
        favoured: whether name and evidence speak for what is read, and nothing against it.
    """
    options = [Option(name, f"--target {shlex.quote(name)}", {"target": name}) for name in names]
    neither = Option("none of them: the texts of a row belong together", "--kind positive_pairs", {"kind": "positive_pairs"})
    options = [neither, *options] if none else [*options, neither]
    text = f"Which column holds the {what}?" if len(names) > 1 else f"Does the column {names[0]!r} say how alike the two texts are?"
    shown = []
    for place in _spread(table, texts):
        values = ", ".join(f"{name}: {cell}" for name in names for cell in [table.select([place]).column(name)[0]])
        shown += [Shown(one.row, one.texts, values) for one in _rows(table, texts, [place])]
    return Question("target", text, tuple(options), why, tuple(shown), 0 if favoured else None)


def about_columns(table: Table, candidates: Sequence[Sequence[str]], why: str, *, favoured: bool) -> Question:
    """Which columns of text are meant, and in which order; the first is read, and ``favoured`` says whether anything speaks for it."""
    options = tuple(_option(" and ".join(names), "--columns", names, {"columns": list(names)}) for names in candidates)
    every = list(dict.fromkeys(name for names in candidates for name in names))
    shown = _rows(table, every, _spread(table, every, 2))
    text = "Which columns hold the texts that are compared?"
    return Question("columns", text, options, why, tuple(shown), 0 if favoured else None)


def about_kind(
    table: Table,
    roles: Roles,
    others: Sequence[tuple[Kind, Sequence[str], str | None]],
    text: str,
    why: str,
    shown: Sequence[str] = (),
    *,
    favoured: bool,
) -> Question:
    """What the rows are.

    Args:
        roles: what is read, the first answer.
        others: kinds that they may be instead, with their texts and their target.
        shown: the columns of text that are shown; none: those of the roles.
        favoured: whether anything speaks for what is read, and nothing against it.
    """
    options = []
    for kind, texts, target in ((roles.kind, roles.texts, roles.target), *others):
        flag = f"--kind {kind}"
        choice: dict[str, object] = {"kind": kind, "columns": list(texts)}
        if len(table.columns) > 2 or kind not in ("labelled_texts", "sentences"):
            flag += f" --columns {shlex.quote(in_one_line(texts))}"
        if target is not None:
            flag, choice = f"{flag} --target {shlex.quote(target)}", {**choice, "target": target}
        if [one for one, _, _ in others].count(kind) + (roles.kind == kind) > 1:
            flag_of = f"{_KINDS[kind]}: {in_one_line(texts)}"
        else:
            flag_of = _KINDS[kind]
        answer = "yes" if text.endswith("lie together?") and kind == "labelled_texts" else flag_of
        options.append(Option(answer if answer != _KINDS["sentences"] else "no, they are texts alone", flag, choice))
    target = roles.target or next((name for _, _, name in others if name), None)
    names = shown or roles.texts
    rows = tuple(_rows(table, names, _spread(table, names), target))
    return Question("kind", text, tuple(options), why, rows, 0 if favoured else None)


def _quoted(label: str) -> str:
    return repr(label) if label else BLANK


def _option(answer: str, flag: str, names: Sequence[str], choice: dict[str, object]) -> Option:
    return Option(answer, f"{flag} {shlex.quote(in_one_line(names))}", choice)


def _whole(table: Table, names: Sequence[str]) -> list[int]:
    """The places of the rows that have a text in each of the columns; of all rows where none has."""
    columns = [table.column(name) for name in names]
    return [place for place in range(len(table)) if all(column[place].strip() for column in columns)] or list(range(len(table)))


def _spread(table: Table, names: Sequence[str], many: int = 3) -> list[int]:
    """The places of some rows to show, from the first to the last."""
    places = _whole(table, names)
    return [places[at] for at in np.linspace(0, len(places) - 1, min(many, len(places))).astype(int).tolist()]


def _rows(table: Table, texts: Sequence[str], places: Sequence[int], target: str | None = None, read_as: str = "") -> list[Shown]:
    part = table.select(list(places))
    columns = [part.column(name) for name in texts]
    values = part.column(target) if target else [""] * len(part)
    cut = [tuple(text if len(text) <= _READABLE else f"{text[: _READABLE - 1]}…" for text in row) for row in zip(*columns, strict=True)]
    return [Shown(int(line), row, value[:_READABLE], read_as) for line, row, value in zip(part.lines, cut, values, strict=True)]
