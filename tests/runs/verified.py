from __future__ import annotations

import runpy
from pathlib import Path

import pytest


def verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the ``verify.py`` of an unpacked export says; it is run in this process, and must call the score the same."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(folder / "verify.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert not ended.value.code, said
    return said
