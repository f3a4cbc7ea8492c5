"""Which trainings a spec with several seeds or folds asks for, and what their scores come to together."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...data.splits.splitting import folds
from ...errors import StudioError
from ..judging.evaluator import hold_out, stratified
from ..spec import TrainSpec

if TYPE_CHECKING:
    from ...data.examples import Examples

_NAMED_GROUPS = 3


@dataclass(frozen=True)
class Member:
    """One training of several.

    Attributes:
        title: for people, such as "seed 13, fold 2 of 10".
        spec: of this training alone.
        learned, held: its rows; ``held`` is ``None`` where nothing judges it.
    """

    title: str
    spec: TrainSpec
    learned: Examples
    held: Examples | None

    @property
    def name(self) -> str:
        """The title as a folder may be called."""
        return "-".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in self.title).split())[:60]


def members(spec: TrainSpec, examples: Examples, dev: Examples | None) -> list[Member]:
    """The trainings of ``spec``: one for each seed, and of each one for each fold.

    Seeds share their held-out rows, so that their scores differ by nothing else; with folds each seed divides the rows anew. With
    groups (``by_group``), each fold is judged on groups that it has not learned from: as many folds as groups leave one out each.

    Raises:
        StudioError: nothing would judge them, or the rows do not give so many folds.
    """
    alone = spec.replace(folds=0, seeds=1)
    if spec.folds:
        if dev is not None:
            raise StudioError("folds are judged by each other, and a held-out file was given as well", "leave out one of the two")
        return [member for place in range(spec.seeds) for member in _folds(alone.replace(seed=spec.seed + place), spec, examples)]
    learned, held, unjudged = hold_out(spec, examples, dev)
    if spec.seeds == 1:
        return [Member("second stage", alone, learned, held)]
    if held is None:
        raise StudioError(f"several seeds are compared by their scores, and there are none: {unjudged}", "give a held-out file")
    return [Member(f"seed {seed}", alone.replace(seed=seed), learned, held) for seed in range(spec.seed, spec.seed + spec.seeds)]


def _folds(alone: TrainSpec, spec: TrainSpec, examples: Examples) -> list[Member]:
    found = []
    divided = folds(examples, spec.folds, alone.seed, groups=spec.by_group, stratify=stratified(spec))
    for number, (learned, held) in enumerate(divided, start=1):
        title = f"fold {number} of {spec.folds}" if spec.seeds == 1 else f"seed {alone.seed}, fold {number} of {spec.folds}"
        groups = sorted(set(held.groups)) if spec.by_group else []
        if 0 < len(groups) <= _NAMED_GROUPS:
            title += f", judged on {', '.join(groups)}"
        found.append(Member(title, alone, learned, held))
    return found


def summary(scores: Sequence[Mapping[str, Any]], kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The scores of one training as they are; of several ``{"metric", "task", "rows", "score": mean, "sd", "each"}``.

    Trainings that nothing judged, such as a fold whose held-out rows all have the same label, take no part.

    ``sd`` is the standard deviation of a sample (n − 1).

    Args:
        kept: the scores of the model that is kept, to stand beside the mean.
    """
    known = [one for one in scores if one]
    if len(known) < 2:
        return dict(known[0]) if known else {}
    each = [float(one["score"]) for one in known]
    found = {"metric": known[0]["metric"], "task": known[0]["task"], "rows": sum(int(one["rows"]) for one in known) // len(known)}
    found |= {"score": statistics.fmean(each), "sd": statistics.stdev(each), "each": each}
    return found | ({"kept": dict(kept)} if kept else {})
