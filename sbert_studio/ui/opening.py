"""What the page opens with in each of its languages: the texts in its boxes, the first sample corpus and the model for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr

from ..data.samples import SampleTexts, sample_texts
from .page import Page
from .pieces.handlers import guarded
from .pieces.views import view
from .visitors.session import is_owner, new_owner

ENGLISH = "en"
_LINKED = "linked"
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def box(page: Page, name: str, **more: Any) -> Any:
    """Draw a text box that begins with one of the example texts, in the page's language.

    Args:
        name: an attribute of :class:`~sbert_studio.data.samples.SampleTexts`.
        more: further arguments of ``gr.Textbox``.
    """
    drawn = gr.Textbox(_text(sample_texts(ENGLISH), name), **more)
    page.examples.append((name, drawn))
    return drawn


def _text(found: SampleTexts, name: str) -> str:
    value = getattr(found, name)
    return value if isinstance(value, str) else "\n".join(value)


def visitor(owner: Any) -> dict[str, str]:
    """Return the visitor's name, given on their first visit, and the run that they follow."""
    known = owner if isinstance(owner, Mapping) else {}
    name = known.get("owner")
    return {"owner": str(name) if is_owner(name) else new_owner(), "job": str(known.get("job") or "")}


def first(page: Page, owner: Any, sent: Any, kept: Any, *texts: Any) -> list[Any]:
    """Return what the page opens with.

    Args:
        sent: the language of the page, followed by ``linked`` where its address names a corpus, which will be opened then.
        kept: the model that the visitor chose, if any.
        texts: in the boxes, in the order of ``page.examples``.

    Returns:
        the visitor; the language; the key of the corpus; the model; the texts.
    """
    language, _, linked = str(sent or ENGLISH).partition(" ")
    known = visitor(owner)
    corpus, model = gr.skip(), gr.skip()
    if language != ENGLISH and linked != _LINKED and page.sample_corpus(language=language).id != page.sample_corpus().id:
        corpus, model = page.bring(page.open_corpus(known, page.sample_corpus(language=language).id), None, kept, None)
    return [known, language, corpus, model, *translated(page, ENGLISH, language, texts)]


def switched(
    page: Page, owner: Any, before: str, language: Any, now: tuple[str | None, str | None, Any, Any], texts: Sequence[Any]
) -> list[Any]:
    """Return what changes where another language was chosen: what was not chosen, or written, by the visitor.

    Args:
        before: the language until now.
        now: the key of the corpus, the model, the model that the visitor chose, and what is known of other texts of theirs.
        texts: as :func:`first`.

    Returns:
        the language; the key of the corpus; the model; the texts.
    """
    key, model, kept, brought = now
    language = language if isinstance(language, str) else ENGLISH
    chosen = page.sample_corpus() if key is None or key not in page.corpora else page.corpora.get(key)
    corpus, fitting = gr.skip(), gr.skip()
    wanted = page.sample_corpus(language=language).id
    if chosen.id == page.sample_corpus(language=before).id != wanted:
        corpus, fitting = page.bring(page.open_corpus(owner, wanted), model, kept, brought)
    return [language, corpus, fitting, *translated(page, before, language, texts)]


def translated(page: Page, before: str, language: str, texts: Sequence[Any]) -> list[Any]:
    """Return an update for each box of ``page.examples``; what the visitor wrote there stays."""
    if before == language:
        return [gr.skip() for _ in texts]
    old, new = sample_texts(before), sample_texts(language)
    return [_text(new, name) if text == _text(old, name) else gr.skip() for (name, _), text in zip(page.examples, texts, strict=True)]


def listen(page: Page, blocks: Any) -> Any:
    """Have the page open with what its language asks for, and follow a change of it.

    Returns:
        the event after which the visitor has a name.
    """
    boxes = [drawn for _, drawn in page.examples]
    named = blocks.load(
        partial(first, page),
        [page.owner, page.language, page.kept_model, *boxes],
        [page.owner, page.language, page.corpus, page.model, *boxes],
        js="(owner, _, ...rest) => [owner, window.SB ? SB.opening() : 'en', ...rest]",
        **_QUIET,
    )
    shown = view("language", {"live": False}, elem_id="language-choice")

    def on_switch(owner: Any, before: str, key: str | None, model: str, kept: Any, brought: Any, event: gr.SelectData, *texts: Any) -> Any:
        return switched(page, owner, before, event.index, (key, model, kept, brought), texts)

    inputs = [page.owner, page.language, page.corpus, page.model, page.kept_model, page.brought, *boxes]
    shown.select(guarded(on_switch), inputs, [page.language, page.corpus, page.model, *boxes], trigger_mode="multiple", **_QUIET)
    return named
