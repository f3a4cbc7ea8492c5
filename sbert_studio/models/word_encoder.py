"""Encoders of words: averaged word vectors, or a recurrent network over them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from .base import Encoder, finite
from .modules import Module
from .modules.dense import Dense
from .modules.recurrent import RECURRENT
from .modules.static_embedding import StaticEmbedding, StaticTokens
from .modules.word_embeddings import WordEmbeddings
from .sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from .io.settings import EncoderConfig
    from .lora import LoraSettings
    from .static.tokens import Coverage


_MEANS = ("mean", "weighted_mean", "mean_sqrt_len")


@dataclass(frozen=True)
class WordStates:
    """A text as its tokens.

    Attributes:
        words: (start, end) in the text of each word that is read, in order.
        vectors: (t, d) float64 of the tokens, in their context.
        weights: (t,) float64, how much each counts in the mean; not negative.
        owner: (t,) int64, the word of each token; -1 of marks that stand for no word, such as [CLS].
        sums: whether the vector of the text points where Σ weights · vectors does, so that its cosine is a sum over tokens.
    """

    words: tuple[tuple[int, int], ...]
    vectors: np.ndarray
    weights: np.ndarray
    owner: np.ndarray
    sums: bool


def word_states(encoder: Encoder, text: str) -> WordStates | None:
    """The tokens of a text; ``None`` of an encoder that has none, or cannot say where in the text they stand."""
    if not isinstance(encoder, SentenceEncoder):
        return None
    spans = encoder.tokens.spans(text)
    ids = encoder.tokenize([text])
    if spans is None or len(spans) != len(ids[0]):
        return None
    with torch.inference_mode():
        hidden, mask = encoder.token_vectors(encoder.collate(ids))
        vectors, sums = _projected(encoder, hidden[0].float())
    counted = np.ones(len(vectors)) if mask is None else mask[0].cpu().numpy().astype(np.float64)
    places = np.cumsum(counted > 0)
    weights = counted * (places > encoder.pooling.skip)
    if encoder.pooling.modes == ("weighted_mean",):
        weights = weights * places
    words = sorted({span for span in spans if span is not None})
    numbers = {span: number for number, span in enumerate(words)}
    owner = np.array([-1 if span is None else numbers[span] for span in spans], np.int64)
    return WordStates(tuple(words), finite(vectors.cpu().numpy().astype(np.float64)), weights, owner, sums)


def _projected(encoder: SentenceEncoder, hidden: torch.Tensor) -> tuple[torch.Tensor, bool]:
    """Tokens as the projection maps them, and whether their weighted sum is the vector of the text: it is where all of it is linear."""
    if len(encoder.pooling.modes) != 1 or encoder.pooling.modes[0] not in _MEANS:
        return hidden, False
    if encoder.projection is None:
        return hidden, True
    for layer in encoder.projection:
        if not isinstance(layer, Dense) or layer.activation_name != "identity" or layer.linear.bias is not None:
            return hidden, False
        hidden = functional.linear(hidden, layer.linear.weight.float())
    return hidden, True


_MEANS_WORDS = {"mean", "weighted_mean", "mean_sqrt_len"}


class WordNetwork(nn.Module):
    """Ids → vectors of tokens, and how much each counts.

    Args:
        embeddings: the table.
        weights: of its words, or None.
        recurrent: what reads the vectors one after the other, or None.
    """

    def __init__(
        self, embeddings: WordEmbeddings | StaticEmbedding, weights: Module | None = None, recurrent: Module | None = None
    ) -> None:
        super().__init__()
        self.embeddings, self.weights, self.recurrent = embeddings, weights, recurrent

    @property
    def listed(self) -> list[Module]:
        """The modules that are there, in order."""
        return [module for module in (self.embeddings, self.weights, self.recurrent) if module is not None]

    def width(self) -> int:
        """Of a token's vector."""
        return self.embeddings.dim if self.recurrent is None else self.recurrent.width(self.embeddings.dim)

    def forward(self, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """(b, t, width) vectors and (b, t) how much each counts, 0 for padding, which is also what a text without a known word is.

        A recurrent network reads each vector times its weight, and all of its states count alike.
        """
        real = ids != 0 if mask is None else (ids != 0) & (mask != 0)
        vectors = self.embeddings(ids)
        counts = real.to(vectors.dtype) if self.weights is None else self.weights(ids) * real
        if self.recurrent is None:
            return vectors, counts
        weighed = vectors if self.weights is None else vectors * counts.unsqueeze(-1)
        return self.recurrent(weighed, real), real.to(vectors.dtype)


class WordIds:
    """Texts → rows of a table, cut to one maximum length."""

    prompt = ""
    pad = 0

    def __init__(self, embeddings: WordEmbeddings) -> None:
        self._embeddings = embeddings

    @property
    def max_length(self) -> int:
        """The most words of a text that are read."""
        return self._embeddings.max_length

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The rows of each text's known words; of a text without one, padding's."""
        return self._embeddings.ids(texts)

    def spans(self, text: str) -> list[tuple[int, int] | None]:
        """Where the known words of a text stand in it; of a text without one, nothing for the padding that it is read as."""
        words = self._embeddings.words
        found = [match.span() for match in re.finditer(r"\S+", text) if words.place(match.group()) is not None]
        return [*found[: self.max_length]] or [None]

    def counts(self, texts: Sequence[str]) -> list[int]:
        """How many known words each text has."""
        return [len(self._embeddings.words.ids(text)) for text in texts]

    def unread(self, texts: Sequence[str]) -> float:
        """The share of the words of ``texts`` that the table does not hold, in [0, 1]."""
        found = self._embeddings.words.coverage(texts)
        return found.unknown / max(1, found.known + found.unknown)

    def words(self) -> list[str]:
        """The words of the table but padding, in its order."""
        return list(self._embeddings.words.words[1:])


class WordEncoder(SentenceEncoder):
    """Table of words → [weights] → [RNN, LSTM or GRU] → pooling → projection → normalisation.

    Args:
        network: what stands before the pooling.
        config: what follows it; there is no prompt.
        name: what the catalogue calls it.
        base: the portable id of the model that it was made from.
        note: a sentence that lists should show.
    """

    kind = "words"
    backbone: WordNetwork

    def __init__(self, network: WordNetwork, config: EncoderConfig, *, name: str = "", base: str | None = None, note: str = "") -> None:
        table = network.embeddings
        tokens = StaticTokens(table) if isinstance(table, StaticEmbedding) else WordIds(table)
        super().__init__(network, tokens, network.width(), config, name=name, base=base, note=note)
        if config.max_length is not None:
            self.limit(config.max_length)
        self.eval()

    @property
    def architecture(self) -> str:
        """``word vectors``, or the recurrent network over them, such as ``lstm``."""
        recurrent = self.backbone.recurrent
        return (
            "word vectors" if recurrent is None else ("bi" if getattr(recurrent, "bidirectional", False) else "") + recurrent.name.lower()
        )

    @property
    def portable(self) -> bool:
        """Whether sentence-transformers gives the same vectors: it has an LSTM, and no other recurrent network.

        There the first word cannot be pooled (6.2 stops with an error), and two of the means of weighted words are of another length.
        """
        modes, network = set(self.pooling.modes), self.backbone
        other = set() if network.weights is None else {"weighted_mean"} if network.recurrent is None else _MEANS_WORDS
        if isinstance(network.embeddings, StaticEmbedding) and self.pools:
            return False
        return super().portable and all(module.portable for module in network.listed) and not modes & {"cls", *other}

    @property
    def pools(self) -> bool:
        """Not where the table of tokens is averaged by itself."""
        network = self.backbone
        alone = isinstance(network.embeddings, StaticEmbedding) and network.recurrent is None and network.weights is None
        return not alone or self.pooling.mode != "mean"

    def limit(self, max_length: int | None) -> None:
        """Read ``max_length`` words of a text from now on; of None, as many as before."""
        if max_length is not None:
            self.backbone.embeddings.max_length = max_length

    def read_in_order(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Read the words' vectors by a new network, one of :data:`RECURRENT`, without the weights of an average.

        A projection that was made for the average goes; a text is then the state after its last word, or, where both directions are
        read, the highest of its states (Conneau et al. 2017), unless another pooling is chosen.

        Raises:
            StudioError: there is no such network.
        """
        if network not in RECURRENT:
            raise StudioError(f"there is no recurrent network {network!r}", f"choose one of {', '.join(RECURRENT)}")
        embeddings = self.backbone.embeddings
        recurrent = RECURRENT[network](embeddings.dim, hidden, bidirectional=bidirectional, seed=seed)
        self.backbone = WordNetwork(embeddings, None, recurrent).to(self.device)
        self.hidden_size, self.projection = self.backbone.width(), None
        self.repool("max" if bidirectional else "last")

    def learn_words(self) -> None:
        """Let the table learn with the rest."""
        self.backbone.embeddings.emb_layer.weight.requires_grad_(True)

    @property
    def tables(self) -> Sequence[str]:
        """The table of words."""
        return ("backbone.embeddings.emb_layer.weight",)

    def convert(self, precision: str) -> None:
        """Nothing: looking up a word costs no arithmetic that could be saved."""

    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """The vectors of the words, and their weights."""
        return self.backbone(batch["input_ids"], batch.get("attention_mask"))  # type: ignore[no-any-return]

    def identity(self) -> Iterator[bytes]:
        """The modules and the words."""
        yield repr([(module.name, module.width(0)) for module in self.backbone.listed]).encode()
        if isinstance(self.backbone.embeddings, StaticEmbedding):
            yield self.backbone.embeddings.tokenizer.to_str().encode()
            return
        words = self.backbone.embeddings.words
        yield json.dumps([words.words, sorted(words.stop_words), words.lowercase]).encode()

    def adapt(self, settings: LoraSettings) -> None:
        """There is nothing to adapt.

        Raises:
            StudioError: always.
        """
        raise StudioError("a model of word vectors has no attention that adapters could sit in", "tune it with the method full")

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        """How many words of ``texts`` the table knows; None of a table of tokens, which has parts of every word."""
        table = self.backbone.embeddings
        return None if isinstance(table, StaticEmbedding) else table.words.coverage(texts)

    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        """The table in ``folder`` itself, what follows it in folders of its own."""
        listed, inputs = [], 0
        for place, module in enumerate(self.backbone.listed):
            path = f"{place}_{module.name}" if place else ""
            module.write(folder / path, inputs)
            inputs = module.width(inputs)
            listed.append((path, module.name))
        return listed
