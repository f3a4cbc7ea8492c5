"""Loading of a transformers backbone and its tokenizer from a folder: safetensors and JSON only, complete, and in float32."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import StudioError, is_machine_error
from ...i18n import _
from ..inference.bert import load_inference_backbone
from ..quantized import is_quantized, load_quantized
from .digests import recorded_files, safetensors_error

_TOKENIZER_CONFIG = "tokenizer_config.json"
_LAYERS = "num_hidden_layers"
_COUNTS = (_LAYERS, "num_attention_heads", "hidden_size")
_LAYER_PREFIX = re.compile(r"(?:^|.*?\.)(?:layers?|h|blocks?)\.(?=\d+\.)")
_FLOATS = ("F64", "F32", "F16", "BF16")
_POINTER_BYTES = 64  # bytes read to recognize a Git LFS pointer
_UNCOMPRESSED = "use the uncompressed model"
_SIZES = "correct vocab_size, hidden_size and the other sizes there, or copy the folder again"
# huggingface_hub's message about a setting of the wrong type.
_WRONG_KIND = re.compile(r"Field '(?P<field>\w+)' expected (?P<kind>[^,]+), got \w+ \(value: (?P<value>.*?)\)")
_KINDS = {"int": "an integer", "float": "a number", "str": "a text", "bool": "true or false"}
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_ENCODER_DECODERS = ("t5", "mt5", "umt5")  # for these, transformers can load the encoder alone


def read_json(path: Path, kind: type, default: Any = None) -> Any:
    """Return the JSON value of ``path``, which must be of type ``kind``; ``default``, if given, when the file does not exist."""
    if not path.is_file():
        if default is not None:
            return default
        raise missing_file_error(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise damaged_file_error(path)
    return value


def read_length(settings: dict[str, Any], path: Path) -> int | None:
    """Return ``max_seq_length`` of ``settings``, read from ``path``; ``None`` if absent."""
    length = settings.get("max_seq_length")
    if length is not None and (type(length) is not int or length < 1):
        raise damaged_file_error(path)
    return length


@contextlib.contextmanager
def translate_load_errors(name: str, folder: Path) -> Iterator[None]:
    """Convert errors that libraries raise for a model's files to a :class:`StudioError` with the model and the file."""
    try:
        yield
    except StudioError:
        raise
    except Exception as error:
        if is_machine_error(error):
            raise
        if file := _unreadable(folder):
            raise damaged_file_error(file) from error
        if absent := [name for name in sorted(recorded_files(folder)) if not (folder / name).is_file()]:
            raise missing_file_error(folder / absent[0]) from error
        words = str(error).strip() or type(error).__name__
        raise _unusable(name, _("{words} is not supported", words=words) if isinstance(error, KeyError) else words) from error


def _unusable(name: str, words: str) -> StudioError:
    if found := _WRONG_KIND.search(words):
        what = _KINDS.get(found["kind"].split(" | ")[0], found["kind"])
        return StudioError(
            _(
                "the model {name} cannot be read: {field} is {value} in its config.json, not {what}",
                name=repr(name),
                field=found["field"],
                value=found["value"][:40],
                what=what,
            ),
            _("correct {field} there, or copy the folder again", field=found["field"]),
        )
    if "ignore_mismatched_sizes" in words:
        return StudioError(
            _("the model {name} cannot be read: its weights do not match the sizes in its config.json", name=repr(name)), _SIZES
        )
    lines = words.splitlines()
    reason = " ".join(lines[:2]) if lines[0].rstrip().endswith(":") else lines[0]
    return StudioError(
        _("the model {name} cannot be read: {reason}", name=repr(name), reason=" ".join(reason.split())[:200]),
        "check that the whole folder was copied",
    )


def damaged_file_error(path: Path) -> StudioError:
    """Return the error for an unreadable model file."""
    if _is_pointer(path):
        return StudioError(
            f"{path.parent.name}/{path.name} is a pointer of Git LFS, not the file itself",
            "run `git lfs pull` in the cloned folder, or download it with `hf download`",
        )
    return StudioError(_("the model's file {name}/{name2} is damaged", name=path.parent.name, name2=path.name), "copy the folder again")


def _is_pointer(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(_POINTER_BYTES).startswith(b"version https://git-lfs")
    except OSError:
        return False


def missing_file_error(path: Path) -> StudioError:
    """Return the error for a missing model file."""
    return StudioError(_("the model's file {name}/{name2} is missing", name=path.parent.name, name2=path.name), "copy the whole folder")


def _unreadable(folder: Path) -> Path | None:
    """Return the first settings or weights file in ``folder``, or one level below, whose content does not match its type."""
    for path in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        try:
            if (path.suffix == ".safetensors" and safetensors_error(path)) or (
                path.suffix == ".json" and json.loads(path.read_bytes()) is None
            ):
                return path
        except (OSError, ValueError, RecursionError):
            return path
    return None


def require_finite(weights: Mapping[str, Tensor], path: Path) -> None:
    """Reject weights that would silently give wrong vectors or none."""
    for key, tensor in weights.items():
        if not tensor.is_floating_point():
            kind = str(tensor.dtype).removeprefix("torch.")
            raise StudioError(
                _("{key} in {name}/{name2} is {kind}, not floating point", key=key, name=path.parent.name, name2=path.name, kind=kind),
                _UNCOMPRESSED,
            )
        # The sum is nearly always finite, and three times as fast as checking each number.
        if not torch.isfinite(tensor.sum()) and not torch.isfinite(tensor).all():
            raise StudioError(
                _("{key} in {name}/{name2} contains numbers that are not finite", key=key, name=path.parent.name, name2=path.name),
                "copy the folder again",
            )


def read_tensors(path: Path, integer_tensors: Sequence[str] = ()) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file in float32, all finite; ``integer_tensors`` are returned unchanged."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise missing_file_error(path)
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        if is_machine_error(error):
            raise
        raise damaged_file_error(path) from error
    kept = {key: found.pop(key) for key in integer_tensors if key in found}
    require_finite(found, path)
    return {**kept, **{key: tensor.float() for key, tensor in found.items()}}


def write_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file, creating its folder if needed."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, path, metadata)


def _is_layer_weight(key: str, names: Set[str], prefix: str) -> bool:
    """Return True if an unexpected tensor is a weight of one of the model's layers, used or omitted by the configuration.

    Legacy buffers such as masks and frequencies, and layers of another half or tower, are not.
    """
    key = key.removeprefix(prefix)
    layers = _LAYER_PREFIX.match(key)
    if layers is None or not any(name.removeprefix(prefix).startswith(layers.group()) for name in names):
        return False
    stem, _, kind = key.rpartition(".")
    return kind == "weight" or (kind == "bias" and any(name.removeprefix(prefix) == f"{stem}.weight" for name in names))


def require_consistent_model(model: Any, tokenizer: Any, report: Mapping[str, Any], folder: Path) -> None:
    """Reject a model whose vectors would be wrong according to transformers' loading report, or whose tokenizer does not match."""
    names = {name for name, _ in model.named_parameters()}
    if unread := [key for key in sorted(report["unexpected_keys"]) if _is_layer_weight(key, names, f"{model.base_model_prefix}.")]:
        raise StudioError(
            _("the weights of {name} contain a layer that its configuration omits: {unread}", name=repr(folder.name), unread=unread[0]),
            "copy the folder again",
        )
    require_finite(dict(model.named_parameters()), folder / "model.safetensors")
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    if rows is None:
        return
    # Added tokens count only if they occur in every text, like special tokens, or as padding.
    needed = max([tokenizer.vocab_size, *(token + 1 for token in (*tokenizer("").input_ids, tokenizer.pad_token_id) if token is not None)])
    if needed > rows:
        lacks = (
            "" if (folder / _TOKENIZER_CONFIG).is_file() else _("; {tokenizer_config} is missing there", tokenizer_config=_TOKENIZER_CONFIG)
        )
        raise StudioError(
            _(
                "the tokenizer in {name} has {needed} tokens, but the model {rows}{lacks}",
                name=repr(folder.name),
                needed=f"{needed:,}",
                rows=f"{rows:,}",
                lacks=lacks,
            ),
            "copy the whole folder",
        )


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of ``folder``."""
    from transformers import AutoTokenizer

    with translate_load_errors(folder.name, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, **_LOCAL)
    # Without a vocabulary file, transformers creates a tokenizer for which every word is unknown.
    files = set(tokenizer.vocab_files_names.values())
    found = any((folder / name).is_file() for name in files) or any(
        path.name != _TOKENIZER_CONFIG and path.is_file() for path in folder.glob("tokenizer*.json")
    )
    if files and not found:
        raise missing_file_error(folder / "tokenizer.json")
    return tokenizer


def require_safetensors(folder: Path) -> None:
    """Reject a folder without safetensors weights, with pickled weights, or with an adapter next to a full model."""
    if (folder / "adapter_config.json").is_file():
        # transformers would load and apply it without being asked.
        raise StudioError(
            _("the folder {name} contains both an adapter and a full model", name=repr(folder.name)),
            "move the adapter to a separate folder",
        )
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
        raise StudioError(
            "the weights of this model are a pickle (.bin), which can run code when it is opened; it was rejected",
            "use a version of the model that has a model.safetensors file",
        )
    raise StudioError(
        _("the folder {name} contains no model.safetensors", name=repr(folder.name)), "choose the folder that contains the model"
    )


def require_plausible_config(config: Any, folder: Path) -> None:
    """Reject a configuration of absurd size, or compressed weights, using only the headers of the weights.

    Raises:
        StudioError: a weight is not floating point.
        ValueError: the configuration has more layers than there are tensors, fewer than one layer, head or component, or a non-finite
            number.
    """
    from safetensors import safe_open

    tensors = 0
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            kinds = {name: str(file.get_slice(name).get_dtype()) for name in names if name.endswith(".weight")}
        tensors += len(names)
        if compressed := next((name for name, kind in kinds.items() if kind not in _FLOATS), None):
            raise StudioError(
                _(
                    "{compressed} in {name}/{name2} is {kinds}, not floating point",
                    compressed=compressed,
                    name=folder.name,
                    name2=path.name,
                    kinds=kinds[compressed],
                ),
                _UNCOMPRESSED,
            )
    parts = [part for part in (config, getattr(config, "text_config", None)) if part is not None]
    for name in _COUNTS:
        counts = [count for part in parts if isinstance(count := getattr(part, name, None), int)]
        if min(counts, default=1) < 1 or (name == _LAYERS and max(counts, default=0) > tensors):
            raise ValueError(f"{name} is {counts[0]:,} in its config.json")
    for part in parts:
        if wrong := next((name for name, value in vars(part).items() if isinstance(value, float) and not math.isfinite(value)), None):
            raise ValueError(f"{wrong} in its config.json is not a finite number")


def read_config(folder: Path) -> Any:
    """Return transformers' configuration of a folder with matching safetensors weights; see :func:`require_plausible_config`."""
    require_safetensors(folder)
    from transformers import AutoConfig
    from transformers.utils import logging

    # transformers' progress bars and warnings would mix with the command line's output.
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    with translate_load_errors(folder.name, folder):
        config = AutoConfig.from_pretrained(folder, **_LOCAL)
        require_plausible_config(config, folder)
    return config


def load_pretrained(family: Any, folder: Path, config: Any, *, ignore_mismatched_sizes: bool) -> tuple[Any, dict[str, Any]]:
    """Load a model of a transformers class in float32 from safetensors; return it with the loading report."""
    model, report = family.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=ignore_mismatched_sizes,
        **_LOCAL,
    )
    return model, report


def load_backbone(folder: Path, *, lowercase: bool = False, frozen: bool = False) -> tuple[Any, Any]:
    """Load the backbone in float32 and its tokenizer; all weights come from the files, and no code is executed.

    Args:
        folder: contains ``config.json``, safetensors and the tokenizer's files.
        lowercase: lowercase texts first.
        frozen: for inference only, which loads common architectures faster; see :mod:`sbert_studio.models.inference`.
    """
    if not (folder / "config.json").is_file():
        raise StudioError(
            _("the folder {name} contains no config.json", name=repr(folder.name)), "choose the folder that contains the model"
        )
    config = read_config(folder)
    report: dict[str, Any] = {"missing_keys": (), "unexpected_keys": ()}
    with translate_load_errors(folder.name, folder):
        backbone: Any = load_inference_backbone(folder, config, quantized=is_quantized(folder)) if frozen else None
        if backbone is None:
            backbone, report = _load_with_transformers(folder, config)
            # transformers would initialize a weight of another shape randomly.
            for name, stored, expected in sorted(report.get("mismatched_keys", ()))[:1]:
                actual, configured = (" × ".join(map(str, shape)) for shape in (stored, expected))
                raise StudioError(f"{name} in {folder.name!r} is {actual}, but {configured} by its config.json", _SIZES)
    tokenizer = load_tokenizer(folder)
    missing = sorted(report["missing_keys"])
    if unread := [key for key in missing if not key.startswith("pooler.")]:
        raise StudioError(
            _(
                "the weights in {name} lack {unread} tensors, such as {unread2}",
                name=repr(folder.name),
                unread=len(unread),
                unread2=unread[0],
            ),
            "choose another model",
        )
    for key in missing:  # BERT's pooler, which is unused
        backbone.get_parameter(key).data.zero_()
    require_consistent_model(backbone, tokenizer, report, folder)
    if lowercase:
        _add_lowercasing(tokenizer)
    return backbone, tokenizer


def _load_with_transformers(folder: Path, config: Any) -> tuple[Any, dict[str, Any]]:
    from transformers import AutoModel, AutoModelForTextEncoding

    if is_quantized(folder):
        return load_quantized(folder, config), {"missing_keys": (), "unexpected_keys": ()}
    family = AutoModelForTextEncoding if config.model_type in _ENCODER_DECODERS else AutoModel
    if config.is_encoder_decoder and family is AutoModel:
        raise ValueError(f"{config.model_type} has an encoder and a decoder")
    return load_pretrained(family, folder, config, ignore_mismatched_sizes=True)


def _add_lowercasing(tokenizer: Any) -> None:
    from tokenizers.normalizers import Lowercase, Sequence

    backend = tokenizer.backend_tokenizer
    normalizer = backend.normalizer
    backend.normalizer = Lowercase() if normalizer is None else Sequence([Lowercase(), normalizer])
