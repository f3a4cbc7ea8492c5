"""What a model's products cost: the floor under any way of computing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..models.sentence_encoder import SentenceEncoder


def cost_of(encoder: SentenceEncoder, texts: Sequence[str]) -> dict[str, int]:
    """``{tokens, operations}``: the tokens of ``texts``, and the operations that the weights of linear layers take a token.

    A weight costs a multiplication and an addition. Attention's own products, which grow with a text's length, are left out: of short
    texts they are a few in a hundred.
    """
    from torch import nn

    backbone = encoder.backbone
    pooler = getattr(backbone, "pooler", None)
    unread = set() if pooler is None else {id(module) for module in pooler.modules()}
    linear = [module for module in backbone.modules() if isinstance(module, nn.Linear) and id(module) not in unread]
    return {
        "tokens": sum(len(row) for row in encoder.tokenize(texts)),
        "operations": 2 * sum(layer.weight.numel() for layer in linear),
    }
