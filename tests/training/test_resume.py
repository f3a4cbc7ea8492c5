"""Runs that are killed and resumed end in the same bits as runs left alone."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from processes import started

from . import killed

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What one process found, from which all attempts of all runs are forked."""
    folder = tmp_path_factory.mktemp("killed")
    with started(folder, killed.main, str(folder / "runs")) as child:
        found: dict[str, dict[str, Any]] = json.loads(child.succeed(850))
    sys.stderr.write(child.err.read_text())
    return found


@pytest.mark.parametrize("name", killed.RUNS)
def test_a_run_that_was_killed_again_and_again_ends_in_the_same_bits(name: str, compared: dict[str, dict[str, Any]]) -> None:
    found = compared[name]
    assert "error" not in found, found["error"]
    assert found["survived"] == [], "each attempt but the last was killed"
    assert found["files"] > 0
    assert found["missing"] == found["differing"] == []
