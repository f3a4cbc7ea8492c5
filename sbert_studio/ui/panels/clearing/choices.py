"""What a visitor chose at the workbench, and what the page draws of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ....explore.duplicates import MIN_THRESHOLD
from ....services.results import KEEPS
from ...views import Value, to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....services.results import AlikeGroup, Duplicates

_STEPS = tuple(round(MIN_THRESHOLD + step / 200, 3) for step in range(round((1 - MIN_THRESHOLD) * 200) + 1))
_AT_ONCE, _MEMBERS = 40, 12


@dataclass(frozen=True)
class Choices:
    """What was chosen; see :meth:`~sbert_studio.services.results.Duplicates.groups`.

    ``shown``: how many groups are drawn; ``made``: what the groups were found with, as :meth:`.Page.made` says it.
    """

    threshold: float = 0.95
    keep: str = "first"
    chosen: tuple[int, ...] = ()
    apart: tuple[tuple[int, ...], ...] = ()
    column: str | None = None
    shown: int = _AT_ONCE
    made: Mapping[str, str] | None = field(default=None, compare=False)

    def groups(self, found: Duplicates) -> tuple[AlikeGroup, ...]:
        """The groups as chosen."""
        keep = "longest" if self.keep == "longest" else "first"
        return found.groups(self.threshold, keep, chosen=self.chosen, apart=frozenset(self.apart), column=self.column)  # type: ignore[arg-type]

    def after(self, kind: Any, index: Any, found: Duplicates) -> Choices:
        """These choices after a click in the view; what the browser sends is not trusted, and changes nothing where it makes no sense."""
        if kind == "threshold" and isinstance(index, int | float) and MIN_THRESHOLD <= index <= 1:
            return replace(self, threshold=float(index), shown=_AT_ONCE)
        if kind == "more":
            return replace(self, shown=self.shown + _AT_ONCE)
        group = next((one for one in self.groups(found) if index in one.rows), None)
        if group is None or isinstance(index, bool):
            return self
        others = tuple(left for one in self.apart if len(left := tuple(row for row in one if row not in group.rows)) > 1)
        if kind == "keep":
            # The last that was chosen counts; a group of which all stayed has one that stays again.
            return replace(self, chosen=(*(row for row in self.chosen if row != index), index), apart=others)
        if kind == "apart":
            return replace(self, apart=others if group.kept is None else (*others, group.rows))
        return self

    def saved(self, found: Duplicates) -> dict[str, Any]:
        """As the browser keeps it, for the corpus that it was chosen for."""
        rows = {"chosen": list(self.chosen), "apart": [list(one) for one in self.apart]}
        return {"corpus": found.corpus.digest, "keep": self.keep, **rows}

    def restored(self, saved: Any, found: Duplicates, threshold: str) -> Choices:
        """With what :meth:`saved` kept of the same corpus, and the threshold of an address; none of it is trusted."""
        try:
            now = self.after("threshold", float(threshold), found)
        except ValueError:
            now = self
        known = saved if isinstance(saved, Mapping) and saved.get("corpus") == found.corpus.digest else {}
        apart, chosen, seen = [], _rows(known.get("chosen"), found), set[int]()
        for one in known["apart"] if isinstance(known.get("apart"), list) else ():
            rows = tuple(sorted(set(_rows(one, found)) - seen))
            seen.update(rows)
            apart += [rows] if len(rows) > 1 else []
        return replace(now, chosen=tuple(dict.fromkeys(chosen)), apart=tuple(apart)).with_keep(known.get("keep", now.keep))

    def with_keep(self, keep: str) -> Choices:
        """With another rule; what was chosen by hand stays."""
        return replace(self, keep=keep if keep in KEEPS else "first")


def _rows(value: Any, found: Duplicates) -> list[int]:
    given = value if isinstance(value, list) else []
    return [row for row in given if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < len(found.corpus)]


def alike_value(found: Duplicates, choices: Choices) -> Value:
    """The value of an ``alike`` view: the groups at the chosen threshold, and how many texts can go at the others."""
    corpus, groups = found.corpus, choices.groups(found)
    counts = found.linkage.counts(_STEPS)
    differing = sum(group.contradicts for group in groups)
    # Groups whose texts carry different categories first: there somebody has to look.
    order = sorted(range(len(groups)), key=lambda place: not groups[place].contradicts)
    return to_json(  # type: ignore[no-any-return]
        {
            "caption": f"{len(corpus):,} texts · every pair compared in {found.seconds:.2f} s",
            "steps": [[step, gone] for step, (_, gone) in zip(_STEPS, counts, strict=True)],
            "threshold": choices.threshold,
            "found": len(groups),
            "closest": float(found.linkage.scores[0]) if len(found.linkage.scores) else None,
            "goes": sum(len(group.gone) for group in groups),
            "stays": len(corpus) - sum(len(group.gone) for group in groups),
            "differing": differing,
            "column": choices.column,
            "groups": [_drawn(found, groups[place]) for place in order[: choices.shown]],
            "rest": max(0, len(groups) - choices.shown),
            "note": " ".join(found.notes),
            "made": choices.made,
        }
    )


def _drawn(found: Duplicates, group: AlikeGroup) -> Mapping[str, Any]:
    corpus, first = found.corpus, group.rows[0] if group.kept is None else group.kept
    # The one that stays first, and of a long group those nearest to it.
    order = sorted(range(len(group.rows)), key=lambda place: (group.rows[place] != group.kept, -group.scores[place], group.rows[place]))
    return {
        "all": group.kept is None,
        "first": {"row": first, "text": corpus.texts[first]},
        "contradicts": group.contradicts,
        "size": len(group.rows),
        "members": [
            {
                "row": group.rows[place],
                "line": corpus.lines[group.rows[place]],
                "text": corpus.texts[group.rows[place]],
                "score": group.scores[place],
                "kept": group.kept is None or group.rows[place] == group.kept,
                "value": group.values[place] if group.values else "",
            }
            for place in order[:_MEMBERS]
        ],
        "rest": max(0, len(group.rows) - _MEMBERS),
    }


def told(groups: Sequence[AlikeGroup]) -> str:
    """``412 groups, 530 texts go``."""
    gone = sum(len(group.gone) for group in groups)
    texts = "1 text goes" if gone == 1 else f"{gone:,} texts go"
    return f"{len(groups):,} group{'' if len(groups) == 1 else 's'}, {texts}"
