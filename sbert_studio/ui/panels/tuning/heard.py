"""What a run tells in words, and how it is judged along the way, as the page keeps them while events come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_GOES_ON = ("started", "step", "evaluated", "phase", "part", "partended", "finished", "stopped", "asks", "failed")
_MOST_NOTES = 4


@dataclass(frozen=True)
class Said:
    """What a run told in words.

    Attributes:
        notes: the latest last.
        passing: what is true only until the run goes on.
        phase: what it does now, where it takes no step.
    """

    notes: tuple[str, ...] = ()
    passing: str = ""
    phase: str = ""

    @property
    def last(self) -> str:
        """What is to be told now; nothing where nothing was said."""
        return self.passing or (self.notes[-1] if self.notes else "")

    def and_then(self, event: Mapping[str, Any]) -> Said:
        """This and what an event says."""
        kind = event.get("type")
        if kind == "notice":
            words = str(event["message"])
            return replace(self, passing=words) if event.get("passing") else replace(self, notes=(*self.notes, words)[-_MOST_NOTES:])
        return replace(self, passing="", phase=str(event["title"]) if kind == "phase" else "") if kind in _GOES_ON else self


NOTHING_SAID = Said()


@dataclass(frozen=True)
class Judged:
    """How the held-out rows have judged a training along the way.

    Attributes:
        metric: what the scores are.
        points: (step, score); of several trainings those of the last that was judged, which need not be the last one.
        part: that training, such as "part 2 of 4: fold 2"; empty where there is one only.
    """

    metric: str = ""
    points: tuple[tuple[int, float], ...] = ()
    part: str = ""

    def and_then(self, event: Mapping[str, Any], part: str) -> Judged:
        """This and what an event of the training ``part`` says."""
        if event.get("type") != "evaluated" or event.get("score") is None:
            return self
        if part and (event.get("scores") or {}).get("by_fold"):
            return self  # of all folds together, which is no point of the one that went before
        step = int(event["step"])
        # A resumed run judges the step it resumes from again.
        kept = tuple(point for point in self.points if point[0] != step) if self.part == part else ()
        return Judged(str(event["metric"]), (*kept, (step, float(event["score"]))), part)


NOT_JUDGED = Judged()
