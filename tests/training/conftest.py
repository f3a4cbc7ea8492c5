"""Runs that the tests of a training's damaged and resumed states share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sbert_studio.training import evaluator
from sbert_studio.training.trainer import train

from .tiny import SHORT, SHORT_ROWS, Told, never, stops_after, tiny_encoder


@contextmanager
def no_everyday_pairs() -> Iterator[None]:
    """Measure nothing of what a training costs elsewhere: tiny models know no everyday words, and encoding them takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "PAIRS", Path("none.csv"))
        yield


@pytest.fixture(scope="module", autouse=True)
def nothing_elsewhere() -> Iterator[None]:
    with no_everyday_pairs():
        yield


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of ``SHORT`` on ``SHORT_ROWS`` that was left alone. Read only."""
    folder = tmp_path_factory.mktemp("whole")
    with no_everyday_pairs():
        train(SHORT, SHORT_ROWS, Told(), never, encoder=tiny_encoder(), folder=folder)
    return folder


@pytest.fixture(scope="session")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same run, stopped at step 7: its newest checkpoints are of the steps 6 and 7. Copy before use."""
    folder = tmp_path_factory.mktemp("stopped")
    with no_everyday_pairs():
        train(SHORT, SHORT_ROWS, Told(), stops_after(7), encoder=tiny_encoder(), folder=folder)
    return folder
