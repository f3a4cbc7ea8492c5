"""What a run is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from ...encoders.rows import TrainingRows
from ...encoders.trainable import Trainable
from ...objectives.base import Objective
from ..checkpoint import Checkpoints
from ..distributed import Processes
from ..events import Event
from ..judging.evaluator import Evaluator
from ..judging.general import GeneralProbe
from ..judging.marks import Marks
from ..pins import Pins
from ..spec import TrainSpec
from .optimiser import Optimiser


@dataclass(frozen=True)
class Parts:
    """The things that a run works with from its first step to its last.

    Attributes:
        encoder, objective: in training mode, as :func:`~sbert_studio.training.prepare.prepare` made them.
        rows: what is learned from.
        judge: of the held-out rows; without one, the last weights are the best.
        general: of everyday pairs, to tell what the training costs elsewhere.
        marks: where every evaluation is noted, in a training that is there to judge and leaves no model.
        pins: what a person wants to see along the way, besides.
        processes: who takes part in each step.
        folder: the run's.
        emit: told what happens.
    """

    spec: TrainSpec
    encoder: Trainable
    objective: Objective
    rows: TrainingRows
    judge: Evaluator | None
    processes: Processes
    folder: Path
    emit: Callable[[Event], None]
    general: GeneralProbe | None = None
    marks: Marks | None = None
    pins: Pins | None = None

    @property
    def checkpoints(self) -> Checkpoints:
        """The run's checkpoints."""
        return Checkpoints(self.folder)

    def say(self, event: Event) -> None:
        """Emit ``event``, once and not by every process."""
        if self.processes.main:
            self.emit(event)

    def show_pins(self, step: int, *, kept: bool = False) -> None:
        """Tell what the weights, as they are, say of what is pinned; they and the order of chance stay as they are."""
        if self.pins is not None and self.processes.main and (seen := self.pins.looked_at(self.encoder, step, kept=kept)) is not None:
            self.emit(seen)

    def learning(self) -> tuple[dict[str, nn.Parameter], dict[str, nn.Parameter]]:
        """The parameters that learn, by name: the encoder's and the objective's."""
        encoder, objective = (
            {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
            for module in (self.encoder, self.objective)
        )
        return encoder, objective

    def named(self) -> dict[str, nn.Parameter]:
        """All parameters that learn, by names that tell the encoder's from the objective's."""
        encoder, objective = self.learning()
        return {
            **{f"encoder.{name}": item for name, item in encoder.items()},
            **{f"objective.{name}": item for name, item in objective.items()},
        }

    def optimiser(self, ends: int | Sequence[int]) -> Optimiser:
        """Of all parameters that learn; ``ends`` as of :class:`Optimiser`."""
        return Optimiser(self.named(), self.spec, ends, [f"encoder.{name}" for name in self.encoder.tables])
