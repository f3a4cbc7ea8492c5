"""The held-out rows, and how well an encoder does on them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.findings import count
from ...data.splits.splitting import all_alike, split
from ...errors import StudioError
from ...evaluation.bootstrap import FEWEST_DRAWN, gain
from ...evaluation.evaluate import SCORED_KINDS, evaluate_examples, known_sample, primary
from ...workspace import atomic_file
from .marks import UNTUNED

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...encoders.trainable import Trainable
    from ..spec import TrainSpec


_FEW_OF_ONE = 2


class Evaluator:
    """Judges an encoder or a cross-encoder on rows that it never learns from, in float32 and without dropout.

    Args:
        dev: the rows.
        learned: the rows that are learned from; texts with a category are judged by where they fall among these.
        folder: where the untuned model's resampled scores are kept, so that a run that was resumed can still tell its gain.

    Attributes:
        seconds: what one evaluation took on average, for the estimate of the time left.
        resampled: the last main score in every bootstrap resample, where the task has such.
    """

    def __init__(self, dev: Examples, folder: Path | None = None, *, learned: Examples | None = None) -> None:
        self.dev = dev
        self.known = known_sample(learned) if learned is not None and learned.kind == dev.kind == "labelled_texts" else None
        self._untuned = None if folder is None else folder / UNTUNED
        self._times: list[float] = []
        self.resampled: np.ndarray | None = None

    @property
    def seconds(self) -> float:
        """Mean duration of an evaluation, 0 before the first."""
        return sum(self._times) / len(self._times) if self._times else 0.0

    def __call__(self, encoder: Trainable, *, untuned: bool = False) -> dict[str, Any]:
        """``{"metric", "score", "task", "rows", ...}``: the one score that decides, then the whole report.

        Args:
            untuned: whether this is the model that the others are compared with; they have ``gain_interval``, the 95% interval
                of by how much they are better than it (paired bootstrap).
        """
        start = time.perf_counter()
        report = evaluate_examples(encoder, self.dev, known=self.known)
        self._times.append(time.perf_counter() - start)
        metric, score = primary(report)
        self.resampled = report.resampled
        return {"metric": metric, "score": score, **report.to_json(), **self._gain(report.resampled, untuned)}

    def mend(self, untuned: Trainable) -> None:
        """Judge the ``untuned`` model again where what was kept of it can no longer be read."""
        if self._untuned is None or not self._untuned.is_file():
            return
        try:
            np.load(self._untuned, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            self(untuned, untuned=True)

    def untuned(self) -> np.ndarray | None:
        """Return the untuned model's resampled scores, (resamples,); ``None`` where they were not kept."""
        return None if self._untuned is None or not self._untuned.is_file() else np.load(self._untuned, allow_pickle=False)

    def _gain(self, found: np.ndarray | None, untuned: bool) -> dict[str, Any]:
        if self._untuned is None or found is None:
            return {}
        if untuned:
            with atomic_file(self._untuned) as part:
                np.save(part, found, allow_pickle=False)
            return {}
        return gain(self.untuned(), found)


def stratified(spec: TrainSpec) -> bool | None:
    """``spec.stratify`` as the split has it; ``None`` leaves it to the kind of the examples."""
    return {"auto": None, "yes": True, "no": False}[spec.stratify]


def says_nothing(held: Examples) -> str:
    """Why no model can be judged by these rows; nothing where one can."""
    if not all_alike(held):
        return ""
    assert held.targets is not None
    same = f"are labelled “{held.labels[int(held.targets[0])]}”" if held.labels else "have the same score"
    return f"all {len(held):,} held-out rows {same}, by which one model is as good as another"


def says_little(held: Examples | None) -> str:
    """Why rows that judge a model cannot tell a gain from chance, for few of them have the one of two labels, or there are but few at all;
    nothing where they can.
    """
    if held is not None and len(held) < FEWEST_DRAWN:
        return f"{count(len(held), 'held-out row')}: too few to tell a gain from chance"
    rarer = of_the_rarer(held) if held is not None and held.ordered else None
    if held is None or rarer is None or rarer[1] > _FEW_OF_ONE:
        return ""
    only = f"only {rarer[1]} of the {len(held):,} held-out rows {'is' if rarer[1] == 1 else 'are'} labelled “{rarer[0]}”"
    return f"{only}: too few to tell a gain from chance"


def of_the_rarer(held: Examples) -> tuple[str, int] | None:
    """Of pairs with two labels the rarer one and how many rows have it, which may be none; ``None`` for rows of another kind."""
    if held.kind != "labelled_pairs" or held.targets is None or len(held.labels) != 2:
        return None
    sizes = np.bincount(held.targets.astype(np.int64), minlength=2)
    return held.labels[int(sizes.argmin())], int(sizes.min())


def hold_out(spec: TrainSpec, examples: Examples, dev: Examples | None) -> tuple[Examples, Examples | None, str]:
    """Rows to learn from and rows to be judged by: those given, else a part of ``examples`` that shares no text with the rest.

    Returns:
        The two parts, and why there are no rows to be judged by where there are none: all held-out pairs may have the same score or
        label, by which one model is as good as another.

    Raises:
        StudioError: a split by group is asked for, and there are no groups.
    """
    if dev is not None and len(dev) and dev.kind in SCORED_KINDS:
        why = says_nothing(dev)
        return examples, None if why else dev, why
    if examples.kind not in SCORED_KINDS:
        return examples, None, "bare sentences say nothing of how alike two of them are"
    if not spec.dev_fraction:
        return examples, None, "no rows are held out"
    if spec.by_group and not examples.groups:
        raise StudioError("a split by group was asked for, but no column holds groups", "choose the group column")
    try:
        rest, held = split(examples, spec.dev_fraction, spec.seed, groups=spec.by_group, stratify=stratified(spec))
    except StudioError as error:
        return examples, None, error.message
    if len(held) < 2 or not len(rest):
        return examples, None, f"{len(examples)} rows are too few to hold some out"
    why = says_nothing(held)
    return (examples, None, why) if why else (rest, held, "")
