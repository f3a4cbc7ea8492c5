"""A folder → a transformers backbone and its tokenizer: safetensors and JSON only, complete, and in float32."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ...errors import StudioError
from .digests import cut_short, written

# Encoder and decoder in one, of which the library can load the encoder alone.
_OF_TOKENIZER = "tokenizer_config.json"
_TWO_HALVES = ("t5", "mt5", "umt5")


def read_json(path: Path, kind: type, default: Any = None) -> Any:
    """The JSON value of ``path``, which must be a ``kind``; ``default``, where there is one, if the file is absent.

    Raises:
        StudioError: the file is missing or damaged.
    """
    if not path.is_file():
        if default is not None:
            return default
        raise lacking(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise damaged(path)
    return value


@contextlib.contextmanager
def reading(name: str, folder: Path) -> Iterator[None]:
    """Name the model in ``folder``, and the file, where its files are at fault. What libraries raise over them is anything.

    Raises:
        StudioError: instead of whatever was raised, but for a lack of memory.
    """
    try:
        yield
    except (StudioError, MemoryError):
        raise
    except Exception as error:
        if file := _unreadable(folder):
            raise damaged(file) from error
        if absent := [name for name in sorted(written(folder)) if not (folder / name).is_file()]:
            raise lacking(folder / absent[0]) from error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise StudioError(f"the model {name!r} cannot be read: {reason}", "check that the whole folder was copied") from error


def damaged(path: Path) -> StudioError:
    """What is said of a model's file that cannot be read."""
    return StudioError(f"the model's file {path.parent.name}/{path.name} is damaged", "copy the folder again")


def lacking(path: Path) -> StudioError:
    """What is said of a model's file that is not there."""
    return StudioError(f"the model lacks its file {path.parent.name}/{path.name}", "copy the whole folder")


def _unreadable(folder: Path) -> Path | None:
    """The first file of settings or weights in ``folder``, or one level below it, that is not what its name says."""
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        try:
            if (path.suffix == ".safetensors" and cut_short(path)) or (path.suffix == ".json" and json.loads(path.read_bytes()) is None):
                return path
        except (OSError, ValueError, RecursionError):
            return path
    return None


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of ``folder``.

    Raises:
        StudioError: its files are missing or damaged.
    """
    from transformers import AutoTokenizer

    with reading(folder.name, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    # Without its vocabulary the library makes a tokenizer to which every word is unknown.
    files = set(tokenizer.vocab_files_names.values())
    found = any((folder / name).is_file() for name in files) or any(path.name != _OF_TOKENIZER for path in folder.glob("tokenizer*.json"))
    if files and not found:
        raise lacking(folder / "tokenizer.json")
    return tokenizer


def require_safetensors(folder: Path) -> None:
    """Refuse a folder whose weights are a pickle, or that has none, or that has an adapter of some other model beside them.

    Raises:
        StudioError: there is no ``*.safetensors`` in it.
    """
    if (folder / "adapter_config.json").is_file():
        # The library would fetch and join it unasked.
        raise StudioError(f"the folder {folder.name!r} holds an adapter beside a whole model", "move the adapter to a folder of its own")
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
        raise StudioError(
            "this model's weights are a pickle (.bin), which can run code when it is opened, and is refused",
            "use a version of the model that has a model.safetensors",
        )
    raise StudioError(f"the folder {folder.name!r} holds no model.safetensors", "choose the folder that holds the model itself")


def load_backbone(folder: Path, *, lowercase: bool = False) -> tuple[Any, Any]:
    """The backbone in float32 and its tokenizer, every weight from the files, no code from them.

    Args:
        folder: with ``config.json``, safetensors and the tokenizer's files.
        lowercase: put texts into lower case before all else.

    Raises:
        StudioError: a file is missing or damaged, or the architecture is none that encodes text.
    """
    if not (folder / "config.json").is_file():
        raise StudioError(f"the folder {folder.name!r} holds no config.json", "choose the folder that holds the model itself")
    require_safetensors(folder)
    from transformers import AutoConfig, AutoModel, AutoModelForTextEncoding
    from transformers.utils import logging

    # The library's bars and its report of unused weights would land among the command line's own output.
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder.name, folder):
        config = AutoConfig.from_pretrained(folder, **local)
        family = AutoModelForTextEncoding if config.model_type in _TWO_HALVES else AutoModel
        if config.is_encoder_decoder and family is AutoModel:
            raise ValueError(f"{config.model_type} is made of an encoder and a decoder")
        backbone, report = family.from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **local
        )
    tokenizer = load_tokenizer(folder)
    _check_complete(backbone, sorted(report["missing_keys"]), folder)
    if lowercase:
        _lowercase_first(tokenizer)
    return backbone, tokenizer


def _check_complete(backbone: Any, missing: list[str], folder: Path) -> None:
    """Refuse a backbone that the file filled only in part; of BERT's pooler, which nothing reads, make zeros."""
    unread = [key for key in missing if not key.startswith("pooler.")]
    if unread:
        raise StudioError(f"the weights in {folder.name!r} lack {len(unread)} tensors, such as {unread[0]}", "choose another model")
    for key in missing:
        backbone.get_parameter(key).data.zero_()


def _lowercase_first(tokenizer: Any) -> None:
    from tokenizers.normalizers import Lowercase, Sequence

    backend = tokenizer.backend_tokenizer
    old = backend.normalizer
    backend.normalizer = Lowercase() if old is None else Sequence([Lowercase(), old])
