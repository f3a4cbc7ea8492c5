"""What a model's folder says of the model, read without loading its weights."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog

# "language: en", or a list of codes on the lines below.
_LANGUAGE = re.compile(r"^language:[ \t]*(\S.*|(?:\n[ \t]*-[ \t]*\S+)+)", re.MULTILINE)


def describe_folder(folder: Path | None) -> dict[str, Any]:
    """``dim parameters max_length pooling reads damaged`` of a sentence-transformers folder; 0 or empty where it does not say.

    ``damaged`` says why the model cannot be used, so that one broken folder hides no other. Bits that flipped within the weights are
    found when the model is loaded.
    """
    try:
        if folder is None or not folder.is_dir():
            raise StudioError("its folder is gone")
        return {**_facts(folder), "damaged": ""}
    except Exception as error:  # whatever stands in a damaged file may lead to whatever error
        reason = error.message if isinstance(error, StudioError) else (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        return {"dim": 0, "parameters": 0, "max_length": 0, "pooling": "", "reads": "texts", "damaged": reason}


def _facts(folder: Path) -> dict[str, Any]:
    from ..encoders.backbone import read_json
    from ..encoders.cross_storage import is_cross_folder
    from ..encoders.storage import transformer_folder

    read_json(transformer_folder(folder) / "config.json", dict)
    if not any((*folder.glob("*.safetensors"), *folder.glob("*/*.safetensors"))):
        raise StudioError("its weights are gone")
    cross = is_cross_folder(folder)
    pooling = _json(folder / "1_Pooling" / "config.json")
    config = _json(folder / "config.json")
    dense = [_json(path) for path in sorted(folder.glob("*_Dense/config.json"))]
    dim = pooling.get("word_embedding_dimension") or pooling.get("embedding_dimension") or config.get("hidden_size") or 0
    return {
        "dim": 0 if cross else int(dense[-1].get("out_features", dim) if dense else dim),
        "parameters": sum(_weights(path) for path in [*folder.glob("*.safetensors"), *folder.glob("*_Dense/*.safetensors")]),
        "max_length": int(
            _json(folder / "sentence_bert_config.json").get("max_seq_length")
            or _json(folder / "tokenizer_config.json").get("model_max_length")
            or 0
        ),
        "pooling": _pooling(pooling),
        "reads": "pairs" if cross else "texts",
    }


def languages_of(catalog: Catalog, name: str) -> tuple[str, ...] | None:
    """The languages that the model's card names, or its base model's where that is bundled; ``None`` where nothing says."""
    source = catalog.resolve(name)
    found = _card_languages(source.path)
    if not found and source.base is not None and (base := catalog.resolve(source.base)).kind == "bundled":
        found = _card_languages(base.path)
    return found or None


def _card_languages(folder: Path | None) -> tuple[str, ...]:
    card = None if folder is None else folder / "README.md"
    if card is None or not card.is_file():
        return ()
    head = card.read_text(encoding="utf-8", errors="replace")[:20_000].split("\n---", 1)[0]
    found = _LANGUAGE.search(head)
    words = re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", found[1]) if found else []
    return () if any(len(word) != 2 for word in words) else tuple(word.lower() for word in words)


def _pooling(config: dict[str, Any]) -> str:
    """The mode by the newer key, or by whichever of the older ones is set."""
    if "pooling_mode" in config:
        return str(config["pooling_mode"])
    names = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "last", "weightedmean_tokens": "weighted_mean"}
    return "+".join(name for key, name in names.items() if config.get(f"pooling_mode_{key}"))


def _weights(path: Path) -> int:
    """How many numbers a safetensors file holds, by its header alone."""
    from safetensors import safe_open

    from ..encoders.digests import cut_short

    if cut := cut_short(path):
        raise StudioError(f"its file {path.name} is cut short or damaged ({cut})")
    with safe_open(path, framework="np") as file:
        names = [name for name in file.keys() if not name.endswith("position_ids")]  # noqa: SIM118  it is no mapping
        return sum(math.prod(file.get_slice(name).get_shape()) for name in names)


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise StudioError(f"its file {path.name} is damaged")
    return value
