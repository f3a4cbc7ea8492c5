"""After a training on the page: what a run asks that an alarm has stopped, and how strong its model is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....evaluation.report import describe_metric
from ....services.training_start import dial
from ...views import Value, questions_view, to_json

if TYPE_CHECKING:
    from ....data.questions import Question
    from ....runs.run import Run
    from ....services import Studio


_CHOSEN = "Each mark is scored on the rows that chose among them; the gain above is what rows show that did not choose."
_BY_HAND = "Each mark is scored on these rows: whoever chooses by them has seen them, and no gain on them is a verdict."


def asked(question: Question | None) -> Value | None:
    """The value of a ``questions`` view; ``None`` where the run asks nothing."""
    return questions_view("The training stopped and asks", [question] if question else [])


def answer(studio: Studio, run_id: str, which: Any) -> Run:
    """The run that goes on after an answer; ``which`` comes from the browser: the question's place and the answer's.

    Raises:
        StudioError: there is no such answer.
    """
    if not (isinstance(which, list) and len(which) == 2 and which[0] == 0 and isinstance(which[1], int)):
        raise StudioError("that question is no longer open", "look at the run again")
    return studio.settle.answer(run_id, which[1])


def strength(run: Run) -> Value | None:
    """The value of a ``strength`` view; ``None`` where the run has no dial."""
    found = dial(run.before, run.after) if run.status == "finished" and run.model_path is not None else None
    by_hand = "chosen" in (run.after.get("kept") or run.after)
    note = _BY_HAND if by_hand else _CHOSEN if "tried" in run.after else ""
    return to_json({**found, "metric": describe_metric(str(run.after.get("metric", "score"))), "note": note}) if found else None


def chosen(value: Any) -> float:
    """A strength that a browser sent.

    Raises:
        StudioError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise StudioError("that strength is not possible", "choose a value from 0 (untuned) to 1 (tuned)")
    return float(value)
