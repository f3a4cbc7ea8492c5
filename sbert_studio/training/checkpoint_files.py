"""The files of one checkpoint: a run's state and its tensors, written with their digests and read only where they are whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from ..encoders.storage.digests import cut_short, digest_of
from ..errors import StudioError

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
