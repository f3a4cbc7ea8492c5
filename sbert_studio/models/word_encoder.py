"""Encoders of words: averaged word vectors, or a recurrent network over them; the token states of any encoder; and distillation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from ..i18n import _
from .base import Encoder, require_finite_vectors
from .io.settings import EncoderConfig
from .modules import Module
from .modules.embeddings import StaticEmbedding, StaticTokens, WordEmbeddings, WordTableTokens, WordWeights
from .modules.projection import Dense
from .modules.recurrent import RECURRENT
from .sentence_encoder import SentenceEncoder
from .static.tokens import count_words, split_words
from .static.vectors import WordVectors
from .static.weighting import SIF_A, common_components, removal_transform, word_weights

if TYPE_CHECKING:
    from ..progress import Progress
    from .base import Encoder
    from .io.settings import EncoderConfig
    from .lora import LoraSettings
    from .static.tokens import Coverage

_MEANS = ("mean", "weighted_mean", "mean_sqrt_len")


@dataclass(frozen=True)
class TokenStates:
    """Token states of a text.

    Attributes:
        words: (start, end) of each word in the text, in order.
        vectors: (t, d) float64 contextual token vectors.
        weights: (t,) float64 pooling weights, not negative.
        owner: (t,) int64, the word of each token; -1 for special tokens such as [CLS].
        sums: whether the text's vector is proportional to Σ weights · vectors, so that its cosine is a sum over tokens.
    """

    words: tuple[tuple[int, int], ...]
    vectors: np.ndarray
    weights: np.ndarray
    owner: np.ndarray
    sums: bool


def token_states(encoder: Encoder, text: str) -> TokenStates | None:
    """Return the token states of a text; ``None`` for an encoder without tokens or word positions."""
    if not isinstance(encoder, SentenceEncoder):
        return None
    spans = encoder.tokens.word_spans(text)
    ids = encoder.tokenize([text])
    if spans is None or len(spans) != len(ids[0]):
        return None
    with torch.inference_mode():
        hidden, mask = encoder.token_vectors(encoder.collate(ids))
        vectors, sums = _project_tokens(encoder, hidden[0].float())
    counts = np.ones(len(vectors)) if mask is None else mask[0].cpu().numpy().astype(np.float64)
    positions = np.cumsum(counts > 0)
    weights = counts * (positions > encoder.pooling.skip)
    if encoder.pooling.modes == ("weighted_mean",):
        weights = weights * positions
    words = sorted({span for span in spans if span is not None})
    numbers = {span: number for number, span in enumerate(words)}
    owner = np.array([-1 if span is None else numbers[span] for span in spans], np.int64)
    return TokenStates(tuple(words), require_finite_vectors(vectors.cpu().numpy().astype(np.float64)), weights, owner, sums)


def _project_tokens(encoder: SentenceEncoder, hidden: torch.Tensor) -> tuple[torch.Tensor, bool]:
    if len(encoder.pooling.modes) != 1 or encoder.pooling.modes[0] not in _MEANS:
        return hidden, False
    if encoder.projection is None:
        return hidden, True
    for layer in encoder.projection:
        if not isinstance(layer, Dense) or layer.activation_name != "identity" or layer.linear.bias is not None:
            return hidden, False
        hidden = functional.linear(hidden, layer.linear.weight.float())
    return hidden, True


class WordNetwork(nn.Module):
    """Maps ids to token vectors and their pooling weights."""

    def __init__(
        self, embeddings: WordEmbeddings | StaticEmbedding, weights: Module | None = None, recurrent: Module | None = None
    ) -> None:
        super().__init__()
        self.embeddings, self.weights, self.recurrent = embeddings, weights, recurrent

    @property
    def modules_in_order(self) -> list[Module]:
        return [module for module in (self.embeddings, self.weights, self.recurrent) if module is not None]

    def width(self) -> int:
        return self.embeddings.dim if self.recurrent is None else self.recurrent.output_width(self.embeddings.dim)

    def forward(self, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return vectors (b, t, width) and weights (b, t), 0 for padding, which also represents a text without known words.

        A recurrent network is applied to the weighted vectors, and its states have equal weights.
        """
        real = ids != 0 if mask is None else (ids != 0) & (mask != 0)
        vectors = self.embeddings(ids)
        counts = real.to(vectors.dtype) if self.weights is None else self.weights(ids) * real
        if self.recurrent is None:
            return vectors, counts
        weighted = vectors if self.weights is None else vectors * counts.unsqueeze(-1)
        return self.recurrent(weighted, real), real.to(vectors.dtype)


class WordEncoder(SentenceEncoder):
    """Word table → [weights] → [RNN, LSTM or GRU] → pooling → projection → normalization."""

    kind = "words"
    backbone: WordNetwork

    def __init__(self, network: WordNetwork, config: EncoderConfig, *, name: str = "", base: str | None = None, note: str = "") -> None:
        table = network.embeddings
        tokens = StaticTokens(table) if isinstance(table, StaticEmbedding) else WordTableTokens(table)
        super().__init__(network, tokens, network.width(), config, name=name, base=base, note=note)
        if config.max_length is not None:
            self.set_max_length(config.max_length)
        self.eval()

    @property
    def architecture(self) -> str:
        recurrent = self.backbone.recurrent
        if recurrent is None:
            return "word vectors"
        return ("bi" if getattr(recurrent, "bidirectional", False) else "") + recurrent.name.lower()

    @property
    def portable(self) -> bool:
        """True if sentence-transformers returns the same vectors, which requires that a recurrent network is an LSTM.

        It cannot pool the first word (6.2 raises an error), and scales two of the means of weighted words differently.
        """
        modes, network = set(self.pooling.modes), self.backbone
        scaled_differently = set() if network.weights is None else {"weighted_mean"} if network.recurrent is None else set(_MEANS)
        if isinstance(network.embeddings, StaticEmbedding) and self.has_pooling_module:
            return False
        return super().portable and all(module.portable for module in network.modules_in_order) and not modes & {"cls", *scaled_differently}

    @property
    def has_pooling_module(self) -> bool:
        network = self.backbone
        is_plain = isinstance(network.embeddings, StaticEmbedding) and network.recurrent is None and network.weights is None
        return not is_plain or self.pooling.mode != "mean"

    def set_max_length(self, max_length: int | None) -> None:
        if max_length is not None:
            self.backbone.embeddings.max_length = max_length

    def add_recurrent_network(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Add a new network over the word vectors, one of :data:`RECURRENT`, without word weights.

        A projection of the average is removed. The vector of a text is then the state after its last word, or the maximum of its states if
        both directions are used (Conneau et al. 2017), unless another pooling is chosen.
        """
        if network not in RECURRENT:
            raise StudioError(
                _("there is no recurrent network {network}", network=repr(network)),
                _("choose one of {recurrent}", recurrent=", ".join(RECURRENT)),
            )
        embeddings = self.backbone.embeddings
        recurrent = RECURRENT[network](embeddings.dim, hidden, bidirectional=bidirectional, seed=seed)
        self.backbone = WordNetwork(embeddings, None, recurrent).to(self.device)
        self.hidden_size, self.projection = self.backbone.width(), None
        self.set_pooling("max" if bidirectional else "last")

    def train_word_embeddings(self) -> None:
        self.backbone.embeddings.emb_layer.weight.requires_grad_(True)

    @property
    def sparse_parameters(self) -> Sequence[str]:
        return ("backbone.embeddings.emb_layer.weight",)

    def convert_precision(self, precision: str) -> None:
        """Do nothing: word lookup has no matrix products to speed up."""

    def token_vectors(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        return self.backbone(batch["input_ids"], batch.get("attention_mask"))  # type: ignore[no-any-return]

    def fingerprint_parts(self) -> Iterator[bytes]:
        yield repr([(module.name, module.output_width(0)) for module in self.backbone.modules_in_order]).encode()
        if isinstance(self.backbone.embeddings, StaticEmbedding):
            yield self.backbone.embeddings.tokenizer.to_str().encode()
            return
        words = self.backbone.embeddings.words
        yield json.dumps([words.words, sorted(words.stop_words), words.lowercase]).encode()

    def add_adapter(self, settings: LoraSettings) -> None:
        raise StudioError("a model of word vectors has no layers for an adapter", "use the method full")

    def coverage(self, texts: Sequence[str]) -> Coverage | None:
        table = self.backbone.embeddings
        return None if isinstance(table, StaticEmbedding) else table.words.coverage(texts)

    def write_input(self, folder: Path) -> list[tuple[str, str]]:
        listed, inputs = [], 0
        for place, module in enumerate(self.backbone.modules_in_order):
            path = f"{place}_{module.name}" if place else ""
            module.write(folder / path, inputs)
            inputs = module.output_width(inputs)
            listed.append((path, module.name))
        return listed


DIM = 256
MOST_WORDS = 100_000
# SIF's a for Zipf's law and for counts, and the common components, chosen by Spearman on STSb's dev set with all-MiniLM-L6-v2.
ZIPF_A = 3e-4
COUNTED_A = 3e-3
_COMMON = 2


def build_average_encoder(
    vectors: WordVectors,
    texts: Sequence[str] = (),
    *,
    weighting: str = "plain",
    common: int = 0,
    normalize: bool = False,
    a: float = SIF_A,
    progress: Progress | None = None,
) -> WordEncoder:
    """Build an encoder whose vector of a text is the (weighted) mean of its word vectors.

    Args:
        texts: training texts, to which TF-IDF weights and common components are fitted.
        weighting: ``plain``, ``tfidf`` or ``sif`` (Arora et al. 2017, equation 3).
        common: number of common components to remove with a linear layer (Arora et al. 2017, algorithm 1, lines 4 to 6).
        normalize: scale vectors to unit length.
        a: parameter of SIF.
    """
    embeddings = WordEmbeddings.from_vectors(vectors)
    weights = None
    if weighting != "plain":
        found = word_weights(weighting, vectors, texts, a)
        padded = np.concatenate([np.ones(len(embeddings.words) - len(vectors), np.float32), found])
        weights = WordWeights(embeddings.words.words, padded)
    encoder = WordEncoder(WordNetwork(embeddings, weights), EncoderConfig("mean", False), name=vectors.name)
    if common:
        matrix, bias = removal_transform(common_components(require_finite_vectors(encoder.encode(texts, progress=progress)), common))
        encoder.projection = nn.Sequential(_linear(matrix, bias))
    encoder.normalizes = normalize
    return encoder


def _linear(matrix: np.ndarray, bias: np.ndarray) -> Dense:
    layer = Dense(matrix.shape[1], matrix.shape[0], "identity", bias=bool(np.any(bias)))
    layer.load_state_dict({"linear.weight": torch.from_numpy(matrix), **({"linear.bias": torch.from_numpy(bias)} if np.any(bias) else {})})
    return layer


def distill(encoder: Encoder, texts: Sequence[str] = (), *, dim: int = DIM, progress: Progress | None = None) -> WordEncoder:
    """Distill ``encoder`` into static word vectors.

    The vocabulary consists of the words of ``texts``, most frequent first, followed by the whole words of the encoder's own vocabulary. SIF
    weights use the frequencies in ``texts``, from which common components are also removed; without texts, Zipf's law in vocabulary order.

    Args:
        dim: components of a vector, at most those of the encoder.
        progress: called with the number of encoded words.
    """
    if dim < 1:
        raise StudioError(_("dim is {dim}", dim=dim), "choose at least 1")
    known_words = vocabulary_words(encoder)
    if not known_words and not texts:
        raise StudioError(
            _("{name} does not provide its vocabulary", name=encoder.name),
            "use a file of texts whose words should get a vector (--texts)",
        )
    words, counts = _vocabulary(texts, known_words)
    vectors = project_to_principal_components(require_finite_vectors(encoder.encode(words, progress=progress)), dim)
    table = WordVectors(tuple(words), vectors, counts, encoder.name)
    student = build_average_encoder(
        table, texts, weighting="sif", common=_COMMON if texts else 0, a=COUNTED_A if texts else ZIPF_A
    )  # fmt: skip
    student.base = encoder.describe().get("base")
    student.note = distillation_note(encoder.name, counted=bool(texts))
    return student


def vocabulary_words(encoder: Encoder) -> list[str]:
    """Return the whole words of an encoder's vocabulary in lower case, without duplicates, in order; empty if unknown.

    The order is assumed to be that of frequency: WordPiece sorts by it, unigram by likelihood, BPE by merge order. Single non-ASCII
    characters, which WordPiece lists first by code point, come last.
    """
    found = [] if encoder.tokens is None else encoder.tokens.words()
    words = dict.fromkeys(word for text in found if split_words(word := text.lower()) == [word] and any(map(str.isalnum, word)))
    return sorted(words, key=lambda word: len(word) == 1 and not word.isascii())


def project_to_principal_components(vectors: np.ndarray, dim: int) -> np.ndarray:
    """Project centered (n, d) vectors onto their first principal components: (n, at most dim) float32."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ directions[:, ::-1][:, :dim], np.float32)


def distillation_note(teacher: str, *, counted: bool) -> str:
    """Return the note of a distilled model for lists and model cards."""
    by = "their frequency in the texts that it was distilled for" if counted else "Zipf's law in vocabulary order"
    return _(
        "A static distillation of {teacher}: one vector per word, weighted by {by}. Unknown words are ignored. "
        "sentence-transformers loads it with its word tokenizer, which splits texts at spaces.",
        teacher=teacher,
        by=by,
    )


def _vocabulary(texts: Sequence[str], own: Sequence[str]) -> tuple[list[str], np.ndarray | None]:
    if not texts:
        return list(own[:MOST_WORDS]), None
    counted = count_words(texts, min_count=1, most=MOST_WORDS)
    known = set(counted.words)
    words = [*counted.words, *(word for word in own if word not in known)][:MOST_WORDS]
    counts = np.zeros(len(words), np.int64)
    counts[: len(counted)] = counted.counts
    return words, counts
