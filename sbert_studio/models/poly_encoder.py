"""Poly-encoder (Humeau et al. 2020): several vectors per query, one per candidate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from ..i18n import _
from ..progress import checkpoint
from ..workspace import write_json
from .base import PairScorer, TextTokens
from .inference.batching import encoder_batches, unique_texts
from .io.backbone import damaged_file_error, read_json, read_tensors, write_tensors
from .io.load import load_folder
from .prompts import column_roles
from .quantized import train_token_rows
from .sentence_encoder import SentenceEncoder
from .trainable import TextRows, Trainable, compute_fingerprint

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop
    from .lora import LoraSettings


SHARPNESS = 20.0
"""Factor of the cosines before the second softmax, its inverse temperature."""
DEFAULT_CODES = 16
SETTINGS_FILE, CODES_FILE = "poly.json", "codes.safetensors"
_BLOCK_CELLS = 4_000_000  # cells per block of cosines (queries, codes, candidates)
_BLOCK_PAIRS = 2_048


def attention_scores(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """Return the score of each query (b, m, d) with its own candidate (b, d), all of unit length: (b,)."""
    cosines = torch.einsum("bmd,bd->bm", queries, candidates)
    # (Σᵢ wᵢ yⁱ) · y_cand = Σᵢ wᵢ (yⁱ · y_cand)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)


def attention_score_matrix(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """Return the score of every query (b, m, d) with every candidate (c, d), all of unit length: (b, c)."""
    cosines = torch.einsum("bmd,cd->bmc", queries, candidates)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)


def _write_codes(codes: Tensor, sharpness: float, folder: Path) -> None:
    write_json(folder / SETTINGS_FILE, {"codes": len(codes), "sharpness": sharpness})
    write_tensors({"codes": codes}, folder / CODES_FILE, {"format": "pt"})


class PolyEncoder(Trainable, PairScorer):
    """m codes c₁ … c_m attend over the token vectors h of a query, and the candidate attends over the resulting m vectors.

    Humeau, Shuster, Lachaux and Weston 2020, "Poly-encoders", section 4.4 (arXiv:1905.01969)::
        yⁱ = Σⱼ wⱼ hⱼ            w = softmax(cᵢ · h₁, …, cᵢ · h_N)
        y  = Σᵢ wᵢ yⁱ            w = softmax(λ y_cand · y¹, …, λ y_cand · yᵐ)
        score = y · y_cand

    Differences from the paper: a single encoder encodes both sides. Like the candidate's pooled vector, the yⁱ are projected and scaled to
    unit length, so that scores are in [-1, 1] for any backbone. Because dot products of unit vectors are close to each other, the second
    softmax needs λ = 20, as cosine losses do. Codes are initialized with a variance of 1 / width, so that the untrained model ranks about
    as well as its encoder. Token weights of the pooling apply here too.

    Args:
        encoder: returns the token vectors, and the vector of a candidate.
        codes: m.
        seed: seed of the codes.
        sharpness: λ.
    """

    adapter_attribute = "encoder"
    card_template = "poly_encoder.md.j2"
    labels = 1

    def __init__(self, encoder: SentenceEncoder, codes: int = DEFAULT_CODES, *, seed: int = 12, sharpness: float = SHARPNESS) -> None:
        super().__init__()
        self.name, self.base = encoder.name, encoder.base
        self.encoder, self.sharpness = encoder, sharpness
        self.codes = nn.Parameter(torch.empty(codes, encoder.hidden_size))
        self._require_one_pooling()
        self._frozen_fingerprint: str | None = None
        self.draw_codes(seed)
        self.eval()

    @property
    def dim(self) -> int:
        return (len(self.codes) + 1) * self.encoder.dim

    @property
    def class_names(self) -> tuple[str, ...]:
        return ()

    @property
    def candidate_encoder(self) -> SentenceEncoder:
        return self.encoder.for_role("document")

    @property
    def adaptable(self) -> Any:
        return self.encoder.adaptable

    @property
    def backbone(self) -> Any:
        return self.encoder.backbone

    @property
    def tokens(self) -> TextTokens:
        return self.encoder.tokens

    @property
    def fingerprint(self) -> str:
        parts = (repr(self.sharpness).encode(), self.encoder.fingerprint.encode())
        return self._frozen_fingerprint or compute_fingerprint(self, parts)

    def describe(self) -> dict[str, Any]:
        own = {"name": self.name, "kind": "poly", "base": self.base}
        return {**self.encoder.describe(), **own, "parameters": self.encoder.parameters_count + self.codes.numel()}

    def draw_codes(self, seed: int) -> None:
        count, width = len(self.codes), self.encoder.hidden_size
        drawn = torch.randn(count, width, generator=torch.Generator().manual_seed(seed)) / width**0.5
        self.codes = nn.Parameter(drawn.to(self.encoder.device))

    def training_rows(self, examples: Examples) -> TextRows:
        rows = TextRows.read(examples, self.encoder, column_roles("positive_pairs", len(examples.texts)))
        if not self.has_adapter:
            train_token_rows(self.encoder, rows.tokens.flat)
        return rows

    def set_max_length(self, max_length: int | None) -> None:
        self.encoder.set_max_length(max_length)

    def configure_output(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        self.encoder.configure_output(pooling=pooling, projection=projection, activation=activation, seed=seed)
        self._require_one_pooling()

    def add_recurrent_network(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        self.encoder.add_recurrent_network(network, hidden, bidirectional=bidirectional, seed=seed)
        self.draw_codes(seed)

    @property
    def sparse_parameters(self) -> Sequence[str]:
        return [f"encoder.{name}" for name in self.encoder.sparse_parameters]

    def train_word_embeddings(self) -> None:
        self.encoder.train_word_embeddings()

    def configure_head(self, num_scores: int, *, sigmoid: bool, class_names: Sequence[str]) -> None:
        """Do nothing: a poly-encoder has no head."""

    def add_adapter(self, settings: LoraSettings) -> None:
        self.encoder.add_adapter(settings)

    def merge_adapter(self) -> None:
        self.encoder.merge_adapter()

    def write_adapter_extras(self, folder: Path) -> None:
        self.encoder.write_adapter_extras(folder)
        _write_codes(self.codes, self.sharpness, folder)

    def write_files(self, folder: Path) -> None:
        """Write the encoder's folder, which sentence-transformers can load, and the codes."""
        if self.has_adapter:
            raise StudioError("a poly-encoder with an adapter cannot be saved", "merge the adapter first")
        self.encoder.write_files(folder)
        _write_codes(self.codes, self.sharpness, folder)

    def _require_one_pooling(self) -> None:
        if len(self.encoder.pooling.modes) > 1:
            raise StudioError(
                _(
                    "the model uses {mode} pooling, so its token vectors are narrower than its text vectors",
                    mode=self.encoder.pooling.mode,
                ),
                "choose one pooling, such as pooling=mean",
            )

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return rows (b, (m + 1) · d) float32: each text as a query (m unit vectors), then as a candidate (one)."""
        vectors, counts = self.encoder.token_vectors(batch)
        candidate = self.encoder.postprocess(self.encoder.pooling(vectors, counts, batch.get("skip")))
        attended = self.encoder.postprocess(self.attend(vectors, counts))
        return functional.normalize(torch.cat([attended, candidate[:, None]], dim=1), dim=-1).flatten(1)

    def attend(self, vectors: Tensor, counts: Tensor | None) -> Tensor:
        """Attend with each code over token vectors (b, t, width) with weights ``counts`` (b, t): (b, m, width) float32.

        Texts whose tokens all have weight 0 get zeros.
        """
        vectors = vectors.float()
        with torch.autocast(vectors.device.type, enabled=False):
            logits = vectors @ self.codes.T
            if counts is None:
                return logits.softmax(dim=1).transpose(1, 2) @ vectors
            weight = counts[..., None].float()
            smallest = torch.finfo(torch.float32).tiny
            # softmax(logit + log weight): a token of weight 2 counts like two tokens.
            masked = (logits + weight.clamp_min(smallest).log()).masked_fill(weight <= 0, torch.finfo(torch.float32).min)
            return (masked.softmax(dim=1) * (weight > 0)).transpose(1, 2) @ vectors

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Score pairs with the first text as the query; each distinct query and candidate is encoded once."""
        queries, of_query = unique_texts([a for a, _ in pairs])
        texts, of_candidate = unique_texts([b for _, b in pairs])
        total = len(queries) + len(texts)
        candidates = self.candidate_encoder.encode(
            texts, progress=progress and (lambda done, _: progress(done, total)), should_stop=should_stop
        )
        scores = np.empty(len(pairs), np.float32)
        order = np.argsort(of_query, kind="stable")
        starts = np.searchsorted(of_query[order], np.arange(len(queries) + 1))
        done = len(texts)
        with self.inference():
            for batch, vectors in self._query_batches(queries, should_stop):
                pair_rows = np.concatenate([order[starts[query] : starts[query + 1]] for query in batch])
                query_rows = np.repeat(np.arange(len(batch)), starts[batch + 1] - starts[batch])
                for begin in range(0, len(pair_rows), _BLOCK_PAIRS):
                    part = pair_rows[begin : begin + _BLOCK_PAIRS]
                    query = vectors[torch.from_numpy(query_rows[begin : begin + _BLOCK_PAIRS]).to(vectors.device)]
                    candidate = self._normalize(candidates[of_candidate[part]])
                    scores[part] = attention_scores(query, candidate, self.sharpness).cpu().numpy()
                done += len(batch)
                if progress:
                    progress(done, total)
        return scores

    def score_candidates(self, queries: Sequence[str], candidates: np.ndarray) -> np.ndarray:
        distinct, inverse = unique_texts(queries)
        scores = np.empty((len(distinct), len(candidates)), np.float32)
        with self.inference():
            for batch, vectors in self._query_batches(distinct):
                size = max(1, _BLOCK_CELLS // (len(batch) * len(self.codes)))
                for start in range(0, len(candidates), size):
                    checkpoint()
                    block = attention_score_matrix(vectors, self._normalize(candidates[start : start + size]), self.sharpness)
                    scores[batch, start : start + size] = block.cpu().numpy()
        return np.asarray(scores[inverse])

    def _query_batches(self, texts: list[str], should_stop: ShouldStop | None = None) -> Iterator[tuple[np.ndarray, Tensor]]:
        for batch, inputs in encoder_batches(self.encoder.for_role("query"), texts, should_stop):
            yield batch, self(inputs).view(len(batch), len(self.codes) + 1, -1)[:, :-1]

    def _normalize(self, vectors: np.ndarray) -> Tensor:
        return functional.normalize(self.encoder.to_tensor(np.ascontiguousarray(vectors)), dim=-1)

    def freeze(self, *, packed: bool = False) -> PolyEncoder:
        """Prepare this model for inference only and return it; ``packed`` weights are faster on the CPU."""
        self.requires_grad_(False).eval()
        self._frozen_fingerprint = self.fingerprint
        self.encoder.freeze(packed=packed)
        return self


def is_poly_encoder_folder(folder: Path) -> bool:
    """Return True if the folder contains any of the files specific to poly-encoders, so that a damaged one is still recognized."""
    return (folder / SETTINGS_FILE).is_file() or (folder / CODES_FILE).is_file()


def load_poly_encoder(folder: Path, name: str = "", device: torch.device | str = "cpu") -> PolyEncoder:
    """Load a poly-encoder from a folder, in float32."""
    return attach_codes(load_folder(folder, name, device), folder)


def attach_codes(encoder: SentenceEncoder, folder: Path) -> PolyEncoder:
    """Return a poly-encoder with ``encoder`` and the codes in ``folder``."""
    if not is_poly_encoder_folder(folder):
        raise StudioError(_("the model {name} is not a poly-encoder: it has no codes", name=repr(encoder.name)), "choose a poly-encoder")
    settings = read_json(folder / SETTINGS_FILE, dict)
    count, sharpness = settings.get("codes"), settings.get("sharpness")
    if not isinstance(count, int) or count < 1 or not isinstance(sharpness, int | float) or not 0 < sharpness < math.inf:
        raise damaged_file_error(folder / SETTINGS_FILE)
    codes = read_tensors(folder / CODES_FILE).get("codes")
    if codes is None or codes.shape != (count, encoder.hidden_size):
        raise StudioError(
            _(
                "the codes in {name}/{codes_file} are not {count} vectors of {hidden_size} numbers",
                name=folder.name,
                codes_file=CODES_FILE,
                count=count,
                hidden_size=encoder.hidden_size,
            ),
            "copy the folder again",
        )
    poly = PolyEncoder(encoder, count, sharpness=float(sharpness))
    with torch.no_grad():
        poly.codes.copy_(codes)
    return poly


def create_poly_encoder(encoder: SentenceEncoder, folder: Path, *, codes: int, seed: int) -> PolyEncoder:
    """Create a trainable poly-encoder from ``encoder``, which was loaded from ``folder``, with codes drawn from ``seed``.

    If the folder is that of a poly-encoder with the same number of codes, they are kept.
    """
    if is_poly_encoder_folder(folder):
        earlier = attach_codes(encoder, folder)
        if len(earlier.codes) == codes:
            return earlier
    return PolyEncoder(encoder, codes, seed=seed)
