"""Models of the server: which prompt a text gets, how its tokens are counted, and how vectors and scores are computed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StudioError
from ..models.base import PairScorer, require_finite_vectors
from ..models.cross_encoder import CrossEncoder
from ..models.inference.machine import token_budget
from ..models.poly_encoder import PolyEncoder
from ..models.prompts import SearchSettings
from ..models.similarity import similarity, unit
from .batcher import Batcher

if TYPE_CHECKING:
    from ..models.base import Encoder
    from ..models.catalog import Catalog
    from ..models.prompts import Role

INPUT_TYPES: Mapping[str, Role] = {
    "query": "query", "document": "document", "similarity": "symmetric",
    "search_query": "query", "search_document": "document", "passage": "document",
    "classification": "symmetric", "clustering": "symmetric",
}  # fmt: skip
"""Roles by the values of ``input_type``: those of Voyage, and of Cohere and NVIDIA."""

Check = Callable[[int, Sequence[int]], None]
"""Checks the number of tokens of a request and the indices of its truncated texts."""

_ROUND = 4  # inference batches per round of the queue: enough to sort texts by length, few enough to start the next request soon
_MAX_INLINE = 4_000  # characters tokenized in the event loop, which takes less time than another thread
_PROBE = "A kitten naps on the warm stones of the yard."


@dataclass(frozen=True)
class ServerOptions:
    """What is served, and how.

    Attributes:
        model: name of an encoder, cross-encoder or poly-encoder.
        name: id that clients use for it; empty for its own name.
        reranker: name of a cross-encoder or poly-encoder; empty for none besides ``model``.
        precision: precision of an encoder's weights.
        input_type: key of :data:`INPUT_TYPES` for requests without one; empty for none.
        prompts: prompts other than the model's own.
    """

    model: str
    name: str = ""
    reranker: str = ""
    precision: str = "float32"
    input_type: str = ""
    prompts: SearchSettings = field(default_factory=SearchSettings)


@dataclass(frozen=True)
class ServerResult:
    """Vectors (n, dim) or scores (n,) float32, with the number of tokens read and the indices of truncated texts."""

    values: np.ndarray
    tokens: int
    truncated: Sequence[int]
    model: str
    method: str = ""


class UnknownModelError(StudioError):
    """A request names a model that is not served."""


class RequestError(StudioError):
    """A field of a request is invalid.

    Args:
        param: name of the field.
    """

    def __init__(self, message: str, hint: str = "", param: str = "") -> None:
        super().__init__(message, hint)
        self.param = param


class ServedEncoder:
    """An encoder with its prompts.

    A model with different prompts for queries and documents has two more ids, ``NAME:query`` and ``NAME:document``, for clients that cannot
    send ``input_type``. A request that names neither is refused, because its vectors would silently lack the prompt.
    """

    def __init__(self, encoder: Encoder, name: str, prompts: SearchSettings, default: str = "") -> None:
        if encoder.tokens is None:
            raise StudioError(f"{name} cannot be served, because its tokens cannot be counted", "choose another model")
        self.name, self.default = name, default
        roles: tuple[Role, ...] = ("query", "document", "symmetric")
        self.views = {role: prompts.apply(encoder, role) for role in roles}
        self.prompts = {role: view.tokens.prompt if view.tokens else "" for role, view in self.views.items()}
        self.has_roles = self.prompts["query"] != self.prompts["document"]

    @property
    def dim(self) -> int:
        return self.views["document"].dim

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the model, its own first; those of the roles are listed only if they differ."""
        return (self.name, *self.role_ids) if self.has_roles else (self.name,)

    @property
    def role_ids(self) -> tuple[str, str]:
        """Ids for queries and documents, which every model accepts, so that clients need not know which models have prompts."""
        return f"{self.name}:query", f"{self.name}:document"

    def view(self, model: str, input_type: str | None) -> Encoder:
        """Return the encoder with the prompt that a request for the id ``model`` chooses."""
        suffix = model.removeprefix(self.name).removeprefix(":")
        if input_type is not None and input_type not in INPUT_TYPES:
            raise RequestError(f"there is no input_type {input_type!r}", f"choose one of {', '.join(INPUT_TYPES)}", "input_type")
        if suffix and input_type and INPUT_TYPES[input_type] != suffix:
            raise RequestError(f"the model {model} contradicts input_type {input_type}", "omit one of them", "input_type")
        chosen = suffix or input_type or self.default
        if not chosen and self.has_roles:
            raise RequestError(
                f"{self.name} has different prompts for queries and documents, and this request does not say which its texts are",
                f"send input_type query, document or similarity, or use the model {' or '.join(self.role_ids)};"
                " the option --input-type of the server sets a default",
                "input_type",
            )
        return self.views[INPUT_TYPES[chosen or "document"]]

    def describe_prompts(self) -> str:
        """Return a sentence about the prompts in use."""
        query, document = (repr(self.prompts[role]) if self.prompts[role] else "none" for role in ("query", "document"))
        if not self.has_roles:
            return f"prompt of every text: {query}"
        unnamed = f"requests without either get that of {self.default}" if self.default else "requests without either are refused"
        return (
            f"prompts: {query} before queries, {document} before documents; clients choose by input_type (query or document) or by the"
            f" models {' and '.join(self.role_ids)}; {unnamed}"
        )

    def describe(self) -> dict[str, Any]:
        """Return the entry of ``/v1/models``, without id."""
        encoder, default = self.views["document"], self.default or ("" if self.has_roles else "document")
        return {
            "type": "embedding",
            "dimensions": self.dim,
            "max_input_tokens": encoder.max_length,
            "normalized": encoder.normalizes,
            "similarity": encoder.similarity_name,
            "prompts": {"query": self.prompts["query"], "document": self.prompts["document"], "similarity": self.prompts["symmetric"]},
            "default_input_type": default or None,
        }


class ServerEngine:
    """Loads the models of a server and computes requests in batches.

    Args:
        catalog: loads models by name.
        observe: see :class:`~sbert_studio.server.batcher.Batcher`.

    Attributes:
        models: properties of each model by id, for ``/v1/models``.

    Raises:
        StudioError: a model cannot be loaded or cannot be served.
    """

    def __init__(self, catalog: Catalog, options: ServerOptions, observe: Callable[[int, int, float], None] = lambda *_: None) -> None:
        if options.input_type and options.input_type not in INPUT_TYPES:
            raise StudioError(f"there is no input type {options.input_type!r}", f"choose one of {', '.join(INPUT_TYPES)}")
        self.device = catalog.device
        self.encoder: ServedEncoder | None = None
        self.rerankers: dict[str, PairScorer] = {}
        name = options.name or _public_name(catalog, options.model)
        if catalog.is_cross_encoder(options.model) or catalog.is_poly_encoder(options.model):
            if (options.precision, options.input_type, options.prompts) != ("float32", "", SearchSettings()):
                raise StudioError(
                    f"{name} scores pairs of texts and has no embeddings", "omit the precision, the input type and the prompts"
                )
            self.rerankers[name] = _require_single_score(catalog.load_scorer(options.model), name)
        else:
            encoder = catalog.load(options.model, options.precision)
            self.encoder = ServedEncoder(encoder, name, options.prompts, options.input_type)
        if options.reranker:
            name = _public_name(catalog, options.reranker)
            self.rerankers[name] = _require_single_score(catalog.load_scorer(options.reranker), name)
        self.models = self._list_models()
        self.batcher = Batcher(_ROUND * token_budget(catalog.device)[0], observe)

    def warm_up(self) -> None:
        """Compute a text with each model.

        Raises:
            StudioError: the result is not finite.
        """
        if self.encoder is not None:
            for view in self.encoder.views.values():
                require_finite_vectors(view.encode([_PROBE]))
        for scorer in self.rerankers.values():
            require_finite_vectors(scorer.predict([(_PROBE, _PROBE)]))

    def _list_models(self) -> dict[str, dict[str, Any]]:
        found = {id: self.encoder.describe() for id in self.encoder.ids} if self.encoder else {}
        for name, scorer in self.rerankers.items():
            found[name] = {"type": "reranker", "method": _method(scorer), "max_input_tokens": _max_length(scorer)}
        return found

    async def embed(
        self,
        texts: Sequence[str],
        model: str,
        input_type: str | None = None,
        dimensions: int | None = None,
        *,
        check: Check = lambda *_: None,
    ) -> ServerResult:
        """Return the vectors of ``texts``, as ``Encoder.encode`` does; fewer ``dimensions`` are scaled to unit length again.

        Args:
            check: called before the request is queued; may raise an exception.

        Raises:
            UnknownModelError: ``model`` is not an id of :attr:`models`.
            RequestError: the model has no vectors, or another field is invalid.
        """
        self.require_model(model)
        if self.encoder is None or model not in (self.encoder.name, *self.encoder.role_ids):
            hint = f"send it to /v1/rerank; embeddings come from {self.encoder.name}" if self.encoder else "send it to /v1/rerank"
            raise RequestError(f"{model} scores pairs of texts and has no embeddings", hint, "model")
        view = self.encoder.view(model, input_type)
        if dimensions is not None and not 1 <= dimensions <= view.dim:
            raise RequestError(
                f"dimensions is {dimensions}, and vectors of {self.encoder.name} have {view.dim}", "choose fewer", "dimensions"
            )
        sizes, truncated = await _in_thread(texts, lambda: _count_tokens(view, texts))
        check(sum(sizes), truncated)
        vectors = require_finite_vectors(await self._compute(view.encode, texts, sizes))
        if dimensions is not None and dimensions < view.dim:
            vectors = np.ascontiguousarray(vectors[:, :dimensions])
            vectors = unit(vectors) if view.normalizes else vectors
        return ServerResult(vectors, sum(sizes), truncated, model)

    async def rerank(self, query: str, documents: Sequence[str], model: str, *, check: Check = lambda *_: None) -> ServerResult:
        """Return the relevance of each document to ``query``: a score of a re-ranker, or a similarity of an encoder's vectors.

        Raises:
            UnknownModelError: ``model`` is not an id of :attr:`models`.
        """
        self.require_model(model)
        if self.encoder is not None and model in self.encoder.role_ids:
            raise RequestError(f"{model} is for embeddings only", f"send {self.encoder.name}", "model")
        if (scorer := self.rerankers.get(model)) is not None:
            sizes, truncated = await _in_thread((query, *documents), lambda: _count_pairs(scorer, query, documents))
            check(sum(sizes), truncated)
            scores = await self._compute(scorer.predict, [(query, document) for document in documents], sizes)
            return ServerResult(require_finite_vectors(scores), sum(sizes), truncated, model, _method(scorer))
        assert self.encoder is not None
        views = self.encoder.views
        (query_size,), _ = _count_tokens(views["query"], [query])
        sizes, truncated = await _in_thread(documents, lambda: _count_tokens(views["document"], documents))
        check(query_size + sum(sizes), truncated)
        left, right = await asyncio.gather(
            self._compute(views["query"].encode, [query], [query_size]), self._compute(views["document"].encode, documents, sizes)
        )
        method = views["document"].similarity_name
        scores = similarity(require_finite_vectors(left), require_finite_vectors(right), method)[0].astype(np.float32)
        return ServerResult(scores, query_size + sum(sizes), truncated, model, f"{method} similarity of embeddings")

    async def _compute(self, compute: Callable[..., np.ndarray], items: Sequence[Any], sizes: Sequence[int]) -> np.ndarray:
        return await asyncio.wrap_future(self.batcher.submit(compute, items, sizes))

    def require_model(self, model: str) -> None:
        if model not in self.models and not (self.encoder and model in self.encoder.role_ids):
            raise UnknownModelError(f"there is no model {model!r}", f"this server has {', '.join(self.models)}")


async def _in_thread(texts: Sequence[str], count: Callable[[], tuple[list[int], list[int]]]) -> tuple[list[int], list[int]]:
    """Count tokens without blocking other requests if the texts are long."""
    return count() if sum(map(len, texts)) <= _MAX_INLINE else await asyncio.to_thread(count)


def _count_tokens(encoder: Encoder, texts: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the number of tokens that the encoder reads of each text, and the indices of texts that it truncates."""
    assert encoder.tokens is not None
    sizes = [len(row) for row in encoder.tokens.ids(texts)]
    full = [index for index, size in enumerate(sizes) if size >= encoder.max_length]
    whole = encoder.tokens.count_tokens([texts[index] for index in full]) if full else []
    return sizes, [index for index, size in zip(full, whole, strict=True) if size > encoder.max_length]


def _count_pairs(scorer: PairScorer, query: str, documents: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the number of tokens of each pair, and the indices of documents that fill the maximum length and may be truncated."""
    if isinstance(scorer, CrossEncoder):
        sizes = [len(ids) for ids, _ in scorer.tokenize([(query, document) for document in documents])]
        return sizes, [index for index, size in enumerate(sizes) if size >= scorer.max_length]
    assert scorer.candidate_encoder is not None
    return _count_tokens(scorer.candidate_encoder, documents)


def _public_name(catalog: Catalog, name: str) -> str:
    """Return the name of a model for clients: without the path of a folder."""
    return Path(name).expanduser().resolve().name if catalog.resolve(name).kind == "folder" else catalog.resolve(name).name


def _require_single_score(scorer: CrossEncoder | PolyEncoder, name: str) -> CrossEncoder | PolyEncoder:
    if scorer.labels != 1:
        raise StudioError(f"{name} returns {scorer.labels} classes and cannot rank documents", "choose a cross-encoder with one score")
    return scorer


def _method(scorer: PairScorer) -> str:
    return "cross-encoder" if isinstance(scorer, CrossEncoder) else "poly-encoder"


def _max_length(scorer: PairScorer) -> int:
    length = scorer.max_length if isinstance(scorer, CrossEncoder) else scorer.candidate_encoder and scorer.candidate_encoder.max_length
    return int(length or 0)
