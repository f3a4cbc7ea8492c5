"""Distillation service: train a small model on the user's texts to imitate an encoder or cross-encoder, and measure how near it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..data.loading.table import Table, table_from_columns
from ..data.schema.roles import SchemaOverrides
from ..errors import StudioError
from ..i18n import _, join
from ..serialization import JsonResult, doc
from .fine_tune import FineTuneService
from .jobs import BeginPhase
from .planning import TrainingPlanner
from .resources import Resources, Service
from .static_embeddings import StaticEmbeddingService
from .training_plan import TrainRequest

if TYPE_CHECKING:
    from ..models.base import Encoder, PairScorer
    from ..training.events import Event
    from .results.training import TrainingForecast

LEAST_TEXTS = 40
"""Distinct texts that a distillation needs."""
_HELD_OUT, _MOST_HELD_OUT = 0.1, 500
_NEAR, _RANDOM, _TOP = 15, 15, 10  # candidates per held-out text, and size of the compared lists
_QUERIES = 60  # held-out texts whose candidates a cross-encoder scores
_NEGATIVES = 3  # candidates per training text, besides the nearest one
_POOL = 5_000  # texts among which candidates are searched
_TIMED = 256  # texts encoded to measure the speed
_SEED = 12


@dataclass(frozen=True)
class Agreement(JsonResult):
    """Agreement of a student with its teacher on held-out texts."""

    spearman: Annotated[float, doc("Spearman's ρ of the student's cosines with the teacher's scores, over near and random pairs")]
    interval: Annotated[list[float], doc("95 % bootstrap interval of spearman")]
    top10: Annotated[float, doc("mean share of the teacher's ten best candidates of a text among the student's ten best")]


@dataclass(frozen=True)
class Distillation(JsonResult):
    """Result of a distillation."""

    run: Annotated[str, doc("id of the training run; empty for static embeddings, which are computed without training")]
    status: Annotated[str, doc("finished or stopped")]
    teacher: str
    student: Annotated[str, doc("the model before training; empty without training")]
    model: Annotated[str, doc("id or folder of the distilled model; empty if there is none yet")]
    texts: Annotated[int, doc("number of other texts, which a trained student has seen")]
    held_out: Annotated[int, doc("number of texts on which the agreement is measured; a trained student has not seen them")]
    before: Annotated[Agreement | None, doc("agreement of the student before training, with as many layers; null without training")]
    after: Annotated[Agreement | None, doc("agreement of the distilled model")]
    teacher_rate: Annotated[float, doc("texts, or pairs for a cross-encoder, that the teacher encodes per second")]
    student_rate: Annotated[float, doc("texts that the distilled model encodes per second")]
    seconds: float

    def describe(self) -> str:
        """Return agreement and speed as a message."""
        if self.after is None:
            return _("the distillation was stopped; continue with sbert-studio train --resume {run}", run=self.run)
        values = {"after": f"{self.after.spearman:.3f}", "top10": f"{self.after.top10:.0%}"}
        agreement = (
            _("agreement with {teacher}: Spearman {after}, {top10} of its ten best", teacher=self.teacher, **values)
            if self.before is None
            else _(
                "agreement with {teacher}: Spearman {before} before, {after} after; {top10_before} and {top10} of its ten best",
                teacher=self.teacher,
                before=f"{self.before.spearman:.3f}",
                top10_before=f"{self.before.top10:.0%}",
                **values,
            )
        )
        times = self.student_rate / max(self.teacher_rate, 1e-9)
        speed = _(
            "{student} texts per second instead of {teacher} ({times} times as fast)",
            student=f"{self.student_rate:,.0f}",
            teacher=f"{self.teacher_rate:,.0f}",
            times=f"{times:,.1f}" if times >= 1 else f"{times:.2g}",
        )
        if self.before is None or self.after.spearman > self.before.spearman:
            return join("; ", (agreement, speed))
        return join("; ", (agreement, _("training has not brought it closer to its teacher: use more texts"), speed))


class DistillationService(Service):
    """Distills encoders and cross-encoders into smaller encoders or static embeddings on the user's texts."""

    def __init__(self, resources: Resources, static: StaticEmbeddingService, fine_tune: FineTuneService, planner: TrainingPlanner) -> None:
        super().__init__(resources)
        self._static, self._fine_tune, self._planner = static, fine_tune, planner

    def estimate(self, teacher: str, file: str | Path | Table, student: str, *, columns: Sequence[str] = ()) -> TrainingForecast:
        """Estimate time and memory of the training from a few steps; see :meth:`distill`.

        Raises:
            StudioError: as :meth:`distill`.
        """
        from ..models.base import Encoder

        texts = self._texts(file, columns, lambda phase, unit: None)
        _require_trainable(texts, teacher, student, {})
        is_scorer = not isinstance(self.catalog.load_any(teacher), Encoder)
        data = self._training_table("texts", _split(texts)[0], student, is_scorer=is_scorer, is_trial=True)
        return self._planner.estimate(_request(data, teacher, student, {}, is_scorer=is_scorer))

    def distill(
        self,
        teacher: str,
        file: str | Path | Table,
        student: str,
        *,
        columns: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        out: Path | None = None,
        owner: str = "local",
        name: str = "",
        begin_phase: BeginPhase = lambda phase, unit: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Distillation:
        """Train ``student`` to imitate ``teacher`` on the texts of ``file``.

        From an encoder, the student learns the vectors of the texts; from a cross-encoder, its scores of each text with near and random
        others. A tenth of the texts, at most 500, is held out. Training is a run: a stopped one can be resumed.

        Args:
            settings: settings of the training, such as ``epochs`` and ``layers``.
            columns, out, owner, name, begin_phase: see :meth:`.StaticEmbeddingService.fit`.

        Raises:
            StudioError: there are fewer than 40 texts, or a model cannot be used.
        """
        began = time.perf_counter()
        texts, settings = self._texts(file, columns, begin_phase), settings or {}
        _require_trainable(texts, teacher, student, settings)
        rest, held = _split(texts)
        test, rate, is_scorer = self._test(teacher, student, held, begin_phase)
        before = test.measure(self._untrained(student, int(settings.get("layers") or 0)))
        data = self._training_table(file.name if isinstance(file, Table) else Path(file).stem, rest, student, is_scorer=is_scorer)
        request = replace(_request(data, teacher, student, settings, is_scorer=is_scorer), owner=owner, name=name or None)
        progress = begin_phase("training", "steps")

        def on_event(event: Event) -> None:
            steps = getattr(event, "run_steps", 0) or getattr(event, "steps", 0)
            if progress is not None and hasattr(event, "loss") and steps:
                progress(getattr(event, "run_step", 0) or getattr(event, "step", 0), steps)

        run = self._fine_tune.train(request, out=out, on_event=on_event, should_stop=should_stop)
        model = "" if run.model_path is None else str(out or run.id)
        after, speed = None, 0.0
        if run.status == "finished":
            begin_phase("measuring", "")
            distilled = self.catalog.load(model)
            after, speed = test.measure(distilled), _rate(distilled.encode, held)
        seconds = time.perf_counter() - began
        return Distillation(run.id, run.status, teacher, student, model, len(rest), len(held), before, after, rate, speed, seconds)

    def compare(
        self,
        teacher: str,
        model: str,
        file: str | Path | Table,
        *,
        columns: Sequence[str] = (),
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> Distillation | None:
        """Measure how near a distilled model comes to its teacher on a tenth of the texts of ``file``; ``None`` if there are fewer than 40.

        Raises:
            StudioError: a model cannot be used.
        """
        began = time.perf_counter()
        texts = self._texts(file, columns, begin_phase)
        if len(texts) < LEAST_TEXTS:
            return None
        rest, held = _split(texts)
        test, rate, _is_scorer = self._test(teacher, model, held, begin_phase)
        distilled = self.catalog.load(model)
        after, speed = test.measure(distilled), _rate(distilled.encode, held)
        seconds = time.perf_counter() - began
        return Distillation("", "finished", teacher, "", model, len(rest), len(held), None, after, rate, speed, seconds)

    def _untrained(self, student: str, layers: int) -> Encoder:
        if not layers:
            return self.catalog.load(student)
        encoder = self.catalog.load_trainable(student)
        encoder.keep_layers(layers)
        return encoder

    def _texts(self, file: str | Path | Table, columns: Sequence[str], begin_phase: BeginPhase) -> list[str]:
        return list(dict.fromkeys(self._static.read_texts(file, columns, begin_phase("reading", "bytes"))[1]))

    def _test(self, teacher: str, student: str, held: Sequence[str], begin_phase: BeginPhase) -> tuple[_AgreementTest, float, bool]:
        """Return the test, the teacher's speed, and whether it scores pairs."""
        from ..models.base import Encoder

        begin_phase("loading the model", "")
        model = self.catalog.load_any(teacher)
        progress = begin_phase("scoring held-out texts", "pairs")
        if isinstance(model, Encoder):
            return _AgreementTest.build(model, None, held, progress), _rate(model.encode, held), False
        scorer = model
        test = _AgreementTest.build(self.catalog.load(student), scorer, held, progress)
        return test, _rate(lambda some: scorer.predict([(one, one) for one in some]), held), True

    def _training_table(self, name: str, texts: Sequence[str], student: str, *, is_scorer: bool, is_trial: bool = False) -> Table:
        """Return the texts, or for a cross-encoder each with its nearest text by the student, one of the next near, and random ones.

        Args:
            is_trial: take random texts as the near ones, so that none need be encoded.
        """
        if not is_scorer:
            return table_from_columns(name, {"text": texts})
        random = np.random.default_rng(_SEED)
        pool = np.sort(random.permutation(len(texts))[:_POOL])
        if is_trial:
            near = random.integers(len(texts), size=(len(texts), _NEAR))
        else:
            vectors = _unit(self.catalog.load(student).encode(list(texts)))
            near = _nearest(vectors, vectors[pool], pool, _NEAR)
        columns = {"text": list(texts), "near_1": [texts[place] for place in near[:, 0]]}
        others = [near[np.arange(len(texts)), random.integers(1, near.shape[1], len(texts))]]
        others += [(np.arange(len(texts)) + random.integers(1, len(texts), len(texts))) % len(texts) for _ in range(_NEGATIVES - 1)]
        columns |= {f"other_{number}": [texts[place] for place in places] for number, places in enumerate(others, 1)}
        return table_from_columns(name, columns)


@dataclass(frozen=True, eq=False)
class _AgreementTest:
    """Candidates (q, c) of the first q held-out texts, by index, and the teacher's scores of them."""

    texts: Sequence[str]
    candidates: np.ndarray
    scores: np.ndarray

    @classmethod
    def build(cls, encoder: Encoder, scorer: PairScorer | None, texts: Sequence[str], progress: Any) -> _AgreementTest:
        """Choose near candidates by ``encoder`` and random ones, and score them by ``scorer``, or by the encoder itself."""
        vectors = _unit(encoder.encode(list(texts)))
        places = np.arange(len(texts))
        queries = places if scorer is None else places[:_QUERIES]
        near = _nearest(vectors[queries], vectors, places, min(_NEAR, len(texts) - 1))
        random = np.random.default_rng(_SEED)
        rest = np.stack([random.permutation(np.setdiff1d(places, [*near[query], query]))[:_RANDOM] for query in queries])
        candidates = np.concatenate([near, rest], axis=1)
        if scorer is None:
            scores = np.einsum("qd,qcd->qc", vectors[queries], vectors[candidates])
        else:
            pairs = [(texts[query], texts[place]) for query in queries for place in candidates[query]]
            scores = scorer.predict(pairs, progress=progress).reshape(candidates.shape)
        return cls(texts, candidates, scores)

    def measure(self, student: Encoder) -> Agreement:
        from ..evaluation.bootstrap import percentile_interval
        from ..evaluation.tasks.sts import bootstrap_spearman, spearman

        vectors = _unit(student.encode(list(self.texts)))
        found = np.einsum("qd,qcd->qc", vectors[: len(self.candidates)], vectors[self.candidates])
        top = min(_TOP, self.candidates.shape[1])
        best, wanted = (np.argsort(-scores, axis=1, kind="stable")[:, :top] for scores in (found, self.scores))
        overlap = np.mean([len(set(one) & set(other)) / top for one, other in zip(best.tolist(), wanted.tolist(), strict=True)])
        resampled = bootstrap_spearman(found.ravel(), self.scores.ravel())
        return Agreement(spearman(found.ravel(), self.scores.ravel()), percentile_interval(resampled), float(overlap))


def _require_trainable(texts: Sequence[str], teacher: str, student: str, settings: Mapping[str, Any]) -> None:
    if len(texts) < LEAST_TEXTS:
        message = _("there are {texts} distinct texts; a distillation needs {least}", texts=len(texts), least=LEAST_TEXTS)
        raise StudioError(message, "use more texts")
    if teacher == student and not settings.get("layers"):
        from ..runs.teacher import same_model

        raise same_model()


def _request(data: Table, teacher: str, student: str, settings: Mapping[str, Any], *, is_scorer: bool) -> TrainRequest:
    loss = "distill_kl" if is_scorer else "embedding_mse"
    settings = {"dev_fraction": 0, "evaluation": "split", "loss": loss, **settings, "teacher": teacher}
    choices = SchemaOverrides(kind="triplets" if is_scorer else "sentences", columns=data.columns, as_read=True)
    return TrainRequest(data, choices=choices, overrides=settings, model=student)


def _split(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the texts for training and the held-out ones, a tenth in random order."""
    order = np.random.default_rng(_SEED).permutation(len(texts))
    count = min(_MOST_HELD_OUT, max(2 * _TOP, int(_HELD_OUT * len(texts))))
    return [texts[place] for place in np.sort(order[count:])], [texts[place] for place in order[:count]]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-8))


def _nearest(queries: np.ndarray, vectors: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return the places of the ``count`` nearest vectors of each query, which is at its own index: (q, count)."""
    found = []
    for start in range(0, len(queries), 1024):
        scores = queries[start : start + 1024] @ vectors.T
        scores[rows == np.arange(start, start + len(scores))[:, None]] = -np.inf
        found.append(rows[np.argsort(-scores, axis=1, kind="stable")[:, :count]])
    return np.concatenate(found)


def _rate(encode: Callable[[list[str]], Any], texts: Sequence[str]) -> float:
    some = list(texts[:_TIMED])
    encode(some[:8])
    began = time.perf_counter()
    encode(some)
    return len(some) / (time.perf_counter() - began)
