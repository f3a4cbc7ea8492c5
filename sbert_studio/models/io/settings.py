"""Settings of a model folder: ``config_sentence_transformers.json`` and the encoder's own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ..similarity import SIMILARITIES
from .backbone import read_json


@dataclass(frozen=True)
class EncoderConfig:
    """What stands behind the backbone.

    Attributes:
        pooling: see :class:`~sbert_studio.models.modules.pooling.Pooling`.
        normalize: vectors of unit length.
        projection: the width of a new linear projection, or None.
        activation: of that projection: a name of :data:`~sbert_studio.models.modules.dense.ACTIVATIONS`.
        max_length: tokens of a text that are read; None: as many as the backbone can.
        prompt: put before every text.
        include_prompt: whether the prompt's tokens are pooled with the text's.
    """

    pooling: str = "mean"
    normalize: bool = True
    projection: int | None = None
    activation: str = "gelu"
    max_length: int | None = None
    prompt: str = ""
    include_prompt: bool = True


_FILE = "config_sentence_transformers.json"
_EXAMPLE = f'write them into {_FILE} as {{"query": "query: ", "document": "passage: "}}'


@dataclass(frozen=True)
class GeneralSettings:
    """What the file says.

    Attributes:
        prompts: by name. default_prompt: put before a text of which nothing is said.
        truncate_dim: how many components of a vector are kept; ``None``: all.
        similarity_fn_name: by what vectors are compared.
    """

    prompts: Mapping[str, str]
    default_prompt: str
    truncate_dim: int | None
    similarity_fn_name: str


def read_general(folder: Path) -> GeneralSettings:
    """Read the file in a model's folder, which need not be there.

    Raises:
        StudioError: it is damaged, or asks for what there is not; the setting is named.
    """
    general = read_json(folder / _FILE, dict, {})
    prompts = _prompts(general.get("prompts"))
    cut, measure = general.get("truncate_dim"), general.get("similarity_fn_name") or "cosine"
    if cut is not None and (type(cut) is not int or cut < 1):
        raise StudioError(f"the model asks for vectors cut to {str(cut)[:40]!r}", "put a whole number into truncate_dim, or null")
    if measure not in SIMILARITIES:
        raise StudioError(
            f"the model is to be compared by {str(measure)[:40]!r}, which is not known here", f"those that are: {', '.join(SIMILARITIES)}"
        )
    return GeneralSettings(prompts, _default(general.get("default_prompt_name"), prompts), cut, measure)


def _prompts(said: Any) -> dict[str, str]:
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise StudioError(f"the model's prompts are {str(said)[:40]!r}, not an object of texts", _EXAMPLE)
    for name, prompt in said.items():
        if prompt is not None and not isinstance(prompt, str):
            raise StudioError(f"the model's prompt {name[:40]!r} is {str(prompt)[:40]!r}, not a text", _EXAMPLE)
    return {name: prompt or "" for name, prompt in said.items()}


def _default(name: Any, prompts: Mapping[str, str]) -> str:
    if name is None:
        return ""
    if not isinstance(name, str) or name not in prompts:
        raise StudioError(
            f"the model's default prompt is {str(name)[:40]!r}, but its prompts are {', '.join(prompts) or 'none'}",
            f"put the name of a prompt into default_prompt_name of {_FILE}, or null",
        )
    return prompts[name]
