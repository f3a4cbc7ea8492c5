"""The command that opens the page."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated

import typer

from ...errors import StudioError
from ..answers import say


def app(
    host: Annotated[str | None, typer.Option(help="The address to bind.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="The TCP port.", min=0, max=65535, show_default="7860")] = None,
    share: Annotated[bool, typer.Option("--share", help="Ask Gradio for a public address.")] = False,
) -> None:
    """Open the studio in the browser."""
    closed = threading.Event()
    atexit.register(_leave_at_once, closed)  # before what is imported here registers its own: the first comes last
    from ...settings import Settings
    from ...studio import Studio
    from ...ui.app import launch

    settings = Settings.from_env()
    settings = settings.served(host or settings.host, settings.port if port is None else port, share or settings.share)
    _require_free(settings.host, settings.port)
    say("opening the studio; stop it with Ctrl-C")
    with Studio(settings) as studio, _ending_politely():
        launch(studio, settings.host, settings.port, settings.share)
    closed.set()


def _leave_at_once(closed: threading.Event) -> None:
    """End the process before the interpreter is torn down, once all is closed: a thread that still computes then would abort it."""
    if closed.is_set():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(0)


@contextmanager
def _ending_politely() -> Iterator[None]:
    """Take a request to terminate as Ctrl-C: the page closes, and a training keeps its checkpoint."""

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)  # it is under way; a second one would tear it
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, before)


def _require_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on before the page is built.

    Raises:
        StudioError: something listens there, or it is no address of this machine.
    """
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OverflowError:
        raise StudioError(f"there is no port {port}", "choose one from 1 to 65535, or 0 for a free one") from None
    except OSError as error:
        raise StudioError(f"{host} port {port} cannot be used: {error.strerror}", "choose another --port or --host") from error


COMMANDS = (app,)
