"""What became of every row of a run's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ...data.accounts import RowAccount
    from ...data.examples import Examples
    from ...runs.files import RunFiles
    from ...runs.run import Run


def run_accounts(run: Run, materials: RunFiles) -> dict[str, RowAccount]:
    """The accounts of a run's files, with the rows that it held out. In folds every row is held out once, and learned from in the end.

    What was found of a run that is done is kept in its folder.
    """
    from ...training.artifacts import HELD_OUT

    found = materials.accounts()
    if run.active or "data" not in found or "dev" in found or found["data"].held_out or found["data"].in_turn:
        return found
    held = _held_out(materials.folder / HELD_OUT)
    if run.after and (run.spec.get("folds") or "folds" in run.after):
        found["data"] = replace(found["data"], in_turn=True)
        judged_by = materials.examples()[0] if "first" in found else None
    elif len(held):
        found["data"], judged_by = _split(found["data"], materials, held)
    else:
        return found
    if (first := materials.first()) is not None and judged_by is not None and "first" in found:
        found["first"] = unseen(found["first"], first, judged_by)
    materials.keep_accounts(found)
    return found


def unseen(account: RowAccount, first: Examples, held: Examples) -> RowAccount:
    """The account of the first stage's file without the rows that hold a text of those that judge, which the stage leaves out."""
    import numpy as np

    from ...data.accounts import SHARED
    from ...data.splits.splitting import leaking

    return account.divided(first.lines, first.lines[~leaking(first, held)], np.array([], dtype=np.int64), SHARED)


def in_sentences(accounts: Mapping[str, RowAccount], *, begun: bool = True) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``.

    Args:
        begun: whether a step was taken; otherwise they are rows to learn from.
    """
    learned, judged = ("learned from", "judged by") if begun else ("to learn from", "to be judged by")
    verbs = {"data": learned, "dev": judged, "first": learned}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())


def _split(account: RowAccount, materials: RunFiles, held: np.ndarray) -> tuple[RowAccount, Examples | None]:
    """The account once these rows were put aside, and the rows; those that share a text with them may be in neither part."""
    import numpy as np

    from ...data.accounts import SHARED
    from ...training.judging.evaluator import hold_out

    examples, _ = materials.examples()
    learned, judged_by, _ = hold_out(materials.spec(), examples, None)
    if judged_by is None or not np.array_equal(np.unique(judged_by.lines), held):  # a run of an earlier version, which drew other rows
        judges = np.isin(examples.lines, held)
        learned, judged_by = examples.take(np.flatnonzero(~judges)), examples.take(np.flatnonzero(judges))
    return account.divided(examples.lines, learned.lines, held, SHARED), judged_by


def _held_out(path: Path) -> np.ndarray:
    """The row numbers of the rows that a run was judged by; none where there is no file of them."""
    import numpy as np

    if not path.is_file():
        return np.array([], dtype=np.int64)
    with path.open(encoding="utf-8") as source:
        return np.unique(np.array([json.loads(line)["line"] for line in source], dtype=np.int64))
