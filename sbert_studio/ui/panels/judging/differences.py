"""The rows on which two models differ most, and on how many only one of them is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ....evaluation.answers import AgreementCounts, are_comparable, count_agreement, find_disagreements
from ....evaluation.report import disambiguate_names
from ...views import Value, column, table

if TYPE_CHECKING:
    from ....data.examples import Examples
    from ....evaluation.answers import Predictions
    from ....evaluation.comparison import EvaluationFile
    from ....services.results import Evaluation

_MOST = 20
_LONG = 300
_BY_PLACE = "Nearer is who puts the pair nearer to where people put it among all pairs: scores of two models stand on two scales."
_BY_SIDE = "Nearer is who has more pairs of other labels on their right side of this one: scores of two models stand on two scales."
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
    whats, goes_by = [], []
    for name, file, first, second in _answered(found, one, two):
        whats.append(first.kind)
        if first.kind in ("cosine", "score"):
            goes_by.append(_BY_SIDE if first.percentiles is None else _BY_PLACE)
        for differs in find_disagreements(first, second, _MOST):
            texts, people = _row(file, first, differs.row)
            row = [texts, people, *differs.descriptions, names[differs.better_model], int(file.rows.examples.lines[differs.row])]
            rows.append((differs.gap, [*([name] if several else []), *row]))
    if not rows:
        return None
    rows.sort(key=lambda row: -row[0])
    labelled = any(file.rows.examples.labels for file in found.files)
    columns = [*([column("Set")] if several else []), column("Texts", "texts", main=True), column("People say", ours=not labelled)]
    columns += [column(f"{name} says", ours="class" not in whats) for name in names] + [column("Nearer", ours=True), column("Row", "row")]
    a, b = names
    says = _WHAT[whats[0]] if len(set(whats)) == 1 else ""
    caption = f"Where {a} and {b} differ most. What the models say is {says}." if says else f"Where {a} and {b} differ most"
    return table(columns, [row for _, row in rows[:_MOST]], caption=caption, note=" ".join(dict.fromkeys(goes_by)), theirs=names)


def counted(found: Evaluation, one: int, two: int, titles: Mapping[str, str]) -> str:
    """``Of 100 texts, A gets 85 right and B 79: on 12 only A is right, on 6 only B.``; nothing where answers are not right or wrong."""
    counts = [count_agreement(first, second) for _, _, first, second in _answered(found, one, two)]
    known = [one for one in counts if one is not None]
    if not known or len(known) < len(counts):
        return ""
    both, first, second, neither = (sum(getattr(one, name) for one in known) for name in ("both", "only_first", "only_second", "neither"))
    total = AgreementCounts(both, first, second, neither).total
    names = [titles.get(found.models[place].model, found.models[place].model) for place in (one, two)]
    things = {"texts": "texts", "pairs": "pairs", "triplets": "triplets"}[_things(found.files[0])]
    return (
        f"Of {total:,} {things} {names[0]} gets {both + first:,} right and {names[1]} {both + second:,}: "
        f"on {first:,} only {names[0]} is right, on {second:,} only {names[1]}."
    )


def _answered(found: Evaluation, one: int, two: int) -> Iterator[tuple[str, EvaluationFile, Predictions, Predictions]]:
    """The files on which both models were asked the same, by name."""
    names = disambiguate_names([(file.suite, file.name) for file in found.files])
    for place, (name, file) in enumerate(zip(names, found.files, strict=True)):
        first, second = (found.models[model].reports[place] for model in (one, two))
        if first.task == second.task and are_comparable(first.answers, second.answers) and first.answers and second.answers:
            yield name, file, first.answers, second.answers


def _things(file: EvaluationFile) -> str:
    columns = len(file.rows.examples.texts)
    return "texts" if columns == 1 else "pairs" if columns == 2 else "triplets"


def _row(file: EvaluationFile, answers: Predictions, row: int) -> tuple[list[str], str]:
    """The texts of a row, and what people said of it."""
    examples = file.rows.examples
    texts = [_short(column[row]) for column in examples.texts]
    if answers.kind == "rank":
        return texts[:1], f"its partner: {texts[1]}"
    if answers.kind == "margin":
        return texts, "the second is nearer"
    people = _people(examples, file.rows.scale, row)
    return texts, people if answers.gold_percentiles is None else f"{people}, above {answers.gold_percentiles[row]:.0%} of pairs"


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
