"""Language of the calling page, and translation of what is sent to it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from ...i18n import ENGLISH, Message, languages, translate, translate_value
from .tasks import request_headers, session_id

TOAST = "toast"  # pseudo-component of the latest toast
COOKIE = "sbert-studio-language"
_MAX_SESSIONS = 200
_MAX_MESSAGES = 500  # maximum number of messages per component


@dataclass
class _Session:
    language: str = ""
    sent: dict[Hashable, dict[str, Message]] = field(default_factory=dict)


class SessionLanguages:
    """Language of each open page, and the messages shown by its components, which are translated again when the language changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def language(self, session: str) -> str:
        """Return the language of a page; empty if it is not known."""
        with self._lock:
            return self._sessions[session].language if session in self._sessions else ""

    def set_language(self, session: str, language: str) -> dict[str, str]:
        """Change the language of a page.

        Returns:
            the translations of the messages currently shown, by the text that is shown.
        """
        if not session:  # called outside a request: an unknown choice must not become a default
            return {}
        with self._lock:
            found = self._get(session)
            found.language = language
            shown = [item for sent in found.sent.values() for item in sent.items()]
            texts = {text: translate(message, language) for text, message in shown}
            for sent in found.sent.values():
                sent |= {texts[text]: message for text, message in sent.items()}
        return {old: new for old, new in texts.items() if old != new}

    def record(self, session: str, component: Hashable, sent: Mapping[str, Message]) -> None:
        """Record the messages that a component shows from now on."""
        if not session:
            return
        with self._lock:
            self._get(session).sent[component] = dict(list(sent.items())[:_MAX_MESSAGES])

    def close(self, session: str) -> None:
        """Forget a page."""
        with self._lock:
            self._sessions.pop(session, None)

    def _get(self, session: str) -> _Session:
        found = self._sessions.setdefault(session, _Session())
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return found


LANGUAGES = SessionLanguages()


def current_language() -> str:
    """Return the language of the calling page: the one it reported, else that of the cookie, else the browser's first language."""
    headers = request_headers()
    cookies = dict(part.strip().split("=", 1) for part in headers.get("cookie", "").split(";") if "=" in part)
    preferred = [tag.split(";")[0].strip().lower().split("-")[0] for tag in headers.get("accept-language", "").split(",")]
    known = {ENGLISH, *languages()}
    return next((code for code in (LANGUAGES.language(session_id()), cookies.get(COOKIE), *preferred) if code in known), ENGLISH)


def localize(value: Any, component: Hashable = None) -> Any:
    """Return a value with its messages in the language of the calling page.

    Args:
        component: shows the value until its next one; when the language changes, its messages are translated again.
    """
    sent: dict[str, Message] = {}
    found = translate_value(value, current_language(), sent.__setitem__)
    if component is not None:
        LANGUAGES.record(session_id(), component, sent)
    return found


def notify_info(message: str, *, title: str = "Info", duration: float = 10) -> None:
    """Show a toast on the calling page, in its language."""
    gr.Info(localize(message, TOAST), title=localize(title), duration=duration)


def notify_warning(message: str, *, title: str = "Warning", duration: float = 10) -> None:
    """Show a warning toast on the calling page, in its language."""
    gr.Warning(localize(message, TOAST), title=localize(title), duration=duration)
