"""Questions to the owner of rows as the page shows them: their rows, a button an answer, and the proposed one filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
            "proposed": one.proposed,
        }
        for one in questions
    ]
    return plain({"title": title, "questions": shown}) if shown else None  # type: ignore[no-any-return]
