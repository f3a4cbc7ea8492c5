"""Routes of the server in the shapes of OpenAI (embeddings, models) and of Jina and Cohere (re-ranking), and its lifetime."""

from __future__ import annotations

import base64
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import orjson
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import StudioError, to_valid_utf8
from .engine import RequestError, ServerEngine, ServerResult
from .gate import Gate, Metrics, ServerLimits, error_response, to_response

_STOP_SECONDS = 6.0  # for requests that wait when the server is asked to stop; the process ends two seconds later at the latest
_POLL_SECONDS = 0.02
_KEEP_ALIVE = 75  # seconds an idle connection stays open: longer than clients and proxies keep theirs, so that they close first


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 selects a free one.

    Raises:
        OSError: the address cannot be used.
    """
    # asyncio sends small packets at once (TCP_NODELAY) only if the protocol is given; otherwise most responses take 40 ms longer.
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


class _Request(BaseModel):
    # An unknown field, such as another server's name for the prompt, would be lost without a word.
    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, Field(description="An id of /v1/models.")]
    truncation: Annotated[bool, Field(description="Truncate texts that are longer than the model reads; false refuses them.")] = True
    user: Annotated[str | None, Field(description="Ignored.")] = None


class EmbeddingRequest(_Request):
    """Body of ``/v1/embeddings``."""

    input: Annotated[str | list[str], Field(description="A text, or several.")]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int | None, Field(description="Truncate vectors, and scale them to unit length again.")] = None
    input_type: Annotated[str | None, Field(description="query, document or similarity: chooses the model's prompt.")] = None


class _RerankDocument(BaseModel):
    text: str


class RerankRequest(_Request):
    """Body of ``/v1/rerank``."""

    query: str
    documents: list[str | _RerankDocument]
    top_n: Annotated[int | None, Field(ge=1, description="Number of results; all by default.")] = None
    return_documents: Annotated[bool, Field(description="Return the texts of the documents.")] = False


class Server:
    """Application, gate and engine of one server.

    Args:
        create_engine: returns the engine, given a function that observes batches.
        keys: accepted API keys; empty to accept every request.
    """

    def __init__(
        self, create_engine: Callable[[Callable[[int, int, float], None]], ServerEngine], limits: ServerLimits, keys: Sequence[str] = ()
    ) -> None:
        self.limits, self.metrics = limits, Metrics()
        self.engine = create_engine(self.metrics.observe_batch)
        self._created = int(time.time())
        self.gate = Gate(self._routes(), limits, keys, self.metrics, self.engine.batcher.seconds_left)

    def serve(self, listener: socket.socket, ready: Callable[[], None], wait: Callable[[], None]) -> None:
        """Serve until ``wait`` returns, then refuse new requests and finish those that were accepted.

        Args:
            listener: bound socket.
            ready: called once the server responds.
        """
        config = uvicorn.Config(
            self.gate, log_config=None, access_log=False, lifespan="off", ws="none", server_header=False,
            timeout_keep_alive=_KEEP_ALIVE, timeout_graceful_shutdown=1,
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="server", daemon=True)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(_POLL_SECONDS)
            ready()
            wait()
            self.gate.stopping = True
            deadline = time.monotonic() + _STOP_SECONDS
            while self.gate.active and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        finally:
            self.engine.batcher.close()
            server.should_exit = True
            thread.join()

    def _routes(self) -> FastAPI:
        app = FastAPI(title="SBERT Studio", docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json")
        app.add_api_route("/v1/embeddings", self._embeddings, methods=["POST"], response_class=Response)
        app.add_api_route("/v1/rerank", self._rerank, methods=["POST"], response_class=Response)
        app.add_api_route("/v1/models", self._models, methods=["GET"], response_class=Response)
        app.add_api_route("/v1/models/{id:path}", self._model, methods=["GET"], response_class=Response)
        app.add_api_route("/health", self._health, methods=["GET"], response_class=Response)
        app.add_api_route("/metrics", self._metrics, methods=["GET"], response_class=Response)
        app.add_exception_handler(RequestValidationError, _invalid_body)
        app.add_exception_handler(HTTPException, _http_error)
        for kind in (StudioError, Exception):
            app.add_exception_handler(kind, _failed)
        return app

    async def _embeddings(self, request: EmbeddingRequest) -> Response:
        texts = [request.input] if isinstance(request.input, str) else request.input
        self._require_inputs(texts, "input")
        found = await self.engine.embed(texts, request.model, request.input_type, request.dimensions, check=self._check(request, "input"))
        rows: Any = found.values
        if request.encoding_format == "base64":
            rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in found.values]
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        return _json({"object": "list", "data": data, **_usage(found)})

    async def _rerank(self, request: RerankRequest) -> Response:
        texts = [document if isinstance(document, str) else document.text for document in request.documents]
        self._require_inputs(texts, "documents")
        if not request.query:
            raise RequestError("the query is empty", "send a text", "query")
        found = await self.engine.rerank(request.query, texts, request.model, check=self._check(request, "documents"))
        order = (-found.values).argsort(kind="stable")[: request.top_n]
        results: list[dict[str, Any]] = [{"index": int(index), "relevance_score": float(found.values[index])} for index in order]
        if request.return_documents:
            for result in results:
                result["document"] = {"text": to_valid_utf8(texts[result["index"]])}
        return _json({"results": results, "method": found.method, **_usage(found)})

    async def _models(self) -> Response:
        return _json({"object": "list", "data": [self._describe(id) for id in self.engine.models]})

    async def _model(self, id: str) -> Response:
        self.engine.require_model(id)
        return _json(self._describe(id))

    async def _health(self) -> Response:
        waiting, _ = self.engine.batcher.waiting
        return _json({"status": "stopping" if self.gate.stopping else "ok", "waiting": waiting}, 503 if self.gate.stopping else 200)

    async def _metrics(self) -> Response:
        waiting, tokens = self.engine.batcher.waiting
        gauges = {"active_requests": self.gate.active, "waiting_requests": waiting, "waiting_tokens": tokens}
        return Response(self.metrics.render(**gauges), media_type="text/plain; version=0.0.4")

    def _describe(self, id: str) -> dict[str, Any]:
        models, encoder = self.engine.models, self.engine.encoder
        name = id if encoder is None or id in models else encoder.name  # the id of a role that is not listed
        return {"id": id, "object": "model", "created": self._created, "owned_by": "sbert-studio", **models[name]}

    def _require_inputs(self, texts: Sequence[str], param: str) -> None:
        if not texts:
            raise RequestError(f"{param} is empty", "send at least one text", param)
        if len(texts) > self.limits.inputs:
            raise RequestError(f"{param} has {len(texts):,} texts, and the limit is {self.limits.inputs:,}", "send several requests", param)
        empty = next((index for index, text in enumerate(texts) if not text), None)
        if empty is not None:
            raise RequestError(f"{param}[{empty}] is an empty text", "leave it out", param)

    def _check(self, request: _Request, param: str) -> Callable[[int, Sequence[int]], None]:
        """Return a function that checks the number of tokens and the indices of truncated texts before the request is queued."""

        def check(tokens: int, truncated: Sequence[int]) -> None:
            if tokens > self.limits.tokens:
                raise RequestError(
                    f"{param} has {tokens:,} tokens, and the limit is {self.limits.tokens:,}", "send several requests", param
                )
            if truncated and not request.truncation:
                shown = ", ".join(f"{param}[{index}]" for index in truncated[:10])
                raise RequestError(f"too long for the model: {shown}", "shorten the texts, or omit truncation", param)

        return check


def _usage(result: ServerResult) -> dict[str, Any]:
    usage = {"prompt_tokens": result.tokens, "total_tokens": result.tokens}
    return {"model": result.model, "usage": usage, **({"truncated": result.truncated} if result.truncated else {})}


def _json(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), status, media_type="application/json")


async def _invalid_body(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = [part for part in first["loc"] if part != "body"]
    param = str(place[0]) if place and first["type"] != "json_invalid" else None
    if first["type"] == "extra_forbidden":
        hint = "the prompt is chosen by input_type" if param in ("task", "prompt", "prompt_name", "instruction") else "omit it"
        return error_response(400, f"there is no field {param!r}: {hint}", param=param, code="unknown_parameter")
    if param == "input" and any(each["type"] == "string_type" and isinstance(each["input"], int | list) for each in error.errors()):
        return error_response(
            400,
            "input is not a text or a list of texts. Token ids are refused, because those of another tokenizer mean other words here:"
            " send texts (LangChain: check_embedding_ctx_length=False)",
            param=param,
            code="invalid_type",
        )
    where = ".".join(str(part) for part in place) if param else "the body"
    return error_response(400, f"{where}: {first['msg']}", param=param, code="invalid_value")


async def _failed(_: Request, error: Exception) -> Response:
    return to_response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return error_response(404, f"there is no {request.url.path} here: see /v1/openapi.json", code="unknown_url")
    return error_response(error.status_code, str(error.detail))
