"""What became of every row of a run's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ..data.accounts import RowAccount
    from ..runs.materials import Materials
    from ..runs.record import Run


def run_accounts(run: Run, materials: Materials) -> dict[str, RowAccount]:
    """The accounts of a run's files, with the rows that it held out. In folds every row is held out once, and learned from in the end.

    What was found of a run that is done is kept in its folder.
    """
    from ..training.export import HELD_OUT

    found = materials.accounts()
    known = "data" not in found or found["data"].held_out or "dev" in found
    if known or run.active or run.spec.get("folds") or "folds" in run.after:
        return found
    held = _held_out(materials.folder / HELD_OUT)
    if len(held):
        found["data"] = _split(found["data"], run, materials, held)
        materials.keep_accounts(found)
    return found


def in_sentences(accounts: Mapping[str, RowAccount]) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``."""
    verbs = {"data": "learned from", "dev": "judged by", "first": "learned from"}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())


def _split(account: RowAccount, run: Run, materials: Materials, held: np.ndarray) -> RowAccount:
    """The account once these rows were put aside; rows that share a text with them may be in neither part."""
    from ..data.accounts import SHARED
    from ..training.judge import hold_out

    if run.spec.get("seeds", 1) > 1:  # each had a split of its own; the rows are those of the one that was kept
        return replace(account, used=account.used - len(held), held_out=len(held))
    examples, _ = materials.examples()
    learned = hold_out(materials.spec(), examples, None)[0].lines
    return account.divided(examples.lines, learned, held, SHARED)


def _held_out(path: Path) -> np.ndarray:
    """The row numbers of the rows that a run was judged by; none where there is no file of them."""
    import numpy as np

    if not path.is_file():
        return np.array([], dtype=np.int64)
    with path.open(encoding="utf-8") as source:
        return np.unique(np.array([json.loads(line)["line"] for line in source], dtype=np.int64))
