from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from . import killed


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.timeout(500)
def test_runs_killed_at_random_moments_end_in_the_same_bits(tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "3", *killed.RUNS, *killed.COURSES],
        capture_output=True,
        text=True,
        timeout=470,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
