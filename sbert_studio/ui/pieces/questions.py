"""Questions to the owner of rows as the page shows them: their rows, a button an answer, and the proposed one filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..panels.tuning.follow import sentence
from .views import Value, plain

if TYPE_CHECKING:
    from ...data.questions import Question


def as_view(title: str, questions: Sequence[Question]) -> Value | None:
    """The value of a ``questions`` view; ``None`` where nothing is asked."""
    shown = [
        {
            "question": one.text,
            "why": sentence(one.why),
            "rows": [{"row": row.row, "texts": list(row.texts), "value": row.value, "read_as": row.read_as} for row in one.rows],
            "answers": [option.answer for option in one.options],
            "theirs": [list(_names(option.choice)) for option in one.options],
            "proposed": one.proposed,
        }
        for one in questions
    ]
    return plain({"title": title, "questions": shown}) if shown else None  # type: ignore[no-any-return]


def _names(choice: Any) -> Iterator[str]:
    """What an answer names of the file, such as its columns and labels, which no language translates."""
    if isinstance(choice, str):
        yield choice
    elif isinstance(choice, Mapping):
        for one in choice.values():
            yield from _names(one)
    elif isinstance(choice, Sequence):
        for one in choice:
            yield from _names(one)
