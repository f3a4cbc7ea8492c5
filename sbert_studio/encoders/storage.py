"""The sentence-transformers folder: written in the layout that every reader knows, read in the old and the new one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ..errors import StudioError
from ..workspace import atomic_folder, write_json
from .backbone import load_backbone, read_json, reading, require_safetensors
from .digests import seal
from .pooling import JOIN
from .projection import ACTIVATIONS, Dense
from .transformer import EncoderConfig, TransformerEncoder

if TYPE_CHECKING:
    from .cross import CrossEncoder

# Our name → the key of the old layout. In the order in which readers concatenate several.
_OLD_POOLING = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len": "pooling_mode_mean_sqrt_len_tokens",
    "weighted_mean": "pooling_mode_weightedmean_tokens",
    "last": "pooling_mode_lasttoken",
}
# The two of them that readers before 2.3 do not know, and would refuse.
_LATER = ("weighted_mean", "last")
_NEW_POOLING = {
    "cls": "cls",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt_len",
    "weightedmean": "weighted_mean",
    "lasttoken": "last",
}
# Only these names are understood; nothing is ever imported because a file names it.
_ACTIVATION_PATHS = {
    name: f"torch.nn.modules.{'linear' if kind is nn.Identity else 'activation'}.{kind.__name__}" for name, kind in ACTIVATIONS.items()
}
# What a transformer's module reads is set in the first of these that says anything, as sentence-transformers has it.
_SETTINGS = tuple(
    f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_PLAIN_LENGTH = 512
_PLAIN_NOTE = "A plain transformers model: mean pooling was chosen for it, and it was never trained to compare sentences."


def load_folder(folder: Path, name: str = "", device: torch.device | str = "cpu") -> TransformerEncoder:
    """Read a sentence-transformers folder (old or new layout) or a plain transformers folder, in float32.

    A plain one gets mean pooling, no normalisation, at most 512 tokens, and a note that says so.

    Raises:
        StudioError: files are missing or damaged, the weights are not safetensors, or a module is not one of ours.
    """
    name = name or folder.name
    if not folder.is_dir():
        raise StudioError(f"there is no model folder {str(folder)!r}", "check the path")
    with reading(name):
        encoder = _load_modules(folder, name) if (folder / "modules.json").is_file() else _load_plain(folder, name)
    return encoder.to(device)


def _load_plain(folder: Path, name: str) -> TransformerEncoder:
    backbone, tokenizer = load_backbone(folder)
    length = min(_PLAIN_LENGTH, int(tokenizer.model_max_length))
    return TransformerEncoder(backbone, tokenizer, EncoderConfig("mean", False, max_length=length), name=name, note=_PLAIN_NOTE)


def _load_modules(folder: Path, name: str) -> TransformerEncoder:
    pooling, normalize, layers, include_prompt = "mean", False, [], True
    transformer: Path | None = None
    listed = read_json(folder / "modules.json", list)
    for place, module in enumerate(listed):
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        path = _inside(folder, str(module.get("path", "")))
        if kind == "Transformer" and place == 0:
            transformer = path
        elif kind == "Pooling" and place == 1:
            pooled = read_json(path / "config.json", dict)
            pooling, include_prompt = _read_pooling(pooled), bool(pooled.get("include_prompt", True))
        elif kind == "Dense" and place > 1 and not normalize:
            layers.append(_read_dense(path))
        elif kind == "Normalize" and place > 1:
            normalize = True
        elif kind != "Dropout":  # which does nothing at inference
            raise StudioError(
                f"the model {name!r} holds a module {kind!r} at place {place}, which cannot be read here",
                "models of Transformer, Pooling, Dense and Normalize, in this order, can",
            )
    if transformer is None:
        raise StudioError(f"the model {name!r} holds no Transformer", "choose a model that is built on one")
    settings: dict[str, Any] = next((found for name in _SETTINGS if (found := read_json(transformer / name, dict, {}))), {})
    general = read_json(folder / "config_sentence_transformers.json", dict, {})
    prompts = {str(key): str(value) for key, value in (general.get("prompts") or {}).items()}
    prompt = prompts.get(str(general.get("default_prompt_name")), "")
    length = settings.get("max_seq_length")
    backbone, tokenizer = load_backbone(transformer, lowercase=bool(settings.get("do_lower_case")))
    config = EncoderConfig(
        pooling, normalize, max_length=None if length is None else int(length), prompt=prompt, include_prompt=include_prompt
    )
    encoder = TransformerEncoder(backbone, tokenizer, config, name=name)
    encoder.prompts = prompts
    if layers:
        encoder.projection = nn.Sequential(*layers)
    return encoder


def _inside(folder: Path, relative: str) -> Path:
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StudioError(f"the model names a folder {relative!r} outside its own", "do not use this model")
    return path


def _read_pooling(config: dict[str, Any]) -> str:
    mode = config.get("pooling_mode")
    if mode is None:
        return JOIN.join(ours for ours, key in _OLD_POOLING.items() if config.get(key)) or "mean"
    modes = [mode] if isinstance(mode, str) else list(mode)
    unknown = [one for one in modes if one not in _NEW_POOLING]
    if unknown:
        raise StudioError(f"the model pools by {unknown[0]!r}, which is not known here", "update SBERT Studio")
    return JOIN.join(_NEW_POOLING[one] for one in modes)


def _read_dense(folder: Path) -> Dense:
    config = read_json(folder / "config.json", dict)
    activation = {path: ours for ours, path in _ACTIVATION_PATHS.items()}.get(str(config.get("activation_function")))
    names = {config.get(key, "sentence_embedding") for key in ("module_input_name", "module_output_name")}
    if activation is None or config.get("use_residual") or names != {"sentence_embedding"}:
        raise StudioError(f"the projection {folder.name} is of a kind that cannot be read here", "choose another model")
    weights = folder / "model.safetensors"
    require_safetensors(folder)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    dense = Dense(int(config["in_features"]), int(config["out_features"]), activation, bias=bool(config.get("bias", True)))
    try:
        dense.load_state_dict({key: tensor.float() for key, tensor in load_file(weights).items()})
    except (SafetensorError, RuntimeError) as error:
        raise StudioError(f"the weights of the projection {folder.name} are damaged", "copy the folder again") from error
    return dense


def save_folder(encoder: TransformerEncoder, folder: Path, card: str | None = None) -> None:
    """Write ``encoder`` to ``folder``, whole or not at all; an adapter is merged into a copy of the backbone first.

    Raises:
        StudioError: the encoder was frozen in another precision than float32.
    """
    if encoder.precision != "float32":
        raise StudioError(f"a model in {encoder.precision} cannot be saved", "load it in float32")
    from .adapters import merged_backbone
    from .card import model_card

    with atomic_folder(folder) as part:
        backbone = merged_backbone(encoder)
        backbone.config.dtype = torch.float32
        backbone.save_pretrained(part)
        save_tokenizer(encoder, part)
        _save_modules(encoder, part)
        (part / "README.md").write_text(card or model_card(encoder), encoding="utf-8")
        seal(part)


def transformer_folder(folder: Path) -> Path:
    """Where in a model's folder the transformer itself lies: in the folder, or in one below it that ``modules.json`` names first.

    Raises:
        StudioError: ``modules.json`` is damaged, or leads outside.
    """
    for module in read_json(folder / "modules.json", list, [])[:1]:
        if not isinstance(module, dict):
            raise StudioError("the model's file modules.json is damaged", "copy the folder again")
        return _inside(folder, str(module.get("path", "")))
    return folder


def save_tokenizer(encoder: TransformerEncoder | CrossEncoder, part: Path) -> None:
    """Write the tokenizer, with the length that the model reads, and without where it was loaded from."""
    encoder.tokenizer.save_pretrained(part)
    settings = read_json(part / "tokenizer_config.json", dict)
    # Newer readers take the limit from here; where the tokenizer was loaded from is nobody's concern.
    settings["model_max_length"] = encoder.max_length
    for key in ("name_or_path", "is_local", "local_files_only"):
        settings.pop(key, None)
    write_json(part / "tokenizer_config.json", settings)


def _save_modules(encoder: TransformerEncoder, part: Path) -> None:
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    write_json(part / "sentence_bert_config.json", {"max_seq_length": encoder.max_length, "do_lower_case": False})
    pooling = _pooling_settings(encoder.pooling.modes, encoder.hidden_size)
    write_json(part / "1_Pooling" / "config.json", pooling | ({"include_prompt": False} if encoder.pooling.skip else {}))
    for layer in encoder.layers:
        path = f"{len(modules)}_Dense"
        _save_dense(layer, part / path)
        modules.append((path, "Dense"))
    if encoder.normalizes:
        path = f"{len(modules)}_Normalize"
        write_json(part / path / "config.json", {})
        modules.append((path, "Normalize"))
    listed = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(modules)
    ]
    write_json(part / "modules.json", listed)
    import transformers

    versions = {"sentence_transformers": "2.2.2", "transformers": transformers.__version__, "pytorch": torch.__version__}
    general: dict[str, Any] = {"__version__": versions}
    if encoder.prompts:
        default = next((key for key, value in encoder.prompts.items() if value and value == encoder.tokens.prompt), None)
        general |= {"prompts": encoder.prompts, "default_prompt_name": default}
    write_json(part / "config_sentence_transformers.json", general)


def _pooling_settings(modes: tuple[str, ...], width: int) -> dict[str, Any]:
    """The old keys; the new ones only where several modes stand in an order that the old ones cannot express."""
    if list(modes) != [name for name in _OLD_POOLING if name in modes]:
        theirs = {ours: name for name, ours in _NEW_POOLING.items()}
        return {"embedding_dimension": width, "pooling_mode": [theirs[mode] for mode in modes]}
    old = {key: name in modes for name, key in _OLD_POOLING.items() if name not in _LATER or name in modes}
    return {"word_embedding_dimension": width, **old}


def _save_dense(layer: Dense, folder: Path) -> None:
    from safetensors.torch import save_file

    config = {
        "in_features": layer.linear.in_features,
        "out_features": layer.linear.out_features,
        "bias": layer.linear.bias is not None,
        "activation_function": _ACTIVATION_PATHS[layer.activation_name],
    }
    write_json(folder / "config.json", config)
    save_file({key: tensor.contiguous().cpu() for key, tensor in layer.state_dict().items()}, folder / "model.safetensors")
