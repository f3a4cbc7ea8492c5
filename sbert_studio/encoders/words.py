"""Words before the pooling: the mean of word vectors, or the states of a recurrent network over them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor, nn

from ..errors import StudioError
from .modules import Module
from .modules.recurrent import RECURRENT
from .modules.static_embedding import StaticEmbedding, StaticTokens
from .modules.word_embeddings import WordEmbeddings
from .sentence import SentenceEncoder

if TYPE_CHECKING:
    from ..wordvectors.tokens import Coverage
    from .lora.adapter import LoraSettings
    from .storage.config import EncoderConfig


_MEANS = {"mean", "weighted_mean", "mean_sqrt_len"}


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
        other = set() if network.weights is None else {"weighted_mean"} if network.recurrent is None else _MEANS
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
