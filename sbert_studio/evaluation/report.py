"""What an evaluation returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    import numpy as np

    from ..data.accounts import RowAccount

# task → where the one score lies that says which of two models is better, and what it is called.
_PRIMARY: dict[str, tuple[str, tuple[str, ...]]] = {
    "sts": ("cosine_spearman", ("cosine", "spearman")),
    "pairs": ("cosine_average_precision", ("cosine", "average_precision")),
    "triplets": ("cosine_accuracy", ("cosine", "accuracy")),
    "retrieval": ("mrr_at_10", ("mrr_at_10",)),
    "transfer": ("accuracy", ("accuracy",)),
    "clustering": ("v_measure", ("v_measure",)),
    "classes": ("accuracy", ("accuracy",)),
    "categories": ("nearest_neighbour_accuracy", ("nearest_neighbour_accuracy",)),
}
# What a person reads in a list of tasks.
TASK_TITLES: dict[str, str] = {
    "sts": "Similarity with scores (STS)",
    "pairs": "Pairs with yes or no",
    "classes": "Pairs with classes in no order",
    "triplets": "Triplets",
    "retrieval": "Retrieval of the other half",
    "categories": "Texts with a category: the nearest neighbour's",
    "transfer": "Texts with a category: a linear probe",
    "clustering": "Texts with a category: clustering",
}
# The main score of a cross-encoder, which has one score for a pair instead of four similarities.
_OF_PAIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sts": ("spearman", ("pair", "spearman")),
    "pairs": ("average_precision", ("pair", "average_precision")),
    "triplets": ("accuracy", ("pair", "accuracy")),
}
TASKS = tuple(TASK_TITLES)


@dataclass(frozen=True)
class Report:
    """The scores of one encoder or cross-encoder on one set.

    Attributes:
        task: one of :data:`TASKS`.
        rows: how many pairs, triplets or texts were judged.
        scores: plain JSON values. ``sts``, ``pairs`` and ``triplets`` hold a dictionary for each similarity
            (``cosine``, ``dot``, ``euclidean``, ``manhattan``), or, of a cross-encoder, for the ``pair``; correlations lie in
            [-1, 1], a squared error is 0 or more, all else lies in [0, 1].
            ``interval``: the 95% bootstrap interval of the main score.
        notes: in words, which rows were left out and why.
        account: what became of every row of the file; None where examples were judged and no file.
        resampled: the main score in every bootstrap resample, by which two models on the same rows are compared.
    """

    task: str
    rows: int
    scores: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    account: RowAccount | None = None
    resampled: np.ndarray | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """``{"task", "rows", **scores}``, ``account`` where a file was judged, and ``notes`` where there are any."""
        notes = {"notes": list(self.notes)} if self.notes else {}
        account = {"account": self.account.to_json()} if self.account is not None else {}
        return {"task": self.task, "rows": self.rows, **self.scores, **account, **notes}


def primary(report: Report) -> tuple[str, float]:
    """The name and value of the one score that picks the best checkpoint; larger is better."""
    if report.task not in _PRIMARY:
        raise StudioError(f"a report of {report.task!r} has no main score", f"known: {', '.join(TASKS)}")
    name, path = (_OF_PAIRS if "pair" in report.scores and report.task in _OF_PAIRS else _PRIMARY)[report.task]
    value: Any = report.scores
    for step in path:
        value = value[step]
    return name, float(value)
