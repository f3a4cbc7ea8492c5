"""A model and sets of examples → reports; whatever the sets share is encoded, or scored, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples
from ..encoders.base import Encoder
from ..encoders.scorers.pair_scorer import PairScorer
from ..errors import StudioError
from .bootstrap import drawn_together
from .categories import Known
from .crossing import require_finite
from .pace import Pace
from .similarity import Encoded
from .tasks import Shape, Task, task_for
from .tasks.of_texts import categories_of

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..encoders.trainable import Trainable
    from .report import Report

# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
Judged: TypeAlias = "Encoder | PairScorer | Trainable"
# Texts that new ones are laid beside: more of them change no figure that is shown.
MOST_KNOWN = 5_000


def judge_sets(
    model: Judged,
    sets: Sequence[tuple[Examples, Task]],
    progress: Progress | None = None,
    known: Examples | None = None,
    pace: Pace | None = None,
) -> list[Report]:
    """Judge a model on each set by its task. A text, or of a model that scores pairs a pair, that stands in several sets is read once.

    Args:
        progress: told how many texts or pairs are done.
        known: texts with a category that is known, beside which those of a task that is ``beside_known`` are laid.
        pace: counts what the model reads, and how long that takes.

    Raises:
        StudioError: a set is empty, a task is not one for such a model, or the model gives numbers that are not finite.
    """
    if not all(len(examples) for examples, _ in sets):
        raise StudioError("there are no rows to judge the model on", "give a larger set")
    if isinstance(model, PairScorer):
        return _by_scores(model, sets, progress, pace or Pace())
    return _by_vectors(cast("Encoder", model), sets, progress, known, pace or Pace())  # whatever learns gives vectors, or scores


def fitting_task(model: Judged, examples: Examples) -> Task:
    """The task that fits examples and what the model gives.

    Raises:
        StudioError: the examples are bare sentences.
    """
    shape = Shape(examples.kind, len(examples.labels), examples.ordered)
    if isinstance(model, PairScorer):
        return task_for(replace(shape, gives="class" if model.labels > 1 else "score"))
    return task_for(shape)


def known_sample(examples: Examples) -> Examples:
    """At most :data:`MOST_KNOWN` of the examples, always the same ones, in their order."""
    if len(examples) <= MOST_KNOWN:
        return examples
    return examples.take(np.sort(np.random.default_rng(len(examples)).permutation(len(examples))[:MOST_KNOWN]))


def _by_vectors(
    encoder: Encoder, sets: Sequence[tuple[Examples, Task]], progress: Progress | None, known: Examples | None, pace: Pace
) -> list[Report]:
    wanted = known is not None and len(known) > 0 and any(task.beside_known for _, task in sets)
    beside = known_sample(known) if wanted and known is not None else None
    columns = [column for examples, _ in sets for column in examples.texts]
    with pace.reading(progress) as show:
        encoded = Encoded(encoder, [*columns, *(() if beside is None else beside.texts[:1])], show)
    laid = None if beside is None else Known(encoded.of(beside.texts[0]), categories_of(beside), beside.texts[0])
    reports = []
    for examples, task in sets:
        with drawn_together(*examples.texts):
            reports.append(task.judge_vectors(examples, [encoded.of(column) for column in examples.texts], laid))
    return reports


def _by_scores(model: PairScorer, sets: Sequence[tuple[Examples, Task]], progress: Progress | None, pace: Pace) -> list[Report]:
    for _, task in sets:
        task.require_scorer(model)
    asked = [[] if task.ranks_candidates else task.pairs(examples) for examples, task in sets]
    places: dict[tuple[str, str], int] = {}
    for pair in (pair for pairs in asked for pair in pairs):
        places.setdefault(pair, len(places))
    with pace.reading(progress, 2) as show:
        scores = require_finite(model.predict(list(places), progress=show)) if places else np.empty(0, np.float32)
    reports = []
    for (examples, task), pairs in zip(sets, asked, strict=True):
        own = scores[np.fromiter((places[pair] for pair in pairs), np.int64, len(pairs))]
        with drawn_together(*examples.texts):
            ranked = task.ranks_candidates
            reports.append(task.judge_ranking(examples, model, progress) if ranked else task.judge_scores(examples, own, model.class_names))
    return reports
