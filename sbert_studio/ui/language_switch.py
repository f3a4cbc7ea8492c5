"""Languages of the page: catalogs for the browser, opening texts, corpus and model by language, and switching languages."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import gradio as gr
from starlette.responses import Response
from starlette.routing import Route

from ..data.samples import SampleTexts, sample_texts
from ..i18n import ENGLISH, Message, languages, load_catalog
from .page import Page
from .panel import Panel, Selection
from .sessions.language import LANGUAGES
from .sessions.middleware import App, Receive, Scope, Send
from .sessions.middleware import Message as HttpMessage
from .sessions.tasks import session_id
from .state import Header, is_visitor_id, new_visitor_id
from .views import UNCHANGED, Unchanged, Update, Value, view

_A_YEAR = 31_536_000  # seconds
_LINKED = "linked"
_ASK_BROWSER = "(owner, _, ...rest) => [owner, window.SB ? SB.opening() : 'en', ...rest]"
# Gradio reads the browser's language before the page's own scripts run. Make it use English, which the page then translates.
_SCRIPT = """<head><script>
window.SB_TONGUES = [...(navigator.languages || [navigator.language])];
for (const [name, value] of [["language", "en"], ["languages", ["en"]]]) {
  try { Object.defineProperty(navigator, name, { get: () => value, configurable: true }); } catch { /* it then speaks the browser's own */ }
}
</script>"""


class PageCatalogs:
    """Translations for the page's JavaScript, which looks up whole texts: labels and its own templates.

    The browser downloads those of its language when needed.

    Args:
        blocks: the page; the messages in its initial layout are translated here, because no event sends them.
    """

    def __init__(self, blocks: gr.Blocks | None = None) -> None:
        drawn = _messages([vars(block) for block in blocks.blocks.values()]) if blocks is not None else []
        self._json: dict[str, str] = {}
        self.languages: dict[str, dict[str, str]] = {}
        for code in languages():
            catalog = load_catalog(code)
            assert catalog is not None
            words = {_number(key, key): _number(key, text) for key, text in catalog.texts.items()}
            words |= {str(message): catalog.translate(message) for message in drawn}
            self._json[code] = json.dumps({"words": words}, ensure_ascii=False)
            version = hashlib.sha256(self._json[code].encode()).hexdigest()[:12]
            self.languages[code] = {"name": catalog.name, "tag": catalog.tag, "url": f"languages/{code}.json?{version}"}

    def routes(self) -> list[Route]:
        """Return the routes that serve the translations."""
        headers = {"cache-control": f"max-age={_A_YEAR}"}

        def route(code: str, text: str) -> Route:
            return Route(f"/languages/{code}.json", lambda _request: Response(text, media_type="application/json", headers=headers))

        return [route(code, text) for code, text in self._json.items()]


def _number(key: str, text: str) -> str:
    """Replace the names of placeholders with their positions in ``key``, because JavaScript template literals have no names."""
    places: dict[str, int] = {}
    for name in re.findall(r"\{(\w+)\}", key):
        places.setdefault(name, len(places))
    return re.sub(r"\{(=?)(\w+)\}", lambda found: f"{{{found[1]}{places.get(found[2], found[2])}}}", text)


def _messages(value: object) -> list[Message]:
    """Return the messages in the properties of components."""
    if isinstance(value, Message):
        return [value]
    if isinstance(value, dict):
        return [message for item in value.values() for message in _messages(item)]
    return [message for item in value for message in _messages(item)] if isinstance(value, list | tuple) else []


def static_url(path: Path) -> str:
    """Return the URL of a file in a folder passed to ``gr.set_static_paths``, relative to the page's."""
    return f"gradio_api/file={path.as_posix()}"


class GradioInEnglish:
    """ASGI middleware that inserts a script at the start of the page, so that Gradio assumes an English browser."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        start: HttpMessage = {}
        page = b""

        async def insert_script(message: HttpMessage) -> None:
            nonlocal page
            if message["type"] == "http.response.start" and _is_html(message):
                start.update(message)
            elif message["type"] == "http.response.body" and start:
                page += message.get("body", b"")
                if not message.get("more_body"):
                    body = page.replace(b"<head>", _SCRIPT.encode(), 1)
                    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
                    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
                    await send({**message, "body": body})
            else:
                await send(message)

        await self.app(scope, receive, insert_script)


def _is_html(message: HttpMessage) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return headers.get(b"content-type", b"").startswith(b"text/html") and b"content-encoding" not in headers


def example_textbox(page: Page, name: str, **options: object) -> gr.Textbox:
    """Draw a textbox that starts with an example text in the page's language.

    Args:
        name: a field of :class:`ExampleTexts`.
        options: additional arguments of ``gr.Textbox``.
    """
    page.examples[name] = gr.Textbox(_text(sample_texts(ENGLISH), name), **options)
    return page.examples[name]


def _text(texts: SampleTexts, name: str) -> str:
    value = getattr(texts, name)
    return value if isinstance(value, str) else "\n".join(value)


@dataclass(frozen=True)
class ExampleTexts:
    """Texts in the boxes of :func:`example_textbox`; in results, :data:`UNCHANGED` for texts written by the visitor."""

    first: str | Unchanged
    second: str | Unchanged
    several: str | Unchanged
    query: str | Unchanged


_SAME_TEXTS = ExampleTexts(UNCHANGED, UNCHANGED, UNCHANGED, UNCHANGED)


@dataclass(frozen=True)
class OpeningView:
    """Initial values of the page."""

    owner: dict[str, str]
    language: str
    texts: ExampleTexts
    corpus: str | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED


@dataclass(frozen=True)
class LanguageView:
    """Values that change with the page's language, because the visitor neither chose nor wrote them.

    Attributes:
        renamed: translations of the messages currently shown on the page.
    """

    language: str
    texts: ExampleTexts
    corpus: str | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED
    renamed: Value | Unchanged = UNCHANGED


def visitor_state(owner: object) -> dict[str, str]:
    """Return the visitor's id, which is new on the first visit, and the run they follow."""
    known = owner if isinstance(owner, Mapping) else {}
    name = known.get("owner")
    return {"owner": str(name) if is_visitor_id(name) else new_visitor_id(), "job": str(known.get("job") or "")}


def open_page(page: Page, owner: object, language: object, saved_model: object, texts: ExampleTexts) -> OpeningView:
    """Choose the initial content of the page.

    Args:
        language: language of the page, followed by ``linked`` if its URL refers to a corpus, which is opened afterwards.
    """
    code, _, linked = str(language or ENGLISH).partition(" ")
    LANGUAGES.set_language(session_id(), code)
    visitor = visitor_state(owner)
    corpus: str | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED
    if code != ENGLISH and linked != _LINKED and page.corpora.sample(language=code).id != page.corpora.sample().id:
        key = page.corpora.open(visitor, page.corpora.sample(language=code).id)
        model = page.select_fitting_model(key, Header(saved_model=saved_model))
        corpus = key
    return OpeningView(visitor, code, translate_examples(ENGLISH, code, texts), corpus, model)


def switch_language(page: Page, owner: object, language: str, header: Header, texts: ExampleTexts, selection: Selection) -> LanguageView:
    """Switch to another language.

    Args:
        language: the previous language; the item of ``selection`` is the new one. If its action is ``results``, the page shows results,
            and the texts, the corpus and the model that they were made with stay.
    """
    code = selection.item if isinstance(selection.item, str) else ENGLISH
    renamed = {"live": False, "words": LANGUAGES.set_language(session_id(), code)}
    if selection.action == "results":
        return LanguageView(code, _SAME_TEXTS, renamed=renamed)
    is_open = header.corpus is not None and header.corpus in page.corpora
    selected = page.corpora.get(header.corpus) if is_open else page.corpora.sample()
    corpus: str | Unchanged = UNCHANGED
    model: Update | Unchanged = UNCHANGED
    wanted = page.corpora.sample(language=code).id
    if selected.id == page.corpora.sample(language=language).id != wanted:
        key = page.corpora.open(owner, wanted)
        model = page.select_fitting_model(key, header)
        corpus = key
    return LanguageView(code, translate_examples(language, code, texts), corpus, model, renamed)


def translate_examples(before: str, after: str, texts: ExampleTexts) -> ExampleTexts:
    """Replace the example texts of one language with those of another; texts written by the visitor are unchanged."""
    old, new = sample_texts(before), sample_texts(after)

    def translate(name: str) -> str | Unchanged:
        return _text(new, name) if before != after and getattr(texts, name) == _text(old, name) else UNCHANGED

    return ExampleTexts(*(translate(item.name) for item in fields(ExampleTexts)))


def connect_languages(page: Page, blocks: gr.Blocks) -> gr.events.Dependency:
    """Open the page in its language, and handle changes of the language.

    Returns:
        the event after which the visitor has an id.
    """
    choice = view("language", {"live": False}, elem_id="language-choice")
    panel = Panel(page, **page.examples, renamed=choice)
    loaded = panel.on(blocks.load, open_page, quiet=True, js=_ASK_BROWSER)
    panel.on(choice.select, switch_language, each=True, quiet=True)
    return loaded
