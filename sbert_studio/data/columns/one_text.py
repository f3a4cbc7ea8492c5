"""One column of text: alone, or with a category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...errors import StudioError
from ..choices import asking
from ..lexicon.vocabulary import is_aside, parts
from ..questions import Option, Question
from ..values.forms import is_code
from ..values.profile import no_text
from .categories import Category, find_categories
from .reading import Reading, View, a_name, group_of, unused
from .roles import Kind, Roles
from .targets import ENOUGH, WORTH_ASKING


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FINAL = _listed(
    """
    final gold golden consensus majority resolved adjudicated agreed adjudication endgültig konsens mehrheit définitif consensus majorité
    definitivo consenso mayoría finale maggioranza maioria итог итоговая итоговый финал консенсус ostateczny slutlig lopullinen 最终 最終
    """
)
_MOSTLY = 0.5


def sentences(view: View, columns: Sequence[str] | None, target: str | None) -> Roles:
    """Texts alone, with the column that groups them."""
    texts = tuple(columns) if columns else (main_text(view, target),)
    return Roles("sentences", texts, group=target or group_of(view, texts, labels=True))


def main_text(view: View, target: str | None = None) -> str:
    """The column of text that is meant where one is needed.

    Raises:
        StudioError: no column looks like text.
    """
    found = [text for text in view.texts if text.name != target]
    longest = max((text.words for text in found), default=0.0)
    texts = sorted(found, key=lambda text: (is_aside(text.name), not text.named_text, text.words < longest / 2))
    if not texts:
        names = ", ".join(view.table.columns[:20])
        raise no_text(view.table, view.profiles, f"name one of its columns: {names}")
    return texts[0].name


def labelled_texts(view: View, columns: Sequence[str] | None, target: str | None) -> Reading:
    """Texts with a category, as somebody asked for.

    Raises:
        StudioError: there is no column of categories.
    """
    text = columns[0] if columns else main_text(view, target)
    if columns and len(columns) > 1:
        Roles("labelled_texts", tuple(columns), target or "")
    if target is None:
        found = find_categories(view.profiles, text, view.evidence)
        if not found:
            raise StudioError(f"{view.table.name} has no column of categories", "name the column, or choose the kind sentences")
        target = found[0].name
    return Reading(categorised(view, text, target))


def categorised(view: View, text: str, target: str) -> Roles:
    """The roles of a text and its categories.

    Raises:
        StudioError: there are fewer than two, or each has a single text.
    """
    counted: dict[str, int] = {}
    for cell in view.table.column(target):
        if cell.strip():
            counted[cell.strip()] = counted.get(cell.strip(), 0) + 1
    if len(counted) < 2:
        raise StudioError(f"the column {target!r} holds fewer than two categories", "choose another column or kind")
    if max(counted.values()) < 2:
        raise StudioError(f"every category of the column {target!r} has a single text", "choose another column or kind")
    labels = tuple(sorted(counted, key=lambda name: (len(name), name) if name.isdigit() else (0, name)))
    note = f"{len(labels):,} categories"
    return Roles("labelled_texts", (text,), target, labels=labels, group=group_of(view, (text, target)), note=note, ordered=False)


def one_text(view: View, target: str | None) -> Reading:
    """A text alone, or with the category that a column holds."""
    text = main_text(view, target)
    if target is not None:
        return Reading(categorised(view, text, target))
    found = [one for one in find_categories(view.profiles, text, view.evidence) if one.total >= WORTH_ASKING]
    tagged = next((profile.name for profile in view.profiles if profile.tags and profile.name != text and not a_name(profile)), None)
    if tagged is not None and (not found or tagged == found[0].name or found[0].total < ENOUGH):
        return _tagged(view, text, tagged, next((one for one in found if one.name == tagged), None))
    if not found:
        roles = sentences(view, None, None)
        return Reading(roles, (), unused(view, roles))
    best, found = _of_one_meaning(view, found)
    if best.total < ENOUGH:
        roles = Roles("sentences", (text,), group=best.name)
        return Reading(roles, (_ask_category(view, roles, best),), (best.in_words(),))
    roles = categorised(view, text, best.name)
    rivals = [one for one in found[1:] if one.total > best.total - 0.6]
    questions: tuple[Question, ...] = ()
    if rivals:
        names = [best.name, *(one.name for one in rivals)]
        why = "more than one column may hold them"
        question = asking.about_target(view.table, (text,), names, why, what="categories of the texts")
        alone = Option("none of them: they are texts alone", "--kind sentences", {"kind": "sentences"})
        questions = (replace(question, options=(*question.options[:-1], alone)),)
    elif not best.certain:
        questions = (_ask_category(view, roles, best),)
    return Reading(roles, questions, (best.in_words(), *unused(view, roles)), best.known)


def _of_one_meaning(view: View, found: list[Category]) -> tuple[Category, list[Category]]:
    """The column to read, and the candidates that are left beside it.

    Of two columns of which one names the other's values anew, the one with words is read; of several coders' columns, the
    one that is called the final one.
    """
    best = found[0]
    same = [one for one in found if one is best or _renames(view, best.name, one.name)]
    found = [one for one in found if one not in same[1:]]
    worded = [one for one in same if not view.of(one.name).is_number and not all(map(is_code, view.of(one.name).values))]
    if best not in worded and worded:
        found = [worded[0] if one is best else one for one in found]
        best = worded[0]
    final = [one for one in found if set(parts(one.name)) & _FINAL and one.total > best.total - 1.0]
    if len(final) == 1:
        coders = [one for one in found if one is not final[0] and _agree(view, final[0].name, one.name)]
        found = [final[0], *(one for one in found if one is not final[0] and one not in coders)]
        best = final[0]
    return best, [best, *(one for one in found if one is not best)]


def _renames(view: View, one: str, other: str) -> bool:
    """Whether each value of a column stands beside one and the same value of another, and the other way round."""
    both = {
        (a.strip(), b.strip()) for a, b in zip(view.table.column(one), view.table.column(other), strict=True) if a.strip() and b.strip()
    }
    return len({a for a, _ in both}) == len({b for _, b in both}) == len(both)


def _agree(view: View, one: str, other: str) -> bool:
    """Whether two columns hold the same values, in most rows the same one."""
    cells = [
        (a.strip(), b.strip()) for a, b in zip(view.table.column(one), view.table.column(other), strict=True) if a.strip() and b.strip()
    ]
    return bool(cells) and sum(a == b for a, b in cells) >= _MOSTLY * len(cells)


def _tagged(view: View, text: str, tags: str, said: Category | None) -> Reading:
    """A text beside a column of several tags a cell, of which only its owner can say what is to be learned."""
    roles = Roles("sentences", (text,))
    others: list[tuple[Kind, Sequence[str], str | None]] = [("positive_pairs", (text, tags), None)]
    cells = Counter(cell.strip() for cell in view.table.column(tags) if cell.strip())
    if len(cells) > 1 and cells.most_common(1)[0][1] > 1:
        roles, others = categorised(view, text, tags), [("sentences", (text,), None), *others]
    several = f"the column {tags!r} holds several tags in a cell; to learn by one of them, keep that one alone in the column"
    question = f"The column {tags!r} holds tags, several in some cells: should texts with the same tags lie together?"
    told = () if said is None else (said.in_words(),)
    asked = asking.about_kind(view.table, roles, others, question, "; ".join((several, *told)), (text,), favoured=False)
    return Reading(roles, (asked,), told)


def _ask_category(view: View, roles: Roles, best: Category) -> Question:
    text = f"{best.classes:,} categories in the column {best.name!r}: should texts of one category lie together?"
    other: tuple[Kind, Sequence[str], str | None]
    other = ("sentences", roles.texts, None) if roles.kind == "labelled_texts" else ("labelled_texts", roles.texts, best.name)
    favoured = best.favoured if roles.kind == "labelled_texts" else False
    return asking.about_kind(view.table, roles, [other], text, best.in_words(), favoured=favoured)
