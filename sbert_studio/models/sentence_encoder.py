"""Sentence encoder: a token-level network, pooling, optional projection and normalisation."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from .base import Encoder
from .card import model_card
from .inference.batching import encode_texts
from .inference.gpu_stream import encode_unpadded, pooled
from .inference.varlen import Sequences
from .io.save import save_folder
from .io.settings import EncoderConfig
from .lora import write_head
from .modules.base import Module
from .modules.dense import Dense
from .modules.pooling import Pooling
from .prompts import column_roles, prompt_for, require_prompts
from .quantized import count_weights, train_table
from .runtime import fingerprint_of
from .trainable import Trainable
from .training_rows import TextRows

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop
    from .card import CardFacts
    from .prompts import Role
    from .zerogpu_encoder import Elsewhere


class TextTokens(Protocol):
    """Texts → token ids."""

    @property
    def max_length(self) -> int:
        """The most ids of a text."""

    @property
    def prompt(self) -> str:
        """What is put before every text."""

    @property
    def pad(self) -> int:
        """The id that fills a row; masked wherever it stands."""

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, cut to the maximum length, not padded, never none."""

    def spans(self, text: str) -> list[tuple[int, int] | None] | None:
        """For each id of a text where in it the word stands that it is part of, ``None`` for marks; ``None`` where that cannot be said."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has when nothing is cut."""

    def unread(self, texts: Sequence[str]) -> float:
        """The share of the tokens of ``texts`` that stand for something unknown, in [0, 1]."""

    def words(self) -> list[str]:
        """The whole words of the vocabulary, in its order."""


_METHODS = {"int8": (2,)}  # of rounding: vectors that were kept of another are not taken for those of this one


class SentenceEncoder(Trainable, Encoder):
    """Token vectors → pooling → projection → normalisation.

    A family says how texts become tokens and tokens vectors, and how that part is written; see its abstract methods.

    Args:
        backbone: the network that gives a vector a token.
        tokens: texts → token ids.
        hidden_size: the width of a token's vector.
        config: what follows the backbone.
        name: what the catalogue calls it.
        base: the portable id of the model that it was made from.
        note: a sentence that lists should show.

    Attributes:
        elsewhere: who encodes many texts on a GPU that is lent, where there is one.
        unpads: whether it encodes texts one behind the other, without padding.
    """

    kind: ClassVar[str]
    laned: ClassVar[bool] = False  # whether a batch takes so long that cores are better used each by itself
    adapts = "backbone"
    backbone: Any
    tokens: TextTokens
    projection: nn.Sequential | None

    def __init__(
        self,
        backbone: Any,
        tokens: TextTokens,
        hidden_size: int,
        config: EncoderConfig,
        *,
        name: str = "",
        base: str | None = None,
        note: str = "",
    ) -> None:
        super().__init__()
        self.name, self.base, self.note = name, base, note
        self.precision = "float32"
        self.prompts: Mapping[str, str] = {}
        self.similarity_fn_name = "cosine"
        self.truncate_dim: int | None = None
        self._plain: tuple[str, str, int | None] | None = None
        self._readers: dict[tuple[str, int | None], SentenceEncoder] = {}
        self.backbone = backbone
        self.tokens = tokens
        self.hidden_size = hidden_size
        self.pooling = Pooling(config.pooling)
        self.projection = None
        self.normalizes = config.normalize
        self._frozen_fingerprint: str | None = None
        self._counted: int | None = None
        self.elsewhere: Elsewhere | None = None
        self.unpads = False
        if config.projection is not None:
            self.project(config.projection, config.activation)

    # -- what a family says ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def architecture(self) -> str:
        """What the backbone is, in a word, such as ``bert``."""

    @abstractmethod
    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Vectors (b, t, hidden_size) of a batch's tokens, and what each counts in pooling (b, t); ``None``: all are real and alike."""

    @abstractmethod
    def identity(self) -> Iterable[bytes]:
        """What, beside its weights and configuration, tells this encoder from others: its structure and its vocabulary."""

    @abstractmethod
    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        """Write what stands before the pooling to ``folder``.

        Returns:
            (path within the folder, name in ``modules.json``) of each module.
        """

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def portable(self) -> bool:
        """Whether sentence-transformers has all of its modules."""
        return all(layer.portable for layer in self.layers)

    @property
    def pools(self) -> bool:
        """Whether its folder lists a module that pools; a table of tokens is averaged by itself there."""
        return True

    @property
    def layers(self) -> list[Module]:
        """What maps the pooled vector, most often Dense layers; none where there is no projection."""
        return [layer for layer in self.projection or () if isinstance(layer, Module)]

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        width = self.hidden_size * len(self.pooling.modes)
        for layer in self.layers:
            width = layer.width(width)
        return width if self.truncate_dim is None else min(width, self.truncate_dim)

    @property
    def max_length(self) -> int:
        """The most tokens of a text that are read, special tokens included."""
        return self.tokens.max_length

    @property
    def config(self) -> EncoderConfig:
        """What follows the backbone, as it is now."""
        layers = self.layers
        return EncoderConfig(
            pooling=self.pooling.mode,
            normalize=self.normalizes,
            projection=self.dim if layers else None,
            activation=next((layer.activation_name for layer in reversed(layers) if isinstance(layer, Dense)), "gelu"),
            max_length=self.max_length,
            prompt=self.tokens.prompt,
            include_prompt=not self.pooling.skips_prompt,
        )

    @property
    def fingerprint(self) -> str:
        """16 hex digits of every weight, the configuration, the vocabulary and the precision."""
        return self._frozen_fingerprint or self._digest()

    def _digest(self) -> str:
        cut = () if self.truncate_dim is None else ("cut", self.truncate_dim)
        settings = repr((dataclasses.astuple(self.config), self.precision, *_METHODS.get(self.precision, ()), *cut)).encode()
        # By the configuration, which knows one activation.
        told = [layer for layer in self.layers if isinstance(layer, Dense) and not layer.use_residual][-1:]
        layers = (repr(layer).encode() for layer in self.layers if layer not in told)
        return fingerprint_of(self, (settings, *self.identity(), *layers))

    def describe(self) -> dict[str, Any]:
        """Plain data for lists and cards."""
        return {
            "name": self.name,
            "kind": self.kind,
            "backbone": self.architecture,
            "dim": self.dim,
            "parameters": self.parameters_count,
            "max_length": self.max_length,
            "pooling": self.pooling.mode,
            "projection": None if self.projection is None else self.dim,
            "normalizes": self.normalizes,
            "precision": self.precision,
            "device": str(self.device),
            "note": self.note,
            "base": self.base,
        }

    # -- changing what follows the backbone ------------------------------------------------------------------------

    def project(self, width: int, activation: str = "gelu", *, seed: int = 12) -> None:
        """Put one new linear projection to ``width`` in the place of any that is there, its weights drawn from ``seed``."""
        inputs = self.hidden_size * len(self.pooling.modes)
        self.projection = nn.Sequential(Dense(inputs, width, activation, seed=seed)).to(self.device)

    def repool(self, mode: str) -> None:
        """Pool by ``mode`` from now on.

        Raises:
            StudioError: the mode is unknown, or its width does not fit the projection.
        """
        pooling = Pooling(mode, self.pooling.skip)
        pooling.skips_prompt = self.pooling.skips_prompt
        if self.projection is not None and len(pooling.modes) != len(self.pooling.modes):
            raise StudioError(f"pooling {mode!r} does not fit this model's projection", "choose one mode, or a new projection")
        self.pooling = pooling

    def reshape(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Pool by ``pooling`` and project to the width ``projection``, with ``activation`` behind it, from now on, where they are given."""
        if pooling:
            self.repool(pooling)
        if projection:
            self.project(projection, activation, seed=seed)

    def freeze(self, precision: str = "float32", *, packed: bool = False) -> SentenceEncoder:
        """Make this encoder one for inference only, in ``precision`` (float32, bfloat16 or int8), and return it.

        The projection and the pooling stay in float32: they cost little, and the vector is what is compared.

        Args:
            packed: lay the weights out as the processor's fastest products read them, where the family can.
        """
        self.eval().requires_grad_(False)
        self._counted = self.parameters_count
        self.precision = precision
        self._frozen_fingerprint = self._digest()
        self.convert(precision)
        if packed:
            self.pack()
        elif self.device.type == "cuda":
            self.unpad()
        return self

    def convert(self, precision: str) -> None:
        """Put the backbone's weights into ``precision``."""

    def pack(self) -> None:
        """Lay the backbone's weights out as the processor's fastest products read them."""

    def unpad(self) -> None:
        """Encode texts one behind the other, without padding, from now on, where the family can and then says the same."""

    @property
    def parameters_count(self) -> int:
        """How many weights there are, whatever they are stored as."""
        return self._counted or count_weights(self)

    # -- learning --------------------------------------------------------------------------------------------------

    def training_rows(self, examples: Examples) -> TextRows:
        """Each distinct text of ``examples``, tokenised once, with the prompt of its column's role."""
        rows = TextRows.read(examples, self, column_roles(examples.kind, len(examples.texts)))
        if not self.adapted:
            train_table(self, rows.tokens.flat)
        return rows

    def configure_head(self, scores: int, *, squeezed: bool, classes: Sequence[str]) -> None:
        """Nothing: what an objective learns beside the vectors is its own."""

    def write_beside_adapter(self, folder: Path) -> None:
        """What follows the backbone; see :func:`sbert_studio.models.lora.write_head`."""
        write_head(self, folder)

    # -- text → vector ---------------------------------------------------------------------------------------------

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text with special tokens, cut to the maximum length, not padded."""
        return self.tokens.ids(texts)

    def collate(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` (b, longest) int64 on this encoder's device, padded on the right."""
        longest = max((len(row) for row in rows), default=0)
        ids = np.full((len(rows), longest), self.tokens.pad, np.int64)
        mask = np.zeros((len(rows), longest), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        return {"input_ids": self.moved(ids), "attention_mask": self.moved(mask)}

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Vectors (b, dim) float32 of a batch of ``input_ids`` (b, t) and ``attention_mask`` (b, t), if any is masked.

        ``skip`` (b,) may say how many first tokens of each text are a prompt that is not pooled. Padding may stand on either side.
        """
        return self.finished(self.pooling(*self.token_vectors(batch), batch.get("skip")))

    def unpadded(self, ids: Tensor, of: Sequences) -> Tensor:
        """Vectors (n, dim) float32 of texts one behind the other, ``ids`` (tokens,), where it :attr:`unpads`."""
        return self.finished(pooled(self.pooling, self.backbone.unpadded(ids, of), of))

    def finished(self, vectors: Tensor) -> Tensor:
        """Pooled vectors (…, hidden_size · modes), projected and normalised: (…, dim) float32."""
        if self.projection is not None:
            vectors = self.projection(vectors).float()
        found = functional.normalize(vectors, dim=-1) if self.normalizes else vectors
        return found if self.truncate_dim is None else found[..., : self.truncate_dim]

    def for_role(self, role: Role) -> SentenceEncoder:
        """Return this encoder with the prompt of ``role``; the weights are shared, so it is for inference alone.

        That of a frozen encoder is kept; that of another is made anew each time, as its parts may be replaced meanwhile.
        """
        prompt = self.prompt_of(role)
        if prompt == self.tokens.prompt:
            return self
        return self._reader(prompt, self.truncate_dim)

    def with_settings(self, prompt: str | None = None, truncate_dim: int = 0) -> SentenceEncoder:
        """Return this encoder with another prompt, or shorter vectors; see :meth:`Encoder.with_settings`."""
        if prompt is not None:
            require_prompts(self)
        wanted, dim = self.tokens.prompt if prompt is None else prompt, truncate_dim if 0 < truncate_dim < self.dim else self.truncate_dim
        return self if (wanted, dim) == (self.tokens.prompt, self.truncate_dim) else self._reader(wanted, dim)

    def _reader(self, prompt: str, dim: int | None) -> SentenceEncoder:
        if self._frozen_fingerprint is None:
            return self._made_reader(prompt, dim)
        if (prompt, dim) not in self._readers:
            self._readers[prompt, dim] = self._made_reader(prompt, dim)
        return self._readers[prompt, dim]

    @property
    def default_prompt(self) -> str:
        """The prompt of a text of no role."""
        return self.tokens.prompt if self._plain is None else self._plain[0]

    def prompt_of(self, role: Role) -> str:
        """Return the prompt that the model has for texts of ``role``."""
        return prompt_for(self.prompts, self.default_prompt, role)

    def _made_reader(self, prompt: str, dim: int | None) -> SentenceEncoder:
        found = copy.copy(self)
        # What is replaced in the copy must not be replaced here.
        found._modules = dict(self._modules)
        found._readers = {}
        found.elsewhere = None  # it would be loaded by its name there, with its own prompt
        found.set_prompt(prompt)
        found.truncate_dim = dim
        if self._frozen_fingerprint is not None:  # else the digest of the configuration has the prompt
            # A reader of a reader is one of the encoder that has the default prompt.
            default, plain, whole = found._plain = self._plain or (self.tokens.prompt, self._frozen_fingerprint, self.truncate_dim)
            cut = "" if dim == whole else f" {dim}"
            named = hashlib.sha256(f"{plain} {prompt}{cut}".encode()).hexdigest()[:16]
            found._frozen_fingerprint = plain if prompt == default and not cut else named
        elif self._plain is None:
            found._plain = self.tokens.prompt, "", self.truncate_dim
        return found

    def set_prompt(self, prompt: str) -> None:
        """Put ``prompt`` before every text from now on, where the family knows prompts."""

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Vectors of ``texts``: (n, dim) float32, C order, row i for text i.

        Each distinct text is tokenised and encoded once, in batches of similar length. Several threads may call this on
        one encoder. An encoder in training mode is put into inference mode meanwhile, so it must not be shared.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """
        if self.elsewhere is not None and self.elsewhere.takes(texts):
            return self.elsewhere.encode(texts, progress, should_stop)
        training = self.training
        if training:
            self.eval()
        try:
            with torch.inference_mode():
                return (encode_unpadded if self.unpads else encode_texts)(self, texts, progress, should_stop)
        finally:
            if training:
                self.train()

    def moved(self, array: np.ndarray) -> Tensor:
        """``array`` as a tensor on this encoder's device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the sentence-transformers folder; see :func:`sbert_studio.models.io.save.save_folder`."""
        save_folder(self, folder, card)

    def card(self, facts: CardFacts) -> str:
        """The model card; see :func:`sbert_studio.models.card.model_card`."""
        return model_card(self, facts)
