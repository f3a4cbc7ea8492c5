"""The endpoints for programs, docs/api.md, from the code: ``python docs/make_api.py`` writes it, a test compares it."""

from __future__ import annotations

import inspect
import re
import tempfile
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.ui.api.answers import ANSWERS
from sbert_studio.ui.sessions.streams import ANSWER_TIMEOUT

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"
EXAMPLES = ROOT / "docs" / "api"
_HEAD = """\
# The studio for programs

Written from the code by `python docs/make_api.py`; `tests/test_api_docs.py` holds it against the code, runs every example, and holds every
answer against the fields that are listed here.

The page serves ten verbs under the names below, to [gradio_client](https://www.gradio.app/docs/python-client), to anything that speaks
HTTP, and with `sbert-studio app --mcp` (or `SBERT_STUDIO_MCP=1`) to MCP clients, at `http://127.0.0.1:7860/gradio_api/mcp/`. There the
answers are JSON as well, and a file is given as its text, as a `data:` URL in base64, as a web address, or, on a machine of your own, as a
path. An argument that is left out has the default of its table. Elsewhere files are sent (`handle_file`), and not named by a path of the
server.

An error says what was wrong and how to mend it, in the message of `gradio_client.exceptions.AppError`:

```python
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

studio = Client("http://127.0.0.1:7860")
try:
    studio.predict(file=handle_file("assets/samples/support_requests.csv"), query="", api_name="/search")
except AppError as error:
    print(error)  # the query is empty. hint: …
```

Over HTTP a call is two requests, one that asks and one that waits for the answer:

```sh
curl -s http://127.0.0.1:7860/gradio_api/call/similarity -H "Content-Type: application/json" -d '{"data": ["a cat", "a dog", ""]}'
curl -s http://127.0.0.1:7860/gradio_api/call/similarity/EVENT_ID
```

Work that nobody waits for ends: within seconds of a closed connection, whichever way the call came, and SECONDS seconds after a call over
HTTP whose answer nobody has asked for by then; who asks later is told so. An answer that is ready by then stays. A training that
[`/train`](#train) has queued goes on without its caller, until `/stop`.
"""


def drawn() -> str:
    """The page."""
    parts, answers = [_HEAD.replace("SECONDS", f"{ANSWER_TIMEOUT:g}")], {}
    for name, info in _endpoints().items():
        words, arguments, returns = _told(name)
        parts.append(f"## `/{name}`\n\n{words}\n")
        rows = ["| argument | type | default | |", "| --- | --- | --- | --- |"]
        for one in info["parameters"]:
            default = repr(one["parameter_default"]) if one["parameter_has_default"] else "—"
            rows.append(
                f"| `{one['parameter_name']}` | {_sent(one)} | `{default}` | {arguments[one['parameter_name']]} |".replace("`—`", "—")
            )
        parts.append("\n".join(rows) + "\n")
        kinds = " or ".join(f"[{kind.__name__}](#{kind.__name__.lower()}-object)" for kind in ANSWERS[name])
        parts.append(f"Answers {kinds}: {returns}\n")
        parts.append(f"```python\n{(EXAMPLES / f'{name}.py').read_text(encoding='utf-8')}```\n")
        for kind in ANSWERS[name]:
            _gather(kind, answers)
    parts.append("## Answers\n")
    for kind in answers.values():
        rows = ["| field | type | |", "| --- | --- | --- |"]
        for field, info in kind.model_fields.items():
            note = info.description or ""
            optional = "" if info.is_required() else " (may be left out)"
            rows.append(f"| `{field}` | {_typed(info.annotation)} | {note}{optional} |")
        parts.append(f"### {kind.__name__} object\n\n{inspect.getdoc(kind)}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _endpoints() -> dict[str, Any]:
    from sbert_studio.ui.app import build

    with tempfile.TemporaryDirectory() as home, Studio(Settings(home=Path(home), device="cpu")) as studio:
        info = build(studio).get_api_info()["named_endpoints"]
    return {name: info[f"/{name}"] for name in ANSWERS}


def _told(name: str) -> tuple[str, dict[str, str], str]:
    """The words, the arguments and the answer of an endpoint's docstring."""
    from sbert_studio.ui.api import endpoints

    verb = {**vars(endpoints), "map": endpoints.draw_map}[name]
    words, _, rest = (inspect.getdoc(verb) or "").partition("\nArgs:\n")
    arguments, _, returns = rest.partition("\nReturns:\n")
    found = {one[1]: " ".join(one[2].split()) for one in re.finditer(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", arguments, re.M | re.S)}
    return " ".join(words.split()), found, " ".join(returns.split())


def _sent(parameter: dict[str, Any]) -> str:
    kind = str(parameter["python_type"]["type"]).replace("filepath", "file")
    return _cell(re.sub(r"Literal\[(.*)\]", r"one of \1", kind))


def _gather(kind: Any, found: dict[str, type[BaseModel]]) -> None:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind.__name__ in found:
            return
        found[kind.__name__] = kind
        for info in kind.model_fields.values():
            _gather(info.annotation, found)
    for part in typing.get_args(kind):
        _gather(part, found)


def _typed(hint: Any) -> str:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return f"[{hint.__name__}](#{hint.__name__.lower()}-object)"
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return f"list of {_typed(parts[0])}"
    if origin is dict:
        return f"object of {_typed(parts[1])}"
    if parts:
        return _cell(" or ".join(_typed(part) for part in parts))
    return {"NoneType": "none", "Any": "anything"}.get(name := getattr(hint, "__name__", str(hint).rpartition(".")[2]), name)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
