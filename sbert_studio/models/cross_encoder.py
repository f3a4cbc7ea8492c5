"""Cross-encoder: encodes a pair of texts jointly and returns a score; more accurate but slower than comparing vectors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..i18n import _
from ..workspace import write_json
from .base import PairScorer, check_stop
from .inference.batching import (
    CHUNK_TEXTS,
    TokenRows,
    TransformerTokens,
    cap_length,
    ensure_padding_token,
    pad_pairs,
    replace_surrogates,
    token_batches,
    truncating_tokenizer,
)
from .inference.machine import token_budget
from .inference.packing import pack_layers
from .io.backbone import load_pretrained, load_tokenizer, read_config, read_json, require_consistent_model, translate_load_errors
from .io.load import transformer_folder
from .io.settings import save_tokenizer
from .lora import find_heads
from .quantized import count_weights, dense_embeddings, is_quantized, load_quantized, train_token_rows, with_minimal_vocabulary
from .trainable import PairRows, Trainable, compute_fingerprint, transformer_identity

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop


IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
# Keys of config.json added by sentence-transformers, and keys specific to SBERT Studio.
SENTENCE_TRANSFORMERS_KEY, STUDIO_KEY = "sentence_transformers", "sbert_studio"
Head = Literal["linear", "mlp"]
_ADAPTER_FILE = "cross_encoder.json"
_MAX_TOKENS = 512
_MLP_WIDTH = 512
_PROBE_PAIRS = (("A kitten naps on the warm stones of the yard.", "It rains."), ("It rains.", "It rains."))


class CrossEncoder(Trainable, PairScorer):
    """A backbone over ``[CLS] a [SEP] b [SEP]`` with a classification head.

    Args:
        model: a ``PreTrainedModel`` for sequence classification; a single label is a regression, several are classes.
        tokenizer: its tokenizer.
        sigmoid: map a single label's score to (0, 1).
    """

    adapter_attribute = "model"
    has_untrained_scores = True
    card_template = "cross_encoder.md.j2"

    def __init__(self, model: Any, tokenizer: Any, *, sigmoid: bool = True, name: str = "", base: str | None = None) -> None:
        super().__init__()
        self.name, self.sigmoid, self.base = name, sigmoid, base
        self.model = model
        self.tokenizer = ensure_padding_token(tokenizer)
        self.model.config.pad_token_id = TransformerTokens(self.tokenizer, 8).pad
        self.labels = int(model.config.num_labels)
        # A head that reads the last position of a row, such as XLNet's, must find the pair's last token there.
        self.pads_left = getattr(model.config, "summary_type", "") == "last" and tokenizer.padding_side == "left"
        self._arguments = frozenset(inspect.signature(model.forward).parameters)
        self._frozen: tuple[str, int] | None = None
        if not tokenizer.is_fast:
            raise StudioError(_("the tokenizer of {name} does not support pairs", name=repr(name)), "choose another model")
        self.set_max_length(None)
        self.eval()

    @property
    def dim(self) -> int:
        return self.labels

    @property
    def heads(self) -> Sequence[str]:
        return find_heads(self.model)

    @property
    def head(self) -> Head:
        settings = getattr(self.model.config, STUDIO_KEY, None)
        is_known = isinstance(settings, dict) and settings.get("head") in ("linear", "mlp")
        return cast(Head, settings["head"]) if is_known else "linear"  # type: ignore[index]

    @property
    def backbone(self) -> Any:
        model = self.model.get_base_model() if self.has_adapter else self.model
        return model.base_model

    @property
    def pad(self) -> int:
        return int(self.model.config.pad_token_id)

    @property
    def class_names(self) -> tuple[str, ...]:
        names = self.model.config.id2label
        return tuple(str(names[index]) for index in range(self.labels)) if self.labels > 1 else ()

    def name_classes(self, names: Sequence[str]) -> None:
        self.model.config.id2label = dict(enumerate(names))
        self.model.config.label2id = {name: index for index, name in enumerate(names)}

    def set_max_length(self, max_length: int | None) -> None:
        self.max_length = min(_MAX_TOKENS, cap_length(max_length, self.backbone, self.tokenizer))
        self._pair_tokenizer = truncating_tokenizer(self.tokenizer, self.max_length)

    @property
    def fingerprint(self) -> str:
        if self._frozen:
            return self._frozen[0]
        return compute_fingerprint(
            self, (repr((self.sigmoid, self.max_length)).encode(), *transformer_identity(self.model, self.tokenizer))
        )

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": "cross",
            "backbone": str(self.model.config.model_type),
            "dim": self.labels,
            "parameters": self._frozen[1] if self._frozen else count_weights(self),
            "max_length": self.max_length,
            "pooling": "",
            "projection": None,
            "normalizes": False,
            "precision": "float32",
            "device": str(self.device),
            "note": "",
            "base": self.base,
        }

    def freeze(self, *, packed: bool = False) -> CrossEncoder:
        """Prepare this model for inference only and return it; ``packed`` weights are faster on the CPU."""
        self.requires_grad_(False).eval()
        self._frozen = self.fingerprint, count_weights(self)
        if packed and self.device.type == "cpu":
            with torch.inference_mode():
                pack_layers(self.model, lambda: self(self.collate(self.tokenize(_PROBE_PAIRS))))
        return self

    def training_rows(self, examples: Examples) -> PairRows:
        rows = PairRows.read(examples, self)
        if not self.has_adapter:
            train_token_rows(self, rows.tokens.flat)
        return rows

    def configure_output(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        if pooling or projection:
            raise StudioError("a cross-encoder has no vectors to pool or project", "omit pooling and projection")

    def configure_head(self, num_scores: int, *, sigmoid: bool, class_names: Sequence[str]) -> None:
        if num_scores != self.labels:
            raise StudioError(
                _("the model returns {labels} scores, but the loss needs {num_scores}", labels=self.labels, num_scores=num_scores),
                "start with a new head",
            )
        self.sigmoid = sigmoid
        if self.labels > 1:
            self.name_classes(class_names)

    def write_adapter_extras(self, folder: Path) -> None:
        write_json(folder / _ADAPTER_FILE, {"head": self.head, "labels": self.labels, "sigmoid": self.sigmoid})

    def write_files(self, folder: Path) -> None:
        """Write a folder for ``sentence_transformers.CrossEncoder``; with the MLP head, only SBERT Studio can load it."""
        if self.has_adapter:
            raise StudioError("a cross-encoder with an adapter cannot be saved", "merge the adapter first")
        self.model.config.dtype = torch.float32
        activation = SIGMOID if self.sigmoid and self.labels == 1 else IDENTITY
        setattr(self.model.config, SENTENCE_TRANSFORMERS_KEY, {"activation_fn": activation})
        with dense_embeddings(self.model):
            self.model.save_pretrained(folder)
        save_tokenizer(self.tokenizer, self.max_length, folder)

    def tokenize(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Return the token ids and segment ids of each pair without padding; the longer text is truncated first."""
        encoded = self._pair_tokenizer.encode_batch([(replace_surrogates(a), replace_surrogates(b)) for a, b in pairs])
        return [(encoding.ids, encoding.type_ids) for encoding in encoded]

    def collate(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Tensor]:
        """Return ``input_ids``, ``token_type_ids`` and ``attention_mask`` (b, longest) int64 on this model's device."""
        ids = TokenRows.from_lists([[row[0] for row in rows]])
        segments = TokenRows.from_lists([[row[1] for row in rows]])
        batch = self.batch(ids, segments, np.arange(len(rows)))
        return {"attention_mask": torch.ones_like(batch["input_ids"]), **batch}

    def rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[TokenRows, TokenRows]:
        ids, segments = [], []
        for start in range(0, len(pairs), CHUNK_TEXTS):
            chunk = self.tokenize(pairs[start : start + CHUNK_TEXTS])
            ids.append(TokenRows.from_lists([[row[0] for row in chunk]]))
            segments.append(TokenRows.from_lists([[row[1] for row in chunk]]))
        return TokenRows.concatenate(ids), TokenRows.concatenate(segments)

    def batch(self, ids: TokenRows, segments: TokenRows, rows: np.ndarray) -> dict[str, Tensor]:
        """Return a padded batch of ``rows``: ``input_ids``, ``token_type_ids`` and, with padding, ``attention_mask``."""
        arrays = pad_pairs(ids, segments, rows, self.pad, left=self.pads_left)
        return {name: torch.from_numpy(array).to(self.device, non_blocking=True) for name, array in arrays.items()}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        inputs = dict(batch)
        if getattr(self.model.config, "type_vocab_size", 0) < 2:
            inputs.pop("token_type_ids", None)
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in self._arguments else {}
        logits: Tensor = self.model(**inputs, **options).logits.float()
        return logits

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Score each distinct pair once; thread-safe unless the model is in training mode."""
        numbers: dict[tuple[str, str], int] = {}
        inverse = np.fromiter((numbers.setdefault((a, b), len(numbers)) for a, b in pairs), np.int64, len(pairs))
        ids, segments = self.rows(list(numbers))
        scores = np.empty((len(ids), self.labels), np.float32)
        done = 0
        with self.inference():
            for batch in token_batches(ids.lengths, *token_budget(self.device)):
                check_stop(should_stop)
                logits = self(self.batch(ids, segments, batch))
                outputs = torch.sigmoid(logits) if self.sigmoid and self.labels == 1 else logits
                scores[batch] = outputs.cpu().numpy()
                done += len(batch)
                if progress:
                    progress(done, len(ids))
        scores = scores[inverse]
        return scores[:, 0] if self.labels == 1 else scores


def is_cross_encoder_folder(folder: Path) -> bool:
    """Return True if the folder's configuration is that of a classification model rather than a sentence encoder."""
    path = folder / "config.json"
    if not path.is_file() or _holds_pooling(folder):
        return False
    config = read_json(path, dict)
    architectures = config.get("architectures") or []
    return STUDIO_KEY in config or any(str(name).endswith("ForSequenceClassification") for name in architectures)


def _holds_pooling(folder: Path) -> bool:
    modules = read_json(folder / "modules.json", list, [])
    return any(str(module.get("type", "")).endswith(".Pooling") for module in modules if isinstance(module, dict))


def load_cross_encoder(folder: Path, name: str = "", device: torch.device | str = "cpu") -> CrossEncoder:
    """Load a cross-encoder from a folder, in float32."""
    model, tokenizer, missing = _load(folder, {})
    if missing:
        raise StudioError(
            _("the model {name} is not a cross-encoder: it has no trained head", name=repr(name or folder.name)), "choose a cross-encoder"
        )
    # sentence-transformers stores the activation in a separate file; version 4.0 and later in config.json, earlier under another key.
    general = read_json(folder / "config_sentence_transformers.json", dict, {})
    settings = getattr(model.config, SENTENCE_TRANSFORMERS_KEY, None)
    oldest = getattr(model.config, "sbert_ce_default_activation_function", None)
    activation = general.get("activation_fn") or (settings.get("activation_fn") if isinstance(settings, dict) else oldest) or SIGMOID
    with translate_load_errors(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, sigmoid=str(activation).endswith("Sigmoid"), name=name or folder.name).to(device)


def create_cross_encoder(folder: Path, *, head: Head = "linear", labels: int = 1, seed: int = 12, name: str = "") -> CrossEncoder:
    """Create a trainable cross-encoder on the backbone of any model's folder, with a new head initialized from ``seed``.

    ``linear`` is one linear layer; ``mlp`` is Linear → 512, ReLU, Linear, as in the STS-Benchmark comparison. If the folder is that of a
    cross-encoder with the same kind of head, its weights are kept.
    """
    model, tokenizer, missing = _load(transformer_folder(folder), {"num_labels": labels, STUDIO_KEY: {"head": head}}, new=True)
    generator = torch.Generator().manual_seed(seed)
    new_modules = {key.rpartition(".")[0] for key in missing}
    for module_name, module in model.named_modules():
        is_new = any(module_name == part or module_name.startswith(f"{part}.") for part in new_modules)
        if isinstance(module, nn.Linear) and is_new:
            nn.init.normal_(module.weight, std=0.02, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    with translate_load_errors(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, name=name or folder.name)


def _load(folder: Path, changes: dict[str, Any], *, new: bool = False) -> tuple[Any, Any, list[str]]:
    read_json(folder / "config.json", dict)
    config = read_config(folder)
    from transformers import AutoModelForSequenceClassification

    with translate_load_errors(folder.name, folder):
        for key, value in changes.items():
            setattr(config, key, value)
        kind = AutoModelForSequenceClassification._model_mapping[type(config)]
        mlp = getattr(config, STUDIO_KEY, None) == {"head": "mlp"}
        kind = with_mlp_head(kind) if mlp else kind
        if is_quantized(folder):
            model, report = _build_on_quantized(kind, folder, config)
        else:
            model, report = load_pretrained(kind, folder, config, ignore_mismatched_sizes=new)
    tokenizer = load_tokenizer(folder)
    require_consistent_model(model, tokenizer, report, folder)
    missing = sorted({*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])})
    if lost := [key for key in missing if new and key.startswith(f"{model.base_model_prefix}.") and ".pooler." not in key]:
        raise StudioError(
            _("the weights in {name} lack {lost} tensors, such as {lost2}", name=repr(folder.name), lost=len(lost), lost2=lost[0]),
            "choose another model",
        )
    return model, tokenizer, missing


def _build_on_quantized(kind: Any, folder: Path, config: Any) -> tuple[Any, dict[str, Any]]:
    backbone = load_quantized(folder, config)
    model = kind(with_minimal_vocabulary(config))
    model.config.vocab_size = config.vocab_size
    prefix = f"{model.base_model_prefix}."
    head = [name for name in model.state_dict() if not name.startswith(prefix) or ".pooler." in name]
    backbone.pooler = model.base_model.pooler
    setattr(model, model.base_model_prefix, backbone)
    return model.eval(), {"missing_keys": head, "unexpected_keys": (), "mismatched_keys": ()}


def with_mlp_head(kind: Any) -> Any:
    """Return the model class ``kind`` with the last layer of its head replaced by the MLP, so that its weights are loaded by name."""

    def build(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        kind.__init__(self, config, *args, **kwargs)
        owner, attribute = self, "score" if hasattr(self, "score") else "classifier"
        if not isinstance(getattr(owner, attribute), nn.Linear):
            owner, attribute = getattr(owner, attribute), "out_proj"
        last = getattr(owner, attribute)
        layers = nn.Sequential(nn.Linear(last.in_features, _MLP_WIDTH), nn.ReLU(), nn.Linear(_MLP_WIDTH, last.out_features))
        setattr(owner, attribute, layers)

    return type(kind.__name__, (kind,), {"__init__": build, "__module__": kind.__module__})
