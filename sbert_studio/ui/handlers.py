"""Execution of handlers: errors become messages for the visitor, and progress updates Gradio's progress bar.

:mod:`.panel` describes how to write a handler and connect it to components.
"""

from __future__ import annotations

import functools
import html
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar, overload

import gradio as gr

from ..errors import StudioError, to_user_error
from ..i18n import _, join, to_sentence
from ..progress import StoppedError, checkpoint, progress_share
from .sessions.language import TOAST, localize
from .sessions.tasks import TASKS
from .views import Update

if TYPE_CHECKING:
    from ..progress import Progress

log = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
# Before 3 seconds and 5 % of the work, an estimate of the remaining time would be a guess.
_MIN_SECONDS, _MIN_SHARE = 3.0, 0.05
_MAX_SECONDS = 100  # longer estimates are in minutes
_TITLE = _("Something went wrong")
_UNEXPECTED = _("Something went wrong on our side; it has been logged. Please try again.")


def handle_errors(handler: Callable[P, R], *, stop: bool = False, work: str = "", newest: bool = False) -> Callable[P, R | Update]:
    """Wrap a handler: errors are shown as messages, never as tracebacks, and leave the outputs unchanged.

    The handler ends early when the page is closed.

    Args:
        stop: an error also ends the chain of events.
        work: name by which a Cancel button stops it.
        newest: discard the result of a call that was superseded by a later one (the handler calls ``TASKS.supersede_earlier()``).
    """

    @functools.wraps(handler)
    def call(*args: P.args, **named: P.kwargs) -> R | Update:
        task = None
        try:
            with TASKS.run(work) as task:
                try:
                    result = handler(*args, **named)
                except StudioError:
                    if not (newest and task.superseded):
                        raise
                    return _skip()
            return _skip() if newest and task.superseded else result
        except StoppedError:
            if stop:
                raise gr.Error(localize(_("Cancelled.")), duration=4, print_exception=False, title=localize(_("Stopped"))) from None
            if task is not None and task.is_replaced:
                return _skip()
            gr.Info(localize(_("Cancelled; nothing was changed.")), duration=4, title=localize(_("Stopped")))
            return _skip()
        except StudioError as error:
            return _show(_message(error), stop)
        except gr.Error:
            raise
        except Exception as error:
            known = log_unexpected(error, getattr(handler, "__name__", ""))
            return _show(localize(_UNEXPECTED) if known is None else _message(known), stop)

    call.work = work  # type: ignore[attr-defined]
    return call


def warn(error: StudioError) -> None:
    """Show an error in a handler that still returns a result."""
    _show(_message(error), stop=False)


def log_unexpected(error: Exception, action: str) -> StudioError | None:
    """Log an error. Return it as a user error if it is caused by the machine, such as a full disk; for a bug, return ``None``."""
    known = to_user_error(error)
    if known is None:
        log.error("%s failed", action, exc_info=error)
    else:
        log.warning("%s could not be done: %s", action, known)
    return known


def _message(error: StudioError) -> str:
    """Return an error as HTML for a toast. Toasts interpret HTML, and a message may quote a cell."""
    parts = [to_sentence(_("{text}", text=part)) for part in (error.describe(), error.hint) if part]
    return "<br>".join(map(html.escape, localize(parts, TOAST)))


def _show(message: str, stop: bool) -> Update:
    if stop:
        raise gr.Error(message, duration=12, print_exception=False, title=localize(_TITLE))
    gr.Warning(message, duration=12, title=localize(_TITLE))
    return _skip()


def _skip() -> Update:
    return gr.skip()  # type: ignore[no-any-return]


def time_left(done: int, total: int, seconds: float) -> str:
    """Return the estimated remaining time, such as `` · about 20 s left``, or an empty string if it would be a guess."""
    if seconds < _MIN_SECONDS or not 0 < done < total or done / total < _MIN_SHARE:
        return ""
    left = seconds / done * (total - done)
    rounded = max(5, 5 * round(left / 5))
    if rounded < _MAX_SECONDS:
        return _(" · about {seconds} s left", seconds=rounded)
    return _(" · about {minutes} min left", minutes=round(left / 60))


@overload
def progress_callback(progress: None, description: str) -> None: ...


@overload
def progress_callback(progress: gr.Progress, description: str) -> Progress: ...


def progress_callback(progress: gr.Progress | None, description: str) -> Progress | None:
    """Return a progress callback for the services that updates Gradio's bar and the task list; ``None`` without a bar."""
    if progress is None:
        return None
    task, start = TASKS.current(), time.monotonic()

    def report(done: int, total: int) -> None:
        checkpoint()
        if task is not None:
            task.report(description, done, total)
            if task.superseded:
                return
        text = join("", [description, time_left(done, total, time.monotonic() - start)])
        progress(progress_share(done, total), desc=localize(text))

    return report
