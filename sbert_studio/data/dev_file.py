"""Build examples from a held-out file, with columns, labels and scores interpreted as in the training file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import StudioError
from ..i18n import _, join
from .examples import Examples, build_examples
from .findings import Finding, count
from .loading.table import Table, table_from_columns
from .schema.evidence import Evidence, RankCorrelation, SimilarityFunction
from .schema.inference import infer_columns, infer_roles
from .schema.labels import class_index
from .schema.numbers import SCALE_TOLERANCE, detect_scale, numbers_of
from .schema.roles import InferredSchema, Roles

_Built = tuple[Examples, tuple[Finding, ...]]

_MAX_OFF_SCALE = 0.2  # maximum share of scores off the training file's scale; with more, too few rows would be left
_OTHER_SCALE = 0.5  # share of scores off that scale from which the file is assumed to use another scale
_MIN_SCORES = 20  # minimum number of scores for detecting another scale


def build_dev_examples(table: Table, roles: Roles, similar: SimilarityFunction | None = None) -> _Built:
    """Build examples from a held-out file that are compatible with those of the training file.

    Columns with the same names have the same roles; otherwise the roles are inferred. The kind and the order of the labels are kept, so
    that class ids mean the same in both files; so are the scale and its direction, if the scores fit. Models trained on labels or on
    unlabelled sentences may be evaluated on scores. Different labels are mapped to those of the training file only if their wording or the
    model shows their order.

    Args:
        table: the held-out file.
        roles: the roles of the training file's columns.
        similar: the model's cosine similarities; None: use names and values only.

    Raises:
        StudioError: the file contains no such examples, its columns or labels cannot be mapped to those of the training file, or more
            than a fifth of its scores are off the scale.
    """
    if roles.kind == "sentences" and (reading := infer_columns(table, similar=similar)).roles.kind != "sentences":
        return build_examples(table, _without_questions(reading, roles, similar).roles)  # evaluation needs targets
    needed = (*roles.texts, *((roles.target,) if roles.target else ()))
    if all(name in table.columns for name in needed):
        return _from_same_columns(table, roles, similar)
    if roles.kind == "labelled_pairs" and (reading := infer_columns(table, similar=similar)).roles.kind == "scored_pairs":
        return build_examples(table, _without_questions(reading, roles, similar).roles)
    if roles.kind not in ("scored_pairs", "labelled_pairs", "labelled_texts"):
        return build_examples(table, infer_roles(table, kind=roles.kind, similar=similar))
    reading = _without_questions(infer_columns(table, roles.kind, similar=similar), roles, similar)
    if roles.kind == "scored_pairs":
        return _build_scored(table, reading.roles, roles)
    own = replace(reading.roles, labels=roles.labels, ordered=roles.ordered)
    return build_examples(table, own) if _shares_labels(table, own) else _build_relabelled(table, reading, roles)


def find_reversed_scores(train: Examples, dev: Examples, similar: SimilarityFunction | None) -> str:
    """Return evidence that the held-out scores are reversed relative to the training file; ``""`` if there is none."""
    if similar is None or any(part.kind not in ("scored_pairs", "labelled_pairs") or not part.ordered for part in (train, dev)):
        return ""
    of_dev = _correlation(dev, similar)
    if of_dev is None or of_dev.rho > 0 or of_dev.strength not in ("strong", "some"):
        return ""
    of_train = _correlation(train, similar)
    if of_train is None or of_train.rho <= 0:
        return ""
    return _("{of_dev}; in the training file it is {rho}", of_dev=of_dev.describe(), rho=f"{of_train.rho:.2f}")


def _correlation(examples: Examples, similar: SimilarityFunction) -> RankCorrelation | None:
    assert examples.targets is not None
    cells = [f"{target:g}" for target in examples.targets.tolist()]
    columns = {"a": list(examples.texts[0]), "b": list(examples.texts[1]), "target": cells}
    return Evidence(table_from_columns("rows", columns), similar).rank_correlation(("a", "b"), "target")


def _without_questions(reading: InferredSchema, train: Roles, similar: SimilarityFunction | None) -> InferredSchema:
    """Return the inferred schema, unless it has unanswered questions other than the order of labels, which is decided later."""
    questions = [question for question in reading.questions if question.name != "order"]
    if questions and similar is not None:
        names = ", ".join(name for name in (*train.texts, train.target) if name)
        raise StudioError(
            _("its columns are ambiguous ({text} {why})", text=questions[0].text, why=questions[0].why),
            "reverse its scores so that the highest mean most similar, or do not use the file"
            if questions[0].name == "scale"
            else _("rename its columns to those of the training file ({names}), or do not use the file", names=names),
        )
    return reading


def _from_same_columns(table: Table, roles: Roles, similar: SimilarityFunction | None) -> _Built:
    own = replace(roles, group=roles.group if roles.group in table.columns else None)
    if roles.kind == "scored_pairs":
        return _build_scored(table, own, roles)
    if roles.labels and not _shares_labels(table, own):
        return _build_relabelled(table, infer_columns(table, roles.kind, roles.texts, roles.target, similar=similar), roles)
    return build_examples(table, own)


def _shares_labels(table: Table, own: Roles) -> bool:
    assert own.target is not None
    return any(class_index(cell, own.labels) >= 0 for cell in set(table.column(own.target)))


def _build_relabelled(table: Table, reading: InferredSchema, train: Roles) -> _Built:
    """Build examples with labels in the order suggested by their wording or by the model.

    Raises:
        StudioError: the order is unknown.
    """
    own = reading.roles
    is_certain = all(question.name != "order" for question in reading.questions)
    if own.kind == "labelled_pairs" and train.ordered and own.ordered and is_certain and len(own.labels) == len(train.labels):
        message = _(
            "labels {labels} are mapped to {labels2}: {why}",
            labels=", ".join(own.labels[:8]),
            labels2=", ".join(train.labels[:8]),
            why=join("; ", reading.why),
        )
        examples, findings = build_examples(table, own)
        return examples, (Finding("info", message), *findings)
    labels = ", ".join(train.labels[:8])
    raise StudioError(
        _(
            "its labels {labels} cannot be mapped to those of the training file ({labels2})",
            labels=", ".join(own.labels[:8]),
            labels2=labels,
        ),
        _("rename them to those of the training file ({labels}), or do not use the file", labels=labels),
    )


def _build_scored(table: Table, own: Roles, train: Roles) -> _Built:
    """Build scored pairs on the training file's scale if the scores fit it, else on their own (reversed if the training file's is)."""
    assert own.target and train.low is not None and train.high is not None
    least, most = min(train.low, train.high), max(train.low, train.high)
    scores = numbers_of(table.column(own.target))
    valid = scores[~np.isnan(scores)]
    own = replace(own, low=train.low, high=train.high, note=train.note)
    if not len(valid):
        return build_examples(table, own)
    tolerance = SCALE_TOLERANCE * (most - least)
    off_scale = (scores < least - tolerance) | (scores > most + tolerance)
    share = float(off_scale.sum() / len(valid))
    in_lowest_fifth = len(valid) >= _MIN_SCORES and valid.max() <= least + 0.2 * (most - least)
    if share <= _MAX_OFF_SCALE and not in_lowest_fifth:
        return build_examples(table, own)
    low, high = detect_scale(valid)
    if share > _MAX_OFF_SCALE and (share < _OTHER_SCALE or len(valid) < _MIN_SCORES):
        rows = tuple(table.lines[off_scale].tolist())
        raise StudioError(
            _(
                "{rows} of {table} have a score outside the training file's scale {least}–{most}, such as {scores}",
                rows=count(len(rows), "row"),
                table=f"{len(table):,}",
                least=f"{least:g}",
                most=f"{most:g}",
                scores=f"{scores[off_scale][0]:g}",
            ),
            _(
                "convert the column {target} to the scale {least}–{most}, or do not use the file",
                target=repr(own.target),
                least=f"{least:g}",
                most=f"{most:g}",
            ),
            rows,
        )
    ends = (high, low) if train.low > train.high else (low, high)
    message = _(
        "the scores are on the scale {low}–{high}, but those of the training file are on {least}–{most}; each file is rescaled separately",
        low=f"{low:g}",
        high=f"{high:g}",
        least=f"{least:g}",
        most=f"{most:g}",
    )
    examples, findings = build_examples(table, replace(own, low=ends[0], high=ends[1]))
    return examples, (Finding("info", message), *findings)
