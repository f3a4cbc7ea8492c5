"""A folder → a transformers backbone and its tokenizer: safetensors and JSON only, complete, and in float32."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import StudioError, is_of_machine
from ..inference.bert import lean_backbone
from ..quantized import is_quantized, load_quantized
from .digests import cut_short, written

# Encoder and decoder in one, of which the library can load the encoder alone.
_OF_TOKENIZER = "tokenizer_config.json"
_LAYERS = "num_hidden_layers"
_COUNTS = (_LAYERS, "num_attention_heads", "hidden_size")
_OF_LAYER = re.compile(r"(?:^|.*?\.)(?:layers?|h|blocks?)\.(?=\d+\.)")
_FLOATS = ("F64", "F32", "F16", "BF16")
_POINTER_BYTES = 64  # of a file that Git LFS puts in the place of another, a line of text
_UNCOMPRESSED = "take the uncompressed model"
_SIZES = "correct vocab_size, hidden_size and the other sizes there, or copy the folder again"
# As huggingface_hub says it of a setting that is of another kind than its class declares.
_WRONG_KIND = re.compile(r"Field '(?P<field>\w+)' expected (?P<kind>[^,]+), got \w+ \(value: (?P<value>.*?)\)")
_KINDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}
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


def read_length(settings: dict[str, Any], path: Path) -> int | None:
    """The most tokens of a text that ``settings``, read from ``path``, let a model read; None where they do not say.

    Raises:
        StudioError: it is no such number.
    """
    length = settings.get("max_seq_length")
    if length is not None and (type(length) is not int or length < 1):
        raise damaged(path)
    return length


@contextlib.contextmanager
def reading(name: str, folder: Path) -> Iterator[None]:
    """Name the model in ``folder``, and the file, where its files are at fault. What libraries raise over them is anything.

    Raises:
        StudioError: instead of whatever was raised, but for a lack of memory or of room on a disk.
    """
    try:
        yield
    except StudioError:
        raise
    except Exception as error:
        if is_of_machine(error):
            raise
        if file := _unreadable(folder):
            raise damaged(file) from error
        if absent := [name for name in sorted(written(folder)) if not (folder / name).is_file()]:
            raise lacking(folder / absent[0]) from error
        words = str(error).strip() or type(error).__name__
        raise _unusable(name, f"{words} is not known here" if isinstance(error, KeyError) else words) from error


def _unusable(name: str, words: str) -> StudioError:
    """What is said of a model whose settings a library refuses, in the words of the library where those say it best."""
    if found := _WRONG_KIND.search(words):
        what = _KINDS.get(found["kind"].split(" | ")[0], found["kind"])
        return StudioError(
            f"the model {name!r} cannot be read: {found['field']} is {found['value'][:40]} in its config.json, not {what}",
            f"correct {found['field']} there, or copy the folder again",
        )
    if "ignore_mismatched_sizes" in words:
        return StudioError(f"the model {name!r} cannot be read: its weights have other sizes than its config.json says", _SIZES)
    lines = words.splitlines()
    reason = " ".join(lines[:2]) if lines[0].rstrip().endswith(":") else lines[0]
    return StudioError(f"the model {name!r} cannot be read: {' '.join(reason.split())[:200]}", "check that the whole folder was copied")


def damaged(path: Path) -> StudioError:
    """What is said of a model's file that cannot be read."""
    if _is_pointer(path):
        return StudioError(
            f"{path.parent.name}/{path.name} is a pointer of Git LFS, not the file itself",
            "run `git lfs pull` in the folder that was cloned, or fetch it with `hf download`",
        )
    return StudioError(f"the model's file {path.parent.name}/{path.name} is damaged", "copy the folder again")


def _is_pointer(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(_POINTER_BYTES).startswith(b"version https://git-lfs")
    except OSError:
        return False


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


def require_finite(weights: Mapping[str, Tensor], path: Path) -> None:
    """Refuse weights of which vectors would be made that are wrong, or are none, without anybody noticing.

    Raises:
        StudioError: a tensor holds whole numbers, as a compressed model's do, or numbers that are not finite.
    """
    for key, tensor in weights.items():
        if not tensor.is_floating_point():
            kind = str(tensor.dtype).removeprefix("torch.")
            raise StudioError(f"{key} in {path.parent.name}/{path.name} is {kind}, not floating point", _UNCOMPRESSED)
        # A sum is finite in nearly every case, and costs a third of looking at each number.
        if not torch.isfinite(tensor.sum()) and not torch.isfinite(tensor).all():
            raise StudioError(f"{key} in {path.parent.name}/{path.name} holds numbers that are not finite", "copy the folder again")


def _left_out(key: str, names: Set[str], prefix: str) -> bool:
    """Whether a tensor that no parameter took is a weight of the model's own layers: of one that is left out, or a part of one that is.

    Buffers of older versions, such as masks and frequencies, and the layers of another half or tower are none.

    Args:
        names: those of the model's parameters; ``prefix``: what a model with a head puts before them.
    """
    key = key.removeprefix(prefix)
    layers = _OF_LAYER.match(key)
    if layers is None or not any(name.removeprefix(prefix).startswith(layers.group()) for name in names):
        return False
    stem, _, kind = key.rpartition(".")
    return kind == "weight" or (kind == "bias" and any(name.removeprefix(prefix) == f"{stem}.weight" for name in names))


def require_sound(model: Any, tokenizer: Any, report: Mapping[str, Any], folder: Path) -> None:
    """Refuse a model whose vectors would be none or wrong, or whose tokenizer is that of another.

    Args:
        report: what the library tells of the loading.

    Raises:
        StudioError: a weight is not finite, or is of a layer that the settings do not ask for; or the tokenizer has more tokens than
            the model has rows for them.
    """
    names = {name for name, _ in model.named_parameters()}
    if unread := [key for key in sorted(report["unexpected_keys"]) if _left_out(key, names, f"{model.base_model_prefix}.")]:
        raise StudioError(f"the settings of {folder.name!r} leave out what its weights hold: {unread[0]}", "copy the folder again")
    require_finite(dict(model.named_parameters()), folder / "model.safetensors")
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    if rows is None:
        return
    # Tokens that were added count where every text holds them, as those at its ends, or a batch, as padding.
    needed = max([tokenizer.vocab_size, *(token + 1 for token in (*tokenizer("").input_ids, tokenizer.pad_token_id) if token is not None)])
    if needed > rows:
        lacks = "" if (folder / _OF_TOKENIZER).is_file() else f"; {_OF_TOKENIZER} is missing there"
        raise StudioError(f"the tokenizer in {folder.name!r} has {needed:,} tokens, but the model {rows:,}{lacks}", "copy the whole folder")


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
    found = any((folder / name).is_file() for name in files) or any(
        path.name != _OF_TOKENIZER and path.is_file() for path in folder.glob("tokenizer*.json")
    )
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


def require_fitting(config: Any, folder: Path) -> None:
    """Refuse, by the headers of the weights alone, a model that would be built without end, or of weights that are compressed.

    Raises:
        StudioError: a weight is not of floating point.
        ValueError: the settings ask for more layers than there are tensors, or for less than one layer, head or component; or hold a
            number that is not finite.
    """
    from safetensors import safe_open

    tensors = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            kinds = {name: str(file.get_slice(name).get_dtype()) for name in names if name.endswith(".weight")}
        tensors += len(names)
        if compressed := next((name for name, kind in kinds.items() if kind not in _FLOATS), None):
            raise StudioError(f"{compressed} in {folder.name}/{path.name} is {kinds[compressed]}, not floating point", _UNCOMPRESSED)
    parts = [part for part in (config, getattr(config, "text_config", None)) if part is not None]
    for name in _COUNTS:
        counts = [count for part in parts if isinstance(count := getattr(part, name, None), int)]
        if min(counts, default=1) < 1 or (name == _LAYERS and max(counts, default=0) > tensors):
            raise ValueError(f"{name} is {counts[0]:,} in its config.json")
    for part in parts:
        if wrong := next((name for name, value in vars(part).items() if isinstance(value, float) and not math.isfinite(value)), None):
            raise ValueError(f"{wrong} in its config.json is not a finite number")


def load_backbone(folder: Path, *, lowercase: bool = False, frozen: bool = False) -> tuple[Any, Any]:
    """The backbone in float32 and its tokenizer, every weight from the files, no code from them.

    Args:
        folder: with ``config.json``, safetensors and the tokenizer's files.
        lowercase: put texts into lower case before all else.
        frozen: for inference alone, which the commonest families are read for sooner; see :mod:`sbert_studio.models.inference`.

    Raises:
        StudioError: a file is missing or damaged, or the architecture is none that encodes text.
    """
    if not (folder / "config.json").is_file():
        raise StudioError(f"the folder {folder.name!r} holds no config.json", "choose the folder that holds the model itself")
    require_safetensors(folder)
    from transformers import AutoConfig
    from transformers.utils import logging

    # The library's bars and its report of unused weights would land among the command line's own output.
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder.name, folder):
        config = AutoConfig.from_pretrained(folder, **local)
        require_fitting(config, folder)
        backbone = lean_backbone(folder, config, quantized=is_quantized(folder)) if frozen else None
        report: dict[str, Any] = {"missing_keys": (), "unexpected_keys": ()}
        if backbone is None:
            backbone, report = _read_by_library(folder, config, **local)
            _require_sizes(sorted(report.get("mismatched_keys", ())), folder)
    tokenizer = load_tokenizer(folder)
    _check_complete(backbone, sorted(report["missing_keys"]), folder)
    require_sound(backbone, tokenizer, report, folder)
    if lowercase:
        _lowercase_first(tokenizer)
    return backbone, tokenizer


def _read_by_library(folder: Path, config: Any, **local: Any) -> tuple[Any, dict[str, Any]]:
    """The backbone as the library makes it, and what it tells of the loading."""
    from transformers import AutoModel, AutoModelForTextEncoding

    if is_quantized(folder):
        return load_quantized(folder, config), {"missing_keys": (), "unexpected_keys": ()}
    family = AutoModelForTextEncoding if config.model_type in _TWO_HALVES else AutoModel
    if config.is_encoder_decoder and family is AutoModel:
        raise ValueError(f"{config.model_type} is made of an encoder and a decoder")
    return family.from_pretrained(  # type: ignore[no-any-return]
        folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True, **local
    )


def _require_sizes(others: list[tuple[str, tuple[int, ...], tuple[int, ...]]], folder: Path) -> None:
    """Refuse a backbone of which a weight has another shape in the file than by its settings; the library has drawn it at random.

    Args:
        others: name, shape in the file, and shape by the settings of each.
    """
    for name, held, asked in others[:1]:
        here, there = (" × ".join(map(str, shape)) for shape in (held, asked))
        raise StudioError(f"{name} in {folder.name!r} is {here}, but {there} by its config.json", _SIZES)


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
