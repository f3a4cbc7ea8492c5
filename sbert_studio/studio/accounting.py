"""What became of every row of a run's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..data.accounts import RowAccount
    from ..runs.materials import Materials
    from ..runs.record import Run


def run_accounts(run: Run, materials: Materials) -> dict[str, RowAccount]:
    """The accounts of a run's files, with the rows that it held out. In folds every row is held out once, and learned from in the end."""
    from ..training.export import HELD_OUT

    found = materials.accounts()
    if "data" in found and "dev" not in found and not (run.spec.get("folds") or "folds" in run.after):
        held = _held_out(materials.folder / HELD_OUT)
        if len(held):
            found["data"] = _split(found["data"], materials, held)
    return found


def in_sentences(accounts: Mapping[str, RowAccount]) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``."""
    verbs = {"data": "learned from", "dev": "judged by", "first": "learned from"}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())


def _split(account: RowAccount, materials: Materials, held: np.ndarray) -> RowAccount:
    """The account once these rows were put aside; rows that share a text with them may be in neither part."""
    from ..data.accounts import SHARED
    from ..training.judge import hold_out

    examples, _ = materials.examples()
    learned = hold_out(materials.spec(), examples, None)[0].lines
    return account.divided(examples.lines, learned, held, SHARED)


def _held_out(path: Path) -> np.ndarray:
    """The row numbers of the rows that a run was judged by; none where there is no file of them."""
    if not path.is_file():
        return np.array([], dtype=np.int64)
    with path.open(encoding="utf-8") as source:
        return np.unique(np.array([json.loads(line)["line"] for line in source], dtype=np.int64))
