"""Load sentence-transformers model folders, in the old and the new layout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ...errors import StudioError
from ..modules import MODULES, Module
from ..modules.base import LENGTH, POOLING, READER, VECTORS, WEIGHTS, WORDS
from ..modules.normalize import Normalize
from ..modules.pooling import Pooling
from ..modules.static_embedding import StaticEmbedding
from ..modules.word_embeddings import WordEmbeddings, WordWeights
from ..sentence_encoder import SentenceEncoder
from ..similarity import NAMES
from ..transformer import TransformerEncoder
from ..word_encoder import WordEncoder, WordNetwork
from .backbone import lacking, load_backbone, read_json, read_length, reading
from .digests import written
from .settings import EncoderConfig, read_general

# What a transformer's module reads is set in the first of these that says anything, as sentence-transformers has it.
_SETTINGS = tuple(
    f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_PLAIN_LENGTH = 512
_ROUTERS = ("Router", "Asym")  # the older name
_PLAIN_NOTE = "A plain transformers model: mean pooling was chosen for it, and it was never trained to compare sentences."


def load_folder(folder: Path, name: str = "", device: torch.device | str = "cpu", frozen: bool = False) -> SentenceEncoder:
    """Read a sentence-transformers folder (old or new layout) or a plain transformers folder, in float32.

    A plain one gets mean pooling, no normalisation, at most 512 tokens, and a note that says so. One that is read ``frozen`` cannot be
    trained, and may be read sooner for it.

    Raises:
        StudioError: files are missing or damaged, the weights are not safetensors, or a module is not one of ours.
    """
    name = name or folder.name
    if not folder.is_dir():
        raise StudioError(f"there is no model folder {str(folder)!r}", "check the path")
    if not (folder / "modules.json").is_file() and "modules.json" in written(folder):
        raise lacking(folder / "modules.json")
    with reading(name, folder):
        encoder = _load_modules(folder, name, frozen) if (folder / "modules.json").is_file() else _load_plain(folder, name, frozen)
        _obey(encoder, folder)
    return encoder.to(device)


def _load_plain(folder: Path, name: str, frozen: bool) -> TransformerEncoder:
    backbone, tokenizer = load_backbone(folder, frozen=frozen)
    length = min(_PLAIN_LENGTH, int(tokenizer.model_max_length))
    return TransformerEncoder(backbone, tokenizer, EncoderConfig("mean", False, max_length=length), name=name, note=_PLAIN_NOTE)


def _load_modules(folder: Path, name: str, frozen: bool) -> SentenceEncoder:
    transformer, modules = _listed(folder, name)
    pooling = next((module for module in modules if isinstance(module, Pooling)), Pooling())
    normalizes = bool(modules) and isinstance(modules[-1], Normalize)
    config = EncoderConfig(pooling.mode, normalizes)
    encoder: SentenceEncoder
    if transformer is None:
        table, weights, recurrent = (_first(modules, stage) for stage in (WORDS, WEIGHTS, READER))
        encoder = WordEncoder(WordNetwork(table, weights, recurrent), config, name=name)  # type: ignore[arg-type]
    else:
        encoder = _load_transformer(folder, transformer, replace(config, include_prompt=not pooling.skips_prompt), name, frozen)
    _require_widths(encoder, modules)
    # Vectors may be normalised between two layers as well.
    layers = [module for module in (modules[:-1] if normalizes else modules) if module.stage in (VECTORS, LENGTH)]
    if layers:
        encoder.projection = nn.Sequential(*layers)
    return encoder


def _load_transformer(folder: Path, transformer: Path, config: EncoderConfig, name: str, frozen: bool) -> TransformerEncoder:
    settings: dict[str, Any] = next((found for name in _SETTINGS if (found := read_json(transformer / name, dict, {}))), {})
    general = read_general(folder)
    length = read_length(settings, transformer / "sentence_bert_config.json")
    lowercase = settings.get("do_lower_case") or False
    if not isinstance(lowercase, bool):
        raise StudioError(f"the model's do_lower_case is {str(lowercase)[:40]!r}, not true or false", "write it so into its settings")
    backbone, tokenizer = load_backbone(transformer, lowercase=lowercase, frozen=frozen)
    config = replace(config, max_length=length, prompt=general.default_prompt)
    encoder = TransformerEncoder(backbone, tokenizer, config, name=name)
    encoder.prompts = general.prompts
    return encoder


def _obey(encoder: SentenceEncoder, folder: Path) -> None:
    """Take over how the folder's vectors are meant to be cut and compared.

    Raises:
        StudioError: it asks for what there is not.
    """
    general = read_general(folder)
    notes = [encoder.note] if encoder.note else []
    if (general.truncate_dim or 0) > encoder.dim:
        notes.append(f"Its truncate_dim of {general.truncate_dim:,} changes nothing: its vectors have {encoder.dim:,} components.")
    encoder.truncate_dim, encoder.similarity_fn_name = general.truncate_dim, general.similarity_fn_name
    if not encoder.takes_prompts and any(general.prompts.values()):
        notes.append("Its prompts are not put before texts here: only transformers have them.")
    if encoder.similarity_name != "cosine":
        measure = NAMES[general.similarity_fn_name]
        notes.append(f"Compared by {measure} in search, pairs and evaluation; maps, groups and near-duplicates go by the cosine.")
    encoder.note = " ".join(notes)


def _first(modules: list[Module], stage: int) -> Module | None:
    return next((module for module in modules if module.stage == stage), None)


def _listed(folder: Path, name: str) -> tuple[Path | None, list[Module]]:
    """Where the transformer lies, None of a model of words, and the other modules, in an order that can be read."""
    transformer: Path | None = None
    modules: list[Module] = []
    for place, module in enumerate(read_json(folder / "modules.json", list)):
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        path = inside(folder, str(module.get("path", "")))
        if kind == "Transformer" and place == 0:
            transformer = path
        elif kind in MODULES and _may_follow(MODULES[kind], [type(module) for module in modules], transformer is not None):
            modules.append(MODULES[kind].read(path))
        elif kind in _ROUTERS:
            raise _routed(path, name)
        elif kind != "Dropout":  # which does nothing at inference
            raise StudioError(
                f"the model {name!r} holds a module {kind!r} at place {place}, which cannot be read here",
                "models of Transformer (or StaticEmbedding, WordEmbeddings, WordWeights, LSTM), Pooling, Dense, LayerNorm, Normalize can",
            )
    if transformer is None and not modules:
        raise StudioError(f"the model {name!r} holds no Transformer", "choose a model that is built on one")
    return transformer, modules


def _routed(folder: Path, name: str) -> StudioError:
    """Say of which networks a model consists that reads queries by one and documents by another."""
    said = read_json(folder / "router_config.json", dict, {}) or read_json(folder / "config.json", dict, {})  # the older name
    structure = said.get("structure")
    routes = structure if isinstance(structure, dict) else {}
    listed = "; ".join(f"{route}: {', '.join(str(part).rsplit('_', 1)[-1] for part in parts)}" for route, parts in routes.items())
    first = next(iter(routes), "document")
    return StudioError(
        f"a Router has a network of its own for each kind of text ({listed or 'not listed'}), and is not read here: {name!r}",
        f"save one route as a model: SentenceTransformer(modules=list(model[0].sub_modules[{first!r}])).save_pretrained(FOLDER)",
    )


def _require_widths(encoder: SentenceEncoder, modules: list[Module]) -> None:
    """Refuse modules that do not fit one another, such as a projection of another model.

    Raises:
        StudioError: one is named.
    """
    width = 0 if isinstance(encoder, WordEncoder) else encoder.hidden_size
    for module in modules:
        if module.takes not in (None, width):
            raise StudioError(
                f"the model's {module.name} reads vectors of {module.takes} components, but gets {width}", "copy the whole folder"
            )
        width = module.width(width)
    table = next((module for module in modules if isinstance(module, WordEmbeddings)), None)
    weights = next((module for module in modules if isinstance(module, WordWeights)), None)
    if table is not None and weights is not None and weights.words != table.words.words:
        raise StudioError("the model's weights of words are not those of the words in its table", "copy the whole folder")


def _may_follow(kind: type[Module], before: list[type[Module]], transformer: bool) -> bool:
    """Whether a module may stand behind others: each is of a later stage than the one before; those that map vectors stand in any order."""
    if not before:
        return kind is Pooling if transformer else kind in (WordEmbeddings, StaticEmbedding)
    if kind.stage > POOLING:
        if kind.stage == LENGTH and kind is not Normalize:  # an encoder has it as a part of its own
            return False
        return Pooling in before or before[0] is StaticEmbedding
    if kind.stage == POOLING and kind is not Pooling:
        return False
    return kind.stage > before[-1].stage


def inside(folder: Path, relative: str) -> Path:
    """A path that ``modules.json`` names.

    Raises:
        StudioError: it leads outside the model's folder.
    """
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StudioError(f"the model names a folder {relative!r} outside its own", "do not use this model")
    return path


def transformer_folder(folder: Path) -> Path:
    """Where in a model's folder the transformer itself lies: in the folder, or in one below it that ``modules.json`` names first.

    Raises:
        StudioError: ``modules.json`` is damaged, or leads outside.
    """
    for module in read_json(folder / "modules.json", list, [])[:1]:
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        return inside(folder, str(module.get("path", "")))
    return folder
