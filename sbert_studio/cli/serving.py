"""The command that opens the page."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from ..errors import StudioError
from .answers import say


def app(
    host: Annotated[str | None, typer.Option(help="The address to bind.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="The TCP port.", min=0, max=65535, show_default="7860")] = None,
    share: Annotated[bool, typer.Option("--share", help="Ask Gradio for a public address.")] = False,
) -> None:
    """Open the studio in the browser."""
    from dataclasses import replace

    from ..settings import Settings
    from ..studio import Studio
    from ..ui.app import launch

    settings = Settings.from_env()
    settings = replace(settings, host=host or settings.host, port=settings.port if port is None else port, share=share or settings.share)
    _require_free(settings.host, settings.port)
    say("opening the studio; stop it with Ctrl-C")
    with Studio(settings) as studio:
        launch(studio, settings.host, settings.port, settings.share)


def _require_free(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on before the page is built.

    Raises:
        StudioError: something listens there, or it is no address of this machine.
    """
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise StudioError(f"{host} port {port} cannot be used: {error.strerror}", "choose another --port or --host") from error


COMMANDS = (app,)
