"""Servers on the loopback interface: any handler, and a reverse proxy that serves another server below a path, as nginx does."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_NOT_PASSED_ON = {"host", "connection", "transfer-encoding", "content-length", "keep-alive"}


class QuietHandler(BaseHTTPRequestHandler):
    """A handler without a log."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with a handler; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def proxied(path: str) -> Iterator[tuple[str, list[str]]]:
    """Serve below ``path``; yield the public address, and a list to which the address of the server behind is to be added."""
    behind: list[str] = []

    class Proxy(QuietHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            if not self.path.startswith(path):
                self.send_error(404)
                return
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            forwarded = ", ".join(filter(None, (self.headers.get("X-Forwarded-For"), self.client_address[0])))
            headers |= {"Host": self.headers["Host"], "X-Forwarded-For": forwarded, "X-Forwarded-Proto": "http"}
            server = http.client.HTTPConnection(urlsplit(behind[0]).netloc, timeout=120)
            server.request(self.command, self.path[len(path) :] or "/", self.rfile.read(length) if length else None, headers)
            answer = server.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while part := answer.read1(1 << 16):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # whoever asked has gone
            finally:
                server.close()
                self.close_connection = True

        do_GET = do_POST = do_HEAD = do_DELETE = _pass_on

    with served(Proxy) as url:
        yield f"{url}{path}", behind
