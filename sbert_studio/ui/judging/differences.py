"""The rows on which two models differ most, and on how many only one of them is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...evaluation.answers.differing import RightOrWrong, comparable, differing, right_or_wrong
from ...evaluation.in_words import told_apart_by_suite
from ..views import Value, column, table

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...evaluation.answers.answers import Answers
    from ...evaluation.several import JudgedFile
    from ...studio.results import Evaluation

_MOST = 20
_LONG = 300
_WHAT = {
    "cosine": "the cosine of the two",
    "score": "their score of the pair",
    "margin": "whether the second text is nearer to the first than the third",
    "rank": "where the partner stands among all",
    "class": "a category",
}


def differences_table(found: Evaluation, one: int, two: int, titles: Mapping[str, str]) -> Value | None:
    """The texts on which two models, by their places, differ most; ``None`` where no row is judged by itself, or none differs."""
    several = len(found.files) > 1
    names = [titles.get(found.models[place].model, found.models[place].model) for place in (one, two)]
    rows: list[tuple[float, list[Any]]] = []
    whats = []
    for name, file, first, second in _answered(found, one, two):
        whats.append(first.what)
        for differs in differing(first, second, _MOST):
            texts, people = _row(file, first, differs.row)
            row = [texts, people, *differs.said, names[differs.nearer], int(file.rows.examples.lines[differs.row])]
            rows.append((differs.by, [*([name] if several else []), *row]))
    if not rows:
        return None
    rows.sort(key=lambda row: -row[0])
    columns = [*([column("Set")] if several else []), column("Texts", "texts", main=True), column("People say", ours=True)]
    columns += [column(f"{name} says") for name in names] + [column("Nearer", ours=True), column("Row", "row")]
    says = f"; they say {_WHAT[whats[0]]}" if len(set(whats)) == 1 else ""
    return table(columns, [row for _, row in rows[:_MOST]], caption=f"Where {names[0]} and {names[1]} differ most{says}")


def counted(found: Evaluation, one: int, two: int, titles: Mapping[str, str]) -> str:
    """``Of 100 texts, A gets 85 right and B 79: on 12 only A is right, on 6 only B.``; nothing where answers are not right or wrong."""
    counts = [right_or_wrong(first, second) for _, _, first, second in _answered(found, one, two)]
    known = [one for one in counts if one is not None]
    if not known or len(known) < len(counts):
        return ""
    both, first, second, neither = (sum(getattr(one, name) for one in known) for name in ("both", "only_first", "only_second", "neither"))
    total = RightOrWrong(both, first, second, neither).total
    names = [titles.get(found.models[place].model, found.models[place].model) for place in (one, two)]
    things = {"texts": "texts", "pairs": "pairs", "triplets": "triplets"}[_things(found.files[0])]
    return (
        f"Of {total:,} {things} {names[0]} gets {both + first:,} right and {names[1]} {both + second:,}: "
        f"on {first:,} only {names[0]} is right, on {second:,} only {names[1]}."
    )


def _answered(found: Evaluation, one: int, two: int) -> Iterator[tuple[str, JudgedFile, Answers, Answers]]:
    """The files on which both models were asked the same, by name."""
    names = told_apart_by_suite([(file.suite, file.name) for file in found.files])
    for place, (name, file) in enumerate(zip(names, found.files, strict=True)):
        first, second = (found.models[model].reports[place] for model in (one, two))
        if first.task == second.task and comparable(first.answers, second.answers) and first.answers and second.answers:
            yield name, file, first.answers, second.answers


def _things(file: JudgedFile) -> str:
    columns = len(file.rows.examples.texts)
    return "texts" if columns == 1 else "pairs" if columns == 2 else "triplets"


def _row(file: JudgedFile, answers: Answers, row: int) -> tuple[list[str], str]:
    """The texts of a row, and what people said of it."""
    examples = file.rows.examples
    texts = [_short(column[row]) for column in examples.texts]
    if answers.what == "rank":
        return texts[:1], f"its partner: {texts[1]}"
    return texts, "the second is nearer" if answers.what == "margin" else _people(examples, file.rows.scale, row)


def _people(examples: Examples, scale: tuple[float, float] | None, row: int) -> str:
    if examples.targets is None:
        return ""
    target = examples.targets[row]
    if examples.labels:
        return examples.labels[int(target)]
    low, high = scale or (0.0, 1.0)
    return f"{low + float(target) * (high - low):.4g} of {high:g}"


def _short(text: str) -> str:
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"
