"""The tray on the page: its own JavaScript asks, as often as there is something to see, and as seldom as it may where there is not."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from ...errors import StudioError
from ..page import Page
from ..pieces.handlers import guarded
from ..pieces.views import Value, view
from ..visitors.visits import session
from .entries import entries, stop

_MOST_KNOWN = 50
log = logging.getLogger(__name__)


def draw(page: Page, name: str) -> Any:
    """The tray's component, where the caller stands; ``name`` is the page's, as the browser's tab shows it."""

    # Not by a gr.Timer: that rests while another tab of the browser is looked at, which is when a title has to tell of an end.
    def tray_look(sent: Any) -> Value:
        return look(page, sent)

    def tray_stop(sent: Any) -> Value:
        return look(page, sent, stops=True)

    return view("tray", {"name": name, "session": "", "owner": None}, elem_id="tray", server=[tray_look, tray_stop])


def look(page: Page, sent: Any, stops: bool = False) -> Value:
    """``{"entries": …}`` for a page that asks; ``{"error": …}`` where something of it cannot be read now.

    Args:
        sent: ``{"session", "owner", "known", "id"}`` from the browser: both names are such as nobody guesses.
        stops: ask ``id`` to end before.
    """
    given = sent if isinstance(sent, dict) else {}
    name, ids = given.get("session"), given.get("known")
    known = {one for one in ids[:_MOST_KNOWN] if isinstance(one, str)} if isinstance(ids, list) else set()
    name = name if isinstance(name, str) else ""
    try:
        if stops:
            stop(page, name, given.get("owner"), str(given.get("id") or ""))
        return {"entries": entries(page, name, given.get("owner"), known)}
    except StudioError as error:
        return {"error": error.message}
    except Exception:
        log.exception("the tray could not be filled")
        return {"error": "it cannot be told now"}


def listen(page: Page, tray: Any, name: str, named: Any) -> None:
    """Tell the tray whose it is, once the visitor has a name: ``named`` is that event."""
    named.then(guarded(partial(whose, name)), page.owner, tray, api_visibility="private", show_progress="hidden")


def whose(name: str, owner: Any) -> Value:
    """The value of the ``tray`` view for the page that asks."""
    visitor = owner.get("owner") if isinstance(owner, dict) else None
    return {"name": name, "session": session(), "owner": {"owner": visitor}}
