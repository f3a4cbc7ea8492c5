"""Settings of a model folder: ``config_sentence_transformers.json`` and the encoder's own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ...workspace import write_json
from ..similarity import SIMILARITIES
from .backbone import read_json

_FILE = "config_sentence_transformers.json"
_EXAMPLE = f'write them into {_FILE} as {{"query": "query: ", "document": "passage: "}}'


@dataclass(frozen=True)
class EncoderConfig:
    """Configuration of what follows the backbone.

    Attributes:
        pooling: see :class:`~sbert_studio.models.modules.pooling.Pooling`.
        normalize: scale vectors to unit length.
        projection: width of a new linear projection, or ``None``.
        activation: activation of that projection, a key of :data:`~sbert_studio.models.modules.dense.ACTIVATIONS`.
        max_length: maximum number of tokens per text; ``None`` for the backbone's limit.
        prompt: prepended to every text.
        include_prompt: pool the prompt's tokens with the text's.
    """

    pooling: str = "mean"
    normalize: bool = True
    projection: int | None = None
    activation: str = "gelu"
    max_length: int | None = None
    prompt: str = ""
    include_prompt: bool = True


@dataclass(frozen=True)
class GeneralSettings:
    """Contents of ``config_sentence_transformers.json``.

    Attributes:
        prompts: by name.
        default_prompt: prepended to texts without a role.
        truncate_dim: number of components kept; ``None`` for all.
        similarity_fn_name: similarity function of the vectors.
    """

    prompts: Mapping[str, str]
    default_prompt: str
    truncate_dim: int | None
    similarity_fn_name: str


def read_general_settings(folder: Path) -> GeneralSettings:
    """Read the settings of a model's folder, or the defaults if the file is absent.

    Raises:
        StudioError: the file is damaged, or a setting has an unsupported value.
    """
    general = read_json(folder / _FILE, dict, {})
    prompts = _parse_prompts(general.get("prompts"))
    truncate_dim, similarity = general.get("truncate_dim"), general.get("similarity_fn_name") or "cosine"
    if truncate_dim is not None and (type(truncate_dim) is not int or truncate_dim < 1):
        raise StudioError(f"the model's truncate_dim is {str(truncate_dim)[:40]!r}", "set truncate_dim to a whole number, or null")
    if similarity not in SIMILARITIES:
        raise StudioError(
            f"the model's similarity function {str(similarity)[:40]!r} is not supported",
            f"supported: {', '.join(SIMILARITIES)}",
        )
    return GeneralSettings(prompts, _default_prompt(general.get("default_prompt_name"), prompts), truncate_dim, similarity)


def write_general_settings(folder: Path, settings: GeneralSettings) -> None:
    """Write ``config_sentence_transformers.json``."""
    import torch
    import transformers

    versions = {"sentence_transformers": "2.2.2", "transformers": transformers.__version__, "pytorch": torch.__version__}
    general: dict[str, Any] = {"__version__": versions}
    if settings.prompts:
        default = next((name for name, prompt in settings.prompts.items() if prompt and prompt == settings.default_prompt), None)
        general |= {"prompts": settings.prompts, "default_prompt_name": default}
    if settings.similarity_fn_name != "cosine":
        general["similarity_fn_name"] = settings.similarity_fn_name
    if settings.truncate_dim is not None:
        general["truncate_dim"] = settings.truncate_dim
    write_json(folder / _FILE, general)


def _parse_prompts(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise StudioError(f"the model's prompts are {str(value)[:40]!r}, not an object of texts", _EXAMPLE)
    for name, prompt in value.items():
        if prompt is not None and not isinstance(prompt, str):
            raise StudioError(f"the model's prompt {name[:40]!r} is {str(prompt)[:40]!r}, not a text", _EXAMPLE)
    return {name: prompt or "" for name, prompt in value.items()}


def _default_prompt(name: Any, prompts: Mapping[str, str]) -> str:
    if name is None:
        return ""
    if not isinstance(name, str) or name not in prompts:
        raise StudioError(
            f"the model's default prompt is {str(name)[:40]!r}, but its prompts are {', '.join(prompts) or 'none'}",
            f"put the name of a prompt into default_prompt_name of {_FILE}, or null",
        )
    return prompts[name]
