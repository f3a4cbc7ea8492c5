"""Folders that are damaged, changed under a resident model, or written otherwise than most: named, read anew, or read right."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from limits import no_more_memory_than
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from tiny_studio import cut, flip

from sbert_studio.errors import StudioError, is_out_of_memory
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.backbone import translate_load_errors
from sbert_studio.models.io.digests import safetensors_error
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.base import read_weights

from .families import FAMILIES
from .tiny import TEXTS, tiny_encoder

RUN = "run-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_encoder("bert", EncoderConfig("mean", True, 8)).save(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def run(catalog: Catalog) -> Path:
    model = catalog.workspace.run(RUN) / "model"
    tiny_encoder("bert", EncoderConfig("mean", True, 8)).save(model)
    return model


@pytest.mark.parametrize("harm", [flip, cut, Path.unlink])
@pytest.mark.parametrize("name", ["model.safetensors", "2_Dense/model.safetensors", "config.json", "modules.json", "tokenizer.json"])
def test_a_runs_model_that_is_not_what_was_written_is_refused_by_name(
    catalog: Catalog, run: Path, name: str, harm: Callable[[Path], None]
) -> None:
    catalog.load(RUN)
    harm(run / name)
    for load in (catalog.load, catalog.load_trainable):
        with pytest.raises(StudioError, match=RUN) as caught:
            load(RUN)
        assert Path(name).name in caught.value.message


def test_a_whole_runs_model_is_read_for_its_digests_once(catalog: Catalog, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sbert_studio.models.io import digests

    read: list[Path] = []
    real = digests.digest_file
    monkeypatch.setattr(digests, "digest_file", lambda path: read.append(path) or real(path))
    catalog.load_trainable(RUN)
    catalog.load_trainable(RUN)
    assert sorted(read) == sorted(set(read)) and run / "model.safetensors" in read


def test_the_card_of_a_runs_model_may_be_written_anew_and_an_old_model_has_no_digests(catalog: Catalog, run: Path) -> None:
    (run / "README.md").write_text("mine")
    catalog.load(RUN)
    (run / "digests.json").unlink()
    flip(run / "model.safetensors")
    catalog.load(RUN)


@pytest.mark.parametrize("text", ["[1, 2]", "{}", "[{}]", '[{"type": 3, "path": []}]', "[[]]", "null", "[" * 100_000, "\xff"])
@pytest.mark.parametrize(
    "name", ["modules.json", "config.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json"]
)
def test_whatever_stands_in_a_models_settings_is_never_a_bug(catalog: Catalog, folder: Path, name: str, text: str) -> None:
    (folder / name).write_bytes(text.encode("latin-1"))
    for load in (catalog.load, catalog.load_trainable, catalog.load_cross_encoder, catalog.load_trainable_cross_encoder):
        try:
            load(str(folder))
        except StudioError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["2_Dense/model.safetensors", "1_Pooling/config.json", "tokenizer.json", "model.safetensors"])
def test_a_resident_model_is_read_anew_when_any_of_its_files_is_replaced(catalog: Catalog, folder: Path, tmp_path: Path, name: str) -> None:
    old = catalog.load(str(folder))
    assert catalog.load(str(folder)) is old
    state = (folder / name).stat()
    copy = tmp_path / "copy"
    shutil.copyfile(folder / name, copy)
    os.utime(copy, ns=(state.st_atime_ns, state.st_mtime_ns))  # as a copying program sets it: same size, same time
    copy.replace(folder / name)
    assert catalog.load(str(folder)) is not old


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "xlm-roberta", "xlnet"])
def test_the_length_is_read_from_whichever_file_older_releases_wrote(folder: Path, kind: str) -> None:
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer | {"model_max_length": 64}))
    (folder / "sentence_bert_config.json").rename(folder / f"sentence_{kind}_config.json")
    (folder / f"sentence_{kind}_config.json").write_text('{"max_seq_length": 7, "do_lower_case": false}')
    assert load_folder(folder).max_length == 7 == SentenceTransformer(str(folder), device="cpu").max_seq_length


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last", "weighted_mean", "mean_sqrt_len"])
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_the_tokens_of_a_prompt_are_left_out_where_the_folder_says_so(tmp_path: Path, kind: str, pooling: str) -> None:
    encoder = tiny_encoder(kind, EncoderConfig(pooling, True, prompt="hello world how ", include_prompt=False))
    encoder.prompts = {"query": "hello world how "}
    encoder.save(tmp_path / "m")
    texts = [text for text in TEXTS if text]
    peer = SentenceTransformer(str(tmp_path / "m"), device="cpu")
    read = load_folder(tmp_path / "m")
    assert not read.config.include_prompt
    np.testing.assert_allclose(read.encode(texts), peer.encode(texts), atol=2e-6)
    np.testing.assert_allclose(encoder.encode(texts), read.encode(texts), atol=1e-6)
    with_it = tiny_encoder(kind, EncoderConfig(pooling, True, prompt="hello world how "))
    assert with_it.fingerprint != encoder.fingerprint


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def mapped(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    save_file({key: np.ascontiguousarray(change(tensor)) for key, tensor in load_file(path).items()}, path)


def with_a_gap(tensor: np.ndarray) -> np.ndarray:
    tensor = tensor.copy()
    tensor.reshape(-1)[-1] = np.nan
    return tensor


def whole_numbers(tensor: np.ndarray) -> np.ndarray:
    return (tensor * 100).astype(np.int8)


FAMILY = {str(family): family for family in FAMILIES}


@pytest.mark.parametrize("change", [with_a_gap, whole_numbers])
@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("words", "model.safetensors"),
        ("weighted words", "1_WordWeights/model.safetensors"),
        ("GRU", "1_GRU/model.safetensors"),
        ("bert", "model.safetensors"),
        ("cross", "model.safetensors"),
        ("poly", "codes.safetensors"),
    ],
)
def test_weights_of_which_vectors_would_be_wrong_are_refused(
    catalog: Catalog, tmp_path: Path, family: str, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    FAMILY[family].make().save(tmp_path / "it")
    mapped(tmp_path / "it" / name, change)
    with pytest.raises(StudioError, match=Path(name).name) as caught:
        catalog.load_any(str(tmp_path / "it"))
    assert caught.value.hint


# Tokens at the ends of a text for which the model has no row.
ENDS = (("bert", "cls_token"), ("bert", "pad_token"), ("cross", "sep_token"), ("poly", "sep_token"))


@pytest.mark.parametrize(
    ("family", "name", "values"),
    [
        ("GRU", "1_GRU/gru_config.json", {"num_layers": 10**12}),
        ("GRU", "1_GRU/gru_config.json", {"hidden_dim": 10**12}),
        ("words", "wordembedding_config.json", {"max_seq_length": -1}),
        ("words", "1_Pooling/config.json", {"pooling_mode_max_tokens": "no"}),
        ("bert", "config.json", {"num_hidden_layers": 10**12}),
        ("bert", "config.json", {"num_hidden_layers": 0}),
        ("bert", "config.json", {"num_hidden_layers": 1}),
        ("bert", "config.json", {"num_attention_heads": -1}),
        ("bert", "sentence_bert_config.json", {"max_seq_length": -1}),
        ("bert", "config.json", {"hidden_dropout_prob": math.nan}),
        ("bert", "config.json", {"layer_norm_eps": math.nan}),
        ("poly", "poly.json", {"sharpness": math.inf}),
        ("cross", "config.json", {"num_hidden_layers": 1}),
        ("cross", "config.json", {"classifier_dropout": math.inf}),
        ("cross", "tokenizer_config.json", {"model_max_length": 0}),
        ("cross", "config.json", {"vocab_size": 5}),
        ("t5", "config.json", {"num_layers": 1}),
        ("bert", "sentence_bert_config.json", {"do_lower_case": "false"}),
        *((family, "tokenizer_config.json", {token: "[MORE]"}) for family, token in ENDS),
    ],
)
def test_settings_that_do_not_fit_the_weights_are_refused_before_anything_is_made_of_them(
    catalog: Catalog, tmp_path: Path, family: str, name: str, values: dict[str, object]
) -> None:
    FAMILY[family].make().save(tmp_path / "it")
    changed(tmp_path / "it" / name, **values)
    with pytest.raises(StudioError) as caught:
        catalog.load_any(str(tmp_path / "it"))
    assert caught.value.hint


@pytest.mark.parametrize("size", [{"in_features": 10**12}, {"out_features": 10**12}])
def test_a_projection_larger_than_its_weights_is_never_made(catalog: Catalog, folder: Path, size: dict[str, object]) -> None:
    changed(folder / "2_Dense" / "config.json", **size)
    with pytest.raises(StudioError, match="2_Dense do not match"):
        catalog.load(str(folder))


def test_modules_and_folders_that_do_not_belong_are_refused(catalog: Catalog, folder: Path, tmp_path: Path) -> None:
    tiny_encoder("bert", EncoderConfig("cls+mean", True, 8)).save(tmp_path / "wide")
    shutil.rmtree(folder / "2_Dense")
    shutil.copytree(tmp_path / "wide" / "2_Dense", folder / "2_Dense")
    with pytest.raises(StudioError, match="Dense expects vectors of"):
        catalog.load(str(folder))
    FAMILY["weighted words"].make().save(tmp_path / "it")
    settings = tmp_path / "it" / "1_WordWeights" / "config.json"
    changed(settings, vocab=json.loads(settings.read_text(encoding="utf-8"))["vocab"][::-1])
    with pytest.raises(StudioError, match="do not match the words"):
        catalog.load(str(tmp_path / "it"))
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").mkdir()
    with pytest.raises(StudioError, match=r"tokenizer\.json"):
        catalog.load(str(folder))


@pytest.mark.parametrize("family", ["bert", "cross", "poly"])
def test_the_tokenizer_of_another_model_is_refused(catalog: Catalog, tmp_path: Path, family: str) -> None:
    FAMILY[family].make().save(tmp_path / "it")
    path = tmp_path / "it" / "tokenizer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["model"]["vocab"] |= {f"more{number}": 1000 + number for number in range(500)}
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(StudioError, match="tokenizer in 'it' has"):
        catalog.load_any(str(tmp_path / "it"))


@pytest.mark.parametrize("change", [lambda tensor: tensor.T, lambda tensor: tensor[:-1] if len(tensor) > 1 else tensor])
def test_a_cross_encoder_is_not_begun_on_a_backbone_that_does_not_fit(
    catalog: Catalog, folder: Path, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    mapped(folder / "model.safetensors", change)
    with pytest.raises(StudioError, match="lack"):
        catalog.load_trainable_cross_encoder(str(folder))


def test_what_no_parameter_took_is_refused_only_where_it_is_a_weight_of_the_models_own_layers(folder: Path) -> None:
    whole = load_folder(folder).encode(TEXTS)
    (folder / "digests.json").unlink()
    weights = load_file(folder / "model.safetensors")
    one = np.ones(4, np.float32)
    harmless = ("encoder.layer.0.attention.self.rotary_emb.inv_freq", "encoder.layer.0.attention.bias", "decoder.block.0.layer.0.q.weight")
    save_file({**weights, **dict.fromkeys(harmless, one)}, folder / "model.safetensors")
    np.testing.assert_array_equal(load_folder(folder).encode(TEXTS), whole)
    for key in ("encoder.layer.1.attention.self.more.weight", "encoder.layer.7.output.dense.weight"):
        save_file({**weights, key: one}, folder / "model.safetensors")
        with pytest.raises(StudioError, match="its configuration omits"):
            load_folder(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden_size": "32"}, "hidden_size is '32' in its config.json, not an integer"),
        ({"pad_token_id": "x"}, "pad_token_id is 'x' in its config.json, not an integer"),
        ({"layer_norm_eps": "x"}, "layer_norm_eps is 'x' in its config.json, not a number"),
        ({"vocab_size": 5}, r"word_embeddings.weight in .* is \d+ × 32, but 5 × 32 by its config.json"),
        ({"hidden_act": "odd"}, "'odd' is not supported"),
        ({"hidden_act": 7}, "cannot be read"),
        ({"num_hidden_layers": None}, ""),
        ({"model_type": "nothing"}, ""),
    ],
)
def test_a_setting_that_cannot_be_obeyed_is_named(catalog: Catalog, folder: Path, change: dict[str, object], words: str) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for load in (catalog.load, catalog.load_trainable):
        with pytest.raises(StudioError, match=words):
            load(str(folder))


def test_a_lack_of_memory_while_a_model_is_read_is_no_damage(folder: Path) -> None:
    with pytest.raises(RuntimeError) as caught, translate_load_errors("tiny", folder):
        torch.empty(1 << 60)
    assert is_out_of_memory(caught.value)
    os.truncate(folder / "model.safetensors", 1 << 40)  # sparse
    with no_more_memory_than(1 << 30):
        for read in (safetensors_error, lambda path: read_weights(path.parent)):
            with pytest.raises(Exception) as caught:
                read(folder / "model.safetensors")
            assert is_out_of_memory(caught.value), caught.value
