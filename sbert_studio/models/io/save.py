"""Save models in the layout of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...workspace import write_json
from ..modules import MODULES, Module
from .backbone import read_json


def save_tokenizer(tokenizer: Any, max_length: int, folder: Path) -> None:
    """Write a tokenizer's files with the model's maximum length, and without the path it was loaded from."""
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
    """Write ``modules`` into folders of their own, and ``modules.json``.

    Args:
        written: (path, name) of the modules before them, which are written already.
        width: width of the vectors that enter the first of ``modules``.
    """
    listed = list(written)
    for index, module in enumerate(modules, len(listed)):
        listed.append((f"{index}_{module.name}", module.name))
        module.write(folder / listed[-1][0], width)
        width = module.output_width(width)
    entries = [
        {"idx": index, "name": str(index), "path": path, "type": f"{_package(name)}.{name}"} for index, (path, name) in enumerate(listed)
    ]
    write_json(folder / "modules.json", entries)


def _package(name: str) -> str:
    is_portable = name not in MODULES or MODULES[name].portable
    return "sentence_transformers.models" if is_portable else "sbert_studio.models.modules"
