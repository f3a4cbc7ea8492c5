"""Weight averaging: interpolation between base and tuned weights, and model soups (Wortsman et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..caches import unread
from ..errors import StudioError
from .spec import TrainSpec

MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The strengths that are judged: 0 is the untuned model, 1 the tuned one."""
TIE = 1e-4
"""Scores no further apart are as good as each other."""
_UP, _DOWN = "lora_B", "lora_A"


class Blend:
    """Weights anywhere between those that the ``learning`` parameters have now, the untuned ones, and those that they will have.

    Of a LoRA adapter the one matrix is scaled that begins at zero, which is the same blend of the merged weights.

    Args:
        learning: an encoder's parameters that learn, by name.
        untuned: the untuned weights, where ``learning`` does not have them now.
        aside: parameters on the CPU get memory of their own for what they will become, and what they have now is kept as it is: mapped
            from a file, it takes no memory until it is asked for, and no step has to fetch it a page at a time.
    """

    def __init__(self, learning: Mapping[str, nn.Parameter], untuned: Mapping[str, Tensor] | None = None, *, aside: bool = False) -> None:
        self._learning = dict(learning)
        source: Mapping[str, Tensor] = learning if untuned is None else untuned
        self._untuned = {
            name: source[name].detach().to("cpu", copy=not aside) for name in learning if _UP not in name and _DOWN not in name
        }
        self._files: dict[Path, tuple[int, int, int]] = {}
        if aside:
            before = [parameter.data for parameter in self._learning.values()]
            for parameter in self._learning.values():
                parameter.data = parameter.data.clone()
            for path in unread([tensor.data_ptr() for tensor in before]):
                with suppress(OSError):
                    self._files[path] = _as_it_is(path)
        self._tuned: dict[str, Tensor] = {}

    def between(self, tuned: Mapping[str, Tensor] | None = None) -> None:
        """Take ``tuned``, or the weights as they are now, for the tuned ones.

        Raises:
            StudioError: the file that the untuned ones are mapped from was written to since, so that nobody knows them any more.
        """
        for path, known in self._files.items():
            with suppress(OSError):  # it is gone, or another stands in its place: what was mapped stays
                now = _as_it_is(path)
                if now[0] == known[0] and now != known:
                    raise StudioError(
                        f"{path.parent.name}/{path.name} was written to while a model was tuned from it",
                        "put it back as it was, and resume",
                    )
        source: Mapping[str, Tensor] = self._learning if tuned is None else tuned
        self._tuned = {name: source[name].detach().to("cpu", copy=True) for name in self._learning}

    def put(self, strength: float) -> None:
        """Set the parameters to the blend of this strength, 0 (untuned) to 1 (tuned, to the bit)."""
        with torch.no_grad():
            for name, parameter in self._learning.items():
                tuned = self._tuned[name]
                if _DOWN in name:
                    parameter.copy_(tuned)
                elif _UP in name:
                    parameter.copy_(tuned * strength)
                else:
                    parameter.copy_(torch.lerp(self._untuned[name], tuned, strength))


def _as_it_is(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def unblended(spec: TrainSpec) -> str:
    """Why the model of this spec has no untuned counterpart to be blended with; nothing where it has one."""
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


def marked(before: Mapping[str, Any], tuned: Mapping[str, Any], judge: Callable[[float], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The scores at each of :data:`MARKS`: those of the untuned and of the tuned model are known, the others are judged."""
    found = []
    for strength in MARKS:
        scores = dict(before) | {"gain_interval": [0.0, 0.0]} if strength == 0 else dict(tuned) if strength == 1 else dict(judge(strength))
        found.append(scores | {"strength": strength})
    return found


def best(marks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The mark with the best score; of those within 0.0001 of it, the one that changes the model least."""
    most = max(mark["score"] for mark in marks)
    return next(mark for mark in marks if mark["score"] >= most - TIE)


def chosen(marks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The scores of the best mark, with ``strength`` and, of all marks, ``strengths: [{"strength", "score", "general"}]``."""
    return {**best(marks), "strengths": [in_brief(mark) for mark in marks]}


def with_choice(after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of the kept mark with its interval of the gain in ``strengths`` as well."""
    if "gain_interval" not in after or "strengths" not in after:
        return dict(after)
    kept = {"gain_interval": after["gain_interval"]}
    marks = [{**mark, **kept} if mark["strength"] == after["strength"] else mark for mark in after["strengths"]]
    return {**after, "strengths": marks}


def in_brief(mark: Mapping[str, Any]) -> dict[str, Any]:
    """Of a mark what the strength dial shows: ``strength, score, interval, gain_interval``, and ``general`` where it was measured."""
    found = {name: mark[name] for name in ("strength", "score", "interval", "gain_interval") if name in mark}
    return found | ({"general": mark["general"]["score"]} if mark.get("general") else {})


_SUM, _START, _OF_ENCODER = "sum/", "start/", "encoder."


class Soup:
    """The rounds of a training. Of a single round nothing is kept.

    Args:
        learning: the parameters that learn, by name, with the weights that each round begins with.
        ends: after how many steps each round ends.
    """

    def __init__(self, learning: Mapping[str, nn.Parameter], ends: Sequence[int]) -> None:
        self._learning, self._ends = learning, list(ends) if len(ends) > 1 else []
        self._start = {name: item.detach().clone() for name, item in learning.items()} if self._ends else {}
        self._sum: dict[str, Tensor] = {}

    def begins(self, step: int) -> bool:
        """Whether a later round begins with ``step``; if so the parameters are put back."""
        if step not in self._ends:
            return False
        self._put(self._start)
        return True

    def ended(self, steps: int) -> None:
        """After ``steps`` steps: where a round has ended, put the mean of all that have into the parameters."""
        if steps not in self._ends:
            return
        for name, item in self._learning.items():
            self._sum[name] = item.detach() + self._sum[name] if name in self._sum else item.detach().clone()
        over = self._ends.index(steps) + 1
        self._put({name: total / over for name, total in self._sum.items()})

    def is_mean(self, steps: int) -> bool:
        """Whether the parameters are a mean of several rounds after ``steps`` steps."""
        return steps in self._ends[1:]

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint needs: the sum so far, and how heads began; the encoder's beginning is known anyhow."""
        heads = {name: value for name, value in self._start.items() if not name.startswith(_OF_ENCODER)}
        return {_SUM + name: value for name, value in self._sum.items()} | {_START + name: value for name, value in heads.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Take up what ``tensors`` gave; what is not of a soup is given back."""
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
