"""What a training asks of a model, whichever family it is of: the model says itself how it is trained, adapted and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ..errors import StudioError
from ..workspace import atomic_folder
from .inference.packing import packed_bytes
from .io.digests import seal
from .lora import LoraSettings, add_lora, is_adapted, write_adapter

if TYPE_CHECKING:
    from ..data.examples import Examples
    from .card import CardFacts
    from .static.tokens import Coverage
    from .training_rows import TrainingRows

_PIECE, _VOCABULARY = 1_100, 32 << 20  # bytes of a piece of a tokenizer; and of one whose pieces are not known


class Trainable(nn.Module, ABC):
    """A module that maps a batch of token ids to float32 rows: vectors of texts, or the logits of pairs.

    One that gives vectors is an :class:`~sbert_studio.models.base.Encoder` as well.

    Attributes:
        name: what the catalogue calls it.
        base: the portable id of the model that it was made from.
        license, languages: those of the model that it was made from, as its card has them.
        adapts: the name of the attribute that holds :attr:`adaptable`.
        blank: whether the untuned model knows nothing of likeness, its scores being those of a new head.
    """

    adapts: ClassVar[str]
    blank: ClassVar[bool] = False
    name: str
    base: str | None
    license: str | None = None
    languages: tuple[str, ...] = ()

    if TYPE_CHECKING:  # an attribute of some, computed by others

        @property
        def backbone(self) -> Any:
            """The network between token ids and hidden states, adapters and all."""

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return next(self.parameters()).device

    @property
    def memory(self) -> int:
        """The bytes of its weights, and about what its vocabulary takes beside them."""
        held = [*self.parameters(), *self.buffers()]
        return sum(tensor.numel() * tensor.element_size() for tensor in held) + packed_bytes(self) + self._vocabulary_bytes

    @property
    def _vocabulary_bytes(self) -> int:
        tokenizer = getattr(self, "tokenizer", None)
        return _VOCABULARY if tokenizer is None else int(tokenizer.vocab_size) * _PIECE

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        """How many words of ``texts`` it knows; None of a model that reads every word."""
        return None

    @property
    @abstractmethod
    def dim(self) -> int:
        """The width of a row: the components of a vector, or the scores of a pair."""

    @property
    def adaptable(self) -> Any:
        """The part that adapters, dropout and checkpointing are set on: the backbone, with its head where it has one of its own."""
        return getattr(self, self.adapts)

    @property
    def heads(self) -> Sequence[str]:
        """The full names of those modules of :attr:`adaptable` that learn in full and are kept with an adapter; see ``find_heads``."""
        return ()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain data for lists, cards and the advisor."""

    # -- learning --------------------------------------------------------------------------------------------------

    @abstractmethod
    def training_rows(self, examples: Examples) -> TrainingRows:
        """``examples`` as this model reads them, tokenised once."""

    @abstractmethod
    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Rows (b, dim) float32 with gradient."""

    @abstractmethod
    def limit(self, max_length: int | None) -> None:
        """Read ``max_length`` tokens from now on, or as many as it can if that is fewer (or None)."""

    @abstractmethod
    def reshape(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Pool and project otherwise from now on; nothing changes where neither is given.

        Raises:
            StudioError: the model has no vectors, or the pooling does not fit.
        """

    def read_in_order(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Read the vectors of words one after the other from now on, by a new recurrent network.

        Raises:
            StudioError: the model has no table of words.
        """
        raise StudioError("this model has no table of words that a recurrent network could read", "choose one, such as glove-6B-50d")

    def learn_words(self) -> None:
        """Let the vectors of words learn with the rest; those of a transformer always do.

        Raises:
            StudioError: the model has no table of words.
        """
        raise StudioError("this model has no table of words", "leave learn_words out")

    @property
    def tables(self) -> Sequence[str]:
        """The names of parameters of which a step reads a few rows; such a table does not decay, and a row never read stays as it is."""
        return ()

    @abstractmethod
    def configure_head(self, scores: int, *, squeezed: bool, classes: Sequence[str]) -> None:
        """Set the head to what the objective takes its rows for; a model that gives vectors has nothing to change.

        Args:
            scores: how many a pair gets; a single one is a regression.
            squeezed: whether a single score is squeezed into (0, 1).
            classes: the names of the classes of the examples.

        Raises:
            StudioError: the model gives another number of scores.
        """

    # -- LoRA ------------------------------------------------------------------------------------------------------

    @property
    def adapted(self) -> bool:
        """Whether an adapter sits in the model unmerged."""
        return is_adapted(self.adaptable)

    def adapt(self, settings: LoraSettings) -> None:
        """Freeze the part that takes adapters and put one into it; its heads, and what stands beside that part, learn in full.

        Raises:
            StudioError: no target layer is there, or an adapter already is.
        """
        setattr(self, self.adapts, add_lora(self.adaptable, settings, self.heads))
        for name, part in self.named_children():
            if name != self.adapts:
                part.requires_grad_(True)

    def merge_adapter(self) -> None:
        """Add the adapter's product to the weights beside it, W + (alpha / r) B A, and leave the plain model.

        Nothing happens where there is no adapter.
        """
        if self.adapted:
            setattr(self, self.adapts, self.adaptable.merge_and_unload())

    def save_adapter(self, folder: Path, base_id: str) -> None:
        """Write ``adapter_config.json`` and ``adapter_model.safetensors``, and what the model needs beside them; whole or not at all.

        Args:
            folder: its old content is replaced.
            base_id: the id of the base model that another machine can resolve; never a path of this one.

        Raises:
            StudioError: there is no adapter, or ``base_id`` is an absolute path.
        """
        if not self.adapted:
            raise StudioError("this model has no adapter to save", "tune it with the method lora")
        with atomic_folder(folder) as part:
            write_adapter(self.adaptable, part, base_id)
            self.write_beside_adapter(part)
            seal(part)

    @abstractmethod
    def write_beside_adapter(self, folder: Path) -> None:
        """Write into an adapter's folder what peft's own files do not say of the model."""

    # -- on disk ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the model's folder, whole or not at all."""

    @abstractmethod
    def card(self, facts: CardFacts) -> str:
        """The model card."""
