"""Each module is read from the folder it wrote, and does what it did."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sbert_studio.encoders.modules import MODULES, Module
from sbert_studio.encoders.modules.dense import Dense
from sbert_studio.encoders.modules.normalize import Normalize
from sbert_studio.encoders.modules.pooling import Pooling
from sbert_studio.errors import StudioError

WIDTH = 6
CASES: list[tuple[Module, int]] = [(Pooling("cls+mean"), 12), (Pooling("mean+cls"), 12), (Dense(WIDTH, 3, "tanh"), 3), (Normalize(), WIDTH)]


def test_every_registered_module_is_tried_here() -> None:
    assert {module.name for module, _ in CASES} == set(MODULES)


@pytest.mark.parametrize(("module", "width"), CASES)
def test_a_module_is_read_as_it_was_written(module: Module, width: int, tmp_path: Path) -> None:
    module.write(tmp_path / "it", WIDTH)
    read = MODULES[module.name].read(tmp_path / "it")
    torch.manual_seed(1)
    given = (
        (torch.randn(2, 5, WIDTH), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]))
        if module.name == "Pooling"
        else (torch.randn(2, WIDTH),)
    )
    assert torch.equal(read(*given), module(*given))
    assert module.width(WIDTH) == module(*given).shape[-1] == width


def test_damaged_files_are_named(tmp_path: Path) -> None:
    for name in ("Pooling", "Dense"):
        with pytest.raises(StudioError, match=r"config\.json"):
            MODULES[name].read(tmp_path / name)
    with pytest.raises(StudioError, match="there is no module 'LSTM'"):
        MODULES["LSTM"]


def test_a_module_that_cannot_be_written_cannot_be_made() -> None:
    class ReadOnly(Module):
        @classmethod
        def read(cls, folder: Path) -> ReadOnly:
            return cls()  # type: ignore[abstract]

    with pytest.raises(TypeError, match="write"):
        ReadOnly()  # type: ignore[abstract]
