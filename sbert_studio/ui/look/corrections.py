"""Corrections to the scripts of Gradio's page, which are served in the place of the installed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from starlette.responses import Response
from starlette.routing import Route


@dataclass(frozen=True)
class Correction:
    """What stands once in the script whose name begins with ``script``, and what has to stand there."""

    script: str
    wrong: str
    right: str


CORRECTIONS = (
    # When an event ends, the page marks its inputs as those of a stream that was closed, whether or not it was a stream. From then on it
    # tells each of them, some thirty after a few clicks, about every step of every event, and searches the whole page for each: a third
    # of the page's processor time. As it is corrected, only an event that streams closes a stream.
    Correction(
        "Blocks-",
        "s.stage===`complete`){n=`closed`,",
        "s.stage===`complete`){r.connection_type===`stream`&&(n=`closed`),",
    ),
    # To open the page, it goes through all events for each component: 15% of the time. As it is corrected, it goes through them once.
    Correction(
        "core-",
        "let n=t.filter(t=>t.targets.find(([t])=>t===e.id))"
        ".map(t=>{let n=t.targets.find(([t])=>t===e.id);return n?n[1]:null}).filter(Boolean);",
        "if(this.ofEvents!==t){this.ofEvents=t,this.names=new Map;for(let{targets:e}of t){let t=new Set;for(let[n,r]of e)"
        "t.has(n)||(t.add(n),r&&(this.names.get(n)||this.names.set(n,[]).get(n)).push(r))}}let n=this.names.get(e.id)||[];",
    ),
)
_KEEP = {"cache-control": "max-age=3600"}  # seconds; a newer release of the studio may correct more under the same name


def corrected_scripts() -> Iterator[tuple[str, str]]:
    """The names and texts of scripts that differ from the installed ones; none where another release of Gradio has other texts."""
    for script in files("gradio").joinpath("templates", "frontend", "assets").iterdir():
        wanted = [one for one in CORRECTIONS if script.name.startswith(one.script) and script.name.endswith(".js")]
        if wanted:
            text = found = script.read_text(encoding="utf-8")
            for one in wanted:
                if text.count(one.wrong) == 1:
                    text = text.replace(one.wrong, one.right)
            if text != found:
                yield script.name, text


def routes() -> list[Route]:
    """What to answer in the place of Gradio, for ``app_kwargs``."""

    def route(name: str, text: str) -> Route:
        return Route(f"/assets/{name}", lambda _request: Response(text, media_type="text/javascript", headers=_KEEP))

    return [route(name, text) for name, text in corrected_scripts()]
