"""A model and sets of examples → reports; whatever the sets share is encoded, or scored, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from ..data.examples import Examples
from ..encoders.base import Encoder
from ..encoders.prompts import column_roles
from ..encoders.scorers.pair_scorer import PairScorer
from ..errors import StudioError
from .bootstrap import drawn_together
from .measures.categories import Known
from .measures.crossing import require_finite
from .pace import Pace
from .similarity import Encoded
from .tasks import Shape, Task, WithVectors, task_for
from .tasks.of_texts import categories_of

if TYPE_CHECKING:
    from ..data.progress import Progress
    from ..encoders.prompts import Role
    from ..encoders.trainable import Trainable
    from .report import Report

# What can be judged on examples: whatever gives vectors or scores. A model in training is one of the two, which its type does not say.
Judged: TypeAlias = "Encoder | PairScorer | Trainable"
# Texts that new ones are laid beside: more of them change no figure that is shown.
MOST_KNOWN = 5_000


@dataclass(frozen=True, eq=False)
class ToJudge:
    """Examples and the task that they are judged by.

    Attributes:
        known, dev: of a task that uses them, others whose answers are known, and those by which it chooses its settings.
    """

    examples: Examples
    task: Task
    known: Examples | None = None
    dev: Examples | None = None

    @property
    def columns(self) -> list[tuple[tuple[str, ...], Role]]:
        """Return all columns of texts that a model is asked for, with their roles."""
        sets = [one for one in (self.examples, self.known, self.dev) if one is not None]
        return [both for one in sets for both in zip(one.texts, column_roles(one.kind, len(one.texts)), strict=True)]


def judge_sets(
    model: Judged,
    sets: Sequence[ToJudge],
    progress: Progress | None = None,
    known: Examples | None = None,
    pace: Pace | None = None,
) -> list[Report]:
    """Judge a model on each set by its task. A text, or of a model that scores pairs a pair, that stands in several sets is read once.

    Args:
        progress: told how many texts or pairs are done.
        known: texts with a category that is known, a sample of which those of a task that is ``beside_known`` are laid beside.
        pace: counts what the model reads, and how long that takes.

    Raises:
        StudioError: a set is empty, a task is not one for such a model, or the model gives numbers that are not finite.
    """
    if not all(len(one.examples) for one in sets):
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


def _by_vectors(encoder: Encoder, sets: Sequence[ToJudge], progress: Progress | None, known: Examples | None, pace: Pace) -> list[Report]:
    wanted = known is not None and len(known) > 0 and any(one.task.beside_known for one in sets)
    beside = known_sample(known) if wanted and known is not None else None
    columns = [both for one in sets for both in one.columns]
    columns += [] if beside is None else [(beside.texts[0], "symmetric")]
    with pace.reading(progress) as show:
        vectors = Encoded(encoder, [column for column, _ in columns], show, [role for _, role in columns])
    laid = None if beside is None else _laid(_with_vectors(vectors, beside))
    reports = []
    for one in sets:
        judged = _with_vectors(vectors, one.examples)
        others = None if one.known is None else _with_vectors(vectors, one.known)
        with drawn_together(*one.examples.texts):
            if others is not None and one.task.learns:
                dev = None if one.dev is None else _with_vectors(vectors, one.dev)
                reports.append(one.task.judge_taught(judged, others, dev))
            else:
                beside_it = laid if others is None else _laid(others)
                reports.append(one.task.judge_vectors(one.examples, judged.vectors, beside_it, encoder.similarity_name))
    return reports


def _with_vectors(vectors: Encoded, examples: Examples) -> WithVectors:
    roles = column_roles(examples.kind, len(examples.texts))
    return WithVectors(examples, [vectors.of(column, role) for column, role in zip(examples.texts, roles, strict=True)])


def _laid(known: WithVectors) -> Known:
    return Known(known.vectors[0], categories_of(known.examples), known.examples.texts[0])


def _by_scores(model: PairScorer, sets: Sequence[ToJudge], progress: Progress | None, pace: Pace) -> list[Report]:
    for one in sets:
        one.task.require_scorer(model)
    asked = [[] if one.task.ranks_candidates else one.task.pairs(one.examples) for one in sets]
    places: dict[tuple[str, str], int] = {}
    for pair in (pair for pairs in asked for pair in pairs):
        places.setdefault(pair, len(places))
    # One that reads pairs whole tells how many of them are done; a poly-encoder how many queries and candidates, each read once.
    with pace.reading(progress, 2 if model.candidates is None else 1) as show:
        scores = require_finite(model.predict(list(places), progress=show)) if places else np.empty(0, np.float32)
    reports = []
    for one, pairs in zip(sets, asked, strict=True):
        examples, task = one.examples, one.task
        own = scores[np.fromiter((places[pair] for pair in pairs), np.int64, len(pairs))]
        with drawn_together(*examples.texts):
            ranked = task.ranks_candidates
            reports.append(task.judge_ranking(examples, model, progress) if ranked else task.judge_scores(examples, own, model.class_names))
    return reports
