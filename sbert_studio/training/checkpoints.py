"""Checkpoints of a run (safetensors and JSON): write, validate, resume and clean up."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import DiskFull, StudioError, is_disk_full
from ..i18n import _
from ..models.io.digests import cached_digest, safetensors_error
from ..workspace import atomic_folder, flush_to_disk

STATE = "state.json"
MODEL, OBJECTIVE, OPTIMISER = "encoder.safetensors", "objective.safetensors", "optimiser.safetensors"
EVALUATIONS = "evaluations.safetensors"
"""File with the bootstrap scores of every evaluation so far; not needed to restore the weights."""
_FOLDER = "checkpoints"
_PREFIX, _COPY = "step-", "best-"


@dataclass(frozen=True)
class TrainingState:
    """State of a training run, without tensors.

    Attributes:
        identity: identifies spec and examples; other checkpoints are rejected.
        step: optimizer steps taken.
        best: step of the best evaluation, or -1.
        before, after: scores of the base model and at ``best``; empty without evaluation.
        highest: highest score of any evaluation except the base model's, if not that of ``after``.
        bad: consecutive steps without a finite loss.
        micro_batch: rows in memory at once, reduced after running out of memory.
        rows, seconds, total_seconds: number of rows trained on, their time, and the total time with evaluations.
        alarm: unanswered question that stopped the run; else empty.
        evaluations: score of every evaluation by name; ``None`` in checkpoints of earlier versions.
    """

    identity: str
    step: int = 0
    best: int = -1
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    bad: int = 0
    micro_batch: int = 0
    rows: int = 0
    seconds: float = 0.0
    total_seconds: float = 0.0
    alarm: Mapping[str, Any] = field(default_factory=dict)
    highest: float | None = None
    evaluations: Mapping[str, float] | None = None


@dataclass(frozen=True)
class TrainingTensors:
    """Tensors of a training run: encoder, loss and optimizer state by name (no optimizer state after the last step).

    Attributes:
        evaluations: bootstrap scores of every evaluation, (resamples,) each.
    """

    encoder: Mapping[str, Tensor]
    loss_fn: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    evaluations: Mapping[str, Tensor] = field(default_factory=dict)


def read_state(path: Path) -> TrainingState:
    """Read the state of a checkpoint folder.

    Raises:
        StudioError: it is damaged.
    """
    return TrainingState(**_read(path)[0])


def read_tensors(path: Path, *, weights_only: bool = False) -> TrainingTensors:
    """Read the tensors of a checkpoint folder to the CPU; only the weights if ``weights_only``.

    Raises:
        StudioError: they are damaged.
    """
    from safetensors.torch import load_file

    if flaw := find_damage(path, weights_only=weights_only):
        raise StudioError(
            _("a checkpoint of the run is damaged ({flaw})", flaw=flaw), "resume the run: it continues from the last intact checkpoint"
        )
    names = _names(_read(path)[1], weights_only=weights_only)
    optimiser, evaluations = (load_file(path / name) if name in names else {} for name in (OPTIMISER, EVALUATIONS))
    return TrainingTensors(load_file(path / MODEL), load_file(path / OBJECTIVE), optimiser, evaluations)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write a file of tensors, flushed to disk, and return its digest."""
    from safetensors.torch import save_file

    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    flush_to_disk(path)
    return cached_digest(path)


def find_damage(path: Path, *, weights_only: bool) -> str:
    """Describe the damage of a checkpoint, such as ``encoder.safetensors is not what was written``; empty if it is intact."""
    try:
        _unused, digests = _read(path)
    except StudioError:
        return _("{state} is missing or damaged", state=STATE)
    for name in _names(digests, weights_only=weights_only):
        file = path / name
        try:
            if digests is None and safetensors_error(file):
                return _("{name} is truncated or missing", name=name)
            if digests is not None and cached_digest(file) != digests.get(name):
                return _("{name} differs from what was written", name=name)
        except OSError:
            return _("{name} is missing", name=name)
    return ""


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str] | None]:
    try:
        values = json.loads((path / STATE).read_text(encoding="utf-8"))
        if "state" not in values:  # an earlier version
            TrainingState(**values)
            return values, None
        if values.pop("sha256") != _digest(values):
            raise ValueError
        TrainingState(**values["state"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StudioError(
            _("the checkpoint's {state} is damaged", state=STATE), "resume the run: it continues from the last intact checkpoint"
        ) from error
    return values["state"], values["files"]


def _names(digests: Mapping[str, str] | None, *, weights_only: bool) -> tuple[str, ...]:
    if weights_only:
        return (MODEL, OBJECTIVE)
    if digests is None:
        return (MODEL, OBJECTIVE, OPTIMISER)
    return (MODEL, OBJECTIVE, *(name for name in (OPTIMISER, EVALUATIONS) if name in digests))


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class Checkpoints:
    """Checkpoints ``checkpoints/step-<n>/`` of a run: the newest two, and the best one without optimizer state.

    A checkpoint is written before older ones are removed. The second newest is kept as a fallback in case the newest is damaged. The best
    weights have a copy, ``checkpoints/best-<n>/``.

    Args:
        folder: run folder.
        keeps_best: True if the best weights are needed; evaluation-only members leave no model.
    """

    def __init__(self, folder: Path, *, keeps_best: bool = True) -> None:
        self.folder, self._keeps_best = folder / _FOLDER, keeps_best

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def newest(self) -> Path | None:
        """Return the folder of the latest checkpoint, or ``None``; removes incomplete files of a killed process."""
        if not self.folder.is_dir():
            return None
        _restore_renamed(self.folder, f".old-*/{_PREFIX}*")
        for left in self.folder.glob(".*-*"):
            shutil.rmtree(left, ignore_errors=True)
        found = sorted(path for path in self.folder.glob(f"{_PREFIX}*") if (path / STATE).is_file())
        return found[-1] if found else None

    def at(self, step: int) -> Path:
        """Return the folder of the checkpoint of ``step``, which may not exist."""
        return self.folder / f"{_PREFIX}{step:09d}"

    def write(self, state: TrainingState, tensors: TrainingTensors) -> Path:
        """Write the checkpoint of ``state.step`` and remove obsolete ones.

        Raises:
            StudioError: the disk is full; existing checkpoints are kept.
        """
        target = self.at(state.step)
        with report_full_disk("the checkpoint", self.folder.parent), atomic_folder(target) as part:
            files = {MODEL: tensors.encoder, OBJECTIVE: tensors.loss_fn}
            files |= {name: some for name, some in ((OPTIMISER, tensors.optimiser), (EVALUATIONS, tensors.evaluations)) if some}
            with ThreadPoolExecutor(2, "checkpoint") as pool:  # one is hashed while the other is written
                digests = list(pool.map(lambda name: write_tensors(part / name, files[name]), files))
            # The state, with the digests of the tensor files, is always written last.
            values = {"state": asdict(state), "files": dict(zip(files, digests, strict=True))}
            path = part / STATE
            path.write_text(json.dumps({**values, "sha256": _digest(values)}, ensure_ascii=False, indent=1), encoding="utf-8")
            flush_to_disk(path)
        self._remove_obsolete(target, state.best)
        if self._keeps_best and state.best not in (-1, state.step):
            self._copy(state.best)
        return target

    def _remove_obsolete(self, newest: Path, best_step: int) -> None:
        older = [path for path in self._all() if path < newest and (path / OPTIMISER).is_file()]
        whole = {newest, *older[-1:]}
        best = {self.at(best_step), *(self.at(read_state(path).best) for path in older[-1:] if not find_damage(path, weights_only=False))}
        for path in self.folder.glob(f"{_PREFIX}*"):
            if path in best - whole:
                (path / OPTIMISER).unlink(missing_ok=True)
            elif path not in whole:
                shutil.rmtree(path, ignore_errors=True)
        for copy in self.folder.glob(f"{_COPY}*"):
            if self.at(_step_number(copy)) not in best:
                shutil.rmtree(copy, ignore_errors=True)

    def repair(self) -> tuple[str, ...]:
        """Remove damaged checkpoints so that :meth:`newest` is intact together with the best weights it refers to.

        Damaged best weights are restored from their copy. If the copy is also damaged, the run resumes from before that step, so that its
        result equals that of an uninterrupted run.

        Returns:
            Messages on the damage and where the run resumes.
        """
        self.newest()
        weights_alone = {_step_number(copy) for copy in self.folder.glob(f"{_COPY}*")} | {_best_step(path) for path in self._all()}
        messages = self._restore_copies()
        lost: dict[int, str] = {}
        end = "there is no usable checkpoint: training starts over"
        for path in reversed(self._all()):
            step, flaw = _step_number(path), find_damage(path, weights_only=False)
            if not flaw:
                best = read_state(path).best
                if not self._keeps_best or best in (-1, step) or not (flaw := find_damage(self.at(best), weights_only=True)):
                    end = _("training resumes from step {step}", step=f"{step:,}")
                    break
                lost[best] = flaw
            elif step not in weights_alone or find_damage(path, weights_only=True):  # the best weights may have no optimizer state
                lost[step] = flaw
            shutil.rmtree(path, ignore_errors=True)
        messages += [
            _("the checkpoint of step {step} was damaged ({flaw}) and is not used", step=f"{step:,}", flaw=flaw)
            for step, flaw in lost.items()
        ]
        return (*messages, end) if messages else ()

    def _copy(self, step: int) -> None:
        source, target = self.at(step), self.folder / f"{_COPY}{step:09d}"
        if target.is_dir() or find_damage(source, weights_only=True):
            return
        with contextlib.suppress(OSError), atomic_folder(target) as part:
            for name in (MODEL, OBJECTIVE, STATE):
                shutil.copyfile(source / name, part / name)
                flush_to_disk(part / name)

    def _restore_copies(self) -> list[str]:
        messages = []
        best = {_best_step(path) for path in self._all()}
        for copy in sorted(self.folder.glob(f"{_COPY}*")):
            step = _step_number(copy)
            target = self.at(step)
            if step not in best or find_damage(copy, weights_only=True):
                shutil.rmtree(copy, ignore_errors=True)
            elif flaw := find_damage(target, weights_only=True):
                with report_full_disk("the checkpoint", self.folder.parent), atomic_folder(target) as part:
                    shutil.copytree(copy, part, dirs_exist_ok=True)
                    for name in (OPTIMISER, EVALUATIONS):
                        if (target / name).is_file():
                            shutil.copyfile(target / name, part / name)
                messages.append(
                    _(
                        "the checkpoint of step {step}, the best one, was damaged ({flaw}); the copy of its weights is used",
                        step=f"{step:,}",
                        flaw=flaw,
                    )
                )
        return messages

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdigit())

    def keep_only(self, step: int) -> None:
        """Remove everything except the weights of ``step``, at the end of a run."""
        for path in (*self.folder.glob(f"{_PREFIX}*"), *self.folder.glob(f"{_COPY}*")):
            if path != self.at(step):
                shutil.rmtree(path, ignore_errors=True)
        (self.at(step) / OPTIMISER).unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove incomplete checkpoints and models of a killed process, including those of folds; no process may be using the run.

    Args:
        folder: run folder; it may not exist.
    """
    for training in {folder, *(found.parent for found in folder.glob(f"**/{_FOLDER}"))}:
        Checkpoints(training).newest()
        _restore_renamed(training, ".old-*/*")
        for left in [*training.glob(".old-*"), *training.glob(".part-*")]:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def _restore_renamed(folder: Path, pattern: str) -> None:
    """Restore folders whose process was killed between the two renames of a replacement."""
    for old in list(folder.glob(pattern)):
        if not (folder / old.name).exists():
            old.replace(folder / old.name)


@contextlib.contextmanager
def report_full_disk(what: str, folder: Path) -> Iterator[None]:
    """Convert disk-full errors within this context to a readable error.

    Args:
        folder: folder of the run or member; the message says whether it contains a checkpoint.

    Raises:
        StudioError: the disk was full while ``what`` was written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        if is_disk_full(error):
            whole = any(folder.glob(f"**/{_FOLDER}/{_PREFIX}*/{STATE}"))
            kept = "the last good checkpoint is intact" if whole else "there is no checkpoint yet, so training will start over"
            raise DiskFull(
                _("the disk became full while {what} was written; {kept}", what=what, kept=kept),
                "free some disk space, then resume the run",
            ) from error
        raise


def _step_number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _best_step(path: Path) -> int:
    try:
        best = read_state(path).best
    except StudioError:
        return -1
    return -1 if best == _step_number(path) else best
