"""BERT (Devlin et al. 2019), and RoBERTa (Liu et al. 2019) and its kin, which number the places of a text from the padding's id on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..unpadded.sequences import Sequences, attend
from .base import ACTIVATIONS, NETWORKS, LeanNetwork, attended, table


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
