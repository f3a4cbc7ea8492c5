"""Write docs/api.md, the documentation of the endpoints, from the code: ``python docs/make_api.py``; a test compares it."""

from __future__ import annotations

import inspect
import re
import tempfile
import typing
from pathlib import Path
from typing import Any

from sbert_studio.serialization import json_schema
from sbert_studio.services import Studio
from sbert_studio.settings import Settings
from sbert_studio.ui.endpoints import ANSWERS
from sbert_studio.ui.sessions.streams import ANSWER_TIMEOUT

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "api.md"
EXAMPLES = ROOT / "docs" / "api"
_HEAD = """\
# API

Generated from the code by `python docs/make_api.py`. `tests/test_api_docs.py` compares this page with the code, runs every example, and
validates every response against the fields listed here.

The page serves eleven verbs under the names below, to [gradio_client](https://www.gradio.app/docs/python-client), to anything that speaks
HTTP, and with `sbert-studio app --mcp` (or `SBERT_STUDIO_MCP=1`) to MCP clients, at `http://127.0.0.1:7860/gradio_api/mcp/`. There the
answers are JSON as well, and a file is given as its text, as a `data:` URL in base64, or, on a machine of your own, as a web address or a
path. An argument that is left out has the default of its table. Elsewhere files are sent (`handle_file`), and not named by a path of the
server.

Errors raise a `gradio_client.exceptions.AppError`, whose message says what is wrong and how to fix it:

```python
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

studio = Client("http://127.0.0.1:7860")
try:
    studio.predict(file=handle_file("assets/samples/support_requests.csv"), query="", api_name="/search")
except AppError as error:
    print(error)  # the query is empty. hint: …
```

Over HTTP, a call consists of two requests: one submits it, the other waits for the response:

```sh
curl -s http://127.0.0.1:7860/gradio_api/call/similarity -H "Content-Type: application/json" -d '{"data": ["a cat", "a dog", ""]}'
curl -s http://127.0.0.1:7860/gradio_api/call/similarity/EVENT_ID
```

Abandoned calls are stopped: within seconds after the connection was closed, or if the response to an HTTP call is not requested within
SECONDS seconds, in which case a later request returns an error. A response that is ready by then is kept. Training runs started by
[`/train`](#train) continue without their caller until they finish or are stopped with `/stop`.
"""


def drawn() -> str:
    """The page."""
    parts, answers = [_HEAD.replace("SECONDS", f"{ANSWER_TIMEOUT:g}")], dict[str, Any]()
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
        kinds = typing.get_args(ANSWERS[name]) or (ANSWERS[name],)
        parts.append(f"Answers {' or '.join(_link(kind.__name__) for kind in kinds)}: {returns}\n")
        parts.append(f"```python\n{(EXAMPLES / f'{name}.py').read_text(encoding='utf-8')}```\n")
        answers |= _objects(json_schema(ANSWERS[name]))
    parts.append("## Answers\n")
    for title, schema in answers.items():
        rows = ["| field | type | |", "| --- | --- | --- |"]
        for field, info in schema["properties"].items():
            optional = "" if field in schema["required"] else " (may be left out)"
            rows.append(f"| `{field}` | {_typed(info)} | {_cell(info.get('description', ''))}{optional} |")
        parts.append(f"### {title} object\n\n{schema['description']}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _endpoints() -> dict[str, Any]:
    from sbert_studio.ui.app import build

    with tempfile.TemporaryDirectory() as home, Studio(Settings(home=Path(home), device="cpu")) as studio:
        info = build(studio).get_api_info()["named_endpoints"]
    return {name: info[f"/{name}"] for name in ANSWERS}


def _told(name: str) -> tuple[str, dict[str, str], str]:
    """The words, the arguments and the answer of an endpoint's docstring."""
    from sbert_studio.ui import endpoints

    verb = {**vars(endpoints), "map": endpoints.draw_map}[name]
    words, _, rest = (inspect.getdoc(verb) or "").partition("\nArgs:\n")
    arguments, _, returns = rest.partition("\nReturns:\n")
    found = {one[1]: " ".join(one[2].split()) for one in re.finditer(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |\Z)", arguments, re.M | re.S)}
    return " ".join(words.split()), found, " ".join(returns.split())


def _sent(parameter: dict[str, Any]) -> str:
    kind = str(parameter["python_type"]["type"]).replace("filepath", "file")
    return _cell(re.sub(r"Literal\[(.*)\]", r"one of \1", kind))


def _objects(schema: dict[str, Any]) -> dict[str, Any]:
    """The objects of a schema by title, the answer itself first."""
    parts = [schema, *schema.get("$defs", {}).values()]
    return {part["title"]: part for part in parts if "properties" in part}


def _link(title: str) -> str:
    return f"[{title}](#{title.lower()}-object)"


def _typed(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(map(_typed, schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        parts = schema.get("prefixItems") or [schema["items"]]
        return "list of " + " and ".join(dict.fromkeys(map(_typed, parts)))
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_typed(schema['additionalProperties'])}"
    return {"null": "none", "integer": "int", "number": "float", "string": "str", "boolean": "bool", None: "anything"}.get(kind, kind)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
