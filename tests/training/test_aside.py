"""What a training keeps in memory: the untuned weights stay in their file, and the optimiser's moments go once no step is left."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sbert_studio.errors import StudioError
from sbert_studio.training.blend import Blend

ROWS = 2_000_000  # 8 MB


def _mapped(folder: Path) -> dict[str, nn.Parameter]:
    save_file({"weight": torch.arange(ROWS, dtype=torch.float32)}, folder / "model.safetensors")
    return {"weight": nn.Parameter(load_file(folder / "model.safetensors")["weight"])}


def _read_of(address: int) -> int:
    """The bytes in memory of the mapping at this address."""
    found = inside = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            low, high = (int(part, 16) for part in words[0].split("-"))
            inside = low <= address < high
        elif inside and words[0] == "Rss:":
            found = int(words[1]) * 1024
    return found


def test_weights_of_a_file_stay_in_it_until_a_blend_asks_for_them(tmp_path: Path) -> None:
    learning = _mapped(tmp_path)
    before = learning["weight"].data_ptr()
    learning["weight"].sum()
    assert _read_of(before) > ROWS * 3
    blend = Blend(learning, aside=True)
    assert learning["weight"].data_ptr() != before
    assert _read_of(before) < ROWS
    with torch.no_grad():
        learning["weight"] += 2.0
    blend.between()
    for strength, more in ((0.0, 0.0), (1.0, 2.0)):
        blend.put(strength)
        assert torch.equal(learning["weight"], torch.arange(ROWS, dtype=torch.float32) + more)


def test_weights_that_are_elsewhere_are_kept_as_they_were() -> None:
    learning = {"weight": nn.Parameter(torch.ones(3))}
    for aside in (False, True):
        blend = Blend(learning, {"weight": torch.zeros(3)}, aside=aside)
        blend.between()
        blend.put(0.0)
        assert learning["weight"].tolist() == [0, 0, 0]
        blend.put(1.0)
        assert learning["weight"].tolist() == [1, 1, 1]


def test_a_file_that_is_written_to_meanwhile_is_told_and_no_blend_is_made_of_it(tmp_path: Path) -> None:
    blend = Blend(_mapped(tmp_path), aside=True)
    blend.between()
    path = tmp_path / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\0\0\0")
    with pytest.raises(StudioError, match=r"model\.safetensors was written to while"):
        blend.between()
    path.unlink()  # another file in its place is no matter: what is mapped stays
    path.write_bytes(b"another")
    blend.between()
