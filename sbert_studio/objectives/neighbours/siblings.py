"""What the objectives of texts with a category share: who is a sibling of whom in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..base import Objective

if TYPE_CHECKING:
    from ...data.schema.roles import Kind


class SiblingObjective(Objective):
    """A loss on texts with a category: all pairs of a batch are looked at, so that a batch holds several texts of several categories."""

    kinds: tuple[Kind, ...] = ("labelled_texts",)
    in_batch = True
    classes_in_batch = True
    whole_batch = True


def relations(targets: Tensor, ids: Sequence[Tensor] | None) -> tuple[Tensor, Tensor]:
    """Who is what to whom in a batch of b texts.

    Args:
        targets: (b,) class ids.
        ids: of the one column, (b,), equal for equal texts.

    Returns:
        ``siblings``, (b, b) bool: another text of the same class; ``others``: a text of another class. Neither holds a text itself, nor
        one that says the same.
    """
    same_class = targets == targets[:, None]
    same_text = torch.eye(len(targets), dtype=torch.bool, device=targets.device)
    if ids is not None:
        same_text |= ids[0] == ids[0][:, None]
    return same_class & ~same_text, ~same_class & ~same_text
