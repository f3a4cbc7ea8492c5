"""Corrections to the scripts of Gradio's page, which are served in the place of the installed ones."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from starlette.responses import Response
from starlette.routing import Route

# When an event ends, the page marks its inputs as those of a stream that was closed, whether or not it was a stream. From then on it tells
# each of them, some thirty after a few clicks, about every step of every event, and searches the whole page for each: 45% of the page's
# processor time. As it is corrected, only an event that streams closes a stream.
_WRONG = "s.stage===`complete`){n=`closed`,"
_RIGHT = "s.stage===`complete`){r.connection_type===`stream`&&(n=`closed`),"
_KEEP = {"cache-control": "max-age=3600"}  # seconds; a newer release of the studio may correct more under the same name


def corrected_scripts() -> Iterator[tuple[str, str]]:
    """The names and texts of scripts that differ from the installed ones; none where another release of Gradio has none of the mistakes."""
    for script in files("gradio").joinpath("templates", "frontend", "assets").iterdir():
        if script.name.startswith("Blocks-") and script.name.endswith(".js"):
            text = script.read_text(encoding="utf-8")
            if text.count(_WRONG) == 1:
                yield script.name, text.replace(_WRONG, _RIGHT)


def routes() -> list[Route]:
    """What to answer in the place of Gradio, for ``app_kwargs``."""

    def route(name: str, text: str) -> Route:
        return Route(f"/assets/{name}", lambda _request: Response(text, media_type="text/javascript", headers=_KEEP))

    return [route(name, text) for name, text in corrected_scripts()]
