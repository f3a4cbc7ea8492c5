"""BERT (Devlin et al. 2019) and RoBERTa (Liu et al. 2019) for inference, without the library's modelling code and with equal results."""

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

from ..io.digests import stamp
from ..quantized import load_quantized
from .varlen import Sequences, attend

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": functional.gelu, "relu": functional.relu, "tanh": torch.tanh}
NETWORKS: dict[str, type[LeanNetwork]] = {}
"""By the ``model_type`` of ``config.json``."""


class LeanNetwork(nn.Module):
    """A backbone whose layers carry the names of the library's own, so that its files and whatever walks over them fit both.

    It drops nothing out and keeps no gradients: what is to be trained is read by the library.

    Args:
        config: the library's configuration of the model.

    Attributes:
        origin: the file that its weights are mapped from, and its stamp then; ``None``: they are in memory.
    """

    base_model_prefix: ClassVar[str]
    origin: tuple[Path, str] | None = None
    embeddings: Any
    pooler: Any

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    @classmethod
    def fits(cls, config: Any) -> bool:
        """Whether the configuration asks for nothing that is not here."""
        return (
            not (config.is_decoder or config.add_cross_attention or config.is_encoder_decoder or config.chunk_size_feed_forward)
            and config.hidden_act in ACTIVATIONS
            and config.hidden_size % config.num_attention_heads == 0
            and getattr(config, "quantization_config", None) is None
            and getattr(config, "_attn_implementation", None) in (None, "sdpa")
        )

    def get_input_embeddings(self) -> nn.Module:
        """The table of the tokens."""
        return self.embeddings.word_embeddings  # type: ignore[no-any-return]

    @abstractmethod
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> SimpleNamespace:
        """Vectors (b, t, hidden) of the tokens (b, t), as ``last_hidden_state``; ``attention_mask`` (b, t) is 0 where one is padding."""

    @abstractmethod
    def unpadded(self, ids: Tensor, of: Sequences) -> Tensor:
        """Vectors (tokens, hidden) of the tokens (tokens,) of texts one behind the other."""

    def save_pretrained(self, folder: Path) -> None:
        """Write the weights and the settings as the library does, by the library."""
        from transformers import AutoModel

        whole = AutoModel.from_config(self.config, dtype=torch.float32)
        whole.load_state_dict(self.state_dict())
        whole.save_pretrained(folder)


def table(rows: int, width: int) -> nn.Embedding:
    """A table whose values are still to come: what it draws by itself would, of layers without memory, read in PyTorch's compiler."""
    made: nn.Embedding = nn.Embedding.from_pretrained(torch.empty(rows, width))  # type: ignore[no-untyped-call]
    return made


def attended(mask: Tensor | None) -> Tensor | None:
    """(b, t) → (b, 1, t, t) of which token may look at which; ``None`` where all may at all."""
    if mask is None or bool(mask.all()):
        return None
    length = mask.shape[1]
    return mask.bool()[:, None, None, :].expand(-1, 1, length, length)


class _Embeddings(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.word_embeddings = table(config.vocab_size, config.hidden_size)
        self.position_embeddings = table(config.max_position_embeddings, config.hidden_size)
        self.token_type_embeddings = table(config.type_vocab_size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        tokens = self.word_embeddings(ids) + self.token_type_embeddings.weight.select(0, 0)
        places = self.position_embeddings.weight[: ids.shape[1]] if positions is None else self.position_embeddings(positions)
        return self.LayerNorm(tokens + places)  # type: ignore[no-any-return]

    def unpadded(self, ids: Tensor, of: Sequences) -> Tensor:
        """(tokens,) → (tokens, d) of texts one behind the other."""
        return _Embeddings.forward(self, ids, self.places(ids, of))

    def places(self, ids: Tensor, of: Sequences) -> Tensor:
        """The position of each token, (tokens,)."""
        return of.places


class _Counted(_Embeddings):
    """Positions count the real tokens of a row, from the one after the padding's id on."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.padding_idx = int(config.pad_token_id)

    def forward(self, ids: Tensor, positions: Tensor | None) -> Tensor:
        real = ids.ne(self.padding_idx).int()
        return super().forward(ids, (torch.cumsum(real, dim=1).type_as(real) * real).long() + self.padding_idx)

    def places(self, ids: Tensor, of: Sequences) -> Tensor:
        """The position of each token, (tokens,)."""
        real = ids.ne(self.padding_idx).long()
        counted = real.cumsum(0)
        before = (counted - real).index_select(0, of.begins)  # of each text
        return (counted - before.index_select(0, of.rows)) * real + self.padding_idx


class _Heads(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))

    def forward(self, hidden: Tensor, mask: Tensor | Sequences | None) -> Tensor:
        if isinstance(mask, Sequences):
            flat = (len(hidden), -1, self.attention_head_size)
            query, key, value = (part(hidden).view(flat) for part in (self.query, self.key, self.value))
            return attend(query, key, value, mask, scale=self.attention_head_size**-0.5).reshape(hidden.shape)
        shape = (*hidden.shape[:-1], -1, self.attention_head_size)
        query, key, value = (part(hidden).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value))
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=self.attention_head_size**-0.5)
        return found.transpose(1, 2).contiguous().reshape(hidden.shape)


class _Added(nn.Module):
    """A linear layer, what went into the block added, and its norm."""

    def __init__(self, inputs: int, config: Any) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, hidden: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(hidden) + before)  # type: ignore[no-any-return]


class _Attention(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.self = _Heads(config)
        self.output = _Added(config.hidden_size, config)

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
        self.output = _Added(config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor | Sequences | None) -> Tensor:
        found = self.attention(hidden, mask)
        return self.output(self.intermediate(found), found)  # type: ignore[no-any-return]


class _Part(nn.Module):
    """Names alone: what stands in it is used from outside."""


class Bert(LeanNetwork):
    """BERT's encoder; its pooler is kept for the folder's sake, and nothing reads it."""

    base_model_prefix = "bert"
    embeds: type[_Embeddings] = _Embeddings

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embeddings = self.embeds(config)
        self.encoder: Any = _Part()
        self.encoder.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.pooler = _Part()
        self.pooler.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None) -> SimpleNamespace:
        """See :meth:`LeanNetwork.forward`; ``position_ids`` (b, t) where places are not counted from the left."""
        hidden, mask = self.embeddings(input_ids, position_ids), attended(attention_mask)
        for layer in self.encoder.layer:
            hidden = layer(hidden, mask)
        return SimpleNamespace(last_hidden_state=hidden)

    def unpadded(self, ids: Tensor, of: Sequences) -> Tensor:
        """See :meth:`LeanNetwork.unpadded`."""
        hidden: Tensor = self.embeddings.unpadded(ids, of)
        for layer in self.encoder.layer:
            hidden = layer(hidden, of)
        return hidden


class Roberta(Bert):
    """RoBERTa's encoder, and that of XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020)."""

    base_model_prefix = "roberta"
    embeds = _Counted

    @classmethod
    def fits(cls, config: Any) -> bool:
        """See :meth:`LeanNetwork.fits`."""
        return super().fits(config) and isinstance(config.pad_token_id, int)


NETWORKS.update({"bert": Bert, "roberta": Roberta, "xlm-roberta": Roberta, "camembert": Roberta})


_WEIGHTS = "model.safetensors"
# Places and kinds of tokens, which older releases wrote beside the weights: they are what every model has.
_WRITTEN_ONCE = {"embeddings.position_ids", "embeddings.token_type_ids"}
_POOLER = {"pooler.dense.weight", "pooler.dense.bias"}


def lean_backbone(folder: Path, config: Any, *, quantized: bool = False) -> LeanNetwork | None:
    """The backbone in float32, its weights mapped from the file where they are float32 there; ``None``: the library must read it.

    A pooler that the file lacks, which nothing reads, is made of zeros.

    Args:
        config: the library's configuration, read from ``folder``.
        quantized: whether the weights are of four bits.

    Raises:
        Exception: whatever a damaged file comes to.
    """
    network = NETWORKS.get(config.model_type)
    if network is None or [path.name for path in folder.glob("*.safetensors")] != [_WEIGHTS] or not network.fits(config):
        return None
    if quantized:
        return cast(LeanNetwork, load_quantized(folder, config, network))
    from safetensors.torch import load_file

    with torch.device("meta"):
        model = network(config)
    asked = model.state_dict()
    path = folder / _WEIGHTS
    weights = {name: weight for name, weight in load_file(path).items() if name not in _WRITTEN_ONCE}
    if absent := asked.keys() - weights.keys():
        if absent != _POOLER:
            return None
        weights |= {name: torch.zeros(asked[name].shape) for name in absent}
    if weights.keys() != asked.keys() or any(weights[name].shape != asked[name].shape for name in asked):
        return None
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.origin = path, stamp(path)
    config.dtype = torch.float32
    return model.eval()


def reopen(model: LeanNetwork) -> None:
    """Map the weights anew from their file: of all that was read to check them, only what is used from now on stays in memory."""
    from safetensors.torch import load_file

    if model.origin is None:
        return
    path, known = model.origin
    with suppress(OSError):  # the file is gone: what was mapped of it stays
        again = load_file(path)
        if stamp(path) != known:
            return
        for name, parameter in model.named_parameters():
            same = again.get(name)
            if same is not None and parameter.device.type == "cpu" and same.dtype == parameter.dtype:
                parameter.data = same
