"""Poly-encoder (Humeau et al. 2020): several vectors for a query, one for a candidate."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import StudioError
from ..progress import checkpoint
from ..workspace import atomic_folder, write_json
from .card import MADE_WITH, CardFacts, made_with, measured, plain_text, quoted, short_name, trained
from .inference.batching import batches_of, unique_texts
from .io.backbone import read_json
from .io.digests import cut_short, seal
from .io.load import load_folder
from .io.save import write_modules
from .pair_scorer import PairScorer
from .prompts import column_roles
from .quantized import train_table
from .runtime import fingerprint_of
from .sentence_encoder import SentenceEncoder, TextTokens
from .trainable import Trainable
from .training_rows import TextRows

if TYPE_CHECKING:
    from ..data.examples import Examples
    from ..progress import Progress, ShouldStop
    from .lora import LoraSettings


SHARPNESS = 20.0
"""What multiplies the cosines before their softmax, the inverse of its temperature."""


def attended(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """The score of each query (b, m, d) with its own candidate (b, d), all of unit length: (b,)."""
    cosines = torch.einsum("bmd,bd->bm", queries, candidates)
    # (Σᵢ wᵢ yⁱ) · y_cand = Σᵢ wᵢ (yⁱ · y_cand)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)


def attended_all(queries: Tensor, candidates: Tensor, sharpness: float) -> Tensor:
    """The score of every query (b, m, d) with every candidate (c, d), all of unit length: (b, c)."""
    cosines = torch.einsum("bmd,cd->bmc", queries, candidates)
    return ((sharpness * cosines).softmax(dim=1) * cosines).sum(dim=1)


def poly_card(poly: PolyEncoder, facts: CardFacts | None = None) -> str:
    """The card of ``poly``: YAML front matter as the hub reads it, then what it answers, how to use it and what was measured."""
    facts = facts or CardFacts()
    title = facts.title or short_name(poly.name) or "poly-encoder"
    return "\n".join(
        [*_front_matter(poly, facts), "", f"# {plain_text(title)}", "", *_body(poly), *measured(facts), *trained(facts), *made_with(), ""]
    )


def _front_matter(poly: PolyEncoder, facts: CardFacts) -> list[str]:
    lines = [
        "---",
        "pipeline_tag: text-ranking",
        "tags:",
        *(f"- {quoted(tag)}" for tag in ("poly-encoder", "reranker", MADE_WITH, *facts.tags)),
    ]
    base = facts.base_model or poly.base
    lines += [f"base_model: {quoted(base)}"] if base else []
    lines += [f"license: {quoted(facts.license)}"] if facts.license else []
    lines += ["language:", *(f"- {quoted(code)}" for code in facts.language)] if facts.language else []
    return [*lines, "---"]


def _body(poly: PolyEncoder) -> list[str]:
    encoder = poly.encoder
    lines = [
        f"Reads a query as {len(poly.codes)} vectors and a candidate as one, and says by one number, -1 to 1, how well they go together;"
        f" larger is better. Candidates are read once and kept, so that a new query is all that a search has to read. It reads up to"
        f" {encoder.max_length} tokens of a text; vectors of {encoder.dim} components, {encoder.pooling.mode} pooling of candidates.",
        "",
        "Humeau et al. 2020, Poly-encoders, arXiv:1905.01969, with one encoder for both sides and unit vectors.",
        "",
        "It opens in SBERT Studio only: no other program knows its codes (poly.json, codes.safetensors).",
    ]
    if encoder.portable:
        lines[-1] += " sentence-transformers opens the encoder within from this folder; its cosines are not this model's scores."
    return [*lines, "", "```sh", 'sbert-studio search texts.csv "a query" --reranker path/to/this/folder', "```"]


SETTINGS_FILE, CODES_FILE = "poly.json", "codes.safetensors"


def save_poly(poly: PolyEncoder, folder: Path, card: str | None = None) -> None:
    """Write ``poly`` to ``folder``, whole or not at all; sentence-transformers opens the encoder in it, and passes the codes over.

    Raises:
        StudioError: an adapter sits in the model unmerged, or it was frozen.
    """
    if poly.adapted:
        raise StudioError("a poly-encoder with an adapter cannot be saved", "merge the adapter first")
    with atomic_folder(folder) as part:
        write_modules(poly.encoder, part)
        write_codes(poly, part)
        (part / "README.md").write_text(card or poly_card(poly), encoding="utf-8")
        seal(part)


def write_codes(poly: PolyEncoder, folder: Path) -> None:
    """Write ``poly.json`` and ``codes.safetensors``."""
    from safetensors.torch import save_file

    write_json(folder / SETTINGS_FILE, {"codes": len(poly.codes), "sharpness": poly.sharpness})
    save_file({"codes": poly.codes.detach().cpu().contiguous()}, folder / CODES_FILE, metadata={"format": "pt"})


CODES = 16
# Cells of a block of cosines, (queries, codes, candidates), and pairs scored at once.
_BLOCK, _PAIRS = 4_000_000, 2_048


class PolyEncoder(Trainable, PairScorer):
    """m codes c₁ … c_m attend over the token vectors h of a query, and the candidate attends over what they found.

    Humeau, Shuster, Lachaux and Weston 2020, "Poly-encoders", section 4.4 (arXiv:1905.01969)::

        yⁱ = Σⱼ wⱼ hⱼ            w = softmax(cᵢ · h₁, …, cᵢ · h_N)
        y  = Σᵢ wᵢ yⁱ            w = softmax(λ y_cand · y¹, …, λ y_cand · yᵐ)
        score = y · y_cand

    Where it departs from the paper: one encoder reads both sides, for texts are compared here that are of one kind as often as not. The
    yⁱ go through the encoder's projection, as the pooled vector of the candidate does, and both are of unit length, so that the score lies
    in -1..1 whatever the backbone's scale; dot products of unit vectors are so close to each other that the second softmax needs the λ of
    20 by which losses sharpen cosines here. The first softmax is the paper's. Codes are drawn with a variance of 1 / width: at first each
    weighs the tokens a little otherwise than the mean does, and the untuned model ranks about as its encoder did. What a token counts in
    the pooling (the weights of words) it counts here.

    Args:
        encoder: gives the token vectors, and the vector of a candidate.
        codes: m.
        seed: of the codes.
        sharpness: λ.

    Raises:
        StudioError: the encoder pools in several ways at once.
    """

    adapts = "encoder"
    labels = 1

    def __init__(self, encoder: SentenceEncoder, codes: int = CODES, *, seed: int = 12, sharpness: float = SHARPNESS) -> None:
        super().__init__()
        self.name, self.base = encoder.name, encoder.base
        self.encoder, self.sharpness = encoder, sharpness
        self.codes = nn.Parameter(torch.empty(codes, encoder.hidden_size))
        self._require_one_pooling()
        self._frozen_fingerprint: str | None = None
        self.draw(seed)
        self.eval()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """The width of a row of :meth:`forward`: m vectors of a query, and one of a candidate."""
        return (len(self.codes) + 1) * self.encoder.dim

    @property
    def class_names(self) -> tuple[str, ...]:
        """None: there is a single score."""
        return ()

    @property
    def candidates(self) -> SentenceEncoder:
        """The encoder within as it reads documents, whose vector of a text is what a candidate is known by."""
        return self.encoder.for_role("document")

    @property
    def adaptable(self) -> Any:
        """That of the encoder within."""
        return self.encoder.adaptable

    @property
    def backbone(self) -> Any:
        """That of the encoder within."""
        return self.encoder.backbone

    @property
    def tokens(self) -> TextTokens:
        """That of the encoder within."""
        return self.encoder.tokens

    @property
    def fingerprint(self) -> str:
        """16 hex digits of every weight, the codes among them, and of the encoder within."""
        own = (repr(self.sharpness).encode(), self.encoder.fingerprint.encode())
        return self._frozen_fingerprint or fingerprint_of(self, own)

    def describe(self) -> dict[str, Any]:
        """Plain data for lists and cards, by the names that a sentence encoder uses."""
        own = {"name": self.name, "kind": "poly", "base": self.base}
        return {**self.encoder.describe(), **own, "parameters": self.encoder.parameters_count + self.codes.numel()}

    # -- learning --------------------------------------------------------------------------------------------------

    def draw(self, seed: int) -> None:
        """New codes, as many as there are, as wide as a token's vector."""
        count, width = len(self.codes), self.encoder.hidden_size
        drawn = torch.randn(count, width, generator=torch.Generator().manual_seed(seed)) / width**0.5
        self.codes = nn.Parameter(drawn.to(self.encoder.device))

    def training_rows(self, examples: Examples) -> TextRows:
        """Each distinct text of ``examples``, tokenised once: the first as a query, the others as documents."""
        rows = TextRows.read(examples, self.encoder, column_roles("positive_pairs", len(examples.texts)))
        if not self.adapted:
            train_table(self.encoder, rows.tokens.flat)
        return rows

    def limit(self, max_length: int | None) -> None:
        """Read ``max_length`` tokens from now on, or as many as the encoder can if that is fewer (or None)."""
        self.encoder.limit(max_length)

    def reshape(self, *, pooling: str = "", projection: int = 0, activation: str = "gelu", seed: int = 12) -> None:
        """Pool candidates, and project both sides, otherwise from now on."""
        self.encoder.reshape(pooling=pooling, projection=projection, activation=activation, seed=seed)
        self._require_one_pooling()

    def read_in_order(self, network: str, hidden: int, *, bidirectional: bool = False, seed: int = 12) -> None:
        """Read a table's words by a new recurrent network, over whose states new codes attend."""
        self.encoder.read_in_order(network, hidden, bidirectional=bidirectional, seed=seed)
        self.draw(seed)

    @property
    def tables(self) -> Sequence[str]:
        """Those of the encoder within."""
        return [f"encoder.{name}" for name in self.encoder.tables]

    def learn_words(self) -> None:
        """Let the vectors of words learn with the rest."""
        self.encoder.learn_words()

    def configure_head(self, scores: int, *, squeezed: bool, classes: Sequence[str]) -> None:
        """Nothing: the score is what the vectors say."""

    def adapt(self, settings: LoraSettings) -> None:
        """Put an adapter into the encoder's backbone; the codes learn in full."""
        self.encoder.adapt(settings)

    def merge_adapter(self) -> None:
        """Add the adapter to the weights beside it."""
        self.encoder.merge_adapter()

    def write_beside_adapter(self, folder: Path) -> None:
        """What follows the backbone, and the codes."""
        self.encoder.write_beside_adapter(folder)
        write_codes(self, folder)

    def _require_one_pooling(self) -> None:
        if len(self.encoder.pooling.modes) > 1:
            raise StudioError(
                f"the model pools by {self.encoder.pooling.mode}, and the vectors of its tokens are narrower than that of a text",
                "choose one pooling, such as pooling=mean",
            )

    # -- texts → vectors → scores ----------------------------------------------------------------------------------

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Rows (b, (m + 1) · d) float32: each text as a query, in m unit vectors, then as a candidate, in one."""
        vectors, counts = self.encoder.token_vectors(batch)
        own = self.encoder.finished(self.encoder.pooling(vectors, counts, batch.get("skip")))
        found = self.encoder.finished(self.attend(vectors, counts))
        return functional.normalize(torch.cat([found, own[:, None]], dim=1), dim=-1).flatten(1)

    def attend(self, vectors: Tensor, counts: Tensor | None) -> Tensor:
        """What each code finds in the token vectors (b, t, width), each of which counts (b, t): (b, m, width) float32.

        Where no token counts, as in a text without a known word, all is 0.
        """
        vectors = vectors.float()
        with torch.autocast(vectors.device.type, enabled=False):
            logits = vectors @ self.codes.T
            if counts is None:
                return logits.softmax(dim=1).transpose(1, 2) @ vectors
            weight = counts[..., None].float()
            smallest = torch.finfo(torch.float32).tiny
            # softmax(logit + log weight): a weight of 2 is a token that stands there twice.
            masked = (logits + weight.clamp_min(smallest).log()).masked_fill(weight <= 0, torch.finfo(torch.float32).min)
            return (masked.softmax(dim=1) * (weight > 0)).transpose(1, 2) @ vectors

    def predict(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None, should_stop: ShouldStop | None = None
    ) -> np.ndarray:
        """Scores of ``pairs``, the first text the query, in their order: (n,) float32 in -1..1.

        Each distinct query and each distinct candidate is read once.

        Raises:
            EncodingStoppedError: ``should_stop`` returned true.
        """
        queries, of_query = unique_texts([a for a, _ in pairs])
        texts, of_candidate = unique_texts([b for _, b in pairs])
        total = len(queries) + len(texts)
        candidates = self.candidates.encode(texts, progress=progress and (lambda done, _: progress(done, total)), should_stop=should_stop)
        scores = np.empty(len(pairs), np.float32)
        order = np.argsort(of_query, kind="stable")
        starts = np.searchsorted(of_query[order], np.arange(len(queries) + 1))
        done = len(texts)
        with self._judging():
            for batch, vectors in self._queries(queries, should_stop):
                mine = np.concatenate([order[starts[query] : starts[query + 1]] for query in batch])
                place = np.repeat(np.arange(len(batch)), starts[batch + 1] - starts[batch])
                for begin in range(0, len(mine), _PAIRS):
                    part, at = mine[begin : begin + _PAIRS], torch.from_numpy(place[begin : begin + _PAIRS])
                    found = attended(vectors[at.to(vectors.device)], self._unit(candidates[of_candidate[part]]), self.sharpness)
                    scores[part] = found.cpu().numpy()
                done += len(batch)
                if progress:
                    progress(done, total)
        return scores

    def against(self, queries: Sequence[str], candidates: np.ndarray) -> np.ndarray:
        """Scores (q, c) float32 in -1..1 of every query with every candidate, these as vectors (c, d) of :attr:`candidates`.

        Only the queries are read.
        """
        distinct, inverse = unique_texts(queries)
        scores = np.empty((len(distinct), len(candidates)), np.float32)
        with self._judging():
            for batch, vectors in self._queries(distinct):
                size = max(1, _BLOCK // (len(batch) * len(self.codes)))
                for start in range(0, len(candidates), size):
                    checkpoint()
                    block = attended_all(vectors, self._unit(candidates[start : start + size]), self.sharpness)
                    scores[batch, start : start + size] = block.cpu().numpy()
        return np.asarray(scores[inverse])

    def _queries(self, texts: list[str], should_stop: ShouldStop | None = None) -> Iterator[tuple[np.ndarray, Tensor]]:
        """The rows of each batch of distinct queries, and their vectors (b, m, d)."""
        for batch, inputs in batches_of(self.encoder.for_role("query"), texts, should_stop):
            yield batch, self(inputs).view(len(batch), len(self.codes) + 1, -1)[:, :-1]

    @contextlib.contextmanager
    def _judging(self) -> Iterator[None]:
        """Without gradient, and without dropout even of a model in training."""
        training = self.training
        if training:
            self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            if training:
                self.train()

    def _unit(self, vectors: np.ndarray) -> Tensor:
        return functional.normalize(self.encoder.moved(np.ascontiguousarray(vectors)), dim=-1)

    # -- on disk ---------------------------------------------------------------------------------------------------

    def freeze(self, *, packed: bool = False) -> PolyEncoder:
        """Make this one for inference only, and return it; it can no longer be saved or trained.

        Args:
            packed: lay the weights out as the processor's fastest products read them, where the family can.
        """
        self.requires_grad_(False).eval()
        self._frozen_fingerprint = self.fingerprint
        self.encoder.freeze(packed=packed)
        return self

    def save(self, folder: Path, *, card: str | None = None) -> None:
        """Write the folder; see :func:`sbert_studio.models.poly_encoder.save_poly`."""
        save_poly(self, folder, card)

    def card(self, facts: CardFacts) -> str:
        """The model card; see :func:`sbert_studio.models.poly_encoder.poly_card`."""
        return poly_card(self, facts)


def is_poly_folder(folder: Path) -> bool:
    """Whether a folder holds a poly-encoder; one that lost one of its two files is a damaged one, and no plain encoder."""
    return (folder / SETTINGS_FILE).is_file() or (folder / CODES_FILE).is_file()


def load_poly(folder: Path, name: str = "", device: torch.device | str = "cpu") -> PolyEncoder:
    """Read a poly-encoder's folder, in float32.

    Raises:
        StudioError: files are missing or damaged, or it is the folder of another model.
    """
    return with_codes(load_folder(folder, name, device), folder)


def with_codes(encoder: SentenceEncoder, folder: Path) -> PolyEncoder:
    """``encoder`` with the codes of ``folder``.

    Raises:
        StudioError: the codes are missing or damaged, or do not fit the encoder.
    """
    from safetensors.torch import load_file

    if not is_poly_folder(folder):
        raise StudioError(f"the model {encoder.name!r} is no poly-encoder: it has no codes", "choose a poly-encoder")
    settings = read_json(folder / SETTINGS_FILE, dict)
    count, sharpness = settings.get("codes"), settings.get("sharpness")
    if not isinstance(count, int) or count < 1 or not isinstance(sharpness, int | float) or not 0 < sharpness < math.inf:
        raise StudioError(f"the model's file {folder.name}/{SETTINGS_FILE} is damaged", "copy the folder again")
    if not (folder / CODES_FILE).is_file():
        raise StudioError(f"the model lacks its file {folder.name}/{CODES_FILE}", "copy the whole folder")
    if why := cut_short(folder / CODES_FILE):
        raise StudioError(f"the model's file {folder.name}/{CODES_FILE} is cut short or damaged ({why})", "copy the folder again")
    codes = load_file(folder / CODES_FILE).get("codes")
    sizes = (count, encoder.hidden_size)
    if codes is None or codes.shape != sizes or not codes.is_floating_point() or not torch.isfinite(codes).all():
        raise StudioError(
            f"the codes in {folder.name}/{CODES_FILE} are not {count} vectors of {encoder.hidden_size} numbers", "copy the folder again"
        )
    poly = PolyEncoder(encoder, count, sharpness=float(sharpness))
    with torch.no_grad():
        poly.codes.copy_(codes)
    return poly


def new_poly(encoder: SentenceEncoder, folder: Path, *, codes: int, seed: int) -> PolyEncoder:
    """A poly-encoder to be trained over ``encoder``, which was read from ``folder``, with new codes drawn from ``seed``.

    Where the folder is that of a poly-encoder with as many codes, these are kept: the training goes on.

    Raises:
        StudioError: what the folder holds of codes is damaged; or the encoder pools in several ways at once.
    """
    if is_poly_folder(folder):
        earlier = with_codes(encoder, folder)
        if len(earlier.codes) == codes:
            return earlier
    return PolyEncoder(encoder, codes, seed=seed)
