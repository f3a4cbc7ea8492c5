"""A run's state on disk, from which it goes on as if nothing had happened. Safetensors and JSON, each checkpoint whole or absent.

No random state is stored, for none is carried from step to step: the order of rows is a function of (seed, epoch) and
dropout is seeded anew at each step from (seed, step), so that neither an evaluation nor a search that draws numbers in
another thread can change what a run computes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ..encoders.storage.digests import cut_short, digest_of
from ..errors import DiskFull, StudioError, is_disk_full
from ..workspace import atomic_folder

_FOLDER = "checkpoints"
_PREFIX, _COPY = "step-", "best-"
_STATE = "state.json"
_MODEL, _OBJECTIVE, _OPTIMISER = "encoder.safetensors", "objective.safetensors", "optimiser.safetensors"


@dataclass(frozen=True)
class State:
    """All of a run that is not a tensor.

    Attributes:
        identity: names the spec and the examples; a checkpoint of other ones is refused.
        step: optimiser steps done.
        best: the step of the best evaluation so far, or -1.
        before, after: scores of the untuned model and at ``best``; empty where nothing was judged.
        bad: steps in a row without a finite loss, up to now.
        micro_batch: rows in memory at once, smaller than asked after memory ran out.
        rows, seconds, total_seconds: rows trained on, seconds that took, seconds with evaluations and all.
        alarm: the question that the run stopped with and that nobody has answered; else empty.
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


@dataclass(frozen=True)
class Tensors:
    """What is tuned: the encoder's and the objective's weights by name, and the optimiser's state of them."""

    encoder: Mapping[str, Tensor]
    objective: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]


class Checkpoints:
    """``checkpoints/step-<n>/`` below a run's folder: the newest two, whole, and the best of each, without its optimiser.

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
        found = sorted(path for path in self.folder.glob(f"{_PREFIX}*") if (path / _STATE).is_file())
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
            _write_tensors(part / _MODEL, tensors.encoder)
            _write_tensors(part / _OBJECTIVE, tensors.objective)
            _write_tensors(part / _OPTIMISER, tensors.optimiser)
            _write_state(part / _STATE, state)
        older = [path for path in self._all() if path < target and (path / _OPTIMISER).is_file()]
        whole = {target, *older[-1:]}
        best = {self.at(state.best), *(self.at(read_state(path).best) for path in older[-1:] if not _flaw(path, weights_only=False))}
        for path in self.folder.glob(f"{_PREFIX}*"):
            if path in best - whole:
                (path / _OPTIMISER).unlink(missing_ok=True)
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
            step, flaw = _step_of(path), _flaw(path, weights_only=False)
            if not flaw:
                best = read_state(path).best
                if not self._keeps_best or best in (-1, step) or not (flaw := _flaw(self.at(best), weights_only=True)):
                    if told or lost:
                        told = (*told, *_in_words(lost), f"the training goes on from step {step:,}")
                    return told
                lost[best] = flaw
            elif step not in of_weights or _flaw(path, weights_only=True):
                lost[step] = flaw
            shutil.rmtree(path, ignore_errors=True)
        if told or lost:
            told = (*told, *_in_words(lost), "no checkpoint is left to go on from: the training begins anew")
        return told

    def _copy(self, step: int) -> None:
        """Have a second copy of the weights of ``step``, as long as these are whole; a run goes on where there is no room for one."""
        source, target = self.at(step), self.folder / f"{_COPY}{step:09d}"
        if target.is_dir() or _flaw(source, weights_only=True):
            return
        with contextlib.suppress(OSError), atomic_folder(target) as part:
            for name in (_MODEL, _OBJECTIVE, _STATE):
                shutil.copyfile(source / name, part / name)
                _flush(part / name)

    def _from_copies(self) -> tuple[str, ...]:
        """Put damaged weights back that have a whole copy; what was, a sentence each."""
        told = []
        best = {_best_of(path) for path in self._all()}
        for copy in sorted(self.folder.glob(f"{_COPY}*")):
            target = self.at(_step_of(copy))
            if _step_of(copy) not in best or _flaw(copy, weights_only=True):
                shutil.rmtree(copy, ignore_errors=True)
            elif flaw := _flaw(target, weights_only=True):
                with disk_space("the checkpoint", self.folder.parent), atomic_folder(target) as part:
                    shutil.copytree(copy, part, dirs_exist_ok=True)
                    if (target / _OPTIMISER).is_file():
                        shutil.copyfile(target / _OPTIMISER, part / _OPTIMISER)
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
        (self.at(step) / _OPTIMISER).unlink(missing_ok=True)


def read_state(path: Path) -> State:
    """The state in the checkpoint folder ``path``.

    Raises:
        StudioError: it is damaged.
    """
    return State(**_read(path)[0])


def read_tensors(path: Path, *, weights_only: bool = False) -> Tensors:
    """The tensors in the checkpoint folder ``path``, on the CPU; ``weights_only`` leaves the optimiser's out.

    Raises:
        StudioError: they are damaged.
    """
    from safetensors.torch import load_file

    if flaw := _flaw(path, weights_only=weights_only):
        raise StudioError(f"a checkpoint of the run is damaged ({flaw})", "resume the run: it goes on from what is whole")
    optimiser = {} if weights_only else load_file(path / _OPTIMISER)
    return Tensors(load_file(path / _MODEL), load_file(path / _OBJECTIVE), optimiser)


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
        if is_disk_full(error) or (
            isinstance(error, SafetensorError) and ("space" in str(error).lower() or "too large" in str(error).lower())
        ):
            whole = any(folder.glob(f"**/{_FOLDER}/{_PREFIX}*/{_STATE}"))
            kept = "the last good checkpoint is intact" if whole else "there is no checkpoint yet, so it will begin anew"
            raise DiskFull(f"the disk was full while {what} was written; {kept}", "make room, then resume the run") from error
        raise


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    from safetensors.torch import save_file

    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    _flush(path)


def _write_state(path: Path, state: State) -> None:
    digests = {name: digest_of(path.with_name(name)) for name in (_MODEL, _OBJECTIVE, _OPTIMISER)}
    values = {"state": asdict(state), "files": digests}
    path.write_text(json.dumps({**values, "sha256": _digest(values)}, ensure_ascii=False, indent=1), encoding="utf-8")
    _flush(path)


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str] | None]:
    """The state's values, and the digests of the files beside it; none of those in a checkpoint of an older version.

    Raises:
        StudioError: the file is missing or damaged.
    """
    try:
        values = json.loads((path / _STATE).read_text(encoding="utf-8"))
        if "state" not in values:
            State(**values)
            return values, None
        if values.pop("sha256") != _digest(values):
            raise ValueError
        State(**values["state"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StudioError(f"the checkpoint's {_STATE} is damaged", "resume the run: it goes on from what is whole") from error
    return values["state"], values["files"]


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


def _flaw(path: Path, *, weights_only: bool) -> str:
    """What is wrong with a checkpoint, such as ``encoder.safetensors is not what was written``; nothing where it is whole."""
    try:
        _, digests = _read(path)
    except StudioError:
        return f"{_STATE} is missing or damaged"
    for name in (_MODEL, _OBJECTIVE) if weights_only else (_MODEL, _OBJECTIVE, _OPTIMISER):
        file = path / name
        try:
            if digests is None and cut_short(file):
                return f"{name} is cut short or missing"
            if digests is not None and digest_of(file) != digests.get(name):
                return f"{name} is not what was written"
        except OSError:
            return f"{name} is missing"
    return ""


def _flush(path: Path) -> None:
    with path.open("rb") as written:
        os.fsync(written.fileno())
