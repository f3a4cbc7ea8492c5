"""What became of every row of a file that is learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.accounts import RowAccount
    from ..runs.materials import Materials
    from ..runs.record import Run


def as_trained(accounts: Mapping[str, RowAccount], materials: Materials, run: Run) -> dict[str, RowAccount]:
    """The accounts once the trainer has held rows out: which rows that cost, in either stage, because they share a text.

    They stay as they are where nothing is held out yet, and where every row is learned from in one training or another.
    """
    from ..data.accounts import SHARED
    from ..data.splitting import leaking
    from ..training.judge import hold_out

    found = dict(accounts)
    if "data" not in found or not run.dev_rows:
        return found
    examples, dev = materials.examples()
    learned, held, _ = hold_out(materials.spec(), examples, dev)
    if held is None or len(held) != run.dev_rows:
        return found if dev is not None else found | {"data": with_held_out(found["data"], run.dev_rows)}
    if dev is None:
        found["data"] = found["data"].divided(examples.lines, learned.lines, held.lines, SHARED)
    first = materials.first()
    if first is not None and "first" in found:
        found["first"] = found["first"].divided(first.lines, first.lines[~leaking(first, held)], first.lines[:0], SHARED)
    return found


def with_held_out(account: RowAccount, held_out: int) -> RowAccount:
    """The account once so many of the rows were put aside to judge by, and all others were learned from."""
    held_out = min(held_out, account.used)
    return replace(account, used=account.used - held_out, held_out=held_out)


def in_sentences(accounts: Mapping[str, RowAccount]) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``."""
    verbs = {"data": "learned from", "dev": "judged by", "first": "learned from"}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())
