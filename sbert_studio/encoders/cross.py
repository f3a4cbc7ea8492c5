"""A pair of texts → a score, both read at once: slower than comparing vectors, and more exact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..workspace import atomic_folder
from .backbone import read_json, require_safetensors
from .base import EncodingStoppedError
from .batching import TokenRows, token_batches
from .runtime import token_budget
from .tokens import Tokens, bind, readable, with_padding

if TYPE_CHECKING:
    from ..data.progress import Progress, ShouldStop

Head = Literal["linear", "mlp"]
_MLP_WIDTH = 512
_IDENTITY, _SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
# The key of config.json under which sentence-transformers keeps what it adds, and ours for the head it does not know.
_THEIRS, _OURS = "sentence_transformers", "sbert_studio"


class CrossEncoder(nn.Module):
    """A backbone over ``[CLS] a [SEP] b [SEP]`` with a head on what the architecture classifies by.

    Args:
        model: a ``PreTrainedModel`` for sequence classification; one label is a regression, more are classes.
        tokenizer: its tokenizer.
        sigmoid: whether a single label's score is squeezed into (0, 1).
        name: what lists call it.
    """

    def __init__(self, model: Any, tokenizer: Any, *, sigmoid: bool = True, name: str = "") -> None:
        super().__init__()
        self.name, self.sigmoid = name, sigmoid
        self.model = model
        self.tokenizer = with_padding(tokenizer)
        self.model.config.pad_token_id = Tokens(self.tokenizer, 8).pad
        self.labels = int(model.config.num_labels)
        positions = int(getattr(model.config, "max_position_embeddings", 0) or 512)
        self.max_length = min(int(tokenizer.model_max_length), positions, 512)
        if not tokenizer.is_fast:
            raise StudioError(f"the tokenizer of {name!r} is of a kind that cannot read pairs here", "choose another model")
        self._pairs = bind(tokenizer, self.max_length)
        self.eval()

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.parameters()).device

    def tokenize(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Ids and segment numbers of each pair, the longer side cut first, not padded."""
        encoded = self._pairs.encode_batch([(readable(a), readable(b)) for a, b in pairs])
        return [(one.ids, one.type_ids) for one in encoded]

    def collate(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Tensor]:
        """``input_ids``, ``token_type_ids`` and ``attention_mask`` (b, longest) int64 on this model's device."""
        ids = TokenRows.from_lists([[row[0] for row in rows]])
        segments = TokenRows.from_lists([[row[1] for row in rows]])
        return self._batch(ids, segments, np.arange(len(rows)))

    def _batch(self, ids: TokenRows, segments: TokenRows, rows: np.ndarray) -> dict[str, Tensor]:
        numbers, mask = ids.padded(rows, int(self.model.config.pad_token_id))
        arrays = {
            "input_ids": numbers,
            "token_type_ids": segments.padded(rows, 0)[0],
            "attention_mask": np.ones_like(numbers) if mask is None else mask,
        }
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits (b, labels) float32 with gradient, before any sigmoid."""
        inputs = dict(batch)
        if getattr(self.model.config, "type_vocab_size", 0) < 2:
            inputs.pop("token_type_ids", None)
        logits: Tensor = self.model(**inputs).logits.float()
        return logits

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Scores of ``pairs`` in their order: (n,) float32 for one label, else logits (n, labels).

        Each distinct pair is scored once. Several threads may call this on one model that is not being trained.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """
        numbers: dict[tuple[str, str], int] = {}
        inverse = np.fromiter((numbers.setdefault((a, b), len(numbers)) for a, b in pairs), np.int64, len(pairs))
        rows = self.tokenize(list(numbers))
        ids, segments = (TokenRows.from_lists([[row[side] for row in rows]]) for side in (0, 1))
        scores = np.empty((len(rows), self.labels), np.float32)
        budget, most = token_budget(self.device)
        done, training = 0, self.training
        if training:
            self.eval()
        try:
            with torch.inference_mode():
                for batch in token_batches(ids.lengths, budget, most):
                    if should_stop and should_stop():
                        raise EncodingStoppedError
                    logits = self(self._batch(ids, segments, batch))
                    squeezed = torch.sigmoid(logits) if self.sigmoid and self.labels == 1 else logits
                    scores[batch] = squeezed.cpu().numpy()
                    done += len(batch)
                    if progress:
                        progress(done, len(rows))
        finally:
            if training:
                self.train()
        scores = scores[inverse]
        return scores[:, 0] if self.labels == 1 else scores

    def save(self, folder: Path) -> None:
        """Write the folder that ``sentence_transformers.CrossEncoder`` reads; one with the MLP head opens here only."""
        with atomic_folder(folder) as part:
            self.model.config.dtype = torch.float32
            setattr(self.model.config, _THEIRS, {"activation_fn": _SIGMOID if self.sigmoid and self.labels == 1 else _IDENTITY})
            self.model.save_pretrained(part)
            self.tokenizer.save_pretrained(part)


def load_cross(folder: Path, name: str = "", device: torch.device | str = "cpu") -> CrossEncoder:
    """Read a cross-encoder's folder, in float32.

    Raises:
        StudioError: files are missing or damaged, or the model has no trained head.
    """
    model, tokenizer, missing = _load(folder, {})
    if missing:
        raise StudioError(f"the model {name or folder.name!r} is no cross-encoder: it has no trained head", "choose a cross-encoder")
    # Newer releases note it in a file of their own, those from 4.0 in config.json, older ones under a name of its own there.
    general, noted = read_json(folder / "config_sentence_transformers.json", dict, {}), getattr(model.config, _THEIRS, None)
    older = noted.get("activation_fn") if isinstance(noted, dict) else getattr(model.config, "sbert_ce_default_activation_function", None)
    activation = general.get("activation_fn") or older or _SIGMOID
    return CrossEncoder(model, tokenizer, sigmoid=str(activation).endswith("Sigmoid"), name=name or folder.name).to(device)


def new_cross(folder: Path, *, head: Head = "linear", labels: int = 1, seed: int = 12, name: str = "") -> CrossEncoder:
    """A cross-encoder to be trained, on the backbone of any model's folder, with a new head drawn from ``seed``.

    ``linear`` is one linear layer; ``mlp`` is Linear → 512, ReLU, Linear, as in the STS-Benchmark comparison.

    Raises:
        StudioError: files are missing or damaged.
    """
    model, tokenizer, missing = _load(folder, {"num_labels": labels, _OURS: {"head": head}})
    generator = torch.Generator().manual_seed(seed)
    parts = {".".join(key.split(".")[:-1]) for key in missing}
    for name_, module in model.named_modules():
        within = any(name_ == part or name_.startswith(f"{part}.") for part in parts)
        if isinstance(module, nn.Linear) and within:
            nn.init.normal_(module.weight, std=0.02, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return CrossEncoder(model, tokenizer, name=name or folder.name)


def _load(folder: Path, changes: dict[str, Any]) -> tuple[Any, Any, list[str]]:
    """A classification model in float32, its tokenizer, and which of its weights the files lack."""
    read_json(folder / "config.json", dict)
    require_safetensors(folder)
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        config = AutoConfig.from_pretrained(folder, **local)
        for key, value in changes.items():
            setattr(config, key, value)
        kind = AutoModelForSequenceClassification._model_mapping[type(config)]
        mlp = getattr(config, _OURS, None) == {"head": "mlp"}
        model, report = (_with_mlp(kind) if mlp else kind).from_pretrained(
            folder, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **local
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise StudioError(f"the model in {folder.name!r} cannot be read: {reason}", "check that the whole folder was copied") from error
    return model, tokenizer, sorted(report["missing_keys"])


def _with_mlp(kind: Any) -> Any:
    """The model class ``kind`` with the last layer of its head replaced by the MLP, so that its weights load by name."""

    def build(self: Any, config: Any, *args: Any, **kwargs: Any) -> None:
        kind.__init__(self, config, *args, **kwargs)
        owner, attribute = self, "score" if hasattr(self, "score") else "classifier"
        if not isinstance(getattr(owner, attribute), nn.Linear):
            owner, attribute = getattr(owner, attribute), "out_proj"
        last = getattr(owner, attribute)
        layers = nn.Sequential(nn.Linear(last.in_features, _MLP_WIDTH), nn.ReLU(), nn.Linear(_MLP_WIDTH, last.out_features))
        setattr(owner, attribute, layers)

    return type(kind.__name__, (kind,), {"__init__": build, "__module__": kind.__module__})
