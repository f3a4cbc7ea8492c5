"""TSDAE: reconstruct a sentence from the vector of its noisy version; unsupervised, beside SimCSE."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..data.schema.roles import Kind
from ..errors import StudioError
from ..i18n import _
from ..registry import setting
from .base import LOSSES, Loss

if TYPE_CHECKING:
    from ..models.trainable import Trainable

IGNORED = -100


@LOSSES.register("tsdae")
class TSDAELoss(Loss):
    """mean_t −log p(x_t | x_<t, v(x̃)) over all tokens of the batch, x̃ the text with 60 % of its tokens deleted and v its vector.

    The decoder is a transformer of the encoder's architecture that shares its weights and attends to the vector alone; only its
    cross-attention and its output layer are new. It is discarded after training. The targets are the token ids (b, t), -100 for padding.
    Source: Wang, Reimers and Gurevych 2021, arXiv:2104.06979, section 3.
    """

    title = "Denoising auto-encoder (TSDAE)"
    summary = "Needs sentences only: a decoder should reconstruct each one from the vector of what is left when most words are deleted."
    source = "Wang et al. 2021, section 3"
    kinds: tuple[Kind, ...] = ("sentences",)
    whole_batch = True
    reconstructs = True

    @dataclass(frozen=True)
    class Params:
        deletion: float = setting(0.6, "Share of the tokens that are deleted.", min=0.05, max=0.95, step=0.05)

    def __init__(self, params: Any = None, dim: int = 0, labels: int = 0) -> None:
        super().__init__(params, dim, labels)
        self.decoder: Any = None
        self._special = torch.empty(0, dtype=torch.int64)
        self._pad = 0

    def share_weights(self, encoder: Trainable) -> None:
        """Create the decoder, with the encoder's own parameters where it has them.

        Raises:
            StudioError: the architecture has no decoder, or the encoder does not train its whole backbone.
        """
        backbone, tokenizer = encoder.backbone, getattr(encoder, "tokenizer", None)
        config = getattr(backbone, "config", None)
        if config is None or tokenizer is None or encoder.has_adapter or encoder.dim != config.hidden_size:
            raise StudioError(
                _("{title} trains all weights of a transformer whose vectors are as wide as its layers", title=self.title),
                "choose the method full without a projection, or the loss simcse",
            )
        self.decoder = _tied_decoder(backbone, self.title)
        self._special = torch.tensor(sorted(tokenizer.all_special_ids), device=encoder.device)
        self._pad = int(tokenizer.pad_token_id)

    def corrupt(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return delete_tokens(inputs, self.params.deletion, self._special.to(inputs["input_ids"].device), self._pad)

    def compute(self, columns: Sequence[Tensor], targets: Tensor | None, ids: Sequence[Tensor] | None) -> Tensor:
        assert targets is not None
        targets = targets[:, : max(2, int((targets != IGNORED).any(dim=0).sum()))]
        vectors = columns[0][:, None]
        logits = self.decoder(
            input_ids=targets.masked_fill(targets == IGNORED, self._pad)[:, :-1],
            encoder_hidden_states=vectors,
            encoder_attention_mask=torch.ones(vectors.shape[:2], dtype=torch.int64, device=vectors.device),
            use_cache=False,
        ).logits
        return F.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten(), ignore_index=IGNORED)


def _tied_decoder(backbone: Any, title: str) -> Any:
    from transformers import AutoModelForCausalLM

    config = copy.deepcopy(backbone.config)
    config.is_decoder = config.add_cross_attention = True
    unsupported = StudioError(
        _("{title} needs a decoder, which the architecture {name} lacks", title=title, name=config.model_type),
        "choose a model such as BERT, RoBERTa or XLM-R, or the loss simcse",
    )
    try:
        decoder = AutoModelForCausalLM.from_config(config)
    except ValueError:
        raise unsupported from None
    own, modules = dict(backbone.named_parameters()), dict(decoder.base_model.named_modules())
    shared = [name for name, parameter in decoder.base_model.named_parameters() if name in own and own[name].shape == parameter.shape]
    embeddings = decoder.base_model.get_input_embeddings()
    for name in shared:
        module, _dot, attribute = name.rpartition(".")
        setattr(modules[module], attribute, own[name])
    if not any(embeddings.weight is parameter for parameter in own.values()) or not any("crossattention" in n for n in modules):
        raise unsupported
    if (output := decoder.get_output_embeddings()) is not None:
        output.weight = embeddings.weight
    for module in backbone.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = False  # the output layer has a dense gradient of the same weights
    return decoder


def delete_tokens(inputs: dict[str, Tensor], share: float, special: Tensor, pad: int) -> dict[str, Tensor]:
    """Delete a ``share`` of the tokens of each row at random, but no special tokens, no prompt, and never all: (b, t) → (b, shorter)."""
    ids = inputs["input_ids"]
    real = inputs["attention_mask"].bool() if "attention_mask" in inputs else torch.ones_like(ids, dtype=torch.bool)
    removable = real & ~torch.isin(ids, special)
    if "skip" in inputs:
        removable &= torch.arange(ids.shape[1], device=ids.device) >= inputs["skip"][:, None]
    drawn = torch.rand(ids.shape, device=ids.device).masked_fill(~removable, -1.0)
    keep = (real & ~removable) | (drawn >= share)
    keep[torch.arange(len(ids), device=ids.device), drawn.argmax(dim=1)] |= removable.any(dim=1)
    order = keep.long().argsort(dim=1, descending=True, stable=True)
    lengths = keep.sum(dim=1, keepdim=True)
    order = order[:, : int(lengths.max())]
    mask = torch.arange(order.shape[1], device=ids.device) < lengths
    return {**inputs, "input_ids": ids.gather(1, order).masked_fill(~mask, pad), "attention_mask": mask.long()}
