"""Text generation with a decoder on this machine, such as SmolLM2 or Qwen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..errors import StudioError
from ..i18n import _
from .io.backbone import load_pretrained, load_tokenizer, read_config, translate_load_errors
from .io.digests import folder_stamp


class TextGenerator:
    """A causal language model that writes one line, greedily, so that the same message gets the same answer.

    Args:
        model, tokenizer: transformers' causal language model and its tokenizer.
        name: shown in errors.
        stamp: changes with the weights.

    Attributes:
        turn: to be held while the model answers, so that it answers one message at a time.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str, stamp: str = "") -> None:
        self._model, self._tokenizer, self.name, self.stamp = model.eval(), tokenizer, name, stamp
        self.turn = threading.Lock()

    @property
    def memory(self) -> int:
        """Size of the weights, in bytes."""
        return sum(weight.nbytes for weight in self._model.parameters())

    @classmethod
    def load(cls, folder: Path, device: torch.device) -> TextGenerator:
        """Load a model in float32 from safetensors; no code of the folder is executed.

        Raises:
            StudioError: the folder contains no decoder, or it is damaged.
        """
        from transformers import AutoModelForCausalLM

        config, stamp = read_config(folder), folder_stamp(folder)
        report: dict[str, Any] = {"missing_keys": ["all"]}
        if type(config) in AutoModelForCausalLM._model_mapping:
            with translate_load_errors(folder.name, folder):
                model, report = load_pretrained(AutoModelForCausalLM, folder, config, ignore_mismatched_sizes=False)
        if report["missing_keys"]:  # an encoder such as BERT lacks the layer that predicts words
            raise StudioError(
                _("{name} is no language model that writes text", name=repr(folder.name)), "choose a decoder, such as SmolLM2 or Qwen"
            )
        return cls(model.to(device), load_tokenizer(folder), folder.name, stamp)

    def answer(self, system: str, user: str, max_tokens: int, should_stop: Callable[[], bool]) -> tuple[str, bool]:
        """Return the first line of the answer to a message, with the model's thoughts before it, and whether it is complete.

        Args:
            system: instructions.
            max_tokens: maximum length of the answer.
            should_stop: called after each token; True ends the answer.

        Raises:
            StudioError: the message is longer than the model allows.
        """
        from transformers import StoppingCriteriaList

        tokens = self._tokenizer(self._to_text(system, user), return_tensors="pt", add_special_tokens=not self._tokenizer.chat_template)
        ids = tokens["input_ids"].to(self._model.device)
        length = ids.shape[1]
        if length + max_tokens > getattr(self._model.config, "max_position_embeddings", length + max_tokens):
            raise StudioError(
                _("{name} cannot read a message of {n} tokens", name=self.name, n=f"{length:,}"), "use fewer examples, or another model"
            )

        def ends(written: torch.Tensor, _scores: object) -> torch.Tensor:
            text = self._decode(written[0, length:])
            has_line = "\n" in text.lstrip() and not text.lstrip().startswith("<think>")
            return torch.tensor([has_line or should_stop()], device=ids.device)

        with torch.inference_mode():
            found = self._model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=max_tokens,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=self._end,
                stopping_criteria=StoppingCriteriaList([ends]),
            )
        written = found[0, length:]
        return self._decode(written), len(written) < max_tokens and not should_stop()

    def _decode(self, tokens: torch.Tensor) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    @property
    def _end(self) -> Any:
        end = self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id
        return end[0] if isinstance(end, list) else end

    def _to_text(self, system: str, user: str) -> str:
        if not self._tokenizer.chat_template:
            return f"{system}\n\n{user}"
        from jinja2 import TemplateError

        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        try:
            return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except TemplateError:  # some templates have no role for instructions
            merged = [{"role": "user", "content": f"{system}\n\n{user}"}]
            return str(self._tokenizer.apply_chat_template(merged, tokenize=False, add_generation_prompt=True))
