"""Folders of sentence-transformers, transformers and model2vec, both ways."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as peer
from sentence_transformers.sentence_transformer.modules import Router
from tiny_studio import peer as open_peer
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from sbert_studio.errors import StudioError
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.io.sources import read_model_info
from sbert_studio.models.modules.pooling import POOLINGS
from sbert_studio.models.modules.projection import ACTIVATIONS
from sbert_studio.workspace import Workspace

from .tiny import BACKBONES, TEXTS, WORDS, tiny_encoder


@pytest.fixture
def routed(tmp_path: Path) -> Any:
    """A Router with a network for queries and one for documents, saved as ``router``."""
    networks = {}
    for route, kind in (("query", "bert"), ("document", "distilbert")):
        tiny_encoder(kind).save(tmp_path / route)
        networks[route] = list(open_peer(tmp_path / route))
    model = SentenceTransformer(modules=[Router.for_query_document(networks["query"], networks["document"])], device="cpu")
    model.save_pretrained(str(tmp_path / "router"))
    return model


def test_a_router_is_refused_with_its_routes_and_one_of_them_can_be_saved_as_said(routed: Any, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match=r"a Router has .*\(query: Transformer, Pooling, Normalize; document: ") as refused:
        Catalog(Workspace(tmp_path / "home"), device="cpu").load(str(tmp_path / "router"))
    found = re.search(r"SentenceTransformer\(modules=.*\)\.save_pretrained\(FOLDER\)", str(refused.value.hint))
    exec(found.group(), {"SentenceTransformer": SentenceTransformer, "model": routed, "FOLDER": str(tmp_path / "one")})
    np.testing.assert_allclose(load_folder(tmp_path / "one").encode(TEXTS), routed.encode_query(TEXTS), atol=1e-5)


def test_folders_behind_links_and_damaged_ones_are_described(tmp_path: Path) -> None:
    tiny_encoder("bert").save(tmp_path / "it")
    (tmp_path / "link").symlink_to(tmp_path / "it")
    assert read_model_info(tmp_path / "link") == read_model_info(tmp_path / "it")
    tiny_encoder("bert").save(tmp_path / "it")
    weights = tmp_path / "it" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    assert "truncated" in read_model_info(tmp_path / "it").damaged
    weights.unlink()
    assert read_model_info(tmp_path / "it").damaged == "its weights are missing"
    assert read_model_info(None).damaged == read_model_info(tmp_path / "nothing").damaged == "its folder is missing"


def test_a_folder_is_described_again_only_after_one_of_its_files_has_changed(tmp_path: Path) -> None:
    tiny_encoder("bert").save(tmp_path / "it")
    first = read_model_info(tmp_path / "it")
    assert first.pooling == "mean" and read_model_info(tmp_path / "it") is first
    (tmp_path / "it" / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 32, "pooling_mode_cls_token": true}')
    assert read_model_info(tmp_path / "it").pooling == "cls"
    (tmp_path / "it" / "sentence_bert_config.json").write_text('{"max_seq_length": 7}')
    assert read_model_info(tmp_path / "it").max_length == 7 != first.max_length


@pytest.mark.parametrize("said", ["{", "[]", '{"structure": [1]}', '{"structure": {"query": 5}}', "{}"])
def test_a_router_whose_settings_are_damaged_is_refused_too(routed: Any, said: str, tmp_path: Path) -> None:
    (config,) = (tmp_path / "router").rglob("router_config.json")
    config.write_text(said)
    with pytest.raises(StudioError):
        load_folder(tmp_path / "router")
    config.unlink()
    modules = tmp_path / "router" / "modules.json"
    modules.write_text(modules.read_text().replace("Router", "Asym"))  # the older name
    with pytest.raises(StudioError, match="a Router has"):
        load_folder(tmp_path / "router")


def peer_vectors(folder: Path, texts: list[str]) -> np.ndarray:
    return np.asarray(open_peer(folder).encode(texts, show_progress_bar=False))


@pytest.mark.parametrize(("normalize", "projection"), [(True, None), (False, 12)])
@pytest.mark.parametrize("pooling", [*POOLINGS, "cls+max", "mean+cls"])
def test_a_saved_bert_opens_in_sentence_transformers(pooling: str, normalize: bool, projection: int | None, tmp_path: Path) -> None:
    encoder = tiny_encoder("bert", EncoderConfig(pooling, normalize, projection, max_length=20))
    expected = encoder.encode(TEXTS)
    encoder.save(tmp_path / "model")
    np.testing.assert_allclose(peer_vectors(tmp_path / "model", TEXTS), expected, atol=1e-5)
    again = load_folder(tmp_path / "model")
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-6)
    assert again.config == encoder.config
    info = read_model_info(tmp_path / "model")
    assert (info.dim, info.pooling, info.parameters, info.max_length) == (encoder.dim, pooling, encoder.parameters_count, 20)
    assert again.fingerprint == load_folder(tmp_path / "model").fingerprint


@pytest.mark.parametrize(
    ("kind", "pooling"),
    [
        *((kind, "mean") for kind in BACKBONES if kind != "bert"),
        *(("llama", "last"), ("gpt2", "weighted_mean"), ("xlnet", "last"), ("albert", "cls"), ("t5", "weighted_mean")),
    ],
)
def test_other_backbones_open_in_sentence_transformers(kind: str, pooling: str, tmp_path: Path) -> None:
    encoder = tiny_encoder(kind, EncoderConfig(pooling, True))
    encoder.save(tmp_path / "model")
    texts = [text for text in TEXTS if text]  # an empty text has no token at all in some of these
    expected = encoder.encode(texts)
    np.testing.assert_allclose(peer_vectors(tmp_path / "model", texts), expected, atol=1e-5)
    np.testing.assert_allclose(load_folder(tmp_path / "model").encode(texts), expected, atol=1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_of_a_projection_is_written_and_read(activation: str, tmp_path: Path) -> None:
    encoder = tiny_encoder("bert", EncoderConfig("mean", False, 6, activation))
    encoder.save(tmp_path / "model")
    np.testing.assert_allclose(peer_vectors(tmp_path / "model", TEXTS), encoder.encode(TEXTS), atol=1e-5)
    assert load_folder(tmp_path / "model").config.activation == activation


@pytest.mark.parametrize(
    ("modes", "extras"),
    [
        (("mean",), ["dense", "normalize"]),
        (("cls", "max"), ["dense", "dense"]),
        (("mean", "cls"), ["normalize"]),
        (("lasttoken", "weightedmean"), []),
        (("mean",), ["normalize", "dense"]),
        (("mean", "cls"), ["norm", "silu", "norm", "normalize"]),
        (("lasttoken", "weightedmean"), ["skip"]),
    ],
)
def test_a_folder_of_sentence_transformers_opens_here(modes: tuple[Any, ...], extras: list[str], tmp_path: Path) -> None:
    tiny_encoder().save(tmp_path / "plain")
    width = 32 * len(modes)
    built: list[Any] = [peer.Transformer(str(tmp_path / "plain"), max_seq_length=20), peer.Pooling(32, modes)]
    for extra in extras:
        if extra in ("dense", "silu", "skip"):
            activation = torch.nn.SiLU() if extra == "silu" else torch.nn.Tanh()
            built.append(peer.Dense(width, 10, activation_function=activation, use_residual=extra == "skip"))
            width = 10
        elif extra == "norm":
            built.append(peer.LayerNorm(width))
        else:
            built.append(peer.Normalize())
    model = SentenceTransformer(modules=built, device="cpu")
    model.save(str(tmp_path / "theirs"))
    expected = np.asarray(model.encode(TEXTS))
    ours = load_folder(tmp_path / "theirs")
    np.testing.assert_allclose(ours.encode(TEXTS), expected, atol=1e-5)
    assert ours.max_length == 20 and ours.normalizes == (extras[-1:] == ["normalize"])
    ours.save(tmp_path / "back")
    np.testing.assert_allclose(peer_vectors(tmp_path / "back", TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("extras", [[], ["normalize"], ["dense", "normalize"]])
def test_a_table_of_tokens_of_sentence_transformers_opens_here(extras: list[str], tmp_path: Path) -> None:
    tokenizer = Tokenizer(WordPiece({word: place for place, word in enumerate(["[PAD]", "[UNK]", *WORDS, "##s"])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    rows = torch.randn(tokenizer.get_vocab_size(), 8, generator=torch.Generator().manual_seed(1))
    built: list[Any] = [peer.StaticEmbedding(tokenizer, embedding_weights=rows)]
    built += [peer.Dense(8, 5) if extra == "dense" else peer.Normalize() for extra in extras]
    model = SentenceTransformer(modules=built, device="cpu")
    model.save(str(tmp_path / "theirs"))
    expected, texts = np.asarray(model.encode(TEXTS)), list(TEXTS)
    ours = load_folder(tmp_path / "theirs")
    np.testing.assert_allclose(ours.encode(texts), expected, atol=1e-6)
    info = read_model_info(tmp_path / "theirs")
    assert (info.dim, info.pooling, info.damaged) == (expected.shape[1], "mean", "")
    assert ours.portable and ours.coverage(texts) is None and ours.tokens.unknown_share(["the cats", "zebra"]) == 1 / 4
    ours.save(tmp_path / "back")
    np.testing.assert_allclose(peer_vectors(tmp_path / "back", texts), expected, atol=1e-6)
    np.testing.assert_allclose(load_folder(tmp_path / "back").encode(texts), expected, atol=1e-6)
    assert load_folder(tmp_path / "back").fingerprint == ours.fingerprint


def test_a_quantised_table_of_model2vec_opens_here(tmp_path: Path) -> None:
    tokenizer = Tokenizer(WordPiece({word: place for place, word in enumerate(["[PAD]", "[UNK]", *WORDS])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    size = tokenizer.get_vocab_size()
    tensors = {
        "embeddings": torch.randn(10, 8, generator=torch.Generator().manual_seed(1)).half(),
        "mapping": torch.arange(size) % 10,
        "weights": torch.linspace(0.1, 2, size),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    listed = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    np.testing.assert_allclose(load_folder(tmp_path).encode(TEXTS), peer_vectors(tmp_path, TEXTS), atol=1e-3)


def test_pointers_of_git_lfs_and_named_activations_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n")
    with pytest.raises(StudioError, match="pointer of Git LFS") as caught:
        load_folder(folder)
    assert "git lfs pull" in caught.value.hint
    folder = saved(tmp_path)
    path = folder / "2_Dense" / "config.json"
    path.write_text(path.read_text().replace("torch.nn.modules.activation.GELU", "os.system"))
    with pytest.raises(StudioError, match="projection"):
        load_folder(folder)


@pytest.mark.parametrize("kind", BACKBONES)
def test_a_tokenizer_is_saved_by_the_names_that_older_readers_know(kind: str, tmp_path: Path) -> None:
    encoder = tiny_encoder(kind)
    encoder.tokenizer.add_special_tokens({"additional_special_tokens": ["<one>"]})
    encoder.save(tmp_path / "model")
    settings = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert settings["tokenizer_class"] != "TokenizersBackend"
    assert not isinstance(settings.get("extra_special_tokens"), list) and settings["additional_special_tokens"] == ["<one>"]
    again = load_folder(tmp_path / "model")
    assert "<one>" in again.tokenizer.all_special_tokens  # type: ignore[attr-defined]


def test_default_prompts_are_kept(tmp_path: Path) -> None:
    tiny_encoder().save(tmp_path / "plain")
    model = SentenceTransformer(str(tmp_path / "plain"), device="cpu", prompts={"query": "how are "}, default_prompt_name="query")
    model.save(str(tmp_path / "theirs"))
    ours = load_folder(tmp_path / "theirs")
    np.testing.assert_allclose(ours.encode(TEXTS), np.asarray(model.encode(TEXTS)), atol=1e-5)
    ours.save(tmp_path / "back")
    np.testing.assert_allclose(peer_vectors(tmp_path / "back", TEXTS), ours.encode(TEXTS), atol=1e-5)


def test_lower_casing_is_kept(tmp_path: Path) -> None:
    encoder = tiny_encoder("llama")
    encoder.tokenizer.backend_tokenizer.normalizer = None
    encoder.set_max_length(None)
    texts = ["The CAT sat", "Hello World"]
    cased = encoder.encode(texts)
    encoder.save(tmp_path / "model")
    settings = tmp_path / "model" / "sentence_bert_config.json"
    settings.write_text('{"max_seq_length": 64, "do_lower_case": true}')
    lower = load_folder(tmp_path / "model")
    assert np.abs(lower.encode(texts) - cased).max() > 0.01
    np.testing.assert_allclose(lower.encode(texts), peer_vectors(tmp_path / "model", texts), atol=1e-5)
    lower.save(tmp_path / "back")
    np.testing.assert_allclose(peer_vectors(tmp_path / "back", texts), lower.encode(texts), atol=1e-5)


def test_the_old_layout_is_written_to_the_letter(tmp_path: Path) -> None:
    tiny_encoder("bert", EncoderConfig("mean", True, max_length=20)).save(tmp_path / "model")

    def read(name: str) -> Any:
        return json.loads((tmp_path / "model" / name).read_text())

    assert read("modules.json") == [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    assert read("1_Pooling/config.json") == {
        "word_embedding_dimension": 32,
        "pooling_mode_cls_token": False,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    assert read("sentence_bert_config.json") == {"max_seq_length": 20, "do_lower_case": False}
    assert read("2_Normalize/config.json") == {}
    assert read("config_sentence_transformers.json")["__version__"]["sentence_transformers"] == "2.2.2"
    assert read("config.json")["dtype"] == "float32"
    assert read("tokenizer_config.json")["model_max_length"] == 20
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert {"model.safetensors", "tokenizer.json", "README.md"} <= names


def test_a_bfloat16_checkpoint_is_saved_as_float32_and_a_model_in_lower_precision_not_at_all(tmp_path: Path) -> None:
    encoder = tiny_encoder()
    encoder.backbone.to(torch.bfloat16).save_pretrained(tmp_path / "half")
    encoder.tokenizer.save_pretrained(tmp_path / "half")
    loaded = load_folder(tmp_path / "half")
    assert {weight.dtype for weight in loaded.parameters()} == {torch.float32}
    loaded.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["dtype"] == "float32"
    with pytest.raises(StudioError, match="bfloat16"):
        tiny_encoder().freeze("bfloat16").save(tmp_path / "frozen")
    assert not (tmp_path / "frozen").exists()


def test_no_path_of_this_machine_is_written(tmp_path: Path) -> None:
    encoder = tiny_encoder()
    encoder.save(tmp_path / "model")
    load_folder(tmp_path / "model", str(tmp_path / "model")).save(tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path.name


def test_plain_folders_of_transformers_are_read_the_same_each_time(tmp_path: Path) -> None:
    encoder = tiny_encoder("bert", EncoderConfig("mean", False))
    encoder.backbone.save_pretrained(tmp_path / "plain")
    encoder.tokenizer.save_pretrained(tmp_path / "plain")
    loaded = load_folder(tmp_path / "plain")
    np.testing.assert_allclose(loaded.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    assert not loaded.normalizes and "mean pooling" in loaded.describe()["note"]
    loaded.save(tmp_path / "saved")
    assert load_folder(tmp_path / "saved").describe()["note"] == ""
    from transformers import BertForMaskedLM

    encoder = tiny_encoder()
    BertForMaskedLM(encoder.backbone.config).save_pretrained(tmp_path / "mlm")
    encoder.tokenizer.save_pretrained(tmp_path / "mlm")
    one, two = load_folder(tmp_path / "mlm"), load_folder(tmp_path / "mlm")
    assert one.fingerprint == two.fingerprint


def saved(tmp_path: Path) -> Path:
    tiny_encoder("bert", EncoderConfig(projection=8)).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("module", ["", "2_Dense"])
def test_a_pickle_is_refused(module: str, tmp_path: Path) -> None:
    folder = saved(tmp_path)
    (folder / module / "model.safetensors").rename(folder / module / "pytorch_model.bin")
    with pytest.raises(StudioError, match="pickle"):
        load_folder(folder)


def test_modules_outside_the_folder_and_code_of_a_checkpoint_are_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    modules = json.loads((folder / "modules.json").read_text())
    for change, said in [({"path": "../.."}, "outside"), ({"type": "os.system"}, "'system'")]:
        altered = [modules[0], modules[1] | change, *modules[2:]]
        (folder / "modules.json").write_text(json.dumps(altered))
        with pytest.raises(StudioError, match=said):
            load_folder(folder)
    folder = saved(tmp_path)
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    config = json.loads((folder / "config.json").read_text())
    altered = config | {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"}}
    (folder / "config.json").write_text(json.dumps(altered))
    with pytest.raises(StudioError):
        load_folder(folder)
    assert not (tmp_path / "ran").exists()


def test_a_failed_save_leaves_the_old_folder_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_encoder()
    encoder.save(tmp_path / "model")
    before = load_folder(tmp_path / "model").fingerprint

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(encoder.tokenizer, "save_pretrained", full)
    with pytest.raises(OSError, match="space"):
        encoder.save(tmp_path / "model")
    assert load_folder(tmp_path / "model").fingerprint == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".part")] == []
