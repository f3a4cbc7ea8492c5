"""Sentence encoder: a token-level network, pooling, optional projection and normalization."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from ..i18n import _
from .base import Encoder, TextTokens
from .inference.batching import encode_texts
from .inference.varlen import Sequences, encode_varlen, pool_sequences
from .io.settings import EncoderConfig, GeneralSettings, write_general_settings, write_modules
from .lora import write_encoder_settings
from .modules.base import Module
from .modules.pooling import Pooling
from .modules.projection import Dense, Normalize
from .prompts import column_roles, prompt_for, require_prompts
from .quantized import count_weights, train_token_rows
from .trainable import TextRows, Trainable, compute_fingerprint

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop
    from .inference.zerogpu import ZeroGPUEncoder
    from .prompts import Role

# Version of a precision's rounding, part of the fingerprint: vectors cached under another version are not reused.
_PRECISION_VERSIONS = {"int8": (2,)}


class SentenceEncoder(Trainable, Encoder):
    """Token vectors → pooling → projection → normalization.

    Subclasses define how texts are tokenized, how tokens become vectors, and how these parts are saved.

    Args:
        backbone: network that returns one vector per token.
        tokens: tokenizer.
        hidden_size: width of a token vector.
        config: configuration of the steps after the backbone.
        name: name in the catalog.
        base: portable id of the base model.
        note: a sentence for lists.

    Attributes:
        zerogpu: encodes large inputs in GPU slices, if enabled.
        uses_varlen: encodes concatenated sequences without padding.
        parallel_batches: batches are large enough to compute several at once, each on few cores.
    """

    kind: ClassVar[str]
    card_template = "sentence_encoder.md.j2"
    parallel_batches: ClassVar[bool] = False
    adapter_attribute = "backbone"
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
        # For a view created by for_role or with_settings: default prompt, fingerprint and truncate_dim of the original.
        self._original: tuple[str, str, int | None] | None = None
        self._views: dict[tuple[str, int | None], SentenceEncoder] = {}
        self.backbone = backbone
        self.tokens = tokens
        self.hidden_size = hidden_size
        self.pooling = Pooling(config.pooling)
        self.projection = None
        self.normalizes = config.normalize
        self._frozen_fingerprint: str | None = None
        self._frozen_count: int | None = None
        self.zerogpu: ZeroGPUEncoder | None = None
        self.uses_varlen = False
        if config.projection is not None:
            self.add_projection(config.projection, config.activation)

    @property
    def uses_cpu(self) -> bool:
        return self.device.type == "cpu" and self.zerogpu is None

    @property
    @abstractmethod
    def architecture(self) -> str:
        """Name of the backbone, such as ``bert``."""

    @abstractmethod
    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Return token vectors (b, t, hidden_size) and pooling weights (b, t), ``None`` if all tokens count equally."""

    @abstractmethod
    def fingerprint_parts(self) -> Iterable[bytes]:
        """Return data that identifies this encoder in addition to weights and configuration: structure and vocabulary."""

    @abstractmethod
    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        """Write the modules before the pooling; return (path within the folder, name in ``modules.json``) of each."""

    def convert_precision(self, precision: str) -> None:
        """Convert the backbone's weights to ``precision``."""

    def pack(self) -> None:
        """Pack the backbone's weights for fast CPU inference."""

    def enable_varlen(self) -> None:
        """Encode concatenated sequences without padding if the backbone supports it."""

    def set_prompt(self, prompt: str) -> None:
        """Prepend ``prompt`` to every text if the encoder takes prompts."""

    @property
    def portable(self) -> bool:
        return all(layer.portable for layer in self.layers)

    @property
    def has_pooling_module(self) -> bool:
        """True if ``modules.json`` lists a pooling; the mean of a token table is part of the table's module."""
        return True

    @property
    def layers(self) -> list[Module]:
        """Modules after the pooling, mostly Dense layers."""
        return [layer for layer in self.projection or () if isinstance(layer, Module)]

    @property
    def dim(self) -> int:
        width = self.hidden_size * len(self.pooling.modes)
        for layer in self.layers:
            width = layer.output_width(width)
        return width if self.truncate_dim is None else min(width, self.truncate_dim)

    @property
    def max_length(self) -> int:
        return self.tokens.max_length

    @property
    def config(self) -> EncoderConfig:
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
        return self._frozen_fingerprint or self._compute_fingerprint()

    def _compute_fingerprint(self) -> str:
        truncation = () if self.truncate_dim is None else ("cut", self.truncate_dim)
        settings = (dataclasses.astuple(self.config), self.precision, *_PRECISION_VERSIONS.get(self.precision, ()), *truncation)
        # The configuration already covers one plain Dense layer.
        covered = [layer for layer in self.layers if isinstance(layer, Dense) and not layer.use_residual][-1:]
        layers = (repr(layer).encode() for layer in self.layers if layer not in covered)
        return compute_fingerprint(self, (repr(settings).encode(), *self.fingerprint_parts(), *layers))

    def describe(self) -> dict[str, Any]:
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

    @property
    def parameters_count(self) -> int:
        return self._frozen_count or count_weights(self)

    def add_projection(self, width: int, activation: str = "gelu", *, seed: int = 12) -> None:
        """Replace any projection with a new linear one to ``width``, initialized from ``seed``."""
        inputs = self.hidden_size * len(self.pooling.modes)
        self.projection = nn.Sequential(Dense(inputs, width, activation, seed=seed)).to(self.device)

    def set_pooling(self, mode: str) -> None:
        pooling = Pooling(mode, self.pooling.skip)
        pooling.skips_prompt = self.pooling.skips_prompt
        if self.projection is not None and len(pooling.modes) != len(self.pooling.modes):
            raise StudioError(
                _("pooling {mode} does not fit this model's projection", mode=repr(mode)), "choose one mode, or a new projection"
            )
        self.pooling = pooling

    def configure_output(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        if pooling:
            self.set_pooling(pooling)
        if projection:
            self.add_projection(projection, activation, seed=seed)

    def configure_head(self, num_scores: int, *, sigmoid: bool, class_names: Sequence[str]) -> None:
        """Do nothing: heads on vectors belong to the loss."""

    def freeze(self, precision: str = "float32", *, packed: bool = False) -> SentenceEncoder:
        """Prepare this encoder for inference only, in ``precision`` (float32, bfloat16 or int8), and return it.

        Pooling and projection stay in float32, because they are cheap. Weights are ``packed`` for the CPU if the backbone supports it.
        """
        self.eval().requires_grad_(False)
        self._frozen_count = self.parameters_count
        self.precision = precision
        self._frozen_fingerprint = self._compute_fingerprint()
        self.convert_precision(precision)
        if packed:
            self.pack()
        elif self.device.type == "cuda":
            self.enable_varlen()
        return self

    def training_rows(self, examples: Examples) -> TextRows:
        rows = TextRows.read(examples, self, column_roles(examples.kind, len(examples.texts)))
        if not self.has_adapter:
            train_token_rows(self, rows.tokens.flat)
        return rows

    def write_adapter_extras(self, folder: Path) -> None:
        write_encoder_settings(folder, self.config, self.prompts, self.projection)

    def write_files(self, folder: Path) -> None:
        """Write a sentence-transformers folder; an adapter is merged into a copy of the backbone."""
        if self.precision != "float32":
            raise StudioError(_("a model in {precision} cannot be saved", precision=self.precision), "load it in float32")
        pooling = [self.pooling] if self.has_pooling_module else []
        modules = [*pooling, *self.layers, *([Normalize()] if self.normalizes else [])]
        write_modules(folder, self.write_input(folder), modules, self.hidden_size)
        settings = GeneralSettings(self.prompts, self.tokens.prompt, self.truncate_dim, self.similarity_fn_name)
        write_general_settings(folder, settings)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return self.tokens.ids(texts)

    def collate(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Pad ``rows`` on the right: ``input_ids`` and ``attention_mask`` (b, longest) int64 on this encoder's device."""
        longest = max((len(row) for row in rows), default=0)
        ids = np.full((len(rows), longest), self.tokens.pad, np.int64)
        mask = np.zeros((len(rows), longest), np.int64)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        return {"input_ids": self.to_tensor(ids), "attention_mask": self.to_tensor(mask)}

    def to_tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return vectors (b, dim) float32 of ``input_ids`` (b, t), with ``attention_mask`` (b, t) if there is padding.

        ``skip`` (b,), if present, is the number of leading prompt tokens per text that are not pooled. Padding may be on either side.
        """
        return self.postprocess(self.pooling(*self.token_vectors(batch), batch.get("skip")))

    def forward_varlen(self, ids: Tensor, sequences: Sequences) -> Tensor:
        """Return vectors (n, dim) float32 of concatenated ``ids`` (tokens,); requires :attr:`uses_varlen`."""
        return self.postprocess(pool_sequences(self.pooling, self.backbone.forward_varlen(ids, sequences), sequences))

    def postprocess(self, vectors: Tensor) -> Tensor:
        """Project, normalize and truncate pooled vectors (…, hidden_size · modes): (…, dim) float32."""
        if self.projection is not None:
            vectors = self.projection(vectors).float()
        vectors = functional.normalize(vectors, dim=-1) if self.normalizes else vectors
        return vectors if self.truncate_dim is None else vectors[..., : self.truncate_dim]

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None, should_stop: ShouldStop | None = None) -> np.ndarray:
        """Encode each distinct text once, in batches of similar length.

        Thread-safe, except in training mode, when the encoder is temporarily switched to evaluation mode.
        """
        if self.zerogpu is not None and self.zerogpu.is_worthwhile(texts):
            return self.zerogpu.encode(texts, progress, should_stop)
        with self.inference():
            return (encode_varlen if self.uses_varlen else encode_texts)(self, texts, progress, should_stop)

    @property
    def default_prompt(self) -> str:
        return self.tokens.prompt if self._original is None else self._original[0]

    def prompt_for_role(self, role: Role) -> str:
        return prompt_for(self.prompts, self.default_prompt, role)

    def for_role(self, role: Role) -> SentenceEncoder:
        prompt = self.prompt_for_role(role)
        return self if prompt == self.tokens.prompt else self._view(prompt, self.truncate_dim)

    def with_settings(self, prompt: str | None = None, truncate_dim: int = 0) -> SentenceEncoder:
        if prompt is not None:
            require_prompts(self)
        prompt = self.tokens.prompt if prompt is None else prompt
        dim = truncate_dim if 0 < truncate_dim < self.dim else self.truncate_dim
        return self if (prompt, dim) == (self.tokens.prompt, self.truncate_dim) else self._view(prompt, dim)

    def _view(self, prompt: str, dim: int | None) -> SentenceEncoder:
        if self._frozen_fingerprint is None:  # modules of an unfrozen encoder may be replaced later
            return self._make_view(prompt, dim)
        if (prompt, dim) not in self._views:
            self._views[prompt, dim] = self._make_view(prompt, dim)
        return self._views[prompt, dim]

    def _make_view(self, prompt: str, dim: int | None) -> SentenceEncoder:
        view = copy.copy(self)
        view._modules = dict(self._modules)  # so that replacing a module of the view leaves this encoder unchanged
        view._views = {}
        view.zerogpu = None  # a slice loads the model by its name, with its own prompt
        view.set_prompt(prompt)
        view.truncate_dim = dim
        if self._frozen_fingerprint is not None:  # otherwise the fingerprint is computed, including the prompt
            # A view of a view is also derived from the original.
            default, fingerprint, whole = view._original = self._original or (
                self.tokens.prompt,
                self._frozen_fingerprint,
                self.truncate_dim,
            )
            cut = "" if dim == whole else f" {dim}"
            derived = hashlib.sha256(f"{fingerprint} {prompt}{cut}".encode()).hexdigest()[:16]
            view._frozen_fingerprint = fingerprint if prompt == default and not cut else derived
        elif self._original is None:
            view._original = self.tokens.prompt, "", self.truncate_dim
        return view
