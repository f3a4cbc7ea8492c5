"""What an evaluation returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from ..data.accounts import RowAccount
    from .answers.answers import Answers


SHARES = (
    *("accuracy", "nearest_neighbour_accuracy", "cosine_accuracy", "dot_accuracy", "euclidean_accuracy", "manhattan_accuracy"),
    "pair_accuracy",
)
"""The main scores that are a share of rows: of those that a model gets right."""


COMPARED_BY = "similarity_fn_name"
"""The score that names the measure of the main one, where that is not the cosine."""


def compared_by(name: str) -> dict[str, str]:
    """Return what the scores say of the measure of the main one: nothing where it is the cosine."""
    return {} if name == "cosine" else {COMPARED_BY: name}


@dataclass(frozen=True)
class Report:
    """The scores of one encoder or cross-encoder on one set.

    Attributes:
        task: the name of a task (see :mod:`.tasks`).
        rows: how many pairs, triplets or texts were judged.
        scores: plain JSON values. ``sts``, ``pairs`` and ``triplets`` hold a dictionary for each similarity
            (``cosine``, ``dot``, ``euclidean``, ``manhattan``), or, of a cross-encoder, for the ``pair``; correlations lie in
            [-1, 1], a squared error is 0 or more, what ``geometry`` measures has scales of its own, all else lies in [0, 1].
            ``interval``: the 95% bootstrap interval of the main score.
        notes: in words, which rows were left out and why.
        account: what became of every row of the file; None where examples were judged and no file.
        resampled: the main score in every bootstrap resample, by which two models on the same rows are compared.
        answers: what the model says of each row; None where a task judges no row by itself.
    """

    task: str
    rows: int
    scores: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    account: RowAccount | None = None
    resampled: np.ndarray | None = field(default=None, compare=False, repr=False)
    answers: Answers | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """``{"task", "rows", **scores}``, ``account`` where a file was judged, and ``notes`` where there are any."""
        notes = {"notes": list(self.notes)} if self.notes else {}
        account = {"account": self.account.to_json()} if self.account is not None else {}
        return {"task": self.task, "rows": self.rows, **self.scores, **account, **notes}
