"""Base class of models that can be fine-tuned, and training examples as token ids."""

from __future__ import annotations

import contextlib
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..workspace import atomic_folder
from .card import CardFacts, model_card
from .inference.batching import CHUNK_TEXTS, TokenRows, pad_pairs, prefix_length, unique_texts
from .inference.packing import packed_bytes
from .inference.varlen import to_device
from .io.digests import write_digests
from .lora import LoraSettings, add_lora, is_adapted, write_adapter

if TYPE_CHECKING:
    from ..data.examples import Examples, TeacherSignal
    from .cross_encoder import CrossEncoder
    from .prompts import Role
    from .sentence_encoder import SentenceEncoder
    from .static.tokens import Coverage


# Estimated bytes of a tokenizer per piece, and in total if the vocabulary size is unknown.
_BYTES_PER_PIECE, _TOKENIZER_BYTES = 1_100, 32 << 20


def compute_fingerprint(module: nn.Module, parts: Iterable[bytes]) -> str:
    """Return a digest of ``parts`` and of every weight, by name, 16 hex digits."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    for name, tensor in sorted(module.state_dict().items()):
        state.update(name.encode())
        if isinstance(tensor, Tensor):
            state.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()[:16]


def transformer_identity(network: Any, tokenizer: Any) -> Iterator[bytes]:
    """Yield a transformer's configuration without the folder it was read from, and its tokenizer."""
    config = json.loads(network.config.to_json_string(use_diff=False))
    yield json.dumps({**config, "_name_or_path": ""}, sort_keys=True).encode()
    yield (tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else repr(sorted(tokenizer.get_vocab().items()))).encode()


class Trainable(nn.Module, ABC):
    """A module that maps a batch of token ids to float32 rows: embeddings of texts, or logits of pairs.

    Attributes:
        name: name in the catalog.
        base: portable id of the base model.
        license, languages: those of the base model's card.
        adapter_attribute: name of the attribute that contains :attr:`adaptable`.
        has_untrained_scores: before training, the scores are those of a random head.
        card_template: template of its model card.
    """

    adapter_attribute: ClassVar[str]
    has_untrained_scores: ClassVar[bool] = False
    card_template: ClassVar[str]
    name: str
    base: str | None
    license: str | None = None
    languages: tuple[str, ...] = ()

    if TYPE_CHECKING:  # an attribute of some subclasses, a property of others

        @property
        def backbone(self) -> Any:
            """Network between token ids and hidden states, including adapters."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def memory(self) -> int:
        tokenizer = getattr(self, "tokenizer", None)
        vocabulary = _TOKENIZER_BYTES if tokenizer is None else int(tokenizer.vocab_size) * _BYTES_PER_PIECE
        weights = sum(tensor.numel() * tensor.element_size() for tensor in (*self.parameters(), *self.buffers()))
        return weights + packed_bytes(self) + vocabulary

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        return None

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """Disable gradients and, in training mode, dropout within the context."""
        training = self.training
        if training:
            self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            if training:
                self.train()

    @property
    @abstractmethod
    def dim(self) -> int:
        """Output dimension: vector components, or scores per pair."""

    @property
    def adaptable(self) -> Any:
        """The module to which adapters, dropout and gradient checkpointing apply: the backbone, including its own head if any."""
        return getattr(self, self.adapter_attribute)

    @property
    def heads(self) -> Sequence[str]:
        """Full names of the modules of :attr:`adaptable` that are fully trained and saved with an adapter."""
        return ()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return plain data for lists, model cards and the advisor."""

    @abstractmethod
    def training_rows(self, examples: Examples) -> TrainingRows:
        """Tokenize ``examples`` once."""

    @abstractmethod
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return rows (b, dim) float32 with gradients."""

    @abstractmethod
    def set_max_length(self, max_length: int | None) -> None:
        """Truncate inputs to ``max_length`` tokens, or to the model's own limit if that is lower (or for ``None``)."""

    @abstractmethod
    def configure_output(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Change the pooling and add a projection, if specified."""

    def add_recurrent_network(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Add a new recurrent network over the word vectors."""
        raise StudioError("this model has no word vectors for a recurrent network", "choose one, such as glove-6B-50d")

    def keep_layers(self, count: int) -> None:
        """Remove all but the first ``count`` layers of the backbone."""
        raise StudioError("this model has no layers to remove", "omit layers")

    def output_layers(self) -> int:
        """Return the vectors after each layer in training mode, first the embeddings: (layers · b, dim); return the number of layers."""
        raise StudioError("this model has no layers", "omit adaptive_layers")

    def train_word_embeddings(self) -> None:
        """Also train the word vectors; a transformer's are always trained."""
        raise StudioError("this model has no word vectors", "omit learn_words")

    @property
    def sparse_parameters(self) -> Sequence[str]:
        """Names of parameters with sparse gradients, which get no weight decay, so that rows without a gradient stay unchanged."""
        return ()

    @abstractmethod
    def configure_head(self, num_scores: int, *, sigmoid: bool, class_names: Sequence[str]) -> None:
        """Configure the head for the loss: ``num_scores`` per pair; a single one is a regression, mapped to (0, 1) if ``sigmoid``.

        Does nothing for a model that returns vectors.
        """

    @property
    def has_adapter(self) -> bool:
        return is_adapted(self.adaptable)

    def add_adapter(self, settings: LoraSettings) -> None:
        """Freeze :attr:`adaptable` and add a LoRA adapter; its heads and all other parts are fully trained."""
        setattr(self, self.adapter_attribute, add_lora(self.adaptable, settings, self.heads))
        for name, part in self.named_children():
            if name != self.adapter_attribute:
                part.requires_grad_(True)

    def merge_adapter(self) -> None:
        """Replace the adapter, if any, with merged weights W + (alpha / r) B A."""
        if self.has_adapter:
            setattr(self, self.adapter_attribute, self.adaptable.merge_and_unload())

    def save_adapter(self, folder: Path, base_id: str) -> None:
        """Write the adapter's files and the model's other trained parts atomically; ``base_id`` is never a local path."""
        if not self.has_adapter:
            raise StudioError("this model has no adapter to save", "use the method lora")
        with atomic_folder(folder) as part:
            write_adapter(self.adaptable, part, base_id)
            self.write_adapter_extras(part)
            write_digests(part)

    @abstractmethod
    def write_adapter_extras(self, folder: Path) -> None:
        """Write the parts of an adapter's folder that peft does not write."""

    @abstractmethod
    def write_files(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into ``folder``."""

    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the model's folder atomically, with ``card`` or :meth:`card` as its README.md."""
        with atomic_folder(folder) as part:
            self.write_files(part)
            (part / "README.md").write_text(card or self.card(), encoding="utf-8")
            write_digests(part)

    def card(self, facts: CardFacts | None = None) -> str:
        return model_card(self, facts)


class TrainingRows(Protocol):
    """Tokenized examples in the form used by the training loop."""

    @property
    def ids(self) -> np.ndarray:
        """(columns, n) int64 text ids, equal for equal texts."""

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row's longest text, int64 (n,)."""

    @property
    def targets(self) -> Tensor | None:
        """(n,) float32 scores or int64 class ids, or ``None``."""

    def __len__(self) -> int: ...

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        """Return one padded batch of all columns of ``rows``, column by column, each repeated ``views`` times, for one forward pass."""

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        """Return the (b,) text ids of each column and view."""

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """Return the (b,) targets of ``rows``."""

    def teacher_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        """Return the teacher's scores (b, w), or vectors (b, d) or (b, columns, d), for ``rows``; ``None`` without a teacher."""


@dataclass(frozen=True)
class _ExampleRows:
    ids: np.ndarray
    targets: Tensor | None
    pad: int

    def __len__(self) -> int:
        return int(self.ids.shape[1])

    def names(self, rows: np.ndarray, views: int, device: torch.device) -> list[Tensor]:
        columns = to_device(self.ids[:, rows], device)
        return [columns.select(0, column) for column in range(len(self.ids)) for _ in range(views)]

    def targets_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        return None if self.targets is None else to_device(self.targets[torch.from_numpy(rows)].numpy(), device)

    def teacher_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        return None


@dataclass(frozen=True)
class TextRows(_ExampleRows):
    """Rows of single texts, for a sentence encoder; ``tokens`` contains the distinct ones in the order of their ids.

    Texts with the same tokens, such as those that differ only in case for an uncased encoder, share an id: their vectors are equal, and no
    loss can separate them. Equal texts in columns with different prompts also share an id, so that a query is not its own negative.

    Attributes:
        places: (columns, n) int64, each text's row of ``tokens`` if columns have different prompts; ``None`` if it equals the id.
        skips: (rows of ``tokens``,) int64, number of leading prompt tokens that are not pooled; ``None`` for the encoder's own.
        teacher: a teacher's scores or vectors.
    """

    tokens: TokenRows
    places: np.ndarray | None = None
    skips: np.ndarray | None = None
    teacher: TeacherSignal | None = None

    @classmethod
    def read(cls, examples: Examples, encoder: SentenceEncoder, roles: Sequence[Role]) -> TextRows:
        """Tokenize ``examples`` for ``encoder``, each column with the prompt of its role."""
        columns: dict[str, list[int]] = {}
        for column, role in enumerate(roles):
            columns.setdefault(encoder.prompt_for_role(role), []).append(column)
        readers = [(encoder.for_role(roles[own[0]]), own) for own in columns.values()]
        is_mixed = len(readers) > 1
        ids, places = (np.zeros((len(examples.texts), len(examples)), np.int64) for _ in range(2))
        by_text: dict[str, int] = {}
        by_tokens: dict[tuple[int, ...], int] = {}  # without prompt tokens
        parts: list[TokenRows] = []
        skips: list[np.ndarray] = []
        start = 0
        for reader, own in readers:
            texts, found = unique_texts(list(chain.from_iterable(examples.texts[column] for column in own)))
            before = prefix_length(reader.tokens) if is_mixed else 0  # type: ignore[arg-type]
            names: list[int] = []
            for first in range(0, len(texts), CHUNK_TEXTS):
                chunk = texts[first : first + CHUNK_TEXTS]
                rows = reader.tokenize(chunk)
                for text, row in zip(chunk, rows, strict=True):
                    name = by_text.get(text)
                    names.append(by_tokens.setdefault(tuple(row[before:]), start + len(names)) if name is None else name)
                    if is_mixed:
                        by_text[text] = names[-1]
                parts.append(TokenRows.from_lists([rows]))
            ids[own] = np.asarray(names, np.int64)[found].reshape(len(own), -1)
            places[own] = start + found.reshape(len(own), -1)
            skips.append(np.full(len(texts), reader.pooling.skip, np.int64))
            start += len(texts)
        pad, tokens = readers[0][0].tokens.pad, TokenRows.concatenate(parts)
        if not is_mixed and readers[0][0] is encoder:
            return cls(ids, _targets(examples), pad, tokens, teacher=examples.teacher)
        skipped = np.concatenate(skips) if readers[0][0].pooling.skips_prompt else None
        return cls(ids, _targets(examples), pad, tokens, places, skipped, examples.teacher)

    @property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.tokens.lengths[self.ids if self.places is None else self.places].max(axis=0))

    def teacher_of(self, rows: np.ndarray, device: torch.device) -> Tensor | None:
        return None if self.teacher is None else to_device(self.teacher.at(rows), device)

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        places = np.repeat((self.ids if self.places is None else self.places)[:, rows], views, axis=0).ravel()
        ids, mask = self.tokens.padded(places, self.pad)
        inputs = {"input_ids": to_device(ids, device)}
        if self.skips is not None:
            inputs["skip"] = to_device(self.skips[places], device)
        if mask is not None:
            inputs["attention_mask"] = to_device(mask, device)
        return inputs


@dataclass(frozen=True)
class PairRows(_ExampleRows):
    """Rows of pairs encoded jointly, for a cross-encoder; ``ids`` identify the pairs."""

    tokens: TokenRows
    segments: TokenRows
    pads_left: bool = False

    @classmethod
    def read(cls, examples: Examples, encoder: CrossEncoder) -> PairRows:
        left, right = examples.texts
        tokens, segments = encoder.rows(list(zip(left, right, strict=True)))
        return cls(np.arange(len(left))[None], _targets(examples), encoder.pad, tokens, segments, encoder.pads_left)

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    def inputs(self, rows: np.ndarray, views: int, device: torch.device) -> dict[str, Tensor]:
        arrays = pad_pairs(self.tokens, self.segments, np.tile(rows, views), self.pad, left=self.pads_left)
        return {name: to_device(array, device) for name, array in arrays.items()}


def _targets(examples: Examples) -> Tensor | None:
    return None if examples.targets is None else torch.from_numpy(np.ascontiguousarray(examples.targets))
