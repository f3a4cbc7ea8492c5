"""What became of every row of a file that is learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..data.accounts import RowAccount
    from ..data.examples import Examples, Roles
    from ..data.tables import Table


def account_of(table: Table, roles: Roles, examples: Examples) -> RowAccount:
    """The account of a file before any row is held out: its rows, those that make an example, and why the others make none."""
    from ..data.accounts import LeftOut, RowAccount

    used = np.isin(table.lines, examples.lines)
    gone = tuple(table.lines[~used].tolist())
    return RowAccount(len(table), int(used.sum()), 0, (LeftOut("no example can be made of it", gone),) if gone else ())


def with_held_out(account: RowAccount, held_out: int) -> RowAccount:
    """The account once so many of the rows were put aside to judge by."""
    return replace(account, used=account.used - held_out, held_out=held_out)


def in_sentences(accounts: Mapping[str, RowAccount]) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``."""
    verbs = {"data": "learned from", "dev": "judged by", "first": "learned from"}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())
