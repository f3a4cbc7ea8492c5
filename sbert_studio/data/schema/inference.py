"""Infer what a table is: hypotheses from names, values and a model compete by their scores; overrides are obeyed and not asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import StudioError
from .evidence import Evidence, SimilarityFunction
from .hypotheses import Hypothesis, SchemaContext
from .overrides import SchemaOverrides
from .pairs import pair_hypotheses, specified_pairs
from .profile import profile_table
from .roles import InferredSchema, Kind, Roles, require_kind
from .scored_pairs import with_scale
from .texts import specified_labelled_texts, specified_sentences, text_hypotheses
from .triplets import specified_triplets, triplet_hypotheses

if TYPE_CHECKING:
    from ..loading.table import Table

_WITH_TARGET = ("scored_pairs", "labelled_pairs")


def infer_schema(
    table: Table, overrides: SchemaOverrides | None = None, kinds: Sequence[Kind] = (), similar: SimilarityFunction | None = None
) -> InferredSchema:
    """Infer the roles of a table's columns, and the questions that remain.

    Args:
        table: the file; what loading it left open is among the questions.
        overrides: what a person specified, which is not asked about; with ``as_read`` no question is left.
        kinds: the kinds that the loss learns from. If no kind is specified, they decide between scores and labels where the table has
            both, which the note of the roles mentions.
        similar: the similarity function of a model; None: names and values only, which leaves more questions.

    Raises:
        StudioError: the table has nothing that the overrides specify.
    """
    overrides = overrides or SchemaOverrides()
    schema = infer_columns(table, overrides.kind, overrides.columns, overrides.target, overrides.order, overrides.scale, similar=similar)
    if overrides.kind is None and overrides.target is None and kinds and schema.roles.kind not in kinds:
        schema = _with_target_of_kinds(table, overrides, schema, kinds, similar)
    roles = schema.roles
    if overrides.order is not None and roles.kind != "labelled_pairs":
        raise StudioError(f"{roles.kind.replace('_', ' ')} have no label order", "remove the order, or choose the kind labelled_pairs")
    if overrides.scale is not None:
        roles = with_scale(roles, overrides.scale)
    if overrides.group is not None:
        roles = _with_group(table, roles, overrides.group)
    return replace(schema, roles=roles, questions=() if overrides.as_read else (*table.doubts, *schema.questions))


def infer_columns(
    table: Table,
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    order: tuple[str, ...] | None = None,
    scale: tuple[float, float] | None = None,
    *,
    similar: SimilarityFunction | None = None,
) -> InferredSchema:
    """Infer the roles of columns; see :class:`~.overrides.SchemaOverrides` for the arguments and :func:`infer_schema`.

    Raises:
        StudioError: a column does not exist, or the table has no examples of the kind.
    """
    if kind is not None:
        require_kind(kind)
    table.require(*(columns or ()), *((target,) if target else ()))
    if columns is not None and target in columns:
        raise StudioError(f"the column {target!r} has two roles", "choose a different column for each role")
    context = SchemaContext(table, profile_table(table), Evidence(table, similar), order, scale)
    if kind is None and columns is not None and len(columns) != 2:
        kind = "triplets" if len(columns) > 2 else "labelled_texts" if target else "sentences"
    if kind is None and columns is None and target is None:
        best = _best_hypothesis(context)
    elif kind == "labelled_texts":
        best = specified_labelled_texts(context, columns, target)
    elif kind == "sentences":
        best = specified_sentences(context, columns, target)
    elif kind == "triplets":
        best = specified_triplets(context, columns)
    elif kind is None and columns is None and target is not None and len([text for text in context.texts if text.name != target]) < 2:
        best = specified_labelled_texts(context, None, target)
    else:
        best = specified_pairs(context, columns, kind, target)
    roles = replace(best.roles, split=context.find_split((*best.roles.texts, best.roles.target, best.roles.group)))
    return InferredSchema(roles, best.questions, best.why, best.saturation)


def infer_roles(
    table: Table,
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    *,
    similar: SimilarityFunction | None = None,
) -> Roles:
    """Return the roles of :func:`infer_columns`."""
    return infer_columns(table, kind, columns, target, similar=similar).roles


def _best_hypothesis(context: SchemaContext) -> Hypothesis:
    found = [*triplet_hypotheses(context), *pair_hypotheses(context)]
    return max(found or text_hypotheses(context), key=lambda one: one.score)


def _with_target_of_kinds(
    table: Table, overrides: SchemaOverrides, schema: InferredSchema, kinds: Sequence[Kind], similar: SimilarityFunction | None
) -> InferredSchema:
    """Use labels in place of scores, or scores in place of labels, if the table has another column for them."""
    found = schema.roles
    for kind in kinds:
        if found.kind in _WITH_TARGET and kind in _WITH_TARGET:
            try:
                other = infer_columns(table, kind, overrides.columns, None, overrides.order, overrides.scale, similar=similar)
            except StudioError:
                continue  # there is none
            if other.roles.target != found.target:
                what = "labels" if kind == "labelled_pairs" else "scores"
                note = f"{other.roles.note}, from {other.roles.target!r}: the loss uses {what}, not {found.target!r}"
                return replace(other, roles=replace(other.roles, note=note))
    return schema


def _with_group(table: Table, roles: Roles, group: str) -> Roles:
    if group:
        table.require(group)
        if group in (*roles.texts, roles.target):
            raise StudioError(f"the column {group!r} has two roles", "choose a different column for the group")
    return replace(roles, group=group or None)
