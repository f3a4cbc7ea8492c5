"""A window of the studio's own, by pywebview: its files come and go by the system's dialogs, and it asks before it closes on work."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..shutdown import ENDING

if TYPE_CHECKING:
    from ..services import Studio

_TITLE = "SBERT Studio"
_WIDTH, _HEIGHT, _LEAST = 1360, 900, (390, 600)


def require() -> None:
    """Refuse where there is nothing to draw a window with.

    Raises:
        StudioError: pywebview is not installed.
    """
    if importlib.util.find_spec("webview") is None:
        raise StudioError(
            "a window of its own needs pywebview, which is not installed",
            "run pip install 'sbert-studio[desktop]', or pip install 'pywebview[qt]' on Linux; or leave --desktop out and use a browser",
        )


def under_way(studio: Studio) -> str:
    """What would be cut short if the studio closed now, as a question; empty where that is nothing."""
    runs = len(studio.tune.under_way())
    jobs = len(studio.jobs.under_way()) + len(studio.evaluations.under_way())
    said = []
    if runs:
        one = runs == 1
        said.append(f"{runs} training{'' if one else 's'} {'goes' if one else 'go'} on, and can be resumed from the last checkpoint.")
    if jobs:
        said.append(f"{jobs} other piece{'' if jobs == 1 else 's'} of work would begin anew.")
    return " ".join([*said, "Close the studio all the same?"]) if said else ""


def show(studio: Studio, url: str) -> None:
    """Open the window, and return once it is closed.

    Args:
        url: of the page.

    Raises:
        StudioError: the system has nothing to draw it with.
    """
    import webview

    webview.settings["ALLOW_DOWNLOADS"] = True  # a download asks where to, as in any program
    window = webview.create_window(_TITLE, url, width=_WIDTH, height=_HEIGHT, min_size=_LEAST, text_select=True)
    asked = _Asked(studio, window)
    window.events.closing += asked.closing
    kept = studio.workspace.home / "window"
    with ENDING.listened(asked.close):
        try:
            webview.start(gui="qt" if importlib.util.find_spec("qtpy") else None, private_mode=False, storage_path=str(kept))
        except webview.WebViewException as error:
            raise StudioError(
                f"no window can be opened here: {error}",
                "on Linux run pip install 'pywebview[qt]'; or leave --desktop out and use a browser",
            ) from None


class _Asked:
    """The question before the window closes. Its dialog waits for the window's own thread, so it is put from another one."""

    def __init__(self, studio: Studio, window: Any) -> None:
        self._studio, self._window = studio, window
        self._sure = False
        self._asking = threading.Lock()

    def closing(self) -> bool:
        """Whether the window may close; where not, the question is on its way."""
        if self._sure or not (question := under_way(self._studio)):
            return True
        threading.Thread(target=self._ask, args=(question,), name="closing", daemon=True).start()
        return False

    def close(self) -> None:
        """Close the window without a question, as somebody outside asks."""
        self._sure = True
        threading.Thread(target=self._window.destroy, name="closing", daemon=True).start()

    def _ask(self, question: str) -> None:
        if not self._asking.acquire(blocking=False):
            return  # it stands there already
        try:
            if self._window.create_confirmation_dialog(_TITLE, question):
                self.close()
        finally:
            self._asking.release()
