"""Weights in four bits (ggml's Q4_0 blocks): dequantization, quantized token tables, and training with them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

BLOCK, BLOCK_BYTES = 32, 18  # weights, and what they take
QUANTIZED = ".q4_0"
"""What the name of a quantized tensor ends with; its shape in the file is (rows, blocks, 18) uint8."""


def shape_of_weights(name: str, stored: list[int]) -> list[int]:
    """Return the shape of the weights that a tensor of a file stands for, whose shape there is ``stored``."""
    return [*stored[:-2], stored[-2] * BLOCK] if name.endswith(QUANTIZED) else stored


_SCALE_BYTES = 2
_TABLE = "embeddings.word_embeddings.weight"


def dequantize(blocks: Tensor) -> Tensor:
    """Unpack Q4_0 ``blocks``, (..., blocks, 18) uint8, to weights, (..., 32 · blocks) float32."""
    scales = blocks[..., :_SCALE_BYTES].contiguous().view(torch.float16).float()
    packed = blocks[..., _SCALE_BYTES:]
    numbers = torch.cat([packed & 15, packed >> 4], dim=-1).float()
    return numbers.sub_(8).mul_(scales).flatten(-2)


class QuantizedEmbedding(nn.Module):
    """Ids (...) → vectors (..., d), like ``nn.Embedding``, from rows of four bits. Selected rows can be made trainable.

    Args:
        blocks: (V, d / 32, 18) uint8, which may be mapped from a file.

    Attributes:
        sparse: give a sparse gradient for the rows that are trained.
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
        # Tells by its type in which precision the network is: blocks of bytes are not converted with it.
        self.register_buffer("_precision", torch.empty(0), persistent=False)

    @property
    def parameters_count(self) -> int:
        """Return how many weights the table has."""
        return self.num_embeddings * self.embedding_dim

    def train_rows(self, ids: Tensor) -> None:
        """Unpack the rows of ``ids`` and make them parameters; the others stay as they are.

        A training in which only these tokens occur gives the same weights as one of the whole table: no other row has a gradient.

        Args:
            ids: (n,) int64, distinct and ascending.
        """
        weight = dequantize(self.blocks[ids])
        self.trained = nn.Embedding.from_pretrained(weight, freeze=False, sparse=self.sparse)  # type: ignore[no-untyped-call]
        self.trained_ids = ids
        place = torch.full((self.num_embeddings,), -1, dtype=torch.int32, device=ids.device)
        place[ids] = torch.arange(len(ids), dtype=torch.int32, device=ids.device)
        self.register_buffer("_place", place, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up ``ids``."""
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
        """Return the whole table in float32, the trained rows as they are now."""
        weight = dequantize(self.blocks)
        if self.trained is not None:
            weight[self.trained_ids] = self.trained.weight.detach().float()
        return nn.Embedding.from_pretrained(weight, freeze=False)  # type: ignore[no-untyped-call,no-any-return]

    def extra_repr(self) -> str:
        """Return what ``print`` shows."""
        return f"{self.num_embeddings}, {self.embedding_dim}, q4_0"


def quantized_table(network: nn.Module) -> QuantizedEmbedding | None:
    """Return the quantized table in ``network``, or None."""
    return next((module for module in network.modules() if isinstance(module, QuantizedEmbedding)), None)


def count_weights(network: nn.Module) -> int:
    """Count the weights of ``network``, whatever they are stored as."""
    table = quantized_table(network)
    if table is None:
        return sum(parameter.numel() for parameter in network.parameters())
    trained = 0 if table.trained is None else table.trained.weight.numel()
    return sum(parameter.numel() for parameter in network.parameters()) - trained + table.parameters_count


def train_table(network: nn.Module, ids: np.ndarray) -> None:
    """Make the rows of the token ``ids`` (any shape) trainable, where ``network`` has a quantized table."""
    if (table := quantized_table(network)) is not None:
        table.train_rows(torch.from_numpy(np.unique(ids)).long().to(table.blocks.device))


def trained_ids(network: nn.Module) -> dict[str, Tensor]:
    """Return which rows of a quantized table are trained, by the buffer's name, as a checkpoint keeps it beside the weights."""
    return {name: buffer for name, buffer in network.named_buffers() if name.endswith(".trained_ids") and len(buffer)}


def train_table_of(network: nn.Module, stored: Mapping[str, Tensor]) -> None:
    """Make those rows of a quantized table trainable that were trained in a checkpoint, whose tensors are ``stored``."""
    for name, ids in stored.items():
        if name.endswith(".trained_ids"):
            train_table(network, ids.numpy())


@contextmanager
def dense_tables(network: nn.Module) -> Iterator[None]:
    """Put a float32 table in the place of each quantized one while the block runs, so that ``network`` can be saved in full."""
    swapped = make_dense(network)
    try:
        yield
    finally:
        for holder, name, table in swapped:
            setattr(holder, name, table)


def make_dense(network: nn.Module) -> list[tuple[nn.Module, str, QuantizedEmbedding]]:
    """Put a float32 table in the place of each quantized one for good; return what was replaced: (module, name in it, table)."""
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
    """Tell if the weights in a transformer's folder are of four bits."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / "model.safetensors", framework="np") as file:
            return any(name.endswith(QUANTIZED) for name in file.keys())  # noqa: SIM118  it is no mapping
    except (OSError, SafetensorError):
        return False  # whoever reads it says what is wrong


def read_quantized(folder: Path) -> tuple[dict[str, Tensor], QuantizedEmbedding]:
    """Read ``model.safetensors``: its weights in float32 but for the table of tokens, by the names of BERT's parameters.

    Raises:
        Exception: whatever a damaged file comes to.
    """
    from safetensors.torch import load_file

    stored = load_file(folder / "model.safetensors")
    table = QuantizedEmbedding(stored.pop(_TABLE + QUANTIZED))
    weights = {name: dequantize(value) if name.endswith(QUANTIZED) else value.float() for name, value in stored.items()}
    return {name.removesuffix(QUANTIZED): value for name, value in weights.items()}, table


def without_vocabulary(config: Any) -> Any:
    """Return a copy of ``config`` with the smallest vocabulary, so that no table is made and drawn that is replaced at once."""
    small = copy.deepcopy(config)
    small.vocab_size = (config.pad_token_id or 0) + 1
    return small


def load_quantized(folder: Path, config: Any, network: type[nn.Module] | None = None) -> Any:
    """Build the backbone of a folder with quantized weights.

    Args:
        config: the library's configuration, read from ``folder``.
        network: our own class for inference; None: the library's, which can be trained.

    Raises:
        Exception: whatever a damaged file comes to.
    """
    weights, table = read_quantized(folder)
    small = without_vocabulary(config)
    if network is None:
        from transformers import AutoModel

        model: Any = AutoModel.from_config(small, dtype=torch.float32)
    else:
        with torch.device("meta"):
            model = network(small)
    model.config.vocab_size = config.vocab_size  # the layers hold this very object
    model.embeddings.word_embeddings = table
    own = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("embeddings.word_embeddings.")}
    pooler = {name: torch.zeros(tensor.shape) for name, tensor in model.state_dict().items() if name.startswith("pooler.")}
    model.load_state_dict({**own, **pooler, **weights}, assign=True)
    return model.eval()
