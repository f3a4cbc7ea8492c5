"""Hypotheses of one text a row: alone, or with a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...errors import StudioError
from ..questions import Question
from .content import is_code
from .hypotheses import ACCEPT, ASK, EXPLICIT, TEXTS, Hypothesis, SchemaContext
from .names import FINAL_LABEL, is_comment_name
from .profile import no_text_error
from .questions import Reading, ask_category, ask_kind
from .roles import Roles
from .targets import CategoryTarget, find_categories
from .words import split_words

_MOSTLY = 0.5


def text_hypotheses(context: SchemaContext) -> list[Hypothesis]:
    """Return what the rows may be as single texts.

    Raises:
        StudioError: no column looks like text.
    """
    text = main_text(context)
    found = [one for one in find_categories(context.profiles, text, context.evidence) if one.score >= ASK]
    tags = next((one.name for one in context.profiles if one.is_tags and one.name != text and not one.is_entity), None)
    if tags is not None and (not found or tags == found[0].column or found[0].score < ACCEPT):
        return [_with_tags(context, text, tags, next((one for one in found if one.column == tags), None))]
    if not found:
        roles = _sentences(context, text)
        return [Hypothesis(roles, TEXTS, context.describe_unused(roles))]
    best, rest = _merge_equivalent(context, found)
    if best.score < ACCEPT:
        roles = Roles("sentences", (text,), group=best.column)
        return [Hypothesis(roles, TEXTS, (best.describe(),), (ask_category_kind(context, roles, best),))]
    roles = labelled_texts(context, text, best.column)
    rivals = [one.column for one in rest if one.score > best.score - 0.6]
    questions: tuple[Question, ...] = ()
    if rivals:
        questions = (ask_category(context.table, text, [best.column, *rivals], "more than one column may contain them"),)
    elif not best.is_certain:
        questions = (ask_category_kind(context, roles, best),)
    return [Hypothesis(roles, best.score, (best.describe(), *context.describe_unused(roles)), questions, best.saturation)]


def specified_sentences(context: SchemaContext, columns: Sequence[str] | None, target: str | None) -> Hypothesis:
    """Return texts alone."""
    texts = tuple(columns) if columns else (main_text(context, target),)
    return Hypothesis(Roles("sentences", texts, group=target or context.find_group(texts, or_labels=True)), EXPLICIT)


def specified_labelled_texts(context: SchemaContext, columns: Sequence[str] | None, target: str | None) -> Hypothesis:
    """Return texts with a category.

    Raises:
        StudioError: there is no column of categories.
    """
    text = columns[0] if columns else main_text(context, target)
    if columns and len(columns) > 1:
        Roles("labelled_texts", tuple(columns), target or "")  # raises
    if target is None:
        found = find_categories(context.profiles, text, context.evidence)
        if not found:
            raise StudioError(f"{context.table.name} has no column of categories", "name the column, or choose the kind sentences")
        target = found[0].column
    return Hypothesis(labelled_texts(context, text, target), EXPLICIT)


def main_text(context: SchemaContext, target: str | None = None) -> str:
    """Return the text column to use where one is needed.

    Raises:
        StudioError: no column looks like text.
    """
    texts = [text for text in context.texts if text.name != target]
    if not texts:
        names = ", ".join(context.table.columns[:20])
        raise no_text_error(context.table, context.profiles, f"name one of its columns: {names}")
    longest = max(text.words for text in texts)
    return min(texts, key=lambda text: (is_comment_name(text.name), not text.is_named_text, text.words < longest / 2)).name


def labelled_texts(context: SchemaContext, text: str, target: str) -> Roles:
    """Return the roles of a text and its categories.

    Raises:
        StudioError: there are fewer than two, or each has a single text.
    """
    counts = Counter(cell.strip() for cell in context.table.column(target) if cell.strip())
    if len(counts) < 2:
        raise StudioError(f"the column {target!r} has fewer than two categories", "choose another column or kind")
    if max(counts.values()) < 2:
        raise StudioError(f"every category of the column {target!r} has a single text", "choose another column or kind")
    labels = tuple(sorted(counts, key=lambda name: (len(name), name) if name.isdigit() else (0, name)))
    group = context.find_group((text, target))
    return Roles("labelled_texts", (text,), target, labels=labels, group=group, note=f"{len(labels):,} categories", ordered=False)


def ask_category_kind(context: SchemaContext, roles: Roles, best: CategoryTarget, others: Sequence[Reading] = ()) -> Question:
    """Ask whether texts of one category belong together; the roles are the default answer."""
    is_used = roles.kind == "labelled_texts"
    text = f"{best.classes:,} categories in the column {best.column!r}: should texts of one category be similar?"
    others = others or [("sentences", roles.texts, None) if is_used else ("labelled_texts", roles.texts, best.column)]
    return ask_kind(context.table, roles, others, text, best.describe(), is_favored=is_used and best.is_favored)


def _sentences(context: SchemaContext, text: str) -> Roles:
    return Roles("sentences", (text,), group=context.find_group((text,), or_labels=True))


def _merge_equivalent(context: SchemaContext, found: list[CategoryTarget]) -> tuple[CategoryTarget, list[CategoryTarget]]:
    """Return the column to use and the remaining candidates.

    Of two columns with the same classes under other names, the one with words is used; of several annotators' columns, the final one.
    """
    best = found[0]
    same = [one for one in found if one is best or _renames(context, best.column, one.column)]
    worded = [one for one in same if not _holds_codes(context, one.column)]
    rest = [one for one in found if one not in same]
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
    """Return True if the values of two columns correspond one to one."""
    both = set(_paired_cells(context, one, other))
    return len({a for a, _ in both}) == len({b for _, b in both}) == len(both)


def _mostly_agree(context: SchemaContext, one: str, other: str) -> bool:
    cells = _paired_cells(context, one, other)
    return bool(cells) and sum(a == b for a, b in cells) >= _MOSTLY * len(cells)


def _with_tags(context: SchemaContext, text: str, tags: str, found: CategoryTarget | None) -> Hypothesis:
    """Return a text beside a column of several tags a cell, and the question what is to be learned."""
    roles = Roles("sentences", (text,))
    others: list[Reading] = [("positive_pairs", (text, tags), None)]
    cells = Counter(cell.strip() for cell in context.table.column(tags) if cell.strip())
    if len(cells) > 1 and cells.most_common(1)[0][1] > 1:
        roles, others = labelled_texts(context, text, tags), [("sentences", (text,), None), *others]
    why = () if found is None else (found.describe(),)
    reason = f"the column {tags!r} holds several tags in some cells; to use one tag per text, keep only that one in each cell"
    question = f"The column {tags!r} contains tags, several in some cells: should texts with the same tags be similar?"
    asked = ask_kind(context.table, roles, others, question, "; ".join((reason, *why)), (text,), is_favored=False)
    return Hypothesis(roles, TEXTS if found is None else found.score, why, (asked,))
