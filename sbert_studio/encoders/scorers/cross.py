"""A pair of texts → a score, both read at once: slower than comparing vectors, and more exact."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from torch import Tensor

from ...data.progress import checkpoint
from ...errors import StudioError
from ...workspace import write_json
from ..base import EncodingStoppedError
from ..fast.batching import TokenRows, token_batches
from ..fast.lengths import capped
from ..fast.packing import pack
from ..fast.tokens import Tokens, bind, readable, with_padding
from ..fingerprint import fingerprint_of, identity_of
from ..lora.targets import find_heads
from ..quantized import count_weights, train_table
from ..rows import PairRows
from ..runtime import token_budget
from ..trainable import Trainable
from .cross_card import cross_card
from .cross_saving import save_cross
from .pair_scorer import PairScorer

if TYPE_CHECKING:
    from ...data.examples import Examples
    from ...data.progress import Progress, ShouldStop
    from ..storage.card import CardFacts

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
        """Write the folder; see :func:`sbert_studio.encoders.scorers.cross_saving.save_cross`."""
        save_cross(self, folder, card)

    def card(self, facts: CardFacts) -> str:
        """The model card; see :func:`sbert_studio.encoders.scorers.cross_card.cross_card`."""
        return cross_card(self, facts)


def _to_the_right(arrays: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, np.ndarray]:
    """Rows padded on the right, (b, t), as rows padded on the left."""
    width = mask.shape[1]
    places = (np.arange(width) - (width - mask.sum(axis=1))[:, None]) % width
    return {name: np.take_along_axis(array, places, axis=1) for name, array in arrays.items()}
