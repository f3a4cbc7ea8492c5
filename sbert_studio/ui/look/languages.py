"""The languages that the page speaks besides English: a file each in ``assets/languages``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .theme import PAGE

FOLDER = PAGE.parent / "languages"


def languages() -> dict[str, dict[str, str]]:
    """What the page's JavaScript needs to know of each: ``{code: {name, tag, url}}``, by the names of the files.

    The words themselves are fetched by the browser, from ``url``, once somebody wants them.
    """
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {"name": held["name"], "tag": held["tag"], "url": served(path)}
    return found


def served(path: Path) -> str:
    """The URL, beside the page's own, of a file in a folder that ``gr.set_static_paths`` was told."""
    return f"gradio_api/file={path.as_posix()}"


# Gradio takes the browser's language before the page's own scripts run, and keeps it. It shall speak English, which the page translates.
_FIRST = """<head><script>
window.SB_TONGUES = [...(navigator.languages || [navigator.language])];
for (const [name, value] of [["language", "en"], ["languages", ["en"]]]) {
  try { Object.defineProperty(navigator, name, { get: () => value, configurable: true }); } catch { /* it then speaks the browser's own */ }
}
</script>"""


class GradioInEnglish:
    """ASGI middleware: the page begins with a script that tells Gradio that the browser is English; the page knows what it is."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on, with the script in what is a whole page of HTML."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        start: dict[str, Any] = {}
        page = b""

        async def changed(message: Any) -> None:
            nonlocal page
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
            elif message["type"] == "http.response.body" and start:
                page += message.get("body", b"")
                if not message.get("more_body"):
                    body = page.replace(b"<head>", _FIRST.encode(), 1)
                    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
                    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
                    await send({**message, "body": body})
            else:
                await send(message)

        await self.app(scope, receive, changed)


def _is_page(message: Any) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-encoding" not in headers
