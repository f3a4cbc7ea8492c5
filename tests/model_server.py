"""A language model on this machine that speaks the chat protocol of OpenAI and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from servers import QuietHandler, served


@dataclass
class Reply:
    """A response of the server.

    Attributes:
        text: the answer of the model; ``None`` for none.
        body: sent instead of a chat completion.
        seconds: waited before each of the ``pieces`` parts of the body.
        drop: end the connection without a response.
        usage: the billed tokens that the response reports.
    """

    text: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    refusal: str | None = None
    finish_reason: str = "stop"
    seconds: float = 0.0
    pieces: int = 1
    drop: bool = False
    usage: dict[str, int] | None = None

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}]}
        return json.dumps(answer if self.usage is None else answer | {"usage": self.usage}).encode()


@dataclass
class ModelServer:
    """The requests that the server received, with their paths and headers, and how it answers the text of a prompt."""

    answer: Callable[[str], Reply]
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.asked]


@contextmanager
def serve_model(answer: Callable[[str], Reply]) -> Iterator[ModelServer]:
    """Serve a model on the loopback interface; ``answer`` gets the last message of each request."""
    model, lock, closing = ModelServer(answer), threading.Lock(), threading.Event()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                model.asked.append(request)
                model.paths.append(self.path)
                model.headers.append({name.lower(): value for name, value in self.headers.items()})
                reply = model.answer(request["messages"][-1]["content"])
            if reply.drop:
                self.close_connection = True
                return
            content = reply.content()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            step = -(-len(content) // reply.pieces) or 1
            for start in range(0, len(content), step):
                closing.wait(reply.seconds)
                try:
                    self.wfile.write(content[start : start + step])
                    self.wfile.flush()
                except OSError:
                    return

    with served(Handler) as url:
        model.url = f"{url}/v1"
        try:
            yield model
        finally:
            closing.set()
