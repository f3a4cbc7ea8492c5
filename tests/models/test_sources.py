"""What a folder says of its model, without its weights being loaded, is what the model says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.io.sources import read_model_info

from .test_word_encoder import encoder
from .tiny import tiny_encoder


@pytest.mark.parametrize("network", ["weighted", "BiLSTM"])
def test_a_model_of_words_with_a_projection(network: str, tmp_path: Path) -> None:
    model = encoder(network, "mean", projection=3, max_length=20)
    model.save(tmp_path / "it")
    info, said = read_model_info(tmp_path / "it"), model.describe()
    assert not info.damaged
    assert (info.dim, info.parameters, info.max_length, info.pooling) == (said["dim"], said["parameters"], 20, "mean")


@pytest.mark.parametrize("pooling", ["mean", "cls+max", "mean_sqrt_len", "mean+cls"])
@pytest.mark.parametrize("projection", [None, 3])
def test_a_transformer(pooling: str, projection: int | None, tmp_path: Path) -> None:
    model = tiny_encoder("bert", EncoderConfig(pooling, projection=projection))
    model.save(tmp_path / "it")
    info = read_model_info(tmp_path / "it")
    assert (info.dim, info.pooling, info.parameters, info.damaged) == (model.dim, pooling, model.describe()["parameters"], "")


def test_a_folder_behind_a_link_is_counted_once(tmp_path: Path) -> None:
    tiny_encoder("bert").save(tmp_path / "it")
    (tmp_path / "link").symlink_to(tmp_path / "it")
    assert read_model_info(tmp_path / "link") == read_model_info(tmp_path / "it")


def test_what_is_broken_says_so(tmp_path: Path) -> None:
    encoder("LSTM").save(tmp_path / "it")
    weights = tmp_path / "it" / "1_LSTM" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert "cut short" in read_model_info(tmp_path / "it").damaged
    weights.unlink()
    (tmp_path / "it" / "model.safetensors").unlink()
    assert read_model_info(tmp_path / "it").damaged == "its weights are missing"
    assert read_model_info(None).damaged == read_model_info(tmp_path / "nothing").damaged == "its folder is missing"
