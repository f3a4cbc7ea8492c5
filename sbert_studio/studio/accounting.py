"""What became of every row of a run's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..data.accounts import RowAccount


def with_held_out(account: RowAccount, held_out: int) -> RowAccount:
    """The account once so many of the rows were put aside to judge by."""
    return replace(account, used=account.used - held_out, held_out=held_out)


def in_sentences(accounts: Mapping[str, RowAccount]) -> tuple[str, ...]:
    """A sentence on the rows of each file, named by its part: ``120 rows read, 74 learned from, 46 left out: …``."""
    verbs = {"data": "learned from", "dev": "judged by", "first": "learned from"}
    titles = {"data": "", "dev": "Held-out file: ", "first": "First stage: "}
    return tuple(f"{titles[part]}{account.in_words(verbs[part])}." for part, account in accounts.items())
