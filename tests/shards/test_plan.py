"""The plan on paper computes what it says from what it is given."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))


def test_a_plan_follows_from_its_arguments() -> None:
    from plan import plan

    lines = {
        what: much
        for what, much, _ in plan(
            rows=36_000_000,
            rate=1_000,
            machines=5,
            price=0.5,
            disk_price=0.1,
            dim=384,
            text=100,
            lists=400,
            index_rate=10_000,
            pairs_rate=1e9,
        )
    }
    assert lines["encoding"] == "10 machine-hours, 2.0 h on 5"
    assert lines["encoding, cost"] == "5.00"
    assert lines["vectors on disk"] == "56.4 GB"
    assert lines["disk, in all"] == "92.4 GB, 9.24 a month"
    assert lines["index, built by one machine"] == "1.0 h"
    assert lines["all pairs, exactly"] == "180 machine-hours, 90.00"
