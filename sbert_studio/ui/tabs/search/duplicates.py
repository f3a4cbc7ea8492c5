"""Near-duplicates of a corpus: the visitor's decisions, and the handlers and view models of the sub-tab."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import gradio as gr

from ....errors import StudioError
from ....explore.duplicates import KEEPS, MIN_THRESHOLD
from ....i18n import _, join
from ....serialization import to_plain
from ...basket import VERDICTS, LabelledPair, toggle_pair
from ...handlers import progress_callback
from ...sessions.language import notify_info
from ...views import UNCHANGED, Unchanged, Update, Value, placeholder, props, valid_rows

if TYPE_CHECKING:
    from ....explore.duplicates import DuplicateGroup, Keep
    from ....services.results import Duplicates
    from ...page import Page
    from ...panel import Selection
    from ...routing import Location

SUBTAB = "near"
"""Id of the sub-tab in the URL."""
BUTTON = "alike-go"
DEFAULT_THRESHOLD = 0.95
MAX_FIRST_TEXTS = 5_000  # texts that are compared without being asked
NO_CATEGORY = ("No category", "")
NO_GROUPS = "Groups of near-duplicates appear here. You set the similarity threshold and choose which text of each group to keep."
_STEPS = tuple(round(MIN_THRESHOLD + step / 200, 3) for step in range(round((1 - MIN_THRESHOLD) * 200) + 1))
_GROUPS_PER_PAGE, _MAX_MEMBERS = 40, 12
_LABEL = "say "  # prefix of a thumb's action, because "apart" alone is an action on a whole group


@dataclass(frozen=True)
class Decisions:
    """A visitor's decisions on near-duplicates; see :meth:`~sbert_studio.services.results.Duplicates.groups`."""

    threshold: float = DEFAULT_THRESHOLD
    keep: Keep = "first"
    chosen: tuple[int, ...] = ()  # rows to keep; later ones take precedence
    apart: tuple[tuple[int, ...], ...] = ()  # groups, as rows, whose texts are all kept
    column: str | None = None  # category column
    shown: int = _GROUPS_PER_PAGE  # number of groups shown
    made: Mapping[str, object] | None = field(default=None, compare=False)  # provenance of the groups

    def groups(self, duplicates: Duplicates) -> tuple[DuplicateGroup, ...]:
        return duplicates.groups(self.threshold, self.keep, chosen=self.chosen, apart=frozenset(self.apart), column=self.column)

    def group_of(self, row: object, duplicates: Duplicates) -> DuplicateGroup | None:
        """Return the group of a row; ``None`` for any other value, which may come from the browser."""
        if not isinstance(row, int) or isinstance(row, bool):
            return None
        return next((group for group in self.groups(duplicates) if row in group.rows), None)

    def update(self, action: object, item: object, duplicates: Duplicates) -> Decisions:
        """Return the decisions after a click in the view. Invalid values from the browser are ignored."""
        if action == "threshold" and isinstance(item, int | float) and MIN_THRESHOLD <= item <= 1:
            return replace(self, threshold=float(item), shown=_GROUPS_PER_PAGE)
        if action == "more":
            return replace(self, shown=self.shown + _GROUPS_PER_PAGE)
        group = self.group_of(item, duplicates)
        if group is None:
            return self
        row = cast("int", item)
        others = tuple(rest for rows in self.apart if len(rest := tuple(one for one in rows if one not in group.rows)) > 1)
        if action == "keep":
            # The last choice counts, and a group whose texts were all kept keeps one text again.
            return replace(self, chosen=(*(one for one in self.chosen if one != row), row), apart=others)
        if action == "apart":
            return replace(self, apart=others if group.kept is None else (*others, group.rows))
        return self

    def with_keep(self, keep: object) -> Decisions:
        return replace(self, keep=next((rule for rule in KEEPS if rule == keep), "first"))

    def to_storage(self, duplicates: Duplicates) -> dict[str, object]:
        """Return the decisions for storage in the browser, with the corpus they belong to."""
        return {
            "corpus": duplicates.corpus.digest,
            "keep": self.keep,
            "chosen": list(self.chosen),
            "apart": [list(rows) for rows in self.apart],
        }

    def restore(self, stored: object, duplicates: Duplicates, threshold: str) -> Decisions:
        """Return the decisions stored in the browser for this corpus, with the threshold from a URL. Invalid values are ignored."""
        try:
            restored = self.update("threshold", float(threshold), duplicates)
        except ValueError:
            restored = self
        known = stored if isinstance(stored, Mapping) and stored.get("corpus") == duplicates.corpus.digest else {}
        apart, seen, total = [], set[int](), len(duplicates.corpus)
        groups = known.get("apart")
        for group in groups if isinstance(groups, list) else ():
            rows = tuple(sorted(set(valid_rows(group, total)) - seen))
            seen.update(rows)
            apart += [rows] if len(rows) > 1 else []
        chosen = tuple(valid_rows(known.get("chosen"), total))
        return replace(restored, chosen=chosen, apart=tuple(apart)).with_keep(known.get("keep", restored.keep))


@dataclass(frozen=True)
class GroupsView:
    decisions: Decisions | Unchanged = UNCHANGED
    groups: Value | Unchanged = UNCHANGED
    saved_duplicates: dict[str, object] | Unchanged = UNCHANGED
    basket_version: int | Unchanged = UNCHANGED


@dataclass(frozen=True)
class DuplicatesView:
    view: GroupsView
    corpus: str | Unchanged
    result_key: str  # key in ``page.duplicates``
    category: Update  # update of the column chooser
    downloads: Update  # update of the row of buttons
    keep: str | Unchanged = UNCHANGED  # the rule stored in the browser, if it was restored


def find_duplicates(page: Page, corpus: str | None, model: str | None, keep: str, progress: gr.Progress | None = None) -> DuplicatesView:
    corpus, selected = page.corpora.current(corpus)
    duplicates = page.studio.search.find_duplicates(selected.corpus, model, progress_callback(progress, "Comparing all pairs"))
    columns = duplicates.corpus.category_columns()
    made = page.provenance(model, selected, BUTTON)
    decisions = Decisions(column=duplicates.corpus.default_category(), made=made).with_keep(keep)
    result_key = page.duplicates.put(duplicates)
    return DuplicatesView(
        view=_groups_view(page, result_key, decisions),
        corpus=corpus,
        result_key=result_key,
        category=props(choices=[NO_CATEGORY, *((name, name) for name in columns)], value=decisions.column or "", visible=bool(columns)),
        downloads=props(visible=True),
    )


def find_first_duplicates(
    page: Page, saved_duplicates: object, corpus: str | None, model: str | None, keep: str, progress: gr.Progress | None = None
) -> DuplicatesView | None:
    """Return what the sub-tab opens with, with the decisions stored in the browser; a large corpus is only compared when asked for.

    If no pair reaches the default threshold, a lower one shows the most similar pair.
    """
    if len(page.corpora.selected(corpus).corpus) > MAX_FIRST_TEXTS:
        return None
    view = _find_with_decisions(page, saved_duplicates, f"{DEFAULT_THRESHOLD}", corpus, model, keep, progress)
    duplicates, decisions = page.duplicates.get(view.result_key), view.view.decisions
    assert isinstance(decisions, Decisions)
    closest = float(duplicates.tree.scores[0]) if len(duplicates.tree.scores) else 0.0
    if MIN_THRESHOLD <= closest < DEFAULT_THRESHOLD:
        lower = max(step for step in _STEPS if step <= closest)
        view = replace(view, view=_groups_view(page, view.result_key, replace(decisions, threshold=lower)))
    return replace(view, corpus=UNCHANGED)


def open_linked_duplicates(location: Location | None) -> Location | Unchanged:
    return location if location is not None and location.view == SUBTAB and location.alike else UNCHANGED


def find_linked_duplicates(
    page: Page,
    linked: Location | None,
    saved_duplicates: object,
    corpus: str | None,
    model: str | None,
    keep: str,
    progress: gr.Progress | None = None,
) -> DuplicatesView | None:
    """Find near-duplicates at the threshold from a URL, with the decisions stored in the browser."""
    return None if linked is None else _find_with_decisions(page, saved_duplicates, linked.alike, corpus, model, keep, progress)


def _find_with_decisions(
    page: Page,
    saved_duplicates: object,
    threshold: str,
    corpus: str | None,
    model: str | None,
    keep: str,
    progress: gr.Progress | None,
) -> DuplicatesView:
    view = find_duplicates(page, corpus, model, keep, progress)
    duplicates, decisions = page.duplicates.get(view.result_key), view.view.decisions
    assert isinstance(decisions, Decisions)
    decisions = decisions.restore(saved_duplicates, duplicates, threshold)
    return replace(view, view=_groups_view(page, view.result_key, decisions), keep=decisions.keep)


def change_rules(page: Page, result_key: str | None, decisions: Decisions | None, keep: str, category: str | None) -> GroupsView:
    changed = replace((decisions or Decisions()).with_keep(keep), column=category or None)
    return GroupsView(changed, placeholder(NO_GROUPS)) if result_key is None else _groups_view(page, result_key, changed)


def click_group(page: Page, result_key: str | None, decisions: Decisions | None, owner: object, selection: Selection) -> GroupsView:
    """Handle a click in the groups: another threshold, more groups, a text to keep, all texts to keep, or a thumb."""
    action, current = selection.action, decisions or Decisions()
    verdict = VERDICTS.get(action.removeprefix(_LABEL)) if isinstance(action, str) and action.startswith(_LABEL) else None
    if verdict is not None:
        pair = _labelled_pair(page.duplicates.get(result_key), current, selection.item, verdict)
        return GroupsView(basket_version=toggle_pair(page, owner, pair))
    return _groups_view(page, result_key, current.update(action, selection.item, page.duplicates.get(result_key)))


def use_remaining_texts(page: Page, corpus: str | None, result_key: str | None, decisions: Decisions | None) -> str:
    duplicates, (_unused, selected) = page.duplicates.get(result_key), page.corpora.current(corpus)
    if selected.corpus.digest != duplicates.corpus.digest:
        raise StudioError("another corpus was selected in the meantime", "find its near-duplicates first")
    remaining = duplicates.clean((decisions or Decisions()).groups(duplicates))
    removed = len(duplicates.corpus) - len(remaining)
    message = _(
        "Removed: {removed}, remaining: {remaining}. Open the file again to restore all texts.",
        removed=f"{removed:,}",
        remaining=f"{len(remaining):,}",
    )
    notify_info(message, duration=8, title="Near-duplicates removed")
    # Without an id, because a link to it would open the whole file.
    return page.corpora.put(replace(selected, corpus=remaining, id=""))


def write_texts(page: Page, result_key: str | None, decisions: Decisions | None, *, removed: bool, suffix: str = ".csv") -> Path:
    """Write the remaining or the removed texts as .csv or .xlsx."""
    duplicates = page.duplicates.get(result_key)
    groups = (decisions or Decisions()).groups(duplicates)
    path = page.downloads.path(f"{Path(duplicates.corpus.name).stem or 'corpus'} {'removed' if removed else 'clean'}{suffix}")
    (duplicates.write_removed if removed else duplicates.write_clean)(groups, path)
    return path


def clear_groups(page: Page, result_key: str | None, corpus: str | None) -> tuple[Value, Update, None, None] | None:
    if result_key is None:
        return None
    digest = page.duplicates.get(result_key).corpus.digest
    if corpus is not None and page.corpora.get(corpus).corpus.digest == digest:
        return None
    return placeholder(NO_GROUPS), props(visible=False), None, None


def _groups_view(page: Page, result_key: str | None, decisions: Decisions) -> GroupsView:
    duplicates = page.duplicates.get(result_key)
    return GroupsView(decisions, groups_value(duplicates, decisions), decisions.to_storage(duplicates))


def _labelled_pair(duplicates: Duplicates, decisions: Decisions, row: object, verdict: bool) -> LabelledPair:
    group = decisions.group_of(row, duplicates)
    if group is None:
        raise StudioError("this row is not in a group", "find near-duplicates again")
    first = group.rows[0] if group.kept is None else group.kept
    return LabelledPair(duplicates.corpus.texts[first], duplicates.corpus.texts[cast("int", row)], verdict, "Near-duplicates")


def groups_value(duplicates: Duplicates, decisions: Decisions) -> Value:
    """Return the value of an ``alike`` view: groups at the threshold, and numbers of removed texts at other thresholds."""
    corpus, groups = duplicates.corpus, decisions.groups(duplicates)
    # Groups with different categories come first: they need a look.
    ordered = sorted(groups, key=lambda group: not group.contradicts)
    removed = sum(len(group.removed) for group in groups)
    value = {
        "caption": _("{corpus} texts · all pairs compared in {seconds} s", corpus=f"{len(corpus):,}", seconds=f"{duplicates.seconds:.2f}"),
        "steps": [[step, duplicates.tree.max_removed(step)] for step in _STEPS],
        "threshold": decisions.threshold,
        "found": len(groups),
        "closest": float(duplicates.tree.scores[0]) if len(duplicates.tree.scores) else None,
        "goes": removed,
        "stays": len(corpus) - removed,
        "differing": sum(group.contradicts for group in groups),
        "column": decisions.column,
        "groups": [_group_value(duplicates, group) for group in ordered[: decisions.shown]],
        "rest": max(0, len(groups) - decisions.shown),
        "note": join(" ", duplicates.notes),
        "made": decisions.made,
    }
    return cast("Value", to_plain(value))


def _group_value(duplicates: Duplicates, group: DuplicateGroup) -> Value:
    corpus, first = duplicates.corpus, group.rows[0] if group.kept is None else group.kept
    members = list(zip(group.rows, group.scores, group.values or [""] * len(group.rows), strict=True))
    members.sort(key=lambda member: (member[0] != group.kept, -member[1], member[0]))
    return {
        "all": group.kept is None,
        "first": {"row": first, "text": corpus.texts[first]},
        "contradicts": group.contradicts,
        "size": len(group.rows),
        "members": [
            {
                "row": row,
                "line": corpus.lines[row],
                "text": corpus.texts[row],
                "score": score,
                "kept": group.kept is None or row == group.kept,
                "value": value,
            }
            for row, score, value in members[:_MAX_MEMBERS]
        ],
        "rest": max(0, len(group.rows) - _MAX_MEMBERS),
    }
