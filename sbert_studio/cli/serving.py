"""The command that opens the page."""

from __future__ import annotations

from typing import Annotated

import typer

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
    say("opening the studio; stop it with Ctrl-C")
    with Studio(settings) as studio:
        launch(studio, settings.host, settings.port, settings.share)


COMMANDS = (app,)
