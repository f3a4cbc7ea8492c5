"""What a training is told that is one of several in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...encoders.trainable import Trainable
from ..spec import TrainSpec

if TYPE_CHECKING:
    from torch import Tensor

    from ...data.examples import Examples
    from ..judging.general import GeneralProbe

Load = Callable[[TrainSpec, "Examples", Path | None], Trainable]
"""A fresh copy of the spec's model for these examples; of the model in a folder instead, where one is given."""


@dataclass(frozen=True)
class Assignment:
    """What others have found out, or will need.

    Attributes:
        untuned: the scores to compare with, where others have judged the untuned model; an alarm before the first step is theirs, too.
        earlier: the spec of the stage that ``encoder`` comes from; what it has put on the model is not put on again.
        weights: the untuned model's, by name, where ``encoder`` already comes from an earlier stage.
        general: the probe of the untuned model; without one nothing tells what the training costs elsewhere.
        judges: this training is there to judge: it notes every evaluation (:class:`~sbert_studio.training.judging.marks.Marks`) and leaves
            no model.
        verdict: ``before`` and ``after`` as others have judged them; ``after`` has the ``strength`` that the model is to be left with.
        blends: whether a blend with the untuned weights may be kept; the next stage goes on from what a first one has learned.
        share: of the steps that are taken, 0 to 1.
    """

    untuned: Mapping[str, Any] = field(default_factory=dict)
    earlier: TrainSpec | None = None
    weights: Mapping[str, Tensor] | None = None
    general: GeneralProbe | None = None
    judges: bool = False
    verdict: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    blends: bool = True
    share: float = 1.0
