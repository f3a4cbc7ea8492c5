"""Cross-encoder: reads a pair of texts together and returns a score; more accurate and slower than comparing vectors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..progress import checkpoint
from ..workspace import atomic_folder, write_json
from .base import EncodingStoppedError
from .card import MADE_WITH, CardFacts, made_with, measured, plain_text, quoted, short_name, trained
from .inference.batching import TokenRows, capped, token_batches
from .inference.packing import pack
from .inference.tokenizer import Tokens, bind, readable, with_padding
from .io.backbone import load_tokenizer, read_json, reading, require_fitting, require_safetensors, require_sound
from .io.digests import seal
from .io.load import transformer_folder
from .io.save import save_tokenizer
from .lora import find_heads
from .pair_scorer import PairScorer
from .quantized import count_weights, dense_tables, is_quantized, load_quantized, train_table, without_vocabulary
from .runtime import fingerprint_of, identity_of, token_budget
from .trainable import Trainable
from .training_rows import PairRows

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop


def cross_card(encoder: CrossEncoder, facts: CardFacts | None = None) -> str:
    """The card of ``encoder``: YAML front matter as the hub reads it, then what it answers, how to use it and what was measured."""
    facts = facts or CardFacts()
    title = facts.title or short_name(encoder.name) or "cross-encoder"
    body = [*_body(encoder), *measured(facts), *trained(facts), *made_with()]
    return "\n".join([*_front_matter(encoder, facts), "", f"# {plain_text(title)}", "", *body, ""])


def _front_matter(encoder: CrossEncoder, facts: CardFacts) -> list[str]:
    library = ["library_name: sentence-transformers"] if encoder.head == "linear" else []
    task = "text-ranking" if encoder.labels == 1 else "text-classification"
    lines = ["---", *library, f"pipeline_tag: {task}", "tags:"]
    lines += [f"- {quoted(tag)}" for tag in ("cross-encoder", *(("reranker",) if encoder.labels == 1 else ()), MADE_WITH, *facts.tags)]
    base = facts.base_model or encoder.base
    lines += [f"base_model: {quoted(base)}"] if base else []
    lines += [f"license: {quoted(facts.license)}"] if facts.license else []
    lines += ["language:", *(f"- {quoted(code)}" for code in facts.language)] if facts.language else []
    return [*lines, "---"]


def _body(encoder: CrossEncoder) -> list[str]:
    reads = f"It reads up to {encoder.max_length} tokens of both together, the first text first."
    if encoder.labels > 1:
        names = ", ".join(plain_text(name) for name in encoder.class_names)
        lines = [f"Reads two texts at once and sorts the pair into one of {encoder.labels} classes, in this order: {names}. {reads}"]
    else:
        squeezed = ", squeezed into 0 to 1 by a sigmoid" if encoder.sigmoid else ""
        lines = [f"Reads two texts at once and says by one number how alike they are{squeezed}; larger is more alike. {reads}"]
    if encoder.head == "mlp":
        opens = "Its head is an MLP (512 units, ReLU), which sentence-transformers does not know: this folder opens in SBERT Studio only."
        return [*lines, "", opens, "", "```", "sbert-studio evaluate path/to/this/folder --data pairs.csv", "```"]
    lines += ["", "```python", "from sentence_transformers import CrossEncoder", "", 'model = CrossEncoder("path/to/this/folder")']
    return [*lines, 'scores = model.predict([("A first sentence.", "A second one.")])', "```"]


IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
# The key of config.json under which sentence-transformers keeps what it adds.
THEIRS = "sentence_transformers"


def save_cross(encoder: CrossEncoder, folder: Path, card: str | None = None) -> None:
    """Write the folder that ``sentence_transformers.CrossEncoder`` reads; one with the MLP head opens here only.

    Raises:
        StudioError: an adapter sits in the model unmerged.
    """
    if encoder.adapted:
        raise StudioError("a cross-encoder with an adapter cannot be saved", "merge the adapter first")
    with atomic_folder(folder) as part:
        encoder.model.config.dtype = torch.float32
        setattr(encoder.model.config, THEIRS, {"activation_fn": SIGMOID if encoder.sigmoid and encoder.labels == 1 else IDENTITY})
        with dense_tables(encoder.model):
            encoder.model.save_pretrained(part)
        save_tokenizer(encoder, part)
        (part / "README.md").write_text(card or cross_card(encoder), encoding="utf-8")
        seal(part)


Head = Literal["linear", "mlp"]
# The key of config.json under which we keep what sentence-transformers does not know.
OURS = "sbert_studio"
_NOTE = "cross_encoder.json"
_MOST_TOKENS = 512
_CHUNK = 8_192
# What a packed model is held against the plain one by.
_A_FEW = (("A kitten naps on the warm stones of the yard.", "It rains."), ("It rains.", "It rains."))


class CrossEncoder(Trainable, PairScorer):
    """A backbone over ``[CLS] a [SEP] b [SEP]`` with a head on what the architecture classifies by.

    Args:
        model: a ``PreTrainedModel`` for sequence classification; one label is a regression, more are classes.
        tokenizer: its tokenizer.
        sigmoid: whether a single label's score is squeezed into (0, 1).
        name: what lists call it.
        base: the portable id of the model that it was made from.
    """

    adapts = "model"
    blank = True

    def __init__(self, model: Any, tokenizer: Any, *, sigmoid: bool = True, name: str = "", base: str | None = None) -> None:
        super().__init__()
        self.name, self.sigmoid, self.base = name, sigmoid, base
        self.model = model
        self.tokenizer = with_padding(tokenizer)
        self.model.config.pad_token_id = Tokens(self.tokenizer, 8).pad
        self.labels = int(model.config.num_labels)
        # A head that reads the last place of a row, as XLNet's does, must find the pair's last token there.
        self._pads_left = getattr(model.config, "summary_type", "") == "last" and tokenizer.padding_side == "left"
        self._arguments = frozenset(inspect.signature(model.forward).parameters)
        self._frozen: tuple[str, int] | None = None
        if not tokenizer.is_fast:
            raise StudioError(f"the tokenizer of {name!r} is of a kind that cannot read pairs here", "choose another model")
        self.limit(None)
        self.eval()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """How many scores a pair gets."""
        return self.labels

    @property
    def heads(self) -> Sequence[str]:
        """Its new head, and the pooler of a BERT."""
        return find_heads(self.model)

    @property
    def head(self) -> Head:
        """What turns the pair's vector into logits: one linear layer, or 512 units with ReLU before it."""
        noted = getattr(self.model.config, OURS, None)
        return cast(Head, noted["head"]) if isinstance(noted, dict) and noted.get("head") in ("linear", "mlp") else "linear"

    @property
    def backbone(self) -> Any:
        """The model without its head, adapters and all."""
        plain = self.model.get_base_model() if self.adapted else self.model
        return plain.base_model

    @property
    def pad(self) -> int:
        """The id that fills a row."""
        return int(self.model.config.pad_token_id)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class, a class' place being its id; none where there is a single score."""
        names = self.model.config.id2label
        return tuple(str(names[place]) for place in range(self.labels)) if self.labels > 1 else ()

    def name_classes(self, names: Sequence[str]) -> None:
        """Note the names of the classes, to be saved with the weights."""
        self.model.config.id2label = dict(enumerate(names))
        self.model.config.label2id = {name: place for place, name in enumerate(names)}

    def limit(self, max_length: int | None) -> None:
        """Read ``max_length`` tokens of a pair from now on, or as many as the backbone can if that is fewer (or None)."""
        self.max_length = min(_MOST_TOKENS, capped(max_length, self.backbone, self.tokenizer))
        self._pairs = bind(self.tokenizer, self.max_length)

    @property
    def fingerprint(self) -> str:
        """16 hex digits of every weight, the configuration and the tokenizer."""
        if self._frozen:
            return self._frozen[0]
        return fingerprint_of(self, (repr((self.sigmoid, self.max_length)).encode(), *identity_of(self.model, self.tokenizer)))

    def describe(self) -> dict[str, Any]:
        """Plain data for lists and cards, by the names that a sentence encoder uses; ``dim`` counts the scores of a pair."""
        return {
            "name": self.name,
            "kind": "cross",
            "backbone": str(self.model.config.model_type),
            "dim": self.labels,
            "parameters": self._frozen[1] if self._frozen else self._count(),
            "max_length": self.max_length,
            "pooling": "",
            "projection": None,
            "normalizes": False,
            "precision": "float32",
            "device": str(self.device),
            "note": "",
            "base": self.base,
        }

    def _count(self) -> int:
        return count_weights(self)

    def freeze(self, *, packed: bool = False) -> CrossEncoder:
        """Make this one for inference only, and return it; it can no longer be saved or trained.

        Args:
            packed: lay the weights out as the processor's fastest products read them.
        """
        self.requires_grad_(False).eval()
        self._frozen = self.fingerprint, self._count()
        if packed and self.device.type == "cpu":
            with torch.inference_mode():
                pack(self.model, lambda: self(self.collate(self.tokenize(_A_FEW))))
        return self

    # -- learning --------------------------------------------------------------------------------------------------

    def training_rows(self, examples: Examples) -> PairRows:
        """Each pair of ``examples``, which have two columns, tokenised as one row."""
        rows = PairRows.read(examples, self)
        if not self.adapted:
            train_table(self, rows.tokens.flat)
        return rows

    def reshape(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Refused where either is given: there are no vectors.

        Raises:
            StudioError: one was given.
        """
        if pooling or projection:
            raise StudioError("a cross-encoder has no vectors to pool or to project", "leave pooling and projection out")

    def configure_head(self, scores: int, *, squeezed: bool, classes: Sequence[str]) -> None:
        """Give scores, squeezed or not, or classes of these names from now on.

        Raises:
            StudioError: the head gives another number of scores.
        """
        if scores != self.labels:
            raise StudioError(f"the model gives {self.labels} scores, and the objective needs {scores}", "begin with a new head")
        self.sigmoid = squeezed
        if self.labels > 1:
            self.name_classes(classes)

    def write_beside_adapter(self, folder: Path) -> None:
        """Which head to put on the base model before the adapter, with the head among its tensors, is loaded."""
        write_json(folder / _NOTE, {"head": self.head, "labels": self.labels, "sigmoid": self.sigmoid})

    # -- a pair → scores -------------------------------------------------------------------------------------------

    def tokenize(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Ids and segment numbers of each pair, the longer side cut first, not padded."""
        encoded = self._pairs.encode_batch([(readable(a), readable(b)) for a, b in pairs])
        return [(one.ids, one.type_ids) for one in encoded]

    def collate(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Tensor]:
        """``input_ids``, ``token_type_ids`` and ``attention_mask`` (b, longest) int64 on this model's device."""
        ids = TokenRows.from_lists([[row[0] for row in rows]])
        segments = TokenRows.from_lists([[row[1] for row in rows]])
        batch = self.batch(ids, segments, np.arange(len(rows)))
        return {"attention_mask": torch.ones_like(batch["input_ids"]), **batch}

    def rows(self, pairs: Sequence[tuple[str, str]]) -> tuple[TokenRows, TokenRows]:
        """Ids and segment numbers of all ``pairs``, a chunk of them as lists at a time."""
        ids, segments = [], []
        for start in range(0, len(pairs), _CHUNK):
            chunk = self.tokenize(pairs[start : start + _CHUNK])
            ids.append(TokenRows.from_lists([[row[0] for row in chunk]]))
            segments.append(TokenRows.from_lists([[row[1] for row in chunk]]))
        return TokenRows.joined(ids), TokenRows.joined(segments)

    def batch(self, ids: TokenRows, segments: TokenRows, rows: np.ndarray) -> dict[str, Tensor]:
        """One padded batch of ``rows``: ``input_ids``, ``token_type_ids`` and, where any is padding, ``attention_mask``."""
        numbers, mask = ids.padded(rows, self.pad)
        arrays = {"input_ids": numbers, "token_type_ids": segments.padded(rows, 0)[0]}
        if mask is not None:
            arrays["attention_mask"] = mask
            if self._pads_left:
                arrays = _to_the_right(arrays, mask)
        return {name: torch.from_numpy(array).to(self.device, non_blocking=True) for name, array in arrays.items()}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits (b, labels) float32 with gradient, before any sigmoid."""
        inputs = dict(batch)
        if getattr(self.model.config, "type_vocab_size", 0) < 2:
            inputs.pop("token_type_ids", None)
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in self._arguments else {}
        logits: Tensor = self.model(**inputs, **options).logits.float()
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
        ids, segments = self.rows(list(numbers))
        scores = np.empty((len(ids), self.labels), np.float32)
        budget, most = token_budget(self.device)
        done, training = 0, self.training
        if training:
            self.eval()
        try:
            with torch.inference_mode():
                for batch in token_batches(ids.lengths, budget, most):
                    checkpoint()
                    if should_stop and should_stop():
                        raise EncodingStoppedError
                    logits = self(self.batch(ids, segments, batch))
                    squeezed = torch.sigmoid(logits) if self.sigmoid and self.labels == 1 else logits
                    scores[batch] = squeezed.cpu().numpy()
                    done += len(batch)
                    if progress:
                        progress(done, len(ids))
        finally:
            if training:
                self.train()
        scores = scores[inverse]
        return scores[:, 0] if self.labels == 1 else scores

    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the folder; see :func:`sbert_studio.models.cross_encoder.save_cross`."""
        save_cross(self, folder, card)

    def card(self, facts: CardFacts) -> str:
        """The model card; see :func:`sbert_studio.models.cross_encoder.cross_card`."""
        return cross_card(self, facts)


def _to_the_right(arrays: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, np.ndarray]:
    """Rows padded on the right, (b, t), as rows padded on the left."""
    width = mask.shape[1]
    places = (np.arange(width) - (width - mask.sum(axis=1))[:, None]) % width
    return {name: np.take_along_axis(array, places, axis=1) for name, array in arrays.items()}


_MLP_WIDTH = 512


def is_cross_folder(folder: Path) -> bool:
    """Whether a folder holds a model with a head on pairs (or texts) instead of a sentence encoder, by its settings alone."""
    path = folder / "config.json"
    if not path.is_file() or _holds_pooling(folder):
        return False
    config = read_json(path, dict)
    named = config.get("architectures") or []
    return OURS in config or any(str(name).endswith("ForSequenceClassification") for name in named)


def _holds_pooling(folder: Path) -> bool:
    modules = read_json(folder / "modules.json", list, [])
    return any(str(module.get("type", "")).endswith(".Pooling") for module in modules if isinstance(module, dict))


def load_cross(folder: Path, name: str = "", device: torch.device | str = "cpu") -> CrossEncoder:
    """Read a cross-encoder's folder, in float32.

    Raises:
        StudioError: files are missing or damaged, or the model has no trained head.
    """
    model, tokenizer, missing = _load(folder, {})
    if missing:
        raise StudioError(f"the model {name or folder.name!r} is no cross-encoder: it has no trained head", "choose a cross-encoder")
    # Newer releases note it in a file of their own, those from 4.0 in config.json, older ones under a name of its own there.
    general, noted = read_json(folder / "config_sentence_transformers.json", dict, {}), getattr(model.config, THEIRS, None)
    older = noted.get("activation_fn") if isinstance(noted, dict) else getattr(model.config, "sbert_ce_default_activation_function", None)
    activation = general.get("activation_fn") or older or SIGMOID
    with reading(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, sigmoid=str(activation).endswith("Sigmoid"), name=name or folder.name).to(device)


def new_cross(folder: Path, *, head: Head = "linear", labels: int = 1, seed: int = 12, name: str = "") -> CrossEncoder:
    """A cross-encoder to be trained, on the backbone of any model's folder, with a new head drawn from ``seed``.

    ``linear`` is one linear layer; ``mlp`` is Linear → 512, ReLU, Linear, as in the STS-Benchmark comparison. Where the folder
    is that of a cross-encoder with just such a head, its head is kept: the training goes on.

    Raises:
        StudioError: files are missing or damaged.
    """
    model, tokenizer, missing = _load(transformer_folder(folder), {"num_labels": labels, OURS: {"head": head}}, new=True)
    generator = torch.Generator().manual_seed(seed)
    parts = {".".join(key.split(".")[:-1]) for key in missing}
    for name_, module in model.named_modules():
        within = any(name_ == part or name_.startswith(f"{part}.") for part in parts)
        if isinstance(module, nn.Linear) and within:
            nn.init.normal_(module.weight, std=0.02, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    with reading(name or folder.name, folder):
        return CrossEncoder(model, tokenizer, name=name or folder.name)


def _load(folder: Path, changes: dict[str, Any], *, new: bool = False) -> tuple[Any, Any, list[str]]:
    """A classification model in float32, its tokenizer, and which of its weights the files lack.

    Args:
        changes: settings put in the place of the folder's own.
        new: weights of another shape count as lacking, instead of as damaged: a head for another number of classes.
    """
    read_json(folder / "config.json", dict)
    require_safetensors(folder)
    from transformers import AutoConfig, AutoModelForSequenceClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()
    local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    with reading(folder.name, folder):
        config = AutoConfig.from_pretrained(folder, **local)
        require_fitting(config, folder)
        for key, value in changes.items():
            setattr(config, key, value)
        kind = AutoModelForSequenceClassification._model_mapping[type(config)]
        mlp = getattr(config, OURS, None) == {"head": "mlp"}
        kind = with_mlp(kind) if mlp else kind
        if is_quantized(folder):
            model, report = _on_quantized(kind, folder, config)
        else:
            model, report = kind.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=new,
                **local,
            )
    tokenizer = load_tokenizer(folder)
    require_sound(model, tokenizer, report, folder)
    missing = sorted({*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])})
    if lost := [key for key in missing if new and key.startswith(f"{model.base_model_prefix}.") and ".pooler." not in key]:
        raise StudioError(f"the weights in {folder.name!r} lack {len(lost)} tensors, such as {lost[0]}", "choose another model")
    return model, tokenizer, missing


def _on_quantized(kind: Any, folder: Path, config: Any) -> tuple[Any, dict[str, Any]]:
    """Build a model of the class ``kind`` on a backbone with quantized weights; its head and its pooler are those that it draws."""
    backbone = load_quantized(folder, config)
    model = kind(without_vocabulary(config))
    model.config.vocab_size = config.vocab_size
    inside = f"{model.base_model_prefix}."
    head = [name for name in model.state_dict() if not name.startswith(inside) or ".pooler." in name]
    backbone.pooler = model.base_model.pooler
    setattr(model, model.base_model_prefix, backbone)
    return model.eval(), {"missing_keys": head, "unexpected_keys": (), "mismatched_keys": ()}


def with_mlp(kind: Any) -> Any:
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
