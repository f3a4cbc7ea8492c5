"""Base class of models that can be fine-tuned: bi-encoders, cross-encoders and poly-encoders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..workspace import atomic_folder
from .card import CardFacts, model_card
from .inference.packing import packed_bytes
from .io.digests import write_digests
from .lora import LoraSettings, add_lora, is_adapted, write_adapter

if TYPE_CHECKING:
    from ..data.examples import Examples
    from .static.tokens import Coverage
    from .training_rows import TrainingRows

# Estimated bytes of a tokenizer, per piece; and of one whose vocabulary size is unknown.
_BYTES_PER_PIECE, _TOKENIZER_BYTES = 1_100, 32 << 20


class Trainable(nn.Module, ABC):
    """A module that maps a batch of token ids to float32 rows: embeddings of texts, or logits of pairs.

    Attributes:
        name: name in the catalog.
        base: portable id of the model it was made from.
        license, languages: those of the base model's card.
        adapter_attribute: name of the attribute that holds :attr:`adaptable`.
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
            """Network between token ids and hidden states, adapters included."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def memory(self) -> int:
        """Approximate bytes of weights and vocabulary."""
        tokenizer = getattr(self, "tokenizer", None)
        vocabulary = _TOKENIZER_BYTES if tokenizer is None else int(tokenizer.vocab_size) * _BYTES_PER_PIECE
        weights = sum(tensor.numel() * tensor.element_size() for tensor in (*self.parameters(), *self.buffers()))
        return weights + packed_bytes(self) + vocabulary

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        """Count the known words of ``texts``; ``None`` for a model that reads every word."""
        return None

    @property
    @abstractmethod
    def dim(self) -> int:
        """Width of a row: components of a vector, or scores of a pair."""

    @property
    def adaptable(self) -> Any:
        """The part that takes adapters, dropout and gradient checkpointing: the backbone, with a head of its own if it has one."""
        return getattr(self, self.adapter_attribute)

    @property
    def heads(self) -> Sequence[str]:
        """Full names of the modules of :attr:`adaptable` that are trained in full and saved with an adapter."""
        return ()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return plain data for lists, cards and the advisor."""

    @abstractmethod
    def training_rows(self, examples: Examples) -> TrainingRows:
        """Tokenize ``examples`` once."""

    @abstractmethod
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return rows (b, dim) float32 with gradient."""

    @abstractmethod
    def set_max_length(self, max_length: int | None) -> None:
        """Truncate inputs to ``max_length`` tokens, or to the model's own limit if that is lower (or for ``None``)."""

    @abstractmethod
    def configure_output(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Change the pooling and add a projection, as far as they are given.

        Raises:
            StudioError: the model has no vectors, or the pooling does not fit.
        """

    def add_recurrent_network(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Read word vectors in order by a new recurrent network.

        Raises:
            StudioError: the model has no word vectors.
        """
        raise StudioError("this model has no word vectors for a recurrent network", "choose one, such as glove-6B-50d")

    def train_word_embeddings(self) -> None:
        """Train the word vectors too; a transformer's always are.

        Raises:
            StudioError: the model has no word vectors.
        """
        raise StudioError("this model has no word vectors", "leave learn_words out")

    @property
    def sparse_parameters(self) -> Sequence[str]:
        """Names of parameters with sparse gradients: they get no weight decay, so that rows without a gradient stay unchanged."""
        return ()

    @abstractmethod
    def configure_head(self, num_scores: int, *, sigmoid: bool, class_names: Sequence[str]) -> None:
        """Set the head to what the loss expects; nothing to change for a model that returns vectors.

        Args:
            num_scores: number of scores per pair; a single one is a regression.
            sigmoid: a single score is mapped to (0, 1).
            class_names: names of the classes of the examples.

        Raises:
            StudioError: the model returns another number of scores.
        """

    @property
    def has_adapter(self) -> bool:
        """True if the model holds an unmerged adapter."""
        return is_adapted(self.adaptable)

    def add_adapter(self, settings: LoraSettings) -> None:
        """Freeze :attr:`adaptable` and add a LoRA adapter; its heads and all other parts are trained in full.

        Raises:
            StudioError: no target layer is known, or there already is an adapter.
        """
        setattr(self, self.adapter_attribute, add_lora(self.adaptable, settings, self.heads))
        for name, part in self.named_children():
            if name != self.adapter_attribute:
                part.requires_grad_(True)

    def merge_adapter(self) -> None:
        """Replace the adapter, if any, by weights W + (alpha / r) B A."""
        if self.has_adapter:
            setattr(self, self.adapter_attribute, self.adaptable.merge_and_unload())

    def save_adapter(self, folder: Path, base_id: str) -> None:
        """Write the adapter's files and the model's other trained parts atomically.

        Args:
            folder: replaced if it exists.
            base_id: portable id of the base model, never a local path.

        Raises:
            StudioError: there is no adapter, or ``base_id`` is an absolute path.
        """
        if not self.has_adapter:
            raise StudioError("this model has no adapter to save", "use the method lora")
        with atomic_folder(folder) as part:
            write_adapter(self.adaptable, part, base_id)
            self.write_adapter_extras(part)
            write_digests(part)

    @abstractmethod
    def write_adapter_extras(self, folder: Path) -> None:
        """Write what peft's files in an adapter's folder lack."""

    @abstractmethod
    def write_files(self, folder: Path) -> None:
        """Write weights, configuration and tokenizer into ``folder``.

        Raises:
            StudioError: an unmerged adapter or a lower precision cannot be saved.
        """

    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the model's folder atomically, with ``card`` or :meth:`card` as its README.md.

        Raises:
            StudioError: as :meth:`write_files`.
        """
        with atomic_folder(folder) as part:
            self.write_files(part)
            (part / "README.md").write_text(card or self.card(), encoding="utf-8")
            write_digests(part)

    def card(self, facts: CardFacts | None = None) -> str:
        return model_card(self, facts)
