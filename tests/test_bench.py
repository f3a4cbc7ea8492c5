from __future__ import annotations

import pytest

from sbert_studio.bench.duel import duel, peer_library
from sbert_studio.errors import StudioError


def test_contestants_work_by_turns_and_medians_are_compared() -> None:
    turns: list[tuple[str, int]] = []
    values = {"float32": [4.0, 6.0, 100.0], "bfloat16": [8.0, 9.0, 1.0], "peer": [2.0, 1.0, 3.0]}

    def contestant(name: str):  # type: ignore[no-untyped-def]
        def once(turn: int) -> float:
            turns.append((name, turn))
            return values[name][turn]

        return once

    told: list[tuple[int, int]] = []
    found = duel("w", "x/s", {name: contestant(name) for name in values}, 3, progress=lambda done, total: told.append((done, total)))
    assert turns == [(name, turn) for turn in range(3) for name in values]
    assert told[-1] == (9, 9)
    assert (found.ours, found.peer, found.ratio) == (6.0, 2.0, 3.0)
    assert found.to_json()["variants"] == {"bfloat16": {"ours": 8.0, "ratio": 4.0}}


def test_a_ratio_above_one_means_faster_where_seconds_are_measured_too() -> None:
    assert duel("w", "seconds", {"ours": lambda _: 2.0, "peer": lambda _: 6.0}, 1, smaller_is_faster=True).ratio == 3.0


def test_no_repeats_and_no_peer_are_refused() -> None:
    with pytest.raises(StudioError, match="repeats is 0"):
        duel("w", "x/s", {"ours": lambda _: 1.0, "peer": lambda _: 1.0}, 0)
    with pytest.raises(StudioError, match="no-such-library is not installed"):
        peer_library("no_such_library")
