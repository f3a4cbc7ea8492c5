"""What the folder of a sentence encoder's adapter holds beside peft's own files: what follows the backbone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError, is_of_machine
from ...workspace import write_json
from ..storage.backbone import read_json
from ..storage.config import EncoderConfig
from .adapter import read_adapter

if TYPE_CHECKING:
    from ..sentence import SentenceEncoder

# What a full model's folder says in its modules stands in an adapter's folder in these two files of ours.
_HEAD, _PROJECTION = "encoder.json", "projection.safetensors"
_PROMPTS = "prompts"


def write_head(encoder: SentenceEncoder, folder: Path) -> None:
    """Write the configuration, and the weights of a projection, into an adapter's folder.

    The projection stands behind the backbone, where peft does not see it: it needs no ``modules_to_save``.
    """
    from safetensors.torch import save_file

    write_json(folder / _HEAD, {**dataclasses.asdict(encoder.config), _PROMPTS: encoder.prompts})
    if encoder.projection is not None:
        weights = {key: tensor.cpu().contiguous() for key, tensor in encoder.projection.state_dict().items()}
        save_file(weights, folder / _PROJECTION)


def load_adapter(encoder: SentenceEncoder, folder: Path) -> None:
    """Put the adapter of ``folder`` into ``encoder``, its base, unmerged, with the pooling and projection that it was tuned with.

    Raises:
        StudioError: it is no safetensors adapter, or does not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        encoder.backbone = read_adapter(encoder.backbone, folder)
        encoder.train(encoder.training)
        head = read_json(folder / _HEAD, dict, {})
        if head:
            _restore_head(encoder, head)
        if (folder / _PROJECTION).is_file() and encoder.projection is not None:
            encoder.projection.load_state_dict(load_file(folder / _PROJECTION))
    except (ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        if is_of_machine(error):
            raise
        raise StudioError(f"the adapter in {folder.name!r} does not fit this model", "load it on the base model it names") from error


def _restore_head(encoder: SentenceEncoder, head: dict[str, Any]) -> None:
    prompts = head.pop(_PROMPTS, None)  # older folders have the base's
    config = EncoderConfig(**head)
    if config.max_length is not None and (type(config.max_length) is not int or config.max_length < 1):
        raise ValueError(f"max_length is {config.max_length}")
    encoder.projection = None if config.projection is None else encoder.projection
    encoder.repool(config.pooling)
    if config.projection is not None and (encoder.config.projection, encoder.config.activation) != (config.projection, config.activation):
        encoder.project(config.projection, config.activation)
    encoder.normalizes = config.normalize
    encoder.limit(config.max_length)
    if prompts is not None:
        encoder.prompts = {str(name): str(text) for name, text in prompts.items()}
        encoder.set_prompt(config.prompt)
