"""Schema inference: hypotheses from names, values and a model are ranked by score. Overrides always win and are not asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...i18n import _, join
from ..findings import Question
from .content import is_code, profile_table
from .evidence import Evidence, SimilarityFunction
from .hypotheses import ACCEPT, ASK, EXPLICIT, TEXTS, Reading, SchemaContext, ask_kind, rows_with_values
from .names import FINAL_LABEL, FIRST, TITLE, is_negative_name, split_words
from .pairs import NAMED, SIDES, find_pairs, find_targets, pair_hypotheses, specified_pairs
from .roles import PAIR_COLUMNS, InferredSchema, Kind, Roles, SchemaOverrides, option, require_kind
from .scored_pairs import with_scale
from .split_column import split_rows
from .targets import CategoryTarget, find_categories
from .triplets import specified_triplets, triplet_hypotheses

if TYPE_CHECKING:
    from ..loading.table import Table

_WITH_TARGET = ("scored_pairs", "labelled_pairs")


def infer_schema(
    table: Table, overrides: SchemaOverrides | None = None, kinds: Sequence[Kind] = (), similar: SimilarityFunction | None = None
) -> InferredSchema:
    """Infer the roles of a table's columns, and the questions that remain.

    Args:
        table: the file; the questions include those left open when it was loaded.
        overrides: the user's choices, which are not asked about; with ``as_read``, no questions remain.
        kinds: the kinds of examples supported by the loss. If no kind is specified, they decide between scores and labels in a table with
            both, and the note of the roles mentions this.
        similar: the similarity function of a model; None: use names and values only, which leaves more questions.

    Raises:
        StudioError: the table does not match the overrides.
    """
    overrides = overrides or SchemaOverrides()
    if {*PAIR_COLUMNS} <= {*table.columns} and not any((overrides.kind, overrides.columns, overrides.target)):
        # Written by this program: the origin of a query is no label, however well it predicts the similarity.
        overrides = replace(overrides, kind="triplets" if any(map(is_negative_name, table.columns)) else "positive_pairs")
    schema = infer_columns(table, overrides.kind, overrides.columns, overrides.target, overrides.order, overrides.scale, similar=similar)
    if overrides.kind is None and overrides.target is None and kinds and schema.roles.kind not in kinds:
        schema = _with_target_of_kinds(table, overrides, schema, kinds, similar)
    roles = schema.roles
    if overrides.order is not None and roles.kind != "labelled_pairs":
        raise StudioError(
            _("{kind} have no label order", kind=roles.kind.replace("_", " ")), "remove the order, or choose the kind labelled_pairs"
        )
    if overrides.scale is not None:
        roles = with_scale(roles, overrides.scale)
    if overrides.group is not None:
        roles = _with_group(table, roles, overrides.group)
    column = roles.split if overrides.split is None else overrides.split
    split = split_rows(table, column) if column else None
    roles = replace(roles, split=split.column if split else None)
    questions = (*table.doubts, *schema.questions)
    if split is not None and overrides.split is None and (question := split.question(roles.texts)):
        questions = (*questions, question)
    return replace(schema, roles=roles, questions=() if overrides.as_read else questions)


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
    """Infer the roles of columns; for the arguments see :class:`~.roles.SchemaOverrides` and :func:`infer_schema`.

    Raises:
        StudioError: a column does not exist, or the table has no examples of the kind.
    """
    if kind is not None:
        require_kind(kind)
    table.require(*(columns or ()), *((target,) if target else ()))
    if columns is not None and target in columns:
        raise StudioError(_("the column {target} has two roles", target=repr(target)), "choose a different column for each role")
    context = SchemaContext(table, profile_table(table), Evidence(table, similar), order, scale)
    if kind is None and columns is not None and len(columns) != 2:
        kind = "triplets" if len(columns) > 2 else "labelled_texts" if target else "sentences"
    if kind is None and columns is None and target is None:
        best = _best_hypothesis(context)
    elif kind == "labelled_texts":
        best = _specified_labelled_texts(context, columns, target)
    elif kind == "sentences":
        best = _specified_sentences(context, columns, target)
    elif kind == "triplets":
        best = specified_triplets(context, columns)
    elif kind is None and columns is None and target is not None and len([text for text in context.texts if text.name != target]) < 2:
        best = _specified_labelled_texts(context, None, target)
    else:
        best = specified_pairs(context, columns, kind, target)
    split = context.find_split((*best.roles.texts, best.roles.target, best.roles.group))
    return replace(best, roles=replace(best.roles, split=split, teacher=context.find_teacher(best.roles)))


def infer_roles(
    table: Table,
    kind: Kind | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    *,
    similar: SimilarityFunction | None = None,
) -> Roles:
    """Return the roles inferred by :func:`infer_columns`."""
    return infer_columns(table, kind, columns, target, similar=similar).roles


def _best_hypothesis(context: SchemaContext) -> InferredSchema:
    pairs = pair_hypotheses(context)
    if pairs and (category := _category_hypothesis(context)):
        pairs = [category]
    return max([*triplet_hypotheses(context), *pairs] or _text_hypotheses(context), key=lambda one: one.score)


def _with_target_of_kinds(
    table: Table, overrides: SchemaOverrides, schema: InferredSchema, kinds: Sequence[Kind], similar: SimilarityFunction | None
) -> InferredSchema:
    found = schema.roles
    for kind in kinds:
        if found.kind in _WITH_TARGET and kind in _WITH_TARGET:
            try:
                other = infer_columns(table, kind, overrides.columns, None, overrides.order, overrides.scale, similar=similar)
            except StudioError:
                continue  # there is none
            if other.roles.target != found.target:
                what = "labels" if kind == "labelled_pairs" else "scores"
                note = _(
                    "{note}, from {target}: the loss uses {what}, not {target2}",
                    note=other.roles.note,
                    target=repr(other.roles.target),
                    what=what,
                    target2=repr(found.target),
                )
                return replace(other, roles=replace(other.roles, note=note))
    return schema


def _with_group(table: Table, roles: Roles, group: str) -> Roles:
    if group:
        table.require(group)
        if group in (*roles.texts, roles.target):
            raise StudioError(_("the column {group} has two roles", group=repr(group)), "choose a different column for the group")
    return replace(roles, group=group or None)


# --- one text a row


def _text_hypotheses(context: SchemaContext) -> list[InferredSchema]:
    text = context.main_text()
    found = [one for one in find_categories(context.profiles, text, context.evidence) if one.score >= ASK]
    tags = next((one.name for one in context.profiles if one.is_tags and one.name != text and not one.is_entity), None)
    if tags is not None and (not found or tags == found[0].column or found[0].score < ACCEPT):
        return [_with_tags(context, text, tags, next((one for one in found if one.column == tags), None))]
    if not found:
        roles = _sentences(context, text)
        return [InferredSchema(roles, TEXTS, context.describe_unused(roles))]
    best, rest = _merge_equivalent(context, found)
    if best.score < ACCEPT:
        roles = Roles("sentences", (text,), group=best.column)
        return [InferredSchema(roles, TEXTS, (best.describe(),), (_ask_category_kind(context, roles, best),))]
    roles = _labelled_texts(context, text, best.column)
    rivals = [one.column for one in rest if one.score > best.score - 0.6]
    questions: tuple[Question, ...] = ()
    if rivals:
        names = [best.column, *rivals]
        options = (*(option(name, target=name) for name in names), option("none of them: the texts have no category", kind="sentences"))
        wording, why = "Which column contains the categories of the texts?", "more than one column may contain them"
        questions = (Question("target", wording, options, why, rows_with_values(context.table, [text], names)),)
    elif not best.is_certain:
        questions = (_ask_category_kind(context, roles, best),)
    return [InferredSchema(roles, best.score, (best.describe(), *context.describe_unused(roles)), questions, best.saturation)]


def _specified_sentences(context: SchemaContext, columns: Sequence[str] | None, target: str | None) -> InferredSchema:
    texts = tuple(columns) if columns else (context.main_text(target),)
    return InferredSchema(Roles("sentences", texts, group=target or context.find_group(texts, or_labels=True)), EXPLICIT)


def _specified_labelled_texts(context: SchemaContext, columns: Sequence[str] | None, target: str | None) -> InferredSchema:
    text = columns[0] if columns else context.main_text(target)
    if columns and len(columns) > 1:
        Roles("labelled_texts", tuple(columns), target or "")  # raises
    if target is None:
        found = find_categories(context.profiles, text, context.evidence)
        if not found:
            raise StudioError(
                _("{name} has no category column", name=context.table.name), "specify the column, or choose the kind sentences"
            )
        target = found[0].column
    return InferredSchema(_labelled_texts(context, text, target), EXPLICIT)


def _labelled_texts(context: SchemaContext, text: str, target: str) -> Roles:
    counts = Counter(cell.strip() for cell in context.table.column(target) if cell.strip())
    if len(counts) < 2:
        raise StudioError(_("the column {target} has fewer than two categories", target=repr(target)), "choose another column or kind")
    if max(counts.values()) < 2:
        raise StudioError(
            _("every category in the column {target} has only one text", target=repr(target)), "choose another column or kind"
        )
    labels = tuple(sorted(counts, key=lambda name: (len(name), name) if name.isdigit() else (0, name)))
    group = context.find_group((text, target))
    return Roles(
        "labelled_texts",
        (text,),
        target,
        labels=labels,
        group=group,
        note=_("{labels} categories", labels=f"{len(labels):,}"),
        ordered=False,
    )


def _ask_category_kind(context: SchemaContext, roles: Roles, best: CategoryTarget, others: Sequence[Reading] = ()) -> Question:
    is_used = roles.kind == "labelled_texts"
    text = _(
        "{classes} categories in the column {column}: should texts in the same category be similar?",
        classes=f"{best.classes:,}",
        column=repr(best.column),
    )
    others = others or [("sentences", roles.texts, None) if is_used else ("labelled_texts", roles.texts, best.column)]
    return ask_kind(context.table, roles, others, text, best.describe(), is_favored=is_used and best.is_favored)


def _sentences(context: SchemaContext, text: str) -> Roles:
    return Roles("sentences", (text,), group=context.find_group((text,), or_labels=True))


def _merge_equivalent(context: SchemaContext, candidates: list[CategoryTarget]) -> tuple[CategoryTarget, list[CategoryTarget]]:
    """Return the column to use and the remaining candidates.

    Of two columns with the same classes under different names, the one with words is used; of several annotators' columns, the final one.
    """
    best = candidates[0]
    same = [one for one in candidates if one is best or _renames(context, best.column, one.column)]
    worded = [one for one in same if not _holds_codes(context, one.column)]
    rest = [one for one in candidates if one not in same]
    if worded:
        best = best if best in worded else worded[0]
    final = [one for one in (best, *rest) if set(split_words(one.column)) & FINAL_LABEL and one.score > best.score - 1.0]
    if len(final) == 1:
        rest = [one for one in (best, *rest) if one is not final[0] and not _mostly_agree(context, final[0].column, one.column)]
        best = final[0]
    return best, rest


def _holds_codes(context: SchemaContext, name: str) -> bool:
    profile = context.profile(name)
    return profile.is_number or all(map(is_code, profile.values))


def _paired_cells(context: SchemaContext, one: str, other: str) -> list[tuple[str, str]]:
    cells = zip(context.table.column(one), context.table.column(other), strict=True)
    return [(a.strip(), b.strip()) for a, b in cells if a.strip() and b.strip()]


def _renames(context: SchemaContext, one: str, other: str) -> bool:
    both = set(_paired_cells(context, one, other))
    return len({a for a, _ in both}) == len({b for _, b in both}) == len(both)


def _mostly_agree(context: SchemaContext, one: str, other: str) -> bool:
    cells = _paired_cells(context, one, other)
    return bool(cells) and sum(a == b for a, b in cells) >= 0.5 * len(cells)


def _with_tags(context: SchemaContext, text: str, tags: str, category: CategoryTarget | None) -> InferredSchema:
    roles = Roles("sentences", (text,))
    others: list[Reading] = [("positive_pairs", (text, tags), None)]
    cells = Counter(cell.strip() for cell in context.table.column(tags) if cell.strip())
    if len(cells) > 1 and cells.most_common(1)[0][1] > 1:
        roles, others = _labelled_texts(context, text, tags), [("sentences", (text,), None), *others]
    why = () if category is None else (category.describe(),)
    reason = _(
        "the column {tags} contains several tags in some cells; to use one tag per text, keep only that tag in each cell", tags=repr(tags)
    )
    question = _("The column {tags} contains tags, several in some cells: should texts with the same tags be similar?", tags=repr(tags))
    asked = ask_kind(context.table, roles, others, question, join("; ", (reason, *why)), (text,), is_favored=False)
    return InferredSchema(roles, TEXTS if category is None else category.score, why, (asked,))


def _category_hypothesis(context: SchemaContext) -> InferredSchema | None:
    """Return texts with a category, if a column next to a title and a text contains categories rather than similarities."""
    if len(context.texts) < 2 or context.evidence.similar is None:
        return None
    pair = find_pairs(context)[0]
    if pair.name_score >= SIDES:
        return None
    text = context.longest_text(pair.texts)
    found = [one for one in find_categories(context.profiles, text, context.evidence) if one.score >= ACCEPT and one.rating == "certain"]
    if not found or found[0].association is None or found[0].association.strength not in ("strong", "some"):
        return None
    best = found[0]
    if any(one.model_score > 0 if one.column == best.column else one.score >= ACCEPT for one in find_targets(context, pair.texts)):
        return None
    first = context.profile(pair.texts[0]).key
    if pair.name_score >= NAMED and first in FIRST and first not in TITLE:
        return None  # a question, its answer and their topic
    roles = _labelled_texts(context, text, best.column)
    question = _ask_category_kind(context, roles, best, [("positive_pairs", pair.texts, None)])
    return InferredSchema(roles, best.score, (best.describe(),), (question,))
