"""Checkpoints of a run (safetensors and JSON): write, validate, resume, clean up."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ..errors import DiskFull, StudioError, is_disk_full
from ..models.io.digests import cut_short, digest_of
from ..workspace import atomic_folder

STATE = "state.json"
MODEL, OBJECTIVE, OPTIMISER = "encoder.safetensors", "objective.safetensors", "optimiser.safetensors"
EVALUATIONS = "evaluations.safetensors"
"""The resampled scores of every evaluation so far; weights are whole without it."""


@dataclass(frozen=True)
class State:
    """All of a run that is not a tensor.

    Attributes:
        identity: names the spec and the examples; a checkpoint of other ones is refused.
        step: optimiser steps done.
        best: the step of the best evaluation so far, or -1.
        before, after: scores of the untuned model and at ``best``; empty where nothing was judged.
        highest: the highest score of any evaluation so far, the untuned model's apart, which need not be that of ``after``; ``None``:
            it is, or there is none.
        bad: steps in a row without a finite loss, up to now.
        micro_batch: rows in memory at once, smaller than asked after memory ran out.
        rows, seconds, total_seconds: rows trained on, seconds that took, seconds with evaluations and all.
        alarm: the question that the run stopped with and that nobody has answered; else empty.
        evaluations: the score of every evaluation so far, by its name; ``None`` in checkpoints of versions that did not keep them.
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
class Tensors:
    """What is tuned: the encoder's and the objective's weights by name, and the optimiser's state of them, none after the last step.

    Attributes:
        evaluations: the resampled scores of every evaluation so far, (resamples,) each.
    """

    encoder: Mapping[str, Tensor]
    objective: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    evaluations: Mapping[str, Tensor] = field(default_factory=dict)


def read_state(path: Path) -> State:
    """The state in the checkpoint folder ``path``.

    Raises:
        StudioError: it is damaged.
    """
    return State(**_read(path)[0])


def read_tensors(path: Path, *, weights_only: bool = False) -> Tensors:
    """The tensors in the checkpoint folder ``path``, on the CPU; ``weights_only`` leaves out all but the weights.

    Raises:
        StudioError: they are damaged.
    """
    from safetensors.torch import load_file

    if flaw := flaw_of(path, weights_only=weights_only):
        raise StudioError(f"a checkpoint of the run is damaged ({flaw})", "resume the run: it goes on from what is whole")
    names = _names(_read(path)[1], weights_only=weights_only)
    optimiser, evaluations = (load_file(path / name) if name in names else {} for name in (OPTIMISER, EVALUATIONS))
    return Tensors(load_file(path / MODEL), load_file(path / OBJECTIVE), optimiser, evaluations)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write one file of tensors, down to the disk; its digest."""
    from safetensors.torch import save_file

    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    flush(path)
    return digest_of(path)


def write_state(path: Path, state: State, digests: Mapping[str, str]) -> None:
    """Write the state beside the files of tensors, whose ``digests`` it holds by their names: the last of a checkpoint's files."""
    values = {"state": asdict(state), "files": dict(digests)}
    path.write_text(json.dumps({**values, "sha256": _digest(values)}, ensure_ascii=False, indent=1), encoding="utf-8")
    flush(path)


def flaw_of(path: Path, *, weights_only: bool) -> str:
    """What is wrong with a checkpoint, such as ``encoder.safetensors is not what was written``; nothing where it is whole."""
    try:
        _, digests = _read(path)
    except StudioError:
        return f"{STATE} is missing or damaged"
    for name in _names(digests, weights_only=weights_only):
        file = path / name
        try:
            if digests is None and cut_short(file):
                return f"{name} is cut short or missing"
            if digests is not None and digest_of(file) != digests.get(name):
                return f"{name} is not what was written"
        except OSError:
            return f"{name} is missing"
    return ""


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str] | None]:
    """The state's values, and the digests of the files beside it; none of those in a checkpoint of an older version.

    Raises:
        StudioError: the file is missing or damaged.
    """
    try:
        values = json.loads((path / STATE).read_text(encoding="utf-8"))
        if "state" not in values:
            State(**values)
            return values, None
        if values.pop("sha256") != _digest(values):
            raise ValueError
        State(**values["state"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StudioError(f"the checkpoint's {STATE} is damaged", "resume the run: it goes on from what is whole") from error
    return values["state"], values["files"]


def _names(digests: Mapping[str, str] | None, *, weights_only: bool) -> tuple[str, ...]:
    """The files of tensors that were written: no optimiser where no step was left to take, no evaluations where there were none.

    Of an older version, which kept no digests, the optimiser's was.
    """
    if weights_only:
        return (MODEL, OBJECTIVE)
    if digests is None:
        return (MODEL, OBJECTIVE, OPTIMISER)
    return (MODEL, OBJECTIVE, *(name for name in (OPTIMISER, EVALUATIONS) if name in digests))


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def flush(path: Path) -> None:
    """Have a written file on the disk itself, not in its cache."""
    with path.open("rb") as written:
        os.fsync(written.fileno())


_FOLDER = "checkpoints"
_PREFIX, _COPY = "step-", "best-"


class Checkpoints:
    """``checkpoints/step-<n>/`` below a run's folder: the newest two, whole, and the best of each, without its optimiser.

    That of the last step has no optimiser either: nothing is left for it to do.

    A checkpoint is written under a name of its own before an older one is removed, so at no moment is there none; the one before
    the newest stays, to go on from where the newest is found damaged. The best weights, which nothing could replace once later steps
    have been taken, have a copy: ``checkpoints/best-<n>/``.

    Args:
        folder: the run's.
        keeps_best: whether the best weights matter; a training that only judges leaves none.
    """

    def __init__(self, folder: Path, *, keeps_best: bool = True) -> None:
        self.folder, self._keeps_best = folder / _FOLDER, keeps_best

    def clear(self) -> None:
        """Remove all checkpoints."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def newest(self) -> Path | None:
        """The folder of the latest checkpoint, or ``None``. What a killed process left half written is removed."""
        if not self.folder.is_dir():
            return None
        for old in self.folder.glob(f".old-*/{_PREFIX}*"):
            # Killed between the two renames that put a new folder in the place of this one.
            if not (self.folder / old.name).exists():
                old.replace(self.folder / old.name)
        for left in self.folder.glob(".*-*"):
            shutil.rmtree(left, ignore_errors=True)
        found = sorted(path for path in self.folder.glob(f"{_PREFIX}*") if (path / STATE).is_file())
        return found[-1] if found else None

    def at(self, step: int) -> Path:
        """The folder of the checkpoint of ``step``, which need not exist."""
        return self.folder / f"{_PREFIX}{step:09d}"

    def write(self, state: State, tensors: Tensors) -> Path:
        """Write the checkpoint of ``state.step`` and remove those that it makes needless.

        Raises:
            StudioError: the disk is full; the checkpoints that were there are still there.
        """
        target = self.at(state.step)
        with disk_space("the checkpoint", self.folder.parent), atomic_folder(target) as part:
            files = {MODEL: tensors.encoder, OBJECTIVE: tensors.objective}
            files |= {name: some for name, some in ((OPTIMISER, tensors.optimiser), (EVALUATIONS, tensors.evaluations)) if some}
            with ThreadPoolExecutor(2, "checkpoint") as pool:  # one is digested while the other is written
                digests = list(pool.map(lambda name: write_tensors(part / name, files[name]), files))
            write_state(part / STATE, state, dict(zip(files, digests, strict=True)))
        older = [path for path in self._all() if path < target and (path / OPTIMISER).is_file()]
        whole = {target, *older[-1:]}
        best = {self.at(state.best), *(self.at(read_state(path).best) for path in older[-1:] if not flaw_of(path, weights_only=False))}
        for path in self.folder.glob(f"{_PREFIX}*"):
            if path in best - whole:
                (path / OPTIMISER).unlink(missing_ok=True)
            elif path not in whole:
                shutil.rmtree(path, ignore_errors=True)
        for copy in self.folder.glob(f"{_COPY}*"):
            if self.at(_step_of(copy)) not in best:
                shutil.rmtree(copy, ignore_errors=True)
        if self._keeps_best and state.best not in (-1, state.step):
            self._copy(state.best)
        return target

    def mend(self) -> tuple[str, ...]:
        """Remove what a run cannot go on from, so that :meth:`newest` is whole, and the best weights that it knows of too.

        Damaged best weights are put back from their copy. Where the copy is damaged as well, nothing after them is gone on from: the
        best of a run that went on without them would not be that of one that nothing happened to.

        Returns:
            What was found damaged and where the run goes on, a sentence each, for people.
        """
        self.newest()
        copies = {_step_of(copy) for copy in self.folder.glob(f"{_COPY}*")}
        told = self._from_copies()
        of_weights = copies | {_best_of(path) for path in self._all()}  # these may have no optimiser
        lost: dict[int, str] = {}
        for path in reversed(self._all()):
            step, flaw = _step_of(path), flaw_of(path, weights_only=False)
            if not flaw:
                best = read_state(path).best
                if not self._keeps_best or best in (-1, step) or not (flaw := flaw_of(self.at(best), weights_only=True)):
                    if told or lost:
                        told = (*told, *_in_words(lost), f"the training goes on from step {step:,}")
                    return told
                lost[best] = flaw
            elif step not in of_weights or flaw_of(path, weights_only=True):
                lost[step] = flaw
            shutil.rmtree(path, ignore_errors=True)
        if told or lost:
            told = (*told, *_in_words(lost), "no checkpoint is left to go on from: the training begins anew")
        return told

    def _copy(self, step: int) -> None:
        """Have a second copy of the weights of ``step``, as long as these are whole; a run goes on where there is no room for one."""
        source, target = self.at(step), self.folder / f"{_COPY}{step:09d}"
        if target.is_dir() or flaw_of(source, weights_only=True):
            return
        with contextlib.suppress(OSError), atomic_folder(target) as part:
            for name in (MODEL, OBJECTIVE, STATE):
                shutil.copyfile(source / name, part / name)
                flush(part / name)

    def _from_copies(self) -> tuple[str, ...]:
        """Put damaged weights back that have a whole copy; what was, a sentence each."""
        told = []
        best = {_best_of(path) for path in self._all()}
        for copy in sorted(self.folder.glob(f"{_COPY}*")):
            target = self.at(_step_of(copy))
            if _step_of(copy) not in best or flaw_of(copy, weights_only=True):
                shutil.rmtree(copy, ignore_errors=True)
            elif flaw := flaw_of(target, weights_only=True):
                with disk_space("the checkpoint", self.folder.parent), atomic_folder(target) as part:
                    shutil.copytree(copy, part, dirs_exist_ok=True)
                    for name in (OPTIMISER, EVALUATIONS):
                        if (target / name).is_file():
                            shutil.copyfile(target / name, part / name)
                told.append(f"the checkpoint of step {_step_of(copy):,}, the best, was damaged ({flaw}); the copy of its weights is used")
        return tuple(told)

    def _all(self) -> list[Path]:
        """The folders of all checkpoints, oldest first."""
        return sorted(path for path in self.folder.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdigit())

    def keep_only(self, step: int) -> None:
        """Remove all but the weights of ``step``: the run is over."""
        for path in (*self.folder.glob(f"{_PREFIX}*"), *self.folder.glob(f"{_COPY}*")):
            if path != self.at(step):
                shutil.rmtree(path, ignore_errors=True)
        (self.at(step) / OPTIMISER).unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what a killed process left half written of a run, its checkpoints and models, those of its folds too; nobody may be at it.

    Args:
        folder: the run's; it need not exist.
    """
    for training in {folder, *(found.parent for found in folder.glob(f"**/{_FOLDER}"))}:
        Checkpoints(training).newest()
        for old in list(training.glob(".old-*/*")):
            if not (training / old.name).exists():  # killed between the two renames that put a new one in its place
                old.replace(training / old.name)
        for left in [*training.glob(".old-*"), *training.glob(".part-*")]:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


@contextlib.contextmanager
def disk_space(what: str, folder: Path) -> Iterator[None]:
    """Turn a full disk into an error that a person can mend.

    Args:
        folder: that of the run, or of its training; whether it holds a checkpoint is told.

    Raises:
        StudioError: no space was left while ``what`` was written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError) as error:
        if is_disk_full(error):
            whole = any(folder.glob(f"**/{_FOLDER}/{_PREFIX}*/{STATE}"))
            kept = "the last good checkpoint is intact" if whole else "there is no checkpoint yet, so it will begin anew"
            raise DiskFull(f"the disk was full while {what} was written; {kept}", "make room, then resume the run") from error
        raise


def _step_of(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _best_of(path: Path) -> int:
    """The step whose weights are the best that this checkpoint knows of, if they are not its own; else -1."""
    try:
        best = read_state(path).best
    except StudioError:
        return -1
    return -1 if best == _step_of(path) else best


def _in_words(lost: Mapping[int, str]) -> list[str]:
    return [f"the checkpoint of step {step:,} was damaged ({flaw}) and is not used" for step, flaw in lost.items()]
