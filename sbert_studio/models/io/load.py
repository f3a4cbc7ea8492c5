"""Loading of sentence-transformers model folders, in the old and the new layout, and of adapters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ...errors import StudioError, is_machine_error
from ...i18n import _, join
from ..lora import ENCODER_FILE, PROJECTION_FILE, read_adapter
from ..modules import MODULES, Module
from ..modules.base import EMBEDDING, NORMALIZATION, POOLING, PROJECTION, RECURRENCE, WEIGHTING
from ..modules.embeddings import StaticEmbedding, WordEmbeddings, WordWeights
from ..modules.pooling import Pooling
from ..modules.projection import Normalize
from ..sentence_encoder import SentenceEncoder
from ..similarity import TITLES
from ..transformer import TransformerEncoder
from ..word_encoder import WordEncoder, WordNetwork
from .backbone import load_backbone, missing_file_error, read_json, read_length, translate_load_errors
from .digests import recorded_files
from .settings import EncoderConfig, read_general_settings

# Settings of the Transformer module are in the first of these files that is not empty, as in sentence-transformers.
_SETTINGS = tuple(
    f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_PLAIN_LENGTH = 512
_ROUTERS = ("Router", "Asym")  # the former name
_PLAIN_NOTE = "A plain transformers model: mean pooling was chosen for it, and it was not trained to compare sentences."


def load_folder(folder: Path, name: str = "", device: torch.device | str = "cpu", frozen: bool = False) -> SentenceEncoder:
    """Load a sentence-transformers folder (old or new layout) or a plain transformers folder, in float32.

    A plain one gets mean pooling, no normalization, at most 512 tokens, and a note. ``frozen`` loads faster, for inference only.
    """
    name = name or folder.name
    if not folder.is_dir():
        raise StudioError(_("there is no model folder {folder}", folder=repr(str(folder))), "check the path")
    has_modules = (folder / "modules.json").is_file()
    if not has_modules and "modules.json" in recorded_files(folder):
        raise missing_file_error(folder / "modules.json")
    with translate_load_errors(name, folder):
        if has_modules:
            encoder = _load_modules(folder, name, frozen)
        else:
            backbone, tokenizer = load_backbone(folder, frozen=frozen)
            config = EncoderConfig("mean", False, max_length=min(_PLAIN_LENGTH, int(tokenizer.model_max_length)))
            encoder = TransformerEncoder(backbone, tokenizer, config, name=name, note=_PLAIN_NOTE)
        _apply_general_settings(encoder, folder)
    return encoder.to(device)


def _load_modules(folder: Path, name: str, frozen: bool) -> SentenceEncoder:
    transformer, modules = _listed_modules(folder, name)
    pooling = next((module for module in modules if isinstance(module, Pooling)), Pooling())
    normalizes = bool(modules) and isinstance(modules[-1], Normalize)
    config = EncoderConfig(pooling.mode, normalizes)
    encoder: SentenceEncoder
    if transformer is None:
        by_stage = {module.stage: module for module in modules}
        table, weights, recurrent = (by_stage.get(stage) for stage in (EMBEDDING, WEIGHTING, RECURRENCE))
        encoder = WordEncoder(WordNetwork(table, weights, recurrent), config, name=name)  # type: ignore[arg-type]
    else:
        encoder = _load_transformer(folder, transformer, replace(config, include_prompt=not pooling.skips_prompt), name, frozen)
    _require_widths(encoder, modules)
    # Normalization may also come between two layers.
    layers = [module for module in (modules[:-1] if normalizes else modules) if module.stage in (PROJECTION, NORMALIZATION)]
    if layers:
        encoder.projection = nn.Sequential(*layers)
    return encoder


def _load_transformer(folder: Path, transformer: Path, config: EncoderConfig, name: str, frozen: bool) -> TransformerEncoder:
    settings: dict[str, Any] = next((found for file in _SETTINGS if (found := read_json(transformer / file, dict, {}))), {})
    general = read_general_settings(folder)
    length = read_length(settings, transformer / "sentence_bert_config.json")
    lowercase = settings.get("do_lower_case") or False
    if not isinstance(lowercase, bool):
        raise StudioError(
            _("the model's do_lower_case is {lowercase}, not true or false", lowercase=repr(str(lowercase)[:40])),
            "set it to true or false in its configuration",
        )
    backbone, tokenizer = load_backbone(transformer, lowercase=lowercase, frozen=frozen)
    config = replace(config, max_length=length, prompt=general.default_prompt)
    encoder = TransformerEncoder(backbone, tokenizer, config, name=name)
    encoder.prompts = general.prompts
    return encoder


def _apply_general_settings(encoder: SentenceEncoder, folder: Path) -> None:
    general = read_general_settings(folder)
    notes = [encoder.note] if encoder.note else []
    if (general.truncate_dim or 0) > encoder.dim:
        notes.append(
            _(
                "Its truncate_dim of {truncate_dim} has no effect: its vectors have {dim} components.",
                truncate_dim=f"{general.truncate_dim:,}",
                dim=f"{encoder.dim:,}",
            )
        )
    encoder.truncate_dim, encoder.similarity_fn_name = general.truncate_dim, general.similarity_fn_name
    if not encoder.takes_prompts and any(general.prompts.values()):
        notes.append("Its prompts are not used: only transformers support prompts.")
    if encoder.similarity_name != "cosine":
        measure = TITLES[general.similarity_fn_name]
        notes.append(_("Uses {measure} in search, pairs and evaluation; maps, groups and near-duplicates use cosine.", measure=measure))
    encoder.note = join(" ", notes)


def _listed_modules(folder: Path, name: str) -> tuple[Path | None, list[Module]]:
    transformer: Path | None = None
    modules: list[Module] = []
    for place, module in enumerate(read_json(folder / "modules.json", list)):
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        path = resolve_inside(folder, str(module.get("path", "")))
        if kind == "Transformer" and place == 0:
            transformer = path
        elif kind in MODULES and _may_follow(MODULES[kind], [type(module) for module in modules], transformer is not None):
            modules.append(MODULES[kind].read(path))
        elif kind in _ROUTERS:
            raise _router_error(path, name)
        elif kind != "Dropout":  # a no-op at inference
            raise StudioError(
                _(
                    "the model {name} contains a module {kind} at position {place}, which is not supported",
                    name=repr(name),
                    kind=repr(kind),
                    place=place,
                ),
                "supported modules: Transformer (or StaticEmbedding, WordEmbeddings, WordWeights, LSTM), Pooling, "
                "Dense, LayerNorm, Normalize",
            )
    if transformer is None and not modules:
        raise StudioError(_("the model {name} contains no Transformer", name=repr(name)), "choose a model with a Transformer module")
    return transformer, modules


def _router_error(folder: Path, name: str) -> StudioError:
    settings = read_json(folder / "router_config.json", dict, {}) or read_json(folder / "config.json", dict, {})  # the former name
    structure = settings.get("structure")
    routes = structure if isinstance(structure, dict) else {}
    listed = join("; ", (f"{route}: {', '.join(str(part).rsplit('_', 1)[-1] for part in parts)}" for route, parts in routes.items()))
    first = next(iter(routes), "document")
    return StudioError(
        _(
            "a Router has a separate network for each kind of text ({listed}), which is not supported: {name}",
            listed=listed or "not listed",
            name=repr(name),
        ),
        _(
            "save one route as a model: SentenceTransformer(modules=list(model[0].sub_modules[{first}])).save_pretrained(FOLDER)",
            first=repr(first),
        ),
    )


def _require_widths(encoder: SentenceEncoder, modules: list[Module]) -> None:
    width = 0 if isinstance(encoder, WordEncoder) else encoder.hidden_size
    for module in modules:
        if module.input_width not in (None, width):
            raise StudioError(
                _(
                    "the model's {name} expects vectors of {input_width} components, but receives {width}",
                    name=module.name,
                    input_width=module.input_width,
                    width=width,
                ),
                "copy the whole folder",
            )
        width = module.output_width(width)
    table = next((module for module in modules if isinstance(module, WordEmbeddings)), None)
    weights = next((module for module in modules if isinstance(module, WordWeights)), None)
    if table is not None and weights is not None and weights.words != table.words.words:
        raise StudioError("the model's word weights do not match the words of its table", "copy the whole folder")


def _may_follow(kind: type[Module], before: list[type[Module]], transformer: bool) -> bool:
    """Return True if a module may follow others: stages increase, but projections may occur in any order and number."""
    if not before:
        return kind is Pooling if transformer else kind in (WordEmbeddings, StaticEmbedding)
    if kind.stage > POOLING:
        if kind.stage == NORMALIZATION and kind is not Normalize:  # not between pooling and projection
            return False
        return Pooling in before or before[0] is StaticEmbedding
    if kind.stage == POOLING and kind is not Pooling:
        return False
    return kind.stage > before[-1].stage


def resolve_inside(folder: Path, relative: str) -> Path:
    """Return a path listed in ``modules.json``, which must be inside ``folder``."""
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StudioError(
            _("the model refers to {relative}, which is outside its own folder", relative=repr(relative)), "do not use this model"
        )
    return path


def transformer_folder(folder: Path) -> Path:
    """Return the folder of a model's transformer: the folder itself, or the first path of ``modules.json``."""
    for module in read_json(folder / "modules.json", list, [])[:1]:
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        return resolve_inside(folder, str(module.get("path", "")))
    return folder


def load_adapter(encoder: SentenceEncoder, folder: Path) -> None:
    """Add the adapter in ``folder`` to ``encoder``, its base model, unmerged, and restore its pooling, projection and prompts."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        encoder.backbone = read_adapter(encoder.backbone, folder)
        encoder.train(encoder.training)
        settings = read_json(folder / ENCODER_FILE, dict, {})
        if settings:
            _restore_settings(encoder, settings)
        if (folder / PROJECTION_FILE).is_file() and encoder.projection is not None:
            encoder.projection.load_state_dict(load_file(folder / PROJECTION_FILE))
    except (ValueError, RuntimeError, KeyError, TypeError, SafetensorError) as error:
        if is_machine_error(error):
            raise
        raise StudioError(
            _("the adapter in {name} does not fit this model", name=repr(folder.name)), "load it on its base model"
        ) from error


def _restore_settings(encoder: SentenceEncoder, settings: dict[str, Any]) -> None:
    prompts = settings.pop("prompts", None)  # missing in older folders, which use those of the base model
    config = EncoderConfig(**settings)
    if config.max_length is not None and (type(config.max_length) is not int or config.max_length < 1):
        raise ValueError(f"max_length is {config.max_length}")
    encoder.projection = None if config.projection is None else encoder.projection
    encoder.set_pooling(config.pooling)
    if config.projection is not None and (encoder.config.projection, encoder.config.activation) != (config.projection, config.activation):
        encoder.add_projection(config.projection, config.activation)
    encoder.normalizes = config.normalize
    encoder.set_max_length(config.max_length)
    if prompts is not None:
        encoder.prompts = {str(name): str(text) for name, text in prompts.items()}
        encoder.set_prompt(config.prompt)
