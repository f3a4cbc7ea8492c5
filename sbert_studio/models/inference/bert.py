"""BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019) for inference, with the same results as transformers' modeling code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..io.digests import file_stamp
from ..quantized import load_quantized
from .varlen import Sequences, varlen_attention

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": functional.gelu, "relu": functional.relu, "tanh": torch.tanh}
NETWORKS: dict[str, type[InferenceBackbone]] = {}
"""Networks by ``model_type`` in ``config.json``."""
_WEIGHTS = "model.safetensors"
# Constant buffers saved by older releases of transformers.
_LEGACY_BUFFERS = {"embeddings.position_ids", "embeddings.token_type_ids"}
_POOLER = {"pooler.dense.weight", "pooler.dense.bias"}


class InferenceBackbone(nn.Module):
    """A backbone without dropout and gradients whose layers have transformers' names, so that weight files fit both.

    Attributes:
        weights_file: the file that the weights are mapped from, and its stamp; ``None`` if they are in memory.
    """

    base_model_prefix: ClassVar[str]
    weights_file: tuple[Path, str] | None = None
    embeddings: Any
    pooler: Any

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    @classmethod
    def supports(cls, config: Any) -> bool:
        """Return True if this implementation supports the configuration."""
        return (
            not (config.is_decoder or config.add_cross_attention or config.is_encoder_decoder or config.chunk_size_feed_forward)
            and config.hidden_act in ACTIVATIONS
            and config.hidden_size % config.num_attention_heads == 0
            and getattr(config, "quantization_config", None) is None
            and getattr(config, "_attn_implementation", None) in (None, "sdpa")
        )

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings.word_embeddings  # type: ignore[no-any-return]

    @abstractmethod
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SimpleNamespace:
        """Return ``last_hidden_state`` (b, t, hidden) of token ids (b, t); ``attention_mask`` (b, t) is 0 for padding."""

    @abstractmethod
    def forward_varlen(self, ids: Tensor, sequences: Sequences) -> Tensor:
        """Return vectors (tokens, hidden) of concatenated token ids (tokens,)."""

    def save_pretrained(self, folder: Path) -> None:
        from transformers import AutoModel

        model = AutoModel.from_config(self.config, dtype=torch.float32)
        model.load_state_dict(self.state_dict())
        model.save_pretrained(folder)


def empty_embedding(rows: int, width: int) -> nn.Embedding:
    """Return an uninitialized embedding: initializing one on the meta device would import PyTorch's compiler."""
    return nn.Embedding.from_pretrained(torch.empty(rows, width))  # type: ignore[no-untyped-call,no-any-return]


def expand_attention_mask(mask: Tensor | None) -> Tensor | None:
    """Expand a padding mask (b, t) to (b, 1, t, t); ``None`` if nothing is masked."""
    if mask is None or bool(mask.all()):
        return None
    length = mask.shape[1]
    return mask.bool()[:, None, None, :].expand(-1, 1, length, length)


class _Embeddings(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.word_embeddings = empty_embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = empty_embedding(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = empty_embedding(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        tokens = self.word_embeddings(ids) + self.token_type_embeddings.weight.select(0, 0)
        position = self.position_embeddings.weight[: ids.shape[1]] if positions is None else self.position_embeddings(positions)
        return self.LayerNorm(tokens + position)  # type: ignore[no-any-return]

    def forward_varlen(self, ids: Tensor, sequences: Sequences) -> Tensor:
        return _Embeddings.forward(self, ids, self.positions(ids, sequences))

    def positions(self, ids: Tensor, sequences: Sequences) -> Tensor:
        return sequences.places


class _RobertaEmbeddings(_Embeddings):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.padding_idx = int(config.pad_token_id)

    def forward(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        real = ids.ne(self.padding_idx).int()
        return super().forward(ids, (torch.cumsum(real, dim=1).type_as(real) * real).long() + self.padding_idx)

    def positions(self, ids: Tensor, sequences: Sequences) -> Tensor:
        real = ids.ne(self.padding_idx).long()
        counted = real.cumsum(0)
        before = (counted - real).index_select(0, sequences.begins)
        return (counted - before.index_select(0, sequences.rows)) * real + self.padding_idx


class _SelfAttention(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden: Tensor, mask: Tensor | Sequences | None) -> Tensor:
        if isinstance(mask, Sequences):
            flat = (len(hidden), -1, self.attention_head_size)
            query, key, value = (part(hidden).view(flat) for part in (self.query, self.key, self.value))
            return varlen_attention(query, key, value, mask, scale=self.attention_head_size**-0.5).reshape(hidden.shape)
        shape = (*hidden.shape[:-1], -1, self.attention_head_size)
        query, key, value = (part(hidden).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=self.attention_head_size**-0.5)
        return mixed.transpose(1, 2).contiguous().reshape(hidden.shape)


class _ResidualOutput(nn.Module):
    def __init__(self, inputs: int, config: Any) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(hidden) + residual)  # type: ignore[no-any-return]


class _Attention(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.self = _SelfAttention(config)
        self.output = _ResidualOutput(config.hidden_size, config)

    def forward(self, hidden: Tensor, mask: Tensor | Sequences | None) -> Tensor:
        return self.output(self.self(hidden, mask), hidden)  # type: ignore[no-any-return]


class _Intermediate(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.intermediate_act_fn = ACTIVATIONS[config.hidden_act]

    def forward(self, hidden: Tensor) -> Tensor:
        return self.intermediate_act_fn(self.dense(hidden))


class _Layer(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.attention = _Attention(config)
        self.intermediate = _Intermediate(config)
        self.output = _ResidualOutput(config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor | Sequences | None) -> Tensor:
        attended = self.attention(hidden, mask)
        return self.output(self.intermediate(attended), attended)  # type: ignore[no-any-return]


class _Namespace(nn.Module):
    """Module that groups parameters under transformers' names and has no forward pass."""


class Bert(InferenceBackbone):
    """BERT's encoder. The pooler is unused and only kept for saving."""

    base_model_prefix = "bert"
    embedding_class: type[_Embeddings] = _Embeddings

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embeddings = self.embedding_class(config)
        self.encoder: Any = _Namespace()
        self.encoder.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.pooler = _Namespace()
        self.pooler.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None) -> SimpleNamespace:
        hidden, mask = self.embeddings(input_ids, position_ids), expand_attention_mask(attention_mask)
        for layer in self.encoder.layer:
            hidden = layer(hidden, mask)
        return SimpleNamespace(last_hidden_state=hidden)

    def forward_varlen(self, ids: Tensor, sequences: Sequences) -> Tensor:
        hidden: Tensor = self.embeddings.forward_varlen(ids, sequences)
        for layer in self.encoder.layer:
            hidden = layer(hidden, sequences)
        return hidden


class Roberta(Bert):
    """Encoder of RoBERTa, XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020)."""

    base_model_prefix = "roberta"
    embedding_class = _RobertaEmbeddings

    @classmethod
    def supports(cls, config: Any) -> bool:
        return super().supports(config) and isinstance(config.pad_token_id, int)


NETWORKS.update({"bert": Bert, "roberta": Roberta, "xlm-roberta": Roberta, "camembert": Roberta})


def load_inference_backbone(folder: Path, config: Any, *, quantized: bool = False) -> InferenceBackbone | None:
    """Load a backbone in float32, memory-mapped if its file is float32; ``None`` if transformers has to load it.

    A missing pooler, which is unused, is filled with zeros; ``quantized`` weights are stored in 4 bits.
    """
    network = NETWORKS.get(config.model_type)
    if network is None or [path.name for path in folder.glob("*.safetensors")] != [_WEIGHTS] or not network.supports(config):
        return None
    if quantized:
        return cast(InferenceBackbone, load_quantized(folder, config, network))
    from safetensors.torch import load_file

    with torch.device("meta"):
        model = network(config)
    expected = model.state_dict()
    path = folder / _WEIGHTS
    weights = {name: weight for name, weight in load_file(path).items() if name not in _LEGACY_BUFFERS}
    if missing := expected.keys() - weights.keys():
        if missing != _POOLER:
            return None
        weights |= {name: torch.zeros(expected[name].shape) for name in missing}
    if weights.keys() != expected.keys() or any(weights[name].shape != expected[name].shape for name in expected):
        return None
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.weights_file = path, file_stamp(path)
    config.dtype = torch.float32
    return model.eval()


def remap_weights(model: InferenceBackbone) -> None:
    """Map the weights from their file again, which releases pages that were read only for verification."""
    from safetensors.torch import load_file

    if model.weights_file is None:
        return
    path, stamp = model.weights_file
    with suppress(OSError):  # the file is gone: the old mapping stays valid
        weights = load_file(path)
        if file_stamp(path) != stamp:
            return
        for name, parameter in model.named_parameters():
            weight = weights.get(name)
            if weight is not None and parameter.device.type == "cpu" and weight.dtype == parameter.dtype:
                parameter.data = weight
