"""A new head, fitted to the encoder as it is, before both learn together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from ...encoders.base import Encoder
from ...encoders.prompts import column_roles
from ...encoders.trainable import Trainable
from ...objectives.base import Objective
from ..distributed import Processes
from ..spec import TrainSpec

if TYPE_CHECKING:
    from ...data.examples import Examples

_ROWS = 10_000


def fit_head(spec: TrainSpec, objective: Objective, encoder: Trainable, examples: Examples, processes: Processes) -> bool:
    """Let the head of ``objective`` begin with what the untuned ``encoder`` knows of the examples, or of 10,000 of them.

    Returns:
        Whether there was a head that wants it.
    """
    if not objective.probes or not isinstance(encoder, Encoder):
        return False
    some = examples.take(np.sort(np.random.default_rng(spec.seed).permutation(len(examples))[:_ROWS]))
    readers = map(encoder.for_role, column_roles(some.kind, len(some.texts)))
    columns = [torch.from_numpy(reader.encode(text)).to(encoder.device) for reader, text in zip(readers, some.texts, strict=True)]
    targets = None if some.targets is None else torch.from_numpy(some.targets).to(encoder.device)
    objective.begin(columns, targets)
    with torch.no_grad():
        processes.average([parameter.data for parameter in objective.parameters()])  # the same in every process, to the bit
    return True
