"""After a training on the page: what a run asks that an alarm has stopped, and how strong its model is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...studio.strengths import dial
from ..follow import metric_words, sentence
from ..views import Value, plain

if TYPE_CHECKING:
    from ...data.questions import Question
    from ...runs.record import Run
    from ...studio import Studio


def asked(question: Question | None) -> Value | None:
    """The value of a ``questions`` view; ``None`` where the run asks nothing."""
    if question is None:
        return None
    rows = [{"row": row.row, "texts": list(row.texts), "value": row.value, "read_as": row.read_as} for row in question.rows]
    shown = {"question": question.text, "why": sentence(question.why), "rows": rows, "answers": [one.answer for one in question.options]}
    return {"title": "The training stopped and asks", "questions": [shown]}


def answer(studio: Studio, run_id: str, which: Any) -> Run:
    """The run that goes on after an answer; ``which`` comes from the browser: the question's place and the answer's.

    Raises:
        StudioError: there is no such answer.
    """
    if not (isinstance(which, list) and len(which) == 2 and which[0] == 0 and isinstance(which[1], int)):
        raise StudioError("that question is no longer open", "look at the run again")
    return studio.answer(run_id, which[1])


def strength(run: Run) -> Value | None:
    """The value of a ``strength`` view; ``None`` where the run has no dial."""
    found = dial(run.before, run.after) if run.status == "finished" and run.model_path is not None else None
    return plain({**found, "metric": metric_words(str(run.after.get("metric", "score")))}) if found else None


def chosen(value: Any) -> float:
    """A strength that a browser sent.

    Raises:
        StudioError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise StudioError("that strength is not possible", "choose a value from 0 (untuned) to 1 (tuned)")
    return float(value)
