"""Save models in the layout of sentence-transformers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ...errors import StudioError
from ...workspace import atomic_folder, write_json
from ..card import model_card
from ..modules import MODULES, Module
from ..modules.normalize import Normalize
from .backbone import read_json
from .digests import seal

if TYPE_CHECKING:
    from ..cross_encoder import CrossEncoder
    from ..sentence_encoder import SentenceEncoder
    from ..transformer import TransformerEncoder


def save_folder(encoder: SentenceEncoder, folder: Path, card: str | None = None) -> None:
    """Write ``encoder`` to ``folder``, whole or not at all; an adapter is merged into a copy of the backbone first.

    Raises:
        StudioError: the encoder was frozen in another precision than float32.
    """
    with atomic_folder(folder) as part:
        write_modules(encoder, part)
        (part / "README.md").write_text(card or model_card(encoder), encoding="utf-8")
        seal(part)


def save_tokenizer(encoder: TransformerEncoder | CrossEncoder, part: Path) -> None:
    """Write the tokenizer, with the length that the model reads, and without where it was loaded from."""
    encoder.tokenizer.save_pretrained(part)
    settings = read_json(part / "tokenizer_config.json", dict)
    # Newer readers take the limit from here; where the tokenizer was loaded from is nobody's concern.
    settings["model_max_length"] = encoder.max_length
    for key in ("name_or_path", "is_local", "local_files_only"):
        settings.pop(key, None)
    # The fifth version of transformers has other names for two things that the fourth reads, and reads the old ones as well.
    if settings.get("tokenizer_class") == "TokenizersBackend":
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(settings.get("extra_special_tokens"), list):
        settings["additional_special_tokens"] = settings.pop("extra_special_tokens")
    write_json(part / "tokenizer_config.json", settings)


def write_modules(encoder: SentenceEncoder, part: Path) -> None:
    """Write everything of ``encoder`` but its card into the folder ``part``, which is not sealed yet.

    Raises:
        StudioError: as :func:`save_folder`.
    """
    if encoder.precision != "float32":
        raise StudioError(f"a model in {encoder.precision} cannot be saved", "load it in float32")
    pooling = [encoder.pooling] if encoder.pools else []
    behind: list[Module] = [*pooling, *encoder.layers, *([Normalize()] if encoder.normalizes else [])]
    modules, inputs = encoder.write_input(part), encoder.hidden_size
    for place, module in enumerate(behind, len(modules)):
        modules.append((f"{place}_{module.name}", module.name))
        module.write(part / modules[-1][0], inputs)
        inputs = module.width(inputs)
    listed = [
        {"idx": place, "name": str(place), "path": path, "type": f"{_room(kind)}.{kind}"} for place, (path, kind) in enumerate(modules)
    ]
    write_json(part / "modules.json", listed)
    import transformers

    versions = {"sentence_transformers": "2.2.2", "transformers": transformers.__version__, "pytorch": torch.__version__}
    general: dict[str, Any] = {"__version__": versions}
    if encoder.prompts:
        default = next((key for key, value in encoder.prompts.items() if value and value == encoder.tokens.prompt), None)
        general |= {"prompts": encoder.prompts, "default_prompt_name": default}
    if encoder.similarity_fn_name != "cosine":
        general["similarity_fn_name"] = encoder.similarity_fn_name
    if encoder.truncate_dim is not None:
        general["truncate_dim"] = encoder.truncate_dim
    write_json(part / "config_sentence_transformers.json", general)


def _room(kind: str) -> str:
    """Where other programs look for a module: at sentence-transformers, unless it is ours alone."""
    return "sentence_transformers.models" if kind not in MODULES or MODULES[kind].portable else "sbert_studio.models.modules"
