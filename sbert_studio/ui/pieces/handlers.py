"""The handlers of the page: their errors reach a person as words, their progress moves Gradio's bar."""

from __future__ import annotations

import functools
import html
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError, ended, plainly
from ...progress import StoppedError, checkpoint
from ..visitors.visits import VISITS

if TYPE_CHECKING:
    from ...progress import Progress

log = logging.getLogger(__name__)
# The default of a handler's last argument, by which Gradio knows that the handler moves a progress bar.
PROGRESS = gr.Progress()
_GUESS, _SHARE = 3.0, 0.05  # seconds, and the part of a work, before which the time left is not told
_LONG = 100


def guarded(handler: Callable[..., Any], *, stop: bool = False, work: str = "", newest: bool = False) -> Callable[..., Any]:
    """``handler``, whose errors reach the visitor as words: what was wrong and how to mend it, never a traceback.

    It ends early when the page is closed.

    Args:
        stop: end the chain of events as well; otherwise the outputs stay as they were.
        work: what a :func:`cancel_button` calls it by.
        newest: what comes of it counts only if it was not overtaken (:meth:`~.visits.Visits.overtake`, which the handler calls): a slow
            answer to an earlier question would take the place of the later one's.
    """

    @functools.wraps(handler)
    def call(*args: Any, **named: Any) -> Any:
        try:
            with VISITS.work(work) as under_way:
                found = gr.skip()
                try:
                    found = handler(*args, **named)
                except StudioError:
                    if not (newest and under_way.overtaken):
                        raise
            return gr.skip() if newest and under_way.overtaken else found
        except StoppedError:
            if stop:
                raise gr.Error("Cancelled.", duration=4, print_exception=False, title="Stopped") from None
            gr.Info("Cancelled; nothing was changed.", duration=4, title="Stopped")
            return gr.skip()
        except StudioError as error:
            return _say(_in_sentences(error), stop)
        except gr.Error:
            raise
        except Exception as error:
            known = noted(error, getattr(handler, "__name__", ""))
            words = "Something went wrong on our side; it has been logged. Please try again." if known is None else _in_sentences(known)
            return _say(words, stop)

    call.work = work  # type: ignore[attr-defined]
    return call


def warn(error: StudioError) -> None:
    """Show an error as a toast, for a handler that still has something to answer."""
    _say(_in_sentences(error), False)


def noted(error: Exception, verb: str) -> StudioError | None:
    """The error in words where it is one of the machine's, such as a full disk; what is ours to mend is logged with all that is known."""
    known = plainly(error)
    if known is None:
        log.error("%s failed", verb, exc_info=error)
    else:
        log.warning("%s could not be done: %s", verb, known)
    return known


def _in_sentences(error: StudioError) -> str:
    """An error as a toast shows it. Toasts read HTML, and a message may quote a cell."""
    words = html.escape(str(error.message) + ("" if not error.rows else f" ({_rows(error)})"))
    hint = html.escape(error.hint[:1].upper() + error.hint[1:]) if error.hint else ""
    return ended(words[:1].upper() + words[1:]) + (f"<br>{ended(hint)}" if hint else "")


def _rows(error: StudioError) -> str:
    from ...errors import describe_rows

    return describe_rows(error.rows)


def _say(words: str, stop: bool) -> Any:
    if stop:
        raise gr.Error(words, duration=12, print_exception=False, title="That did not work")
    gr.Warning(words, duration=12, title="That did not work")
    return gr.skip()


def time_left(done: int, total: int, seconds: float) -> str:
    """What is left of a work after so many seconds of it, such as `` · about 20 s left``; nothing while that would be a guess."""
    if seconds < _GUESS or not 0 < done < total or done / total < _SHARE:
        return ""
    left = seconds / done * (total - done)
    rounded = max(5, 5 * round(left / 5))
    return f" · about {rounded} s left" if rounded < _LONG else f" · about {round(left / 60)} min left"


def told(progress: Any, words: str) -> Progress:
    """A progress callback of the rooms below that moves Gradio's bar, and tells the work that the caller is part of."""
    work, since = VISITS.current(), time.monotonic()

    def tell(done: int, total: int) -> None:
        checkpoint()
        if work is not None:
            work.tell(words, done, total)
            if work.overtaken:
                return
        progress((done, total) if total else None, desc=words + time_left(done, total, time.monotonic() - since))

    return tell
