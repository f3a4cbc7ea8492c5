"""Which objective a kind of examples is trained by where nobody has chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import StudioError
from ..objectives import objectives_of
from .spec import TrainSpec

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..data.schema.roles import Kind

SMALL = 1_000
"""Rows up to which a set counts as small."""


def default_objective(kind: Kind, labels: Sequence[str] = (), rows: int = SMALL + 1, ordered: bool = True) -> str:
    """The objective for a kind of examples, the names of its classes, the number of its rows, and whether its classes rise."""
    if kind == "scored_pairs":
        return "cosine+cosent" if rows > SMALL else "cosine"
    if kind == "labelled_pairs":
        return "cosent" if ordered else "softmax"
    return {"positive_pairs": "in_batch", "triplets": "in_batch", "labelled_texts": "supcon+prototypes", "sentences": "simcse"}[kind]


def default_pair_objective(kind: Kind, labels: Sequence[str] = (), ordered: bool = True) -> str:
    """The objective of a cross-encoder for a kind of examples, the names of its classes, and whether these rise.

    Raises:
        StudioError: a cross-encoder does not learn from such examples.
    """
    if kind == "scored_pairs":
        return "mse"
    if kind == "labelled_pairs":
        return "binary_cross_entropy" if len(labels) == 2 and ordered else "cross_entropy"
    raise StudioError(
        f"{learns_from('cross')}, not from {kind.replace('_', ' ')}",
        "choose the architecture siamese, or give each pair a score or a label",
    )


def default_poly_objective(kind: Kind, labels: Sequence[str] = (), rows: int = SMALL + 1, ordered: bool = True) -> str:
    """The objective of a poly-encoder: that of vectors, on its scores.

    Raises:
        StudioError: a poly-encoder does not learn from such examples.
    """
    if kind == "labelled_pairs" and not ordered:
        raise StudioError(
            f"the labels {', '.join(labels[:6])} have no order that the score of a poly-encoder could follow",
            "choose the architecture cross, which learns classes, or say the order of the labels",
        )
    name = default_objective(kind, labels, rows, ordered)
    if name not in objectives_of("poly"):
        raise StudioError(f"{learns_from('poly')}, not from {kind.replace('_', ' ')}", "choose the architecture siamese")
    return name


def learns_from(architecture: str) -> str:
    """The kinds of examples that an architecture learns from, as a sentence."""
    kinds = {"cross": "pairs with a score or a label", "poly": "pairs and triplets"}
    return f"a {architecture}-encoder learns from {kinds[architecture]}" if architecture in kinds else "choose another kind of examples"


def require_learnable(spec: TrainSpec, kind: Kind) -> None:
    """Find out whether the objective learns from a kind of examples.

    Raises:
        StudioError: it does not.
    """
    known = objectives_of(spec.architecture)
    if kind not in known[spec.objective].kinds:
        fitting = ", ".join(name for name in known if kind in known[name].kinds)
        raise StudioError(
            f"the objective {spec.objective} does not learn from {kind.replace('_', ' ')}",
            f"choose one of {fitting}" if fitting else learns_from(spec.architecture),
        )


def settled(spec: TrainSpec, examples: Examples) -> TrainSpec:
    """``spec``, its objective chosen where it says ``auto``.

    Raises:
        StudioError: it is one of an architecture that does not learn from such examples.
    """
    if spec.objective != "auto":
        return spec
    if spec.architecture == "cross":
        return spec.replace(objective=default_pair_objective(examples.kind, examples.labels, examples.ordered))
    default = default_poly_objective if spec.architecture == "poly" else default_objective
    return spec.replace(objective=default(examples.kind, examples.labels, len(examples), examples.ordered))
