"""The studio in a desktop window (pywebview), with the system's file dialogs and a confirmation before running work is interrupted."""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING

from ..errors import StudioError
from ..shutdown import SHUTDOWN

if TYPE_CHECKING:
    import webview

    from ..services import Studio

_TITLE = "SBERT Studio"
_WIDTH, _HEIGHT, _MIN_SIZE = 1360, 900, (390, 600)


def require() -> None:
    if importlib.util.find_spec("webview") is None:
        raise StudioError(
            "a window of its own needs pywebview, which is not installed",
            "run pip install 'sbert-studio[desktop]', or pip install 'pywebview[qt]' on Linux; or leave --desktop out and use a browser",
        )


def closing_question(studio: Studio) -> str:
    """Return a question that lists the work that closing the studio would interrupt; empty if there is none."""
    runs = len(studio.fine_tune.list_active())
    jobs = len(studio.embedding_jobs.list_active()) + len(studio.evaluation_jobs.list_active())
    notes = [f"Running trainings: {runs}. They can be resumed from the last checkpoint."] if runs else []
    notes += [f"Other running tasks: {jobs}. They would have to start again."] if jobs else []
    return " ".join([*notes, "Close the studio anyway?"]) if notes else ""


def show(studio: Studio, url: str) -> None:
    """Open the page at ``url`` in a window, and return once it is closed.

    Raises:
        StudioError: the system cannot open a window.
    """
    import webview

    webview.settings["ALLOW_DOWNLOADS"] = True  # downloads ask for the location, as in any program
    window = webview.create_window(_TITLE, url, width=_WIDTH, height=_HEIGHT, min_size=_MIN_SIZE, text_select=True)
    question = _ClosingQuestion(studio, window)
    window.events.closing += question.may_close
    storage = studio.workspace.home / "window"
    with SHUTDOWN.listened(question.close):
        try:
            webview.start(gui="qt" if importlib.util.find_spec("qtpy") else None, private_mode=False, storage_path=str(storage))
        except webview.WebViewException as error:
            raise StudioError(
                f"no window can be opened here: {error}",
                "on Linux run pip install 'pywebview[qt]'; or leave --desktop out and use a browser",
            ) from None


class _ClosingQuestion:
    """Confirmation before the window closes. Its dialog waits for the window's thread, so it is shown by another thread."""

    def __init__(self, studio: Studio, window: webview.Window) -> None:
        self._studio, self._window = studio, window
        self._confirmed = False
        self._asking = threading.Lock()

    def may_close(self) -> bool:
        if self._confirmed or not (question := closing_question(self._studio)):
            return True
        threading.Thread(target=self._ask, args=(question,), name="closing", daemon=True).start()
        return False

    def close(self) -> None:
        self._confirmed = True
        threading.Thread(target=self._window.destroy, name="closing", daemon=True).start()

    def _ask(self, question: str) -> None:
        if not self._asking.acquire(blocking=False):
            return  # already open
        try:
            if self._window.create_confirmation_dialog(_TITLE, question):
                self.close()
        finally:
            self._asking.release()
