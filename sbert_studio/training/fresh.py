"""The untuned model that a run begins with: a sentence encoder, a cross-encoder with a new head, or a poly-encoder with new codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..encoders.prompts import override_prompts
from ..errors import StudioError
from ..objectives import build_pair_objective
from .objective_choice import settled
from .spec import TrainSpec

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..encoders.catalog import Catalog
    from ..encoders.trainable import Trainable


def fresh(catalog: Catalog, spec: TrainSpec, examples: Examples, source: Path | None = None) -> Trainable:
    """What ``spec`` tunes on ``examples``, untuned: an encoder, a cross-encoder with the head that its objective needs, or a poly-encoder.

    Args:
        source: the model's folder that an earlier stage left, in the place of the spec's model.

    Raises:
        StudioError: the model cannot be found or read; or the architecture does not learn from such examples.
    """
    name, folders = (spec.model, None) if source is None else (str(source), True)
    encoder: Trainable
    if spec.architecture == "cross":
        require_no_prompt(spec)
        objective = build_pair_objective(
            settled(spec, examples).objective, spec.objective_params, labels=len(examples.labels), head=spec.head
        )
        head: Any = spec.head
        encoder = catalog.load_fresh_cross(name, head=head, labels=objective.dim, seed=spec.seed, allow_folders=folders)
        encoder.configure_head(objective.dim, squeezed=objective.squeezes, classes=examples.labels)
    elif spec.architecture == "poly":
        settled(spec, examples)  # refuses what it does not learn from before anything is loaded
        encoder = catalog.load_fresh_poly(name, codes=spec.codes, seed=spec.seed, allow_folders=folders)
        override_prompts(encoder.encoder, spec.prompt)
    else:
        encoder = catalog.load_fresh(name, allow_folders=folders)
        override_prompts(encoder, spec.prompt)
    if source is not None:
        encoder.base = catalog.resolve(spec.model).base
    return encoder


def require_no_prompt(spec: TrainSpec) -> None:
    """Refuse a prompt for a cross-encoder.

    Raises:
        StudioError: one was chosen.
    """
    if spec.prompt:
        raise StudioError("a cross-encoder takes no prompts", "leave the prompt out, or choose another architecture")
