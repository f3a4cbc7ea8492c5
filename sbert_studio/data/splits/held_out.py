"""A second file, to judge by: its columns, labels and scores are laid upon those of the training file, or refused; never guessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import StudioError
from ..examples import Examples, build_examples
from ..findings import Finding, count
from ..loading.table import Table, table_from_columns
from ..schema.evidence import Evidence, RankCorrelation, SimilarityFunction
from ..schema.inference import infer_columns, infer_roles
from ..schema.labels import class_index
from ..schema.numbers import numbers_of
from ..schema.roles import InferredSchema, Roles
from ..schema.scales import SCALE_TOLERANCE, detect_scale

__all__ = ["build_like", "opposed"]

_OFF = 0.2  # the share of scores off the training file's scale above which the rest would be a remnant
_FEW = 20  # scores below which nothing is said of a scale of their own
_BOTH = 0.5  # the share on the training file's scale above which the others are no other scale, but errors or a mixture


def build_like(table: Table, roles: Roles, similar: SimilarityFunction | None = None) -> tuple[Examples, tuple[Finding, ...]]:
    """Examples of a second file (a held-out one) for use beside those of the file that ``roles`` belong to.

    Where its columns have the same names they play the same parts; else they are found out anew. The kind, the labels and
    their order stay, so that class ids mean the same in both, and so does the scale with its direction, where the second file's
    scores lie on it; but what learns from labels or bare sentences may well be judged by scores. Other labels are
    taken for those of the training file only where their words or the model tell their order.

    Args:
        table: the second file.
        roles: what the columns of the training file are.
        similar: the cosines of the model; None: names and values only.

    Raises:
        StudioError: the file gives no such examples; its columns or labels cannot be told to mean what those of the training file
            mean; or more than a fifth of its scores lie off the scale.
    """
    if roles.kind == "sentences" and (read := infer_columns(table, similar=similar)).roles.kind != "sentences":
        return build_examples(table, _settled(read, roles, similar).roles)  # bare sentences judge nothing
    wanted = (*roles.texts, *((roles.target,) if roles.target else ()))
    if all(name in table.columns for name in wanted):
        return _of_the_same_columns(table, roles, similar)
    if roles.kind == "labelled_pairs" and (scored := infer_columns(table, similar=similar)).roles.kind == "scored_pairs":
        return build_examples(table, _settled(scored, roles, similar).roles)
    if roles.kind not in ("scored_pairs", "labelled_pairs", "labelled_texts"):
        return build_examples(table, infer_roles(table, kind=roles.kind, similar=similar))
    reading = _settled(infer_columns(table, roles.kind, similar=similar), roles, similar)
    if roles.kind == "scored_pairs":
        return _scored(table, reading.roles, roles)
    own = replace(reading.roles, labels=roles.labels, ordered=roles.ordered)
    return build_examples(table, own) if _shares_labels(table, own) else _relabelled(table, reading, roles)


def _of_the_same_columns(table: Table, roles: Roles, similar: SimilarityFunction | None) -> tuple[Examples, tuple[Finding, ...]]:
    own = replace(roles, group=roles.group if roles.group in table.columns else None)
    if roles.kind == "scored_pairs":
        return _scored(table, own, roles)
    if roles.labels and not _shares_labels(table, own):
        return _relabelled(table, infer_columns(table, roles.kind, roles.texts, roles.target, similar=similar), roles)
    return build_examples(table, own)


def opposed(learned: Examples, held: Examples, similar: SimilarityFunction | None) -> str:
    """Why the rows to judge by seem to stand the other way round than those to learn from, by the model; else nothing."""
    if similar is None or any(part.kind not in ("scored_pairs", "labelled_pairs") or not part.ordered for part in (learned, held)):
        return ""
    found = _followed(held, similar)
    if found is None or found.rho > 0 or found.strength not in ("strong", "some"):
        return ""
    other = _followed(learned, similar)
    if other is None or other.rho <= 0:
        return ""
    return f"{found.describe()}; that of the training file is {other.rho:.2f}"


def _followed(examples: Examples, similar: SimilarityFunction) -> RankCorrelation | None:
    assert examples.targets is not None
    cells = [f"{target:g}" for target in examples.targets.tolist()]
    columns = {"a": list(examples.texts[0]), "b": list(examples.texts[1]), "target": cells}
    return Evidence(table_from_columns("rows", columns), similar).rank_correlation(("a", "b"), "target")


def _settled(reading: InferredSchema, first: Roles, similar: SimilarityFunction | None) -> InferredSchema:
    """The reading, where nothing but the order of labels, which is decided later, is left open."""
    open_ = [question for question in reading.questions if question.name != "order"]
    if open_ and similar is not None:
        names = ", ".join(name for name in (*first.texts, first.target) if name)
        raise StudioError(
            f"what its columns are is left open ({open_[0].text} {open_[0].why})",
            "turn its scores round, so that the highest are the most alike, or leave the file out"
            if open_[0].name == "scale"
            else f"call its columns what those of the training file are called ({names}), or leave the file out",
        )
    return reading


def _shares_labels(table: Table, own: Roles) -> bool:
    assert own.target is not None
    return any(class_index(cell, own.labels) >= 0 for cell in set(table.column(own.target)))


def _relabelled(table: Table, reading: InferredSchema, first: Roles) -> tuple[Examples, tuple[Finding, ...]]:
    """Examples with labels of its own in the order that their words or the model tell.

    Raises:
        StudioError: neither tells it.
    """
    own = reading.roles
    told = all(question.name != "order" for question in reading.questions)
    if own.kind == "labelled_pairs" and first.ordered and own.ordered and told and len(own.labels) == len(first.labels):
        told_so = f"labels {', '.join(own.labels[:8])} are taken for {', '.join(first.labels[:8])}: {'; '.join(reading.why)}"
        examples, findings = build_examples(table, own)
        return examples, (Finding("info", told_so), *findings)
    theirs = ", ".join(first.labels[:8])
    raise StudioError(
        f"its labels are {', '.join(own.labels[:8])}, those of the training file are {theirs}, and nothing tells which is which",
        f"rename them to those of the training file ({theirs}), or leave the file out",
    )


def _scored(table: Table, own: Roles, first: Roles) -> tuple[Examples, tuple[Finding, ...]]:
    """Scores on the first file's scale where they lie on it, else on their own, turned round where the first is."""
    assert own.target and first.low is not None and first.high is not None
    least, most = min(first.low, first.high), max(first.low, first.high)
    scores = numbers_of(table.column(own.target))
    good = scores[~np.isnan(scores)]
    own = replace(own, low=first.low, high=first.high, note=first.note)
    if not len(good):
        return build_examples(table, own)
    slack = SCALE_TOLERANCE * (most - least)
    off = (scores < least - slack) | (scores > most + slack)
    share = float(off.sum() / len(good))
    small = len(good) >= _FEW and good.max() <= least + 0.2 * (most - least)
    if share <= _OFF and not small:
        return build_examples(table, own)
    low, high = detect_scale(good)
    if share > _OFF and (share < _BOTH or len(good) < _FEW):
        rows = tuple(table.lines[off].tolist())
        raise StudioError(
            f"{count(len(rows), 'row')} of {len(table):,} have a score off the training file's scale {least:g}–{most:g}, "
            f"such as {scores[off][0]:g}: the rest would be a remnant to judge by",
            f"bring the column {own.target!r} to the scale {least:g}–{most:g}, or leave the file out",
            rows,
        )
    ends = (high, low) if first.low > first.high else (low, high)
    told = f"scores of {low:g}–{high:g}, of another scale than the training file's {least:g}–{most:g}; they are read on their own"
    examples, findings = build_examples(table, replace(own, low=ends[0], high=ends[1]))
    return examples, (Finding("info", told), *findings)
