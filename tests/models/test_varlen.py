"""Texts one behind the other say what padded ones say, on the device alone, and come back in the order in which they were given."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention.varlen import varlen_attn
from torch.utils._python_dispatch import TorchDispatchMode

from sbert_studio.models.base import EncodingStoppedError
from sbert_studio.models.inference import varlen
from sbert_studio.models.inference import varlen as gpu_stream
from sbert_studio.models.inference.batching import TokenRows
from sbert_studio.models.inference.packing import FusedLayer
from sbert_studio.models.inference.varlen import HostCopy, Sequences, max_batch_tokens, pool_sequences, varlen_attention, varlen_batch
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.modules.pooling import POOLINGS, Pooling
from sbert_studio.models.sentence_encoder import SentenceEncoder

from .tiny import TEXTS, tiny_encoder

LENGTHS = (4, 1, 7, 2)
MANY = [f"{text} {number}" for number in range(40) for text in TEXTS]
CPU = torch.device("cpu")


def frozen(folder: Path, precision: str = "float32", *, unpad: bool = True) -> SentenceEncoder:
    encoder = load_folder(folder, "one", "cpu", True).freeze(precision)
    if unpad:
        encoder.enable_varlen()
    assert encoder.uses_varlen == unpad
    return encoder


@pytest.fixture(params=["bert", "roberta"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tiny_encoder(request.param).save(tmp_path / "model")
    return tmp_path / "model"


def texts_of(lengths: tuple[int, ...] = LENGTHS) -> Sequences:
    starts = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    return Sequences.from_starts(starts, sum(lengths), max(lengths))


@pytest.mark.parametrize("pooling", ["mean", "cls", "max+weighted_mean"])
def test_the_vectors_are_those_of_padded_batches(folder: Path, pooling: str) -> None:
    padded, unpadded = frozen(folder, unpad=False), frozen(folder)
    for encoder in (padded, unpadded):
        encoder.set_pooling(pooling)
    assert all(isinstance(layer, FusedLayer) for layer in unpadded.backbone.encoder.layer)
    np.testing.assert_allclose(unpadded.encode(MANY), padded.encode(MANY), atol=2e-5)


def test_in_bfloat16_too(folder: Path) -> None:
    left, right = frozen(folder, "bfloat16").encode(TEXTS), frozen(folder, "bfloat16", unpad=False).encode(TEXTS)
    assert ((left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)).min() > 0.999


def test_layers_as_they_were_read_say_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where layers cannot be fused."""
    monkeypatch.setattr("sbert_studio.models.inference.packing.is_fusible", lambda *_: False)
    encoder = frozen(folder)
    assert not any(isinstance(layer, FusedLayer) for layer in encoder.backbone.encoder.layer)
    np.testing.assert_allclose(encoder.encode(MANY), frozen(folder, unpad=False).encode(MANY), atol=2e-5)


def test_an_id_of_padding_within_a_text_counts_as_it_does_in_a_padded_batch(folder: Path) -> None:
    padded, unpadded = frozen(folder, unpad=False), frozen(folder)
    pad = padded.tokens.pad
    rows = [[2, pad, 7, 8], [2, 9, 3], [2, 7, pad, pad, 8, 3]]
    tokens = TokenRows.from_lists([rows])
    with torch.inference_mode():
        found = unpadded.forward_varlen(*varlen_batch(tokens, np.asarray([2, 0, 1]), CPU))
        torch.testing.assert_close(found, padded(padded.collate([rows[2], rows[0], rows[1]])), atol=2e-5, rtol=0)


def test_networks_that_say_otherwise_stay_padded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = frozen(folder, unpad=False).encode(TEXTS)
    monkeypatch.setattr(varlen, "padded_attention", lambda query, *_, **__: query)
    encoder = load_folder(folder, "one", "cpu", True).freeze()
    encoder.enable_varlen()
    assert not encoder.uses_varlen
    assert not any(isinstance(layer, FusedLayer) for layer in encoder.backbone.encoder.layer)
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    encoder = tiny_encoder("distilbert").freeze()
    encoder.enable_varlen()
    assert not encoder.uses_varlen


def test_tokens_meet_those_of_their_own_text_alone() -> None:
    torch.manual_seed(1)
    query, key, value = torch.randn(3, sum(LENGTHS), 2, 8, dtype=torch.float64).unbind(0)
    found, start = varlen_attention(query, key, value, texts_of(), scale=0.3), 0
    for length in LENGTHS:
        part = slice(start, start + length)
        weights = torch.softmax(0.3 * torch.einsum("qhd,khd->hqk", query[part], key[part]), dim=-1)
        torch.testing.assert_close(found[part], torch.einsum("hqk,khd->qhd", weights, value[part]))
        start += length


@pytest.mark.parametrize("skip", [0, 2])
@pytest.mark.parametrize("mode", [*POOLINGS, "cls+max"])
def test_pooling_and_its_gradient_are_those_of_a_padded_batch(mode: str, skip: int) -> None:
    torch.manual_seed(2)
    of, pooling = texts_of(), Pooling(mode, skip)
    flat = torch.randn(sum(LENGTHS), 5, requires_grad=True)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    spread = torch.zeros(*mask.shape, 5).masked_scatter(mask[..., None], flat.detach()).requires_grad_()
    found, expected = pool_sequences(pooling, flat, of), pooling(spread, mask.long())
    torch.testing.assert_close(found, expected)
    for vectors in (found, expected):
        (vectors * torch.arange(1.0, 1 + vectors.shape[1])).sum().backward()
    torch.testing.assert_close(flat.grad, spread.grad[mask])


class _Watched(TorchDispatchMode):
    """What runs, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func._schema.name)
        return func(*args, **(kwargs or {}))


def test_on_a_gpu_the_kernel_attends_and_no_number_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On tensors of a GPU without numbers: what would read one fails, and what is launched is seen."""
    monkeypatch.setattr(varlen, "_is_kernel_correct", lambda *_: True)
    encoder = frozen(folder, "bfloat16")
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        for module in encoder.backbone.modules():
            for name, weight in module._parameters.items():
                if weight is not None:
                    module._parameters[name] = torch.empty(weight.shape, dtype=weight.dtype, device="cuda")  # type: ignore[assignment]
        starts, ids = (torch.empty(size, dtype=torch.int32, device="cuda") for size in (4, 20))
        with _Watched() as watched:
            vectors = encoder.forward_varlen(ids, Sequences.from_starts(starts, 20, 9))
    assert (vectors.device.type, vectors.dtype, vectors.shape) == ("cuda", torch.float32, (3, encoder.dim))
    assert watched.seen.count("torch_attn::_varlen_attn") == len(encoder.backbone.encoder.layer)
    assert not {"aten::_local_scalar_dense", "aten::nonzero", "aten::item"} & set(watched.seen)
    launches = len([name for name in watched.seen if name.split("::")[1] in ("addmm", "gelu", "native_layer_norm")])
    assert launches == 1 + 7 * len(encoder.backbone.encoder.layer), "one product for queries, keys and values"


def test_the_kernel_is_called_as_pytorch_has_it_and_not_where_something_is_dropped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = torch.empty(3, 14, 2, 8, device="meta", dtype=torch.bfloat16).unbind(0)
    of = Sequences(torch.empty(5, dtype=torch.int32, device="meta"), *torch.empty(2, 14, device="meta").unbind(0), 7)
    assert varlen._kernel_attention(query, key, value, of, 0.5).shape == query.shape
    called: list[inspect.BoundArguments] = []

    def noted(*given: Any, **named: Any) -> torch.Tensor:
        called.append(inspect.signature(varlen_attn).bind(*given, **named))
        return query

    monkeypatch.setattr("torch.nn.attention.varlen.varlen_attn", noted)
    varlen._kernel_attention(query, key, value, of, 0.5)
    assert called[0].arguments["max_q"] == called[0].arguments["max_k"] == 7
    assert called[0].arguments["scale"] == 0.5 and called[0].arguments["cu_seq_k"] is of.starts


# -- the stream of texts ----------------------------------------------------------------------------------------------


def test_a_copy_back_brings_the_vectors_of_many_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, expected = frozen(folder), frozen(folder, unpad=False).encode(MANY)
    fetched: list[int] = []
    threads: set[str] = set()
    fetch: Callable[[torch.Tensor], HostCopy] = HostCopy.start
    tokenize = encoder.tokenize

    def noted(values: torch.Tensor) -> HostCopy:
        fetched.append(len(values))
        return fetch(values)

    def heard(texts: list[str]) -> list[list[int]]:
        threads.add(threading.current_thread().name.split("_")[0])
        return tokenize(texts)

    monkeypatch.setattr(HostCopy, "start", noted)
    monkeypatch.setattr(encoder, "tokenize", heard)
    monkeypatch.setattr(gpu_stream, "_CHUNK", 100)
    monkeypatch.setattr(gpu_stream, "max_batch_tokens", lambda *_: 128)
    told: list[tuple[int, int]] = []
    texts = [*MANY, *MANY[:10]]
    found = encoder.encode(texts, progress=lambda done, total: told.append((done, total)))
    np.testing.assert_allclose(found, np.concatenate([expected, expected[:10]]), atol=2e-5)
    distinct = len(set(MANY))
    assert fetched == [100] * (distinct // 100) + [distinct % 100] * (distinct % 100 > 0)
    assert threads == {"tokenise"}
    assert told[-1] == (len(texts), len(texts)) and told == sorted(told)
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_it_stops_at_once_and_leaves_no_thread(folder: Path) -> None:
    with pytest.raises(EncodingStoppedError):
        frozen(folder).encode(MANY, should_stop=lambda: True)
    assert not any(thread.name.startswith("tokenise") for thread in threading.enumerate())


def test_where_memory_runs_out_batches_get_smaller(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, expected = frozen(folder), frozen(folder, unpad=False).encode(MANY)
    tried: list[int] = []
    unpadded = encoder.forward_varlen

    def small(ids: torch.Tensor, of: Sequences) -> torch.Tensor:
        tried.append(len(ids))
        if len(ids) > 300:
            raise torch.OutOfMemoryError
        return unpadded(ids, of)

    monkeypatch.setattr(encoder, "forward_varlen", small)
    monkeypatch.setattr(gpu_stream, "_MIN_TOKENS", 100)
    np.testing.assert_allclose(encoder.encode(MANY), expected, atol=2e-5)
    assert max(tried) > 300 and len([size for size in tried if size > 300]) < 12
    monkeypatch.setattr(gpu_stream, "_MIN_TOKENS", 1_000)
    with pytest.raises(torch.OutOfMemoryError):
        encoder.encode(MANY)


def test_batches_grow_with_the_memory_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    device, free = torch.device("cuda", 0), [4 << 30]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free[0], 80 << 30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 3 << 20)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 1 << 20)
    little = max_batch_tokens(device, 384)
    assert 1_024 < little < 65_536
    assert max_batch_tokens(device, 1_024) < little
    free[0] = 70 << 30
    assert max_batch_tokens(device, 384) == 65_536
    free[0] = 0
    assert max_batch_tokens(device, 384) == 1_024
