"""Gradio's page finds a component by walking through all of them, thousands of times a minute: it is served with an index in its place.

Each state of each work (begun, in the queue, ended) is told to all components that works have read or filled so far, and each of these is
looked for from the root of the page, through proxies that watch every step. With six hundred components that was two thirds of all the
processor time of a visitor's browser (measured in Gradio 6.31). A Gradio without the one function that is replaced is served as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gradio as gr

_WALK = re.compile(
    r"function (?P<name>[\w$]+)\((?P<node>\w+),(?P<id>\w+)\)\{if\((?P=node)\.id===(?P=id)\)return (?P=node);"
    r"if\((?P=node)\.children\)for\(let (?P<child>\w+) of (?P=node)\.children\)\{let (?P=node)=(?P=name)\((?P=child),(?P=id)\);"
    r"if\((?P=node)\)return (?P=node)\}return null\}"
)
# What was found is remembered of each root. A component never moves: this page has no part that Gradio draws anew (gr.render).
_INDEX = (
    r"var \g<name>_found=new WeakMap;function \g<name>(root,id){let found=\g<name>_found.get(root);"
    r"found||\g<name>_found.set(root,found=new Map);let node=found.get(id);"
    r"if(!node){node=\g<name>_walk(root,id);node&&found.set(id,node)}return node}"
)


def indexed(script: str) -> str | None:
    """``script`` with an index where it walks; ``None`` where it does not walk, or does so in several places."""
    walks = list(_WALK.finditer(script))
    if len(walks) != 1:
        return None
    walk = walks[0]
    name = walk["name"]
    slow = walk[0].replace(f"function {name}(", f"function {name}_walk(").replace(f"={name}(", f"={name}_walk(")
    return script[: walk.start()] + walk.expand(_INDEX) + slow + script[walk.end() :]


def scripts() -> dict[str, str]:
    """Gradio's files that are served otherwise than they are, by their names."""
    folder = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
    changed = {path.name: indexed(path.read_text(encoding="utf-8")) for path in folder.glob("core-*.js")}
    return {name: text for name, text in changed.items() if text is not None}


class FindsByIndex:
    """ASGI middleware that serves :func:`scripts`."""

    def __init__(self, app: Any, scripts: dict[str, str]) -> None:
        self.app, self.scripts = app, scripts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or pass on."""
        folder, _, name = scope.get("path", "").rpartition("/")
        if scope["type"] == "http" and name in self.scripts and folder.endswith("/assets"):
            from starlette.responses import Response

            answer = Response(self.scripts[name], media_type="text/javascript", headers={"Cache-Control": "no-cache"})
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)
