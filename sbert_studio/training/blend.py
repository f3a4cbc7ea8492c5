"""Weight averaging: interpolation between base and tuned weights, and model soups (Wortsman et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..caches import release_mapped_pages
from ..errors import StudioError
from .spec import TrainSpec

MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The strengths that are judged: 0 is the untuned model, 1 the tuned one."""
TIE = 1e-4
"""Scores no further apart are as good as each other."""
_UP, _DOWN = "lora_B", "lora_A"


class WeightBlend:
    """Interpolation between the base weights and the tuned weights of trainable parameters.

    For LoRA the matrix initialised with zeros is scaled, which equals interpolating the merged weights.

    Args:
        learning: trainable parameters of the encoder, by name.
        untuned: base weights, if ``learning`` does not hold them now.
        aside: keep the base weights memory-mapped and give CPU parameters memory of their own, so that base weights use no memory until
            needed.
    """

    def __init__(
        self, learning: Mapping[str, nn.Parameter], untuned: Mapping[str, Tensor] | None = None, *, keep_mapped: bool = False
    ) -> None:
        self._learning = dict(learning)
        source: Mapping[str, Tensor] = learning if untuned is None else untuned
        self._untuned = {
            name: source[name].detach().to("cpu", copy=not keep_mapped) for name in learning if _UP not in name and _DOWN not in name
        }
        self._files: dict[Path, tuple[int, int, int]] = {}
        if keep_mapped:
            before = [parameter.data for parameter in self._learning.values()]
            for parameter in self._learning.values():
                parameter.data = parameter.data.clone()
            for path in release_mapped_pages([tensor.data_ptr() for tensor in before]):
                with suppress(OSError):
                    self._files[path] = _map_file(path)
        self._tuned: dict[str, Tensor] = {}

    def set_tuned(self, tuned: Mapping[str, Tensor] | None = None) -> None:
        """Set the tuned weights to ``tuned``, or to the current weights.

        Raises:
            StudioError: the file of the memory-mapped base weights has changed.
        """
        for path, known in self._files.items():
            with suppress(OSError):  # it is gone, or another stands in its place: what was mapped stays
                now = _map_file(path)
                if now[0] == known[0] and now != known:
                    raise StudioError(
                        f"{path.parent.name}/{path.name} was written to while a model was tuned from it",
                        "put it back as it was, and resume",
                    )
        source: Mapping[str, Tensor] = self._learning if tuned is None else tuned
        self._tuned = {name: source[name].detach().to("cpu", copy=True) for name in self._learning}

    def apply(self, strength: float) -> None:
        """Set the parameters to the blend of ``strength``, from 0 (base) to 1 (tuned, bit-identical)."""
        with torch.no_grad():
            for name, parameter in self._learning.items():
                tuned = self._tuned[name]
                if _DOWN in name:
                    parameter.copy_(tuned)
                elif _UP in name:
                    parameter.copy_(tuned * strength)
                else:
                    parameter.copy_(torch.lerp(self._untuned[name], tuned, strength))


def _map_file(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def blend_obstacle(spec: TrainSpec) -> str:
    """Return the reason why the model of this spec cannot be blended with its base; empty if it can."""
    if not spec.blend:
        return "the blend was switched off"
    if spec.architecture == "cross":
        return "the head of a cross-encoder is new"
    if spec.projection or spec.first.get("projection"):
        return "the projection is new"
    if spec.recurrent or spec.first.get("recurrent"):
        return "the recurrent network is new"
    if spec.first and spec.method == "lora":
        return "the adapter of the last stage stands on the weights of the first"
    return ""


def score_marks(before: Mapping[str, Any], tuned: Mapping[str, Any], judge: Callable[[float], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the scores at each of :data:`MARKS`; those of the base and the tuned model are known, the others are evaluated."""
    found = []
    for strength in MARKS:
        scores = dict(before) | {"gain_interval": [0.0, 0.0]} if strength == 0 else dict(tuned) if strength == 1 else dict(judge(strength))
        found.append(scores | {"strength": strength})
    return found


def best_mark(marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the mark with the best score; among those within 0.0001 of it, the one that changes the model least."""
    most = max(mark["score"] for mark in marks)
    return next(mark for mark in marks if mark["score"] >= most - TIE)


def chosen_scores(marks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of the best mark with its ``strength``, and ``strengths: [{"strength", "score", "general"}]`` of all marks."""
    return {**best_mark(marks), "strengths": [mark_summary(mark) for mark in marks]}


def with_kept_interval(after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores with the gain interval of the kept mark also in ``strengths``."""
    if "gain_interval" not in after or "strengths" not in after:
        return dict(after)
    kept = {"gain_interval": after["gain_interval"]}
    marks = [{**mark, **kept} if mark["strength"] == after["strength"] else mark for mark in after["strengths"]]
    return {**after, "strengths": marks}


def mark_summary(mark: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a mark that the strength dial shows."""
    found = {name: mark[name] for name in ("strength", "score", "interval", "gain_interval") if name in mark}
    return found | ({"general": mark["general"]["score"]} if mark.get("general") else {})


_SUM, _START, _OF_ENCODER = "sum/", "start/", "encoder."


class ModelSoup:
    """Weight averaging over the rounds of a training (model soup); nothing is stored for a single round.

    Args:
        learning: trainable parameters by name, with the initial weights of each round.
        ends: number of steps after which each round ends.
    """

    def __init__(self, learning: Mapping[str, nn.Parameter], ends: Sequence[int]) -> None:
        self._learning, self._ends = learning, list(ends) if len(ends) > 1 else []
        self._start = {name: item.detach().clone() for name, item in learning.items()} if self._ends else {}
        self._sum: dict[str, Tensor] = {}

    def begins(self, step: int) -> bool:
        """Return True if a later round begins at ``step``, after resetting the parameters."""
        if step not in self._ends:
            return False
        self._put(self._start)
        return True

    def ended(self, steps: int) -> None:
        """Set the parameters to the mean over all finished rounds if a round ends after ``steps`` steps."""
        if steps not in self._ends:
            return
        for name, item in self._learning.items():
            self._sum[name] = item.detach() + self._sum[name] if name in self._sum else item.detach().clone()
        over = self._ends.index(steps) + 1
        self._put({name: total / over for name, total in self._sum.items()})

    def is_mean(self, steps: int) -> bool:
        """Return True if the parameters are a mean of several rounds after ``steps`` steps."""
        return steps in self._ends[1:]

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors to checkpoint: the running sum, and initial heads (the initial encoder is known)."""
        heads = {name: value for name, value in self._start.items() if not name.startswith(_OF_ENCODER)}
        return {_SUM + name: value for name, value in self._sum.items()} | {_START + name: value for name, value in heads.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Restore :meth:`tensors`, and return the tensors that are not part of the soup."""
        rest = {}
        for path, value in tensors.items():
            for prefix, own in ((_SUM, self._sum), (_START, self._start)):
                if path.startswith(prefix):
                    name = path.removeprefix(prefix)
                    own[name] = value.to(self._learning[name].device)
                    break
            else:
                rest[path] = value
        return rest

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, item in self._learning.items():
                item.copy_(weights[name])
