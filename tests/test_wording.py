"""The wording of messages that users see, by area.

Other tests assert what a message is about: its type, its rows, its numbers. Here whole sentences are compared, so that a change of words
changes one line of one table.
"""

from __future__ import annotations

import pytest

from sbert_studio.data.tables import table_from_columns
from sbert_studio.errors import StudioError
from sbert_studio.explore.mining.approximate import Recall
from sbert_studio.runs.records.record import Run
from sbert_studio.settings import Limits
from sbert_studio.studio import exploring
from sbert_studio.studio.learned import said_of
from sbert_studio.studio.limits import require_within

RUN = Run("run-0000000001", "ann", "pairs", "running", "2026-11-22T10:00:00+00:00", "tiny", rows=60)

SEARCH = {
    "exact": (exploring._told(None, False), ()),
    "index is made": (
        exploring._told(None, True),
        ("Exact: all texts were compared. An index that answers in less time is being made.",),
    ),
    "index": (
        exploring._told(0.984, False),
        ("Approximate: of the nearest texts 98.4% are found, measured on this corpus. A search among some rows is exact.",),
    ),
    "pairs": (
        exploring._missing(Recall(0.991, 1000, 200, 0.8125)),
        (
            "Approximate: not all texts were compared with all. Of the 1,000 closest pairs of 200 texts taken at random, down to a cosine "
            "of 0.812, 99.1% were compared.",
        ),
    ),
}
EVALUATION = {
    "rows that were learned": (
        said_of(3, table_from_columns("t", {"text": ["a"] * 1234}), RUN),
        "3 of these 1,234 rows are in the file that pairs was tuned on",
    ),
    "one row": (said_of(1, table_from_columns("t", {"text": ["a"]}), RUN), "This row is in the file that pairs was tuned on"),
}
LIMITS = {
    "rows": (
        Limits(rows=50),
        [],
        "this run has 60 rows, and here a run has at most 50. hint: take fewer rows; run it elsewhere.",
    ),
    "one run": (
        Limits(runs=1),
        [RUN],
        "pairs is training, and each visitor has one run at a time here. hint: wait until it has ended, or stop it; run it elsewhere.",
    ),
    "queue": (
        Limits(queue=2),
        [RUN, RUN],
        "2 runs are under way, and no more than 2 may wait here. hint: try again later; run it elsewhere.",
    ),
}


@pytest.mark.parametrize(("said", "expected"), [*SEARCH.values(), *EVALUATION.values()], ids=[*SEARCH, *EVALUATION])
def test_notes(said: object, expected: object) -> None:
    assert said == expected


@pytest.mark.parametrize(("limits", "runs", "expected"), LIMITS.values(), ids=LIMITS)
def test_limits(limits: Limits, runs: list[Run], expected: str) -> None:
    with pytest.raises(StudioError) as caught:
        require_within(limits, RUN, runs, "run it elsewhere")
    assert str(caught.value) == expected
