"""A Hugging Face backbone before the pooling: the sentence encoder of SBERT (Reimers and Gurevych 2019)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..data.samples import sample_lines
from ..workspace import write_json
from .inference.batching import TokenRows, capped, length_of_prompt
from .inference.bert import LeanNetwork, reopen
from .inference.gpu_stream import batch_of
from .inference.packing import join, pack, round_layers
from .inference.tokenizer import Tokens, with_padding
from .io.save import save_tokenizer
from .lora import merged
from .modules.pooling import Pooling
from .quantized import dense_tables
from .runtime import identity_of, quantized
from .sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from .io.settings import EncoderConfig


_AT_ONCE = 16  # texts
_A_FEW = ("A kitten naps on the warm stones of the yard.", "It rains.")  # that a converted backbone is held against the one before


class TransformerEncoder(SentenceEncoder):
    """Backbone → pooling → projection → normalisation.

    Args:
        backbone: a ``PreTrainedModel`` whose output has ``last_hidden_state``.
        tokenizer: its ``PreTrainedTokenizerBase``; one without a padding token gets its end-of-text token as one.
        config: what follows the backbone.
        name: what the catalogue calls it.
        base: the portable id of the model that it was made from.
        note: a sentence that lists should show.
    """

    kind = "transformer"
    laned = True
    takes_prompts = True
    tokens: Tokens

    def __init__(
        self, backbone: Any, tokenizer: Any, config: EncoderConfig, *, name: str = "", base: str | None = None, note: str = ""
    ) -> None:
        tokenizer = with_padding(tokenizer)
        tokens = Tokens(tokenizer, capped(config.max_length, backbone, tokenizer), config.prompt)
        hidden_size = int(backbone.config.get_text_config().hidden_size)
        super().__init__(backbone, tokens, hidden_size, config, name=name, base=base, note=note)
        self.tokenizer = tokenizer
        self._arguments = frozenset(inspect.signature(backbone.forward).parameters)
        # RoBERTa and its kin number the real tokens themselves, from their padding id.
        self._own_positions = getattr(getattr(backbone, "embeddings", None), "padding_idx", None) is not None
        self.pooling.skips_prompt = not config.include_prompt
        if self.pooling.skips_prompt:
            self.pooling.skip = length_of_prompt(self.tokens)
        # BERT's pooler is kept for the folder's sake, but nothing reads it: a gradient would never reach it.
        if getattr(backbone, "pooler", None) is not None:
            backbone.pooler.requires_grad_(False)
        self.eval()

    @property
    def architecture(self) -> str:
        """The library's name of the backbone, such as ``bert``."""
        return str(self.backbone.config.model_type)

    def limit(self, max_length: int | None) -> None:
        """Read ``max_length`` tokens of a text from now on, or as many as the backbone can if that is fewer (or None)."""
        self.tokens = Tokens(self.tokenizer, capped(max_length, self.backbone, self.tokenizer), self.tokens.prompt)

    def set_prompt(self, prompt: str) -> None:
        """Put ``prompt`` before every text from now on; it is pooled with the text where the model has it so."""
        self.tokens = Tokens(self.tokenizer, self.max_length, prompt)
        if self.pooling.skips_prompt:
            self.pooling = Pooling(self.pooling.mode, length_of_prompt(self.tokens))
            self.pooling.skips_prompt = True

    def convert(self, precision: str) -> None:
        """Put the backbone's weights into ``precision``."""
        if precision == "float32" and isinstance(self.backbone, LeanNetwork):
            reopen(self.backbone)
        elif precision == "bfloat16":
            self.backbone.to(torch.bfloat16)
        elif precision == "int8" and not round_layers(self.backbone, self._many, self._a_few):
            self.backbone = quantized(self.backbone)

    def pack(self) -> None:
        """Lay the backbone's weights out as the processor's fastest products read them; a backbone that then says otherwise stays plain."""
        if self.device.type == "cpu":
            pack(self.backbone, self._a_few)

    def unpad(self) -> None:
        """Encode texts one behind the other, where the backbone is one of those that read them so and the vectors of a few are the same."""
        if isinstance(self.backbone, LeanNetwork):
            with torch.inference_mode():
                before = self(self.collate(self.tokenize(_A_FEW)))
            self.unpads = join(self.backbone, before, self._few_unpadded)

    def _many(self) -> None:
        """Read texts of many kinds and lengths."""
        for start in range(0, len(lines := sample_lines()), _AT_ONCE):
            self.token_vectors(self.collate(sorted(self.tokenize(lines[start : start + _AT_ONCE]), key=len)))

    def _a_few(self) -> Tensor:
        """What the backbone says of the tokens of two texts, which are padded to one length: (tokens, hidden_size)."""
        batch = self.collate(self.tokenize(_A_FEW))
        with torch.inference_mode():
            return self.token_vectors(batch)[0][batch["attention_mask"].bool()]

    def _few_unpadded(self) -> Tensor:
        tokens = TokenRows.from_lists([self.tokenize(_A_FEW)])
        with torch.inference_mode():
            return self.unpadded(*batch_of(tokens, np.arange(len(tokens)), self.device))

    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """The backbone's last hidden states. Without a mask every id is real, and attention takes its faster path."""
        mask = batch.get("attention_mask")
        inputs: dict[str, Any] = {"input_ids": batch["input_ids"], "attention_mask": mask}
        if mask is not None and "position_ids" in self._arguments and not self._own_positions:
            # Positions count real tokens only, so that padding on the left moves nothing.
            inputs["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        if "use_cache" in self._arguments:
            inputs["use_cache"] = False
        return self.backbone(**inputs).last_hidden_state, mask

    def identity(self) -> Iterator[bytes]:
        """The backbone's configuration, but for the folder that it was read from, and the tokenizer."""
        return identity_of(self.backbone, self.tokenizer)

    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        """The backbone, an adapter merged into a copy of it, and the tokenizer."""
        backbone = merged(self.backbone)
        backbone.config.dtype = torch.float32
        with dense_tables(backbone):
            backbone.save_pretrained(folder)
        save_tokenizer(self, folder)
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": self.max_length, "do_lower_case": False})
        return [("", "Transformer")]
