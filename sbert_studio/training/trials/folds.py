"""Which runs are judged in folds, and by which: those on few rows, of which a tenth would tell too little."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import StudioError
from ...evaluation.bootstrap import FEWEST_DRAWN
from ...evaluation.evaluate import SCORED_KINDS
from ..checkpoint import Checkpoints
from ..judging.evaluator import hold_out, of_the_rarer, says_nothing
from ..spec import TrainSpec
from .members import Member, members

if TYPE_CHECKING:
    from ...data.examples import Examples

PARTS, OUTCOME = "parts", "course.json"
"""Where a run keeps the trainings of its folds, and what they came to."""
_FEW = 1_000  # rows, above which one part of them tells enough
_FEW_OF_CATEGORIES = 2_500  # a text lands right or wrong, which tells less of a row than a score does
FEWEST = 20
"""Rows, below which no folds judge a run."""
_MOST_IN_ONE = 0.6  # of the rows; where most hang together by shared texts, a fold would learn from next to nothing


def in_folds(spec: TrainSpec, examples: Examples, dev: Examples | None, folder: Path | None = None) -> list[Member]:
    """The folds that judge a run, where it is judged by folds; nothing where one part of the rows judges it.

    Args:
        folder: the run's, where it may have begun; one that an earlier version began goes on as it did.

    Raises:
        StudioError: folds are asked for, and cannot be had.
    """
    asked = spec.judge == "folds"
    if dev is not None or spec.folds or spec.seeds > 1 or spec.first or spec.judge == "split" or not spec.dev_fraction:
        if asked:
            raise StudioError(
                "folds cannot judge a run that has a held-out file, a first stage, several seeds, folds of its own or no held-out share",
                "leave one of the two out",
            )
        return []
    few = _FEW_OF_CATEGORIES if examples.kind == "labelled_texts" else _FEW
    if not asked and (not FEWEST <= len(examples) < few or (folder is not None and _begun_by_a_split(folder))):
        return []
    try:
        if examples.kind not in SCORED_KINDS:
            raise StudioError(hold_out(spec, examples, None)[2], "leave out judge=folds")
        found = _told_apart(spec, examples)
    except StudioError:
        if asked:
            raise
        return []
    fits = all(member.held is not None and 1 < len(member.held) <= _MOST_IN_ONE * len(examples) for member in found)
    return found if fits or asked else []


def _told_apart(spec: TrainSpec, examples: Examples) -> list[Member]:
    """As many folds as is usual, or fewer where a label is rare: each holds two rows of it, or else one.

    Raises:
        StudioError: the rows do not give two folds, or not two in which a ranking can be right or wrong.
    """
    usual, refused, found = usual_folds(len(examples)), None, list[Member]()
    for least in (2, 1):
        for number in range(usual, 1, -1):
            try:
                found = members(spec.replace(folds=number, judge="auto"), examples, None)
            except StudioError as error:  # there are fewer sets of rows that share no text
                refused = error
                continue
            held = [member.held for member in found if member.held is not None]
            rarer = [of_the_rarer(one) for one in held]
            if not any(map(says_nothing, held)) and all(one is None or one[1] >= least for one in rarer):
                return found
    if refused is not None and not found:
        raise refused
    raise StudioError("one label is so rare that there are no two folds with rows of both", "give more rows of it, or choose judge=split")


def _begun_by_a_split(folder: Path) -> bool:
    mine = (folder / PARTS).is_dir() or (folder / OUTCOME).is_file()
    return not mine and Checkpoints(folder).newest() is not None


def usual_folds(rows: int) -> int:
    """More folds where they are cheap: each learns from more of the rows. None so small that its rows tell nothing, where that can be."""
    most = 5 if rows <= 150 else 4 if rows <= 350 else 3
    return most if rows < 2 * FEWEST_DRAWN else min(most, rows // FEWEST_DRAWN)
