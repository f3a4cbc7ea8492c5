"""Sentence encoder with a Hugging Face backbone, as in SBERT (Reimers and Gurevych 2019)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.samples import sample_lines
from ..errors import StudioError
from ..i18n import _
from ..workspace import write_json
from .inference.batching import TokenRows, TransformerTokens, cap_length, ensure_padding_token, prompt_length
from .inference.bert import InferenceBackbone, remap_weights
from .inference.packing import fuse_layers, pack_layers, quantize_dynamic_int8, quantize_layers
from .inference.varlen import varlen_batch
from .io.settings import save_tokenizer
from .lora import merged_copy
from .modules.pooling import Pooling
from .quantized import dense_embeddings
from .sentence_encoder import SentenceEncoder
from .trainable import transformer_identity

if TYPE_CHECKING:
    from .io.settings import EncoderConfig


_SAMPLE_BATCH = 16
_PROBE_TEXTS = ("A kitten naps on the warm stones of the yard.", "It rains.")  # sample texts for checking a converted backbone


class TransformerEncoder(SentenceEncoder):
    """Backbone → pooling → projection → normalization.

    Args:
        backbone: a ``PreTrainedModel`` whose output has ``last_hidden_state``.
        tokenizer: its ``PreTrainedTokenizerBase``; without a padding token, its end-of-text token is used for padding.
        config: configuration of the steps after the backbone.
    """

    kind = "transformer"
    parallel_batches = True
    takes_prompts = True
    _outputs_layers = False
    tokens: TransformerTokens

    def __init__(
        self, backbone: Any, tokenizer: Any, config: EncoderConfig, *, name: str = "", base: str | None = None, note: str = ""
    ) -> None:
        tokenizer = ensure_padding_token(tokenizer)
        tokens = TransformerTokens(tokenizer, cap_length(config.max_length, backbone, tokenizer), config.prompt)
        hidden_size = int(backbone.config.get_text_config().hidden_size)
        super().__init__(backbone, tokens, hidden_size, config, name=name, base=base, note=note)
        self.tokenizer = tokenizer
        self._arguments = frozenset(inspect.signature(backbone.forward).parameters)
        # RoBERTa and related models compute positions of real tokens themselves, starting after the padding id.
        self._own_positions = getattr(getattr(backbone, "embeddings", None), "padding_idx", None) is not None
        self.pooling.skips_prompt = not config.include_prompt
        if self.pooling.skips_prompt:
            self.pooling.skip = prompt_length(self.tokens)
        # BERT's pooler is kept for saving but unused: it would never get a gradient.
        if getattr(backbone, "pooler", None) is not None:
            backbone.pooler.requires_grad_(False)
        self.eval()

    @property
    def architecture(self) -> str:
        return str(self.backbone.config.model_type)

    def set_max_length(self, max_length: int | None) -> None:
        self.tokens = TransformerTokens(self.tokenizer, cap_length(max_length, self.backbone, self.tokenizer), self.tokens.prompt)

    def set_prompt(self, prompt: str) -> None:
        self.tokens = TransformerTokens(self.tokenizer, self.max_length, prompt)
        if self.pooling.skips_prompt:
            self.pooling = Pooling(self.pooling.mode, prompt_length(self.tokens))
            self.pooling.skips_prompt = True

    def keep_layers(self, count: int) -> None:
        config, layers = self.backbone.config.get_text_config(), self._layers()
        if count > len(layers):
            raise StudioError(
                _("the model has {layers} layers, not {count}", layers=len(layers), count=count), "choose fewer layers, or 0 to keep all"
            )
        if isinstance(types := getattr(config, "layer_types", None), list):
            config.layer_types = types[:count]
        del layers[count:]
        setattr(config, config.attribute_map.get("num_hidden_layers", "num_hidden_layers"), count)

    def output_layers(self) -> int:
        self._outputs_layers = True
        return len(self._layers()) + 1

    def _layers(self) -> nn.ModuleList:
        count = self.backbone.config.get_text_config().num_hidden_layers
        found = (module for module in self.backbone.modules() if isinstance(module, nn.ModuleList) and len(module) == count)
        if (layers := next(found, None)) is None:
            raise StudioError(_("the layers of {name} cannot be separated", name=self.architecture), "omit layers and adaptive_layers")
        return layers

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        if not (self._outputs_layers and self.training):
            return super().forward(batch)
        states = self._run(batch, output_hidden_states=True).hidden_states
        mask, skip = batch.get("attention_mask"), batch.get("skip")
        return torch.cat([self.postprocess(self.pooling(layer, mask, skip)) for layer in states])

    def convert_precision(self, precision: str) -> None:
        if precision == "float32" and isinstance(self.backbone, InferenceBackbone):
            remap_weights(self.backbone)
        elif precision == "bfloat16":
            self.backbone.to(torch.bfloat16)
        elif precision == "int8" and not quantize_layers(self.backbone, self._encode_samples, self._probe):
            self.backbone = quantize_dynamic_int8(self.backbone)

    def pack(self) -> None:
        if self.device.type == "cpu":
            pack_layers(self.backbone, self._probe)

    def enable_varlen(self) -> None:
        if isinstance(self.backbone, InferenceBackbone):
            with torch.inference_mode():
                before = self(self.collate(self.tokenize(_PROBE_TEXTS)))
            self.uses_varlen = fuse_layers(self.backbone, before, self._probe_varlen)

    def _encode_samples(self) -> None:
        for start in range(0, len(lines := sample_lines()), _SAMPLE_BATCH):
            self.token_vectors(self.collate(sorted(self.tokenize(lines[start : start + _SAMPLE_BATCH]), key=len)))

    def _probe(self) -> Tensor:
        batch = self.collate(self.tokenize(_PROBE_TEXTS))
        with torch.inference_mode():
            return self.token_vectors(batch)[0][batch["attention_mask"].bool()]

    def _probe_varlen(self) -> Tensor:
        tokens = TokenRows.from_lists([self.tokenize(_PROBE_TEXTS)])
        with torch.inference_mode():
            return self.forward_varlen(*varlen_batch(tokens, np.arange(len(tokens)), self.device))

    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        return self._run(batch).last_hidden_state, batch.get("attention_mask")

    def _run(self, batch: dict[str, Tensor], **options: Any) -> Any:
        mask = batch.get("attention_mask")
        inputs: dict[str, Any] = {"input_ids": batch["input_ids"], "attention_mask": mask, **options}
        if mask is not None and "position_ids" in self._arguments and not self._own_positions:
            # Positions count real tokens only, so that padding on the left has no effect.
            inputs["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        if "use_cache" in self._arguments:
            inputs["use_cache"] = False
        return self.backbone(**inputs)

    def fingerprint_parts(self) -> Iterator[bytes]:
        return transformer_identity(self.backbone, self.tokenizer)

    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        backbone = merged_copy(self.backbone)
        backbone.config.dtype = torch.float32
        with dense_embeddings(backbone):
            backbone.save_pretrained(folder)
        save_tokenizer(self.tokenizer, self.max_length, folder)
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": self.max_length, "do_lower_case": False})
        return [("", "Transformer")]
