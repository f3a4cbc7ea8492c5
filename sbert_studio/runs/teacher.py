"""Scores or vectors of a teacher model for the rows of a run, computed once before training.

They are computed in chunks that are cached by content in the home folder: an interrupted computation continues, and other runs on the
same texts reuse them. The run's folder keeps its own copy, so that a resumed run trains on the same values.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock

from ..data.examples import Examples, TeacherSignal
from ..errors import StudioError
from ..explore.vector_store import evict_files, load_array, store_array
from ..i18n import _
from ..losses import LOSSES, Loss
from ..models.base import Encoder, require_finite_vectors
from ..models.inference.batching import unique_texts
from ..models.prompts import column_roles
from ..registry import parse_params
from ..training.events import Event, Phase
from ..training.spec import SHAPE, TrainSpec, resolve_loss
from ..workspace import digest_texts, write_json

if TYPE_CHECKING:
    from ..models.base import PairScorer
    from ..models.catalog import Catalog
    from ..models.prompts import Role
    from ..progress import ShouldStop

TEACHER = "teacher.npy"
"""File in a run's folder."""
_DEFAULTS = TrainSpec()
_CHUNK = 4096  # texts or pairs per cached file
_CACHE_BYTES = 4 << 30
_SAMPLE = 64  # rows used to estimate the time
_SECONDS = 5.0  # between two progress events


def add_teacher(
    examples: Examples,
    spec: TrainSpec,
    catalog: Catalog,
    file: Path,
    emit: Callable[[Event], None],
    should_stop: ShouldStop,
) -> Examples:
    """Return the examples with the values of the spec's teacher, if its loss imitates one; otherwise unchanged.

    Args:
        file: file of the run for the values.

    Raises:
        EncodingStoppedError: ``should_stop`` returned True; the chunks computed so far are cached.
        StudioError: the teacher cannot be loaded, or is of a kind that the loss cannot use.
    """
    spec = resolve_loss(spec, examples)
    loss = _build(spec)
    if loss is None or not spec.teacher:
        return examples
    columns = loss.encoded_columns(len(examples.texts)) if loss.teacher == "vectors" else 1
    numbers = [unique_texts(list(examples.texts[column])) for column in range(columns)]
    wanted = {"loss": loss.teacher, "teacher": spec.teacher, "rows": hashlib.sha256(_identity(examples, columns).encode()).hexdigest()}
    record = file.with_suffix(".json")
    with FileLock(file.with_suffix(".lock")):  # processes that train together compute the values once
        values = _load(file, record, wanted)
        if values is None:
            work = _Teacher(spec.teacher, catalog, emit, should_stop)
            values = work.vectors(examples, numbers) if loss.teacher == "vectors" else work.scores(examples)
            if store_array(file, values):
                write_json(record, {**wanted, "shape": list(values.shape)})
                stored = load_array(file, values.shape, mapped=True)
                values = values if stored is None else stored
    if loss.teacher == "scores":
        return _with(examples, values, np.arange(len(examples))[None])
    starts = np.cumsum([0, *(len(texts) for texts, _ in numbers[:-1])])
    return _with(examples, values, np.stack([start + found for start, (_, found) in zip(starts, numbers, strict=True)]))


def try_teacher(examples: Examples, spec: TrainSpec, catalog: Catalog) -> tuple[Examples, float]:
    """Return the examples with the values of a few rows repeated, for trial steps, and the estimated seconds for all rows."""
    spec = resolve_loss(spec, examples)
    loss = _build(spec)
    if loss is None or not spec.teacher:
        return examples, 0.0
    some = examples.take(np.arange(min(_SAMPLE, len(examples))))
    columns = loss.encoded_columns(len(examples.texts)) if loss.teacher == "vectors" else 1
    work = _Teacher(spec.teacher, catalog)
    began = time.perf_counter()
    if loss.teacher == "scores":
        values, texts, tried = work.scores(some), len(examples), len(some)
        rows = np.arange(len(examples))[None] % len(some)
    else:
        numbers = [unique_texts(list(some.texts[column])) for column in range(columns)]
        values = work.vectors(some, numbers)
        texts, tried = sum(len(set(examples.texts[column])) for column in range(columns)), len(values)
        rows = np.tile(np.arange(len(examples)) % len(values), (columns, 1))
    return _with(examples, values, rows), (time.perf_counter() - began) * texts / tried


def require_teacher_model(spec: TrainSpec, examples: Examples, catalog: Catalog) -> None:
    """Check, before a run is made, that the spec's teacher exists, is not the model itself, and is of a kind that the loss can use.

    Raises:
        StudioError: it cannot be used.
    """
    loss = _build(resolve_loss(spec, examples))
    if loss is None or not spec.teacher:
        return
    is_changed = any(getattr(spec, name) != getattr(_DEFAULTS, name) for name in SHAPE)
    is_guide = loss.in_batch  # it only chooses the negatives, which the base model can do too
    if spec.teacher == spec.model and not is_changed and not is_guide:
        raise same_model()
    if (catalog.is_cross_encoder(spec.teacher) or catalog.is_poly_encoder(spec.teacher)) and loss.teacher == "vectors":
        raise _without_vectors(spec.teacher)


def same_model() -> StudioError:
    """Return the error that a model would imitate itself."""
    return StudioError(
        "the teacher and the student are the same model", "choose a larger teacher, or keep only some layers: --set layers=2"
    )


def _without_vectors(teacher: str) -> StudioError:
    return StudioError(
        _("the teacher {name} scores pairs and has no vectors of single texts", name=teacher),
        "choose an encoder as the teacher, or the loss margin_mse",
    )


def _build(spec: TrainSpec) -> Loss | None:
    """Return the loss of a spec if it imitates a teacher."""
    loss = LOSSES[spec.loss] if spec.architecture == "siamese" and spec.loss in LOSSES else None
    return loss(parse_params(loss.Params, spec.loss_params)) if loss is not None and loss.teacher else None


def _identity(examples: Examples, columns: int) -> str:
    return " ".join([examples.kind, str(columns), *map(digest_texts, examples.texts)])


def _load(file: Path, record: Path, wanted: dict[str, Any]) -> np.ndarray | None:
    try:
        known = json.loads(record.read_text(encoding="utf-8"))
        shape = tuple(known.pop("shape"))
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return load_array(file, shape, mapped=True) if known == wanted else None


def _with(examples: Examples, values: np.ndarray, rows: np.ndarray) -> Examples:
    return replace(examples, teacher=TeacherSignal(values, rows.astype(np.int64)))


class _Teacher:
    """Computes values in cached chunks and reports progress."""

    def __init__(
        self,
        name: str,
        catalog: Catalog,
        emit: Callable[[Event], None] = lambda event: None,
        should_stop: ShouldStop = lambda: False,
    ) -> None:
        self._emit, self._should_stop, self._shown = emit, should_stop, 0.0
        self._cache = catalog.workspace.cache("teacher")
        self._title = name
        self._model = catalog.load_any(name)

    def vectors(self, examples: Examples, numbers: Sequence[tuple[Sequence[str], np.ndarray]]) -> np.ndarray:
        """Return the vectors of the distinct texts of each column, one column after the other: (m, d) float32."""
        model = self._model
        if not isinstance(model, Encoder):
            raise _without_vectors(self._title)
        roles: Sequence[Role] = column_roles(examples.kind, len(examples.texts))
        total, parts, done = sum(len(texts) for texts, _ in numbers), [], 0
        for role, (texts, _found) in zip(roles, numbers, strict=False):
            reader = model.for_role(role)
            for chunk in _chunks(list(texts)):
                found = self._cached(
                    [reader.fingerprint, digest_texts(chunk)],
                    (len(chunk), model.dim),
                    lambda chunk=chunk, reader=reader, done=done: reader.encode(  # type: ignore[misc]
                        chunk, progress=self._progress(done, total), should_stop=self._should_stop
                    ),
                )
                parts.append(found)
                done += len(chunk)
        return np.concatenate(parts)

    def scores(self, examples: Examples) -> np.ndarray:
        """Return the scores of each anchor with its candidates: (n, candidates) float32."""
        anchors, *candidates = examples.texts
        if isinstance(self._model, Encoder):
            numbers = [unique_texts(list(column)) for column in examples.texts]
            vectors = self.vectors(examples, numbers)
            starts = np.cumsum([0, *(len(texts) for texts, _ in numbers)])
            sides = [vectors[start + found] for start, (_, found) in zip(starts[:-1], numbers, strict=True)]
            sides = [side / np.linalg.norm(side, axis=1, keepdims=True).clip(1e-8) for side in sides]
            return np.stack([(sides[0] * side).sum(axis=1) for side in sides[1:]], axis=1).astype(np.float32)
        scorer: PairScorer = self._model
        if scorer.labels != 1:
            raise StudioError(
                _("the teacher {name} predicts {labels} classes instead of a score", name=self._title, labels=scorer.labels),
                "choose a cross-encoder with a single score",
            )
        pairs = list(chain.from_iterable(zip(anchors, column, strict=True) for column in candidates))
        parts, done = [], 0
        for chunk in _chunks(pairs):
            digest = digest_texts(chain.from_iterable(chunk))
            parts.append(
                self._cached(
                    [scorer.fingerprint, "pairs", digest],
                    (len(chunk),),
                    lambda chunk=chunk, done=done: scorer.predict(  # type: ignore[misc]
                        chunk, progress=self._progress(done, len(pairs)), should_stop=self._should_stop
                    ),
                )
            )
            done += len(chunk)
        return np.ascontiguousarray(np.concatenate(parts).reshape(len(candidates), len(anchors)).T)

    def _cached(self, key: Sequence[str], shape: tuple[int, ...], compute: Callable[[], np.ndarray]) -> np.ndarray:
        path = self._cache / f"{hashlib.sha256(' '.join(key).encode()).hexdigest()[:32]}.npy"
        found = load_array(path, shape)
        if found is None:
            found = require_finite_vectors(compute())
            if store_array(path, found):
                evict_files(path.parent, _CACHE_BYTES, path)
        return found

    def _progress(self, before: int, total: int) -> Callable[[int, int], None]:
        def report(done: int, _of: int) -> None:
            if time.monotonic() - self._shown > _SECONDS:
                self._shown = time.monotonic()
                share = f"{(before + done) / total:.0%}"
                self._emit(Phase(_("computing the values of the teacher {name}: {share}", name=self._title, share=share)))

        return report


def _chunks(items: list[Any]) -> Iterator[list[Any]]:
    return (items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK))
