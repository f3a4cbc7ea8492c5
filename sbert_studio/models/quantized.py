"""4-bit weights (ggml's Q4_0 blocks): dequantization, quantized token embeddings, and training with them.

For int8 inference, see :mod:`sbert_studio.models.inference.packing`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

BLOCK, BLOCK_BYTES = 32, 18  # weights per block, and its size
QUANTIZED = ".q4_0"
"""Suffix of a quantized tensor's name; its shape in the file is (rows, blocks, 18) uint8."""
_SCALE_BYTES = 2
_TABLE = "embeddings.word_embeddings.weight"


def dequantized_shape(name: str, stored: list[int]) -> list[int]:
    """Return the shape of the weights of a tensor with shape ``stored`` in its file."""
    return [*stored[:-2], stored[-2] * BLOCK] if name.endswith(QUANTIZED) else stored


def dequantize(blocks: Tensor) -> Tensor:
    """Unpack Q4_0 ``blocks``, (..., blocks, 18) uint8, to weights, (..., 32 · blocks) float32."""
    scales = blocks[..., :_SCALE_BYTES].contiguous().view(torch.float16).float()
    packed = blocks[..., _SCALE_BYTES:]
    numbers = torch.cat([packed & 15, packed >> 4], dim=-1).float()
    return numbers.sub_(8).mul_(scales).flatten(-2)


class QuantizedEmbedding(nn.Module):
    """``nn.Embedding`` with 4-bit rows; maps ids (...) to vectors (..., d). Selected rows can be made trainable.

    Args:
        blocks: (V, d / 32, 18) uint8, possibly memory-mapped.

    Attributes:
        sparse: trained rows get a sparse gradient.
    """

    blocks: Tensor
    trained_ids: Tensor
    _place: Tensor
    _precision: Tensor

    def __init__(self, blocks: Tensor) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = len(blocks), blocks.shape[1] * BLOCK
        self.sparse = False
        self.trained: nn.Embedding | None = None
        self.register_buffer("blocks", blocks)
        self.register_buffer("trained_ids", torch.empty(0, dtype=torch.int64))
        # Its dtype follows that of the network, whose conversions do not affect the blocks of bytes.
        self.register_buffer("_precision", torch.empty(0), persistent=False)

    @property
    def parameters_count(self) -> int:
        return self.num_embeddings * self.embedding_dim

    def train_rows(self, ids: Tensor) -> None:
        """Unpack the rows of ``ids`` and make them parameters; other rows stay frozen.

        If the training texts contain only these tokens, the result equals training the whole table, because no other row has a gradient.
        """
        weight = dequantize(self.blocks[ids])
        self.trained = nn.Embedding.from_pretrained(weight, freeze=False, sparse=self.sparse)  # type: ignore[no-untyped-call]
        self.trained_ids = ids
        place = torch.full((self.num_embeddings,), -1, dtype=torch.int32, device=ids.device)
        place[ids] = torch.arange(len(ids), dtype=torch.int32, device=ids.device)
        self.register_buffer("_place", place, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        flat = ids.reshape(-1)
        if self.trained is None:
            return dequantize(self.blocks[flat]).to(self._precision.dtype).view(*ids.shape, -1)
        place = self._place[flat].long()
        found: Tensor = self.trained(place.clamp(min=0))
        fixed = place < 0
        if bool(fixed.any()):
            found = found.index_put((fixed.nonzero()[:, 0],), dequantize(self.blocks[flat[fixed]]).to(found.dtype))
        return found.view(*ids.shape, -1)

    def dense(self) -> nn.Embedding:
        weight = dequantize(self.blocks)
        if self.trained is not None:
            weight[self.trained_ids] = self.trained.weight.detach().float()
        return nn.Embedding.from_pretrained(weight, freeze=False)  # type: ignore[no-untyped-call,no-any-return]

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, q4_0"


def find_quantized_embedding(network: nn.Module) -> QuantizedEmbedding | None:
    """Return the quantized embedding in ``network``, or ``None``."""
    return next((module for module in network.modules() if isinstance(module, QuantizedEmbedding)), None)


def count_weights(network: nn.Module) -> int:
    """Count the weights of ``network``, regardless of the precision they are stored in."""
    table = find_quantized_embedding(network)
    if table is None:
        return sum(parameter.numel() for parameter in network.parameters())
    trained = 0 if table.trained is None else table.trained.weight.numel()
    return sum(parameter.numel() for parameter in network.parameters()) - trained + table.parameters_count


def train_token_rows(network: nn.Module, ids: np.ndarray) -> None:
    """Make the rows of the token ``ids`` (any shape) trainable if ``network`` has a quantized embedding."""
    if (table := find_quantized_embedding(network)) is not None:
        table.train_rows(torch.from_numpy(np.unique(ids)).long().to(table.blocks.device))


def trained_ids(network: nn.Module) -> dict[str, Tensor]:
    """Return the ids of trained rows by buffer name; a checkpoint stores them with the weights."""
    return {name: buffer for name, buffer in network.named_buffers() if name.endswith(".trained_ids") and len(buffer)}


def restore_trained_rows(network: nn.Module, stored: Mapping[str, Tensor]) -> None:
    """Make the rows trainable that were trained in a checkpoint, given its tensors ``stored``."""
    for name, ids in stored.items():
        if name.endswith(".trained_ids"):
            train_token_rows(network, ids.numpy())


@contextmanager
def dense_embeddings(network: nn.Module) -> Iterator[None]:
    """Replace quantized embeddings with float32 ones within the context, so that ``network`` can be saved."""
    swapped = densify_embeddings(network)
    try:
        yield
    finally:
        for holder, name, table in swapped:
            setattr(holder, name, table)


def densify_embeddings(network: nn.Module) -> list[tuple[nn.Module, str, QuantizedEmbedding]]:
    """Replace quantized embeddings with float32 ones; return those replaced: (module, attribute, embedding)."""
    found = [
        (holder, name, child)
        for holder in list(network.modules())
        for name, child in holder.named_children()
        if isinstance(child, QuantizedEmbedding)
    ]
    for holder, name, table in found:
        setattr(holder, name, table.dense())
    return found


def is_quantized(folder: Path) -> bool:
    """Return True if the weights in a transformer's folder are 4-bit."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "model.safetensors", framework="np") as file:
            return any(name.endswith(QUANTIZED) for name in file.keys())  # noqa: SIM118  it is no mapping
    except (OSError, SafetensorError):
        return False  # the loader reports the error


def read_quantized(folder: Path) -> tuple[dict[str, Tensor], QuantizedEmbedding]:
    """Read ``model.safetensors``: weights in float32 under BERT's names, and the quantized token embedding."""
    from safetensors.torch import load_file

    stored = load_file(folder / "model.safetensors")
    table = QuantizedEmbedding(stored.pop(_TABLE + QUANTIZED))
    weights = {name: dequantize(value) if name.endswith(QUANTIZED) else value.float() for name, value in stored.items()}
    return {name.removesuffix(QUANTIZED): value for name, value in weights.items()}, table


def with_minimal_vocabulary(config: Any) -> Any:
    """Return a copy of ``config`` with the smallest vocabulary, to avoid initializing an embedding that will be replaced."""
    small = copy.deepcopy(config)
    small.vocab_size = (config.pad_token_id or 0) + 1
    return small


def load_quantized(folder: Path, config: Any, network: type[nn.Module] | None = None) -> Any:
    """Build the backbone of a folder with quantized weights: the fast implementation for inference, or transformers' for training."""
    weights, table = read_quantized(folder)
    small = with_minimal_vocabulary(config)
    if network is None:
        from transformers import AutoModel

        model: Any = AutoModel.from_config(small, dtype=torch.float32)
    else:
        with torch.device("meta"):
            model = network(small)
    model.config.vocab_size = config.vocab_size  # the layers share this object
    model.embeddings.word_embeddings = table
    own = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("embeddings.word_embeddings.")}
    pooler = {name: torch.zeros(tensor.shape) for name, tensor in model.state_dict().items() if name.startswith("pooler.")}
    model.load_state_dict({**own, **pooler, **weights}, assign=True)
    return model.eval()
