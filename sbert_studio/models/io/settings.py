"""Settings, tokenizer and list of modules in a model folder, in the layout of sentence-transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ...i18n import _
from ...workspace import write_json
from ..modules import MODULES, Module
from ..similarity import SIMILARITIES
from .backbone import read_json

_FILE = "config_sentence_transformers.json"
_EXAMPLE = _('write them to {file} as {"query": "query: ", "document": "passage: "}', file=_FILE)


@dataclass(frozen=True)
class EncoderConfig:
    """Configuration of the steps after the backbone.

    Attributes:
        pooling: see :class:`~sbert_studio.models.modules.pooling.Pooling`.
        normalize: scale vectors to unit length.
        projection: width of a new linear projection, or ``None``.
        activation: activation of that projection, a key of :data:`~sbert_studio.models.modules.projection.ACTIVATIONS`.
        max_length: maximum number of tokens per text; ``None`` for the backbone's limit.
        prompt: prepended to every text.
        include_prompt: also pool the tokens of the prompt.
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
    """Read the settings of a model's folder, or return the defaults if the file does not exist."""
    general = read_json(folder / _FILE, dict, {})
    prompts = _parse_prompts(general.get("prompts"))
    truncate_dim, similarity = general.get("truncate_dim"), general.get("similarity_fn_name") or "cosine"
    if truncate_dim is not None and (type(truncate_dim) is not int or truncate_dim < 1):
        raise StudioError(
            _("the model's truncate_dim is {truncate_dim}", truncate_dim=repr(str(truncate_dim)[:40])),
            "set truncate_dim to an integer, or null",
        )
    if similarity not in SIMILARITIES:
        raise StudioError(
            _("the model's similarity function {similarity} is not supported", similarity=repr(str(similarity)[:40])),
            _("supported: {similarities}", similarities=", ".join(SIMILARITIES)),
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
        raise StudioError(_("the model's prompts are {value}, not an object with string values", value=repr(str(value)[:40])), _EXAMPLE)
    for name, prompt in value.items():
        if prompt is not None and not isinstance(prompt, str):
            raise StudioError(
                _("the model's prompt {name} is {prompt}, which is not text", name=repr(name[:40]), prompt=repr(str(prompt)[:40])), _EXAMPLE
            )
    return {name: prompt or "" for name, prompt in value.items()}


def _default_prompt(name: Any, prompts: Mapping[str, str]) -> str:
    if name is None:
        return ""
    if not isinstance(name, str) or name not in prompts:
        raise StudioError(
            _(
                "the model's default prompt is {name}, but its prompts are {prompts}",
                name=repr(str(name)[:40]),
                prompts=", ".join(prompts) or "none",
            ),
            _("set default_prompt_name of {file} to the name of a prompt, or null", file=_FILE),
        )
    return prompts[name]


def save_tokenizer(tokenizer: Any, max_length: int, folder: Path) -> None:
    """Write a tokenizer's files with the model's maximum length, but without the path it was loaded from."""
    tokenizer.save_pretrained(folder)
    settings = read_json(folder / "tokenizer_config.json", dict)
    settings["model_max_length"] = max_length
    for key in ("name_or_path", "is_local", "local_files_only"):
        settings.pop(key, None)
    # transformers 5 renamed two settings; version 4 reads the old names only, version 5 reads both.
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(settings.get("extra_special_tokens"), list):
        settings["additional_special_tokens"] = settings.pop("extra_special_tokens")
    write_json(folder / "tokenizer_config.json", settings)


def write_modules(folder: Path, written: Sequence[tuple[str, str]], modules: Sequence[Module], width: int) -> None:
    """Write ``modules`` into separate folders, and ``modules.json``.

    Args:
        written: (path, name) of the preceding modules, which are already written.
        width: width of the vectors that enter the first of ``modules``.
    """
    listed = list(written)
    for index, module in enumerate(modules, len(listed)):
        listed.append((f"{index}_{module.name}", module.name))
        module.write(folder / listed[-1][0], width)
        width = module.output_width(width)
    write_module_list(folder, listed)


def write_module_list(folder: Path, listed: Sequence[tuple[str, str]]) -> None:
    """Write ``modules.json`` from the (path, name) of each module."""
    entries = [
        {"idx": index, "name": str(index), "path": path, "type": f"{_package(name)}.{name}"} for index, (path, name) in enumerate(listed)
    ]
    write_json(folder / "modules.json", entries)


def _package(name: str) -> str:
    is_portable = name not in MODULES or MODULES[name].portable
    return "sentence_transformers.models" if is_portable else "sbert_studio.models.modules"
