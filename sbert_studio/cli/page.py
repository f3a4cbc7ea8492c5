"""The command ``app``: serve the page, in a browser or in a desktop window (pywebview) with the system's file dialogs."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import StudioError
from ..progress import StoppedError, checkpoint
from ..shutdown import SHUTDOWN
from .output import print_message, warn_unknown_variables

if TYPE_CHECKING:
    import webview

    from ..services import Studio

_ORPHAN_SECONDS = 86_400
_CHOOSE_ANOTHER = "choose another --port or --host"
_TITLE = "SBERT Studio"
_WIDTH, _HEIGHT, _MIN_SIZE = 1360, 900, (390, 600)


def app(
    host: Annotated[str | None, typer.Option(help="Address to bind.", show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port.", min=0, max=65535, show_default="7860")] = None,
    share: Annotated[bool, typer.Option("--share", help="Create a public Gradio link.")] = False,
    mcp: Annotated[bool, typer.Option("--mcp", help="Also serve the endpoints to MCP clients.")] = False,
    opened: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    desktop: Annotated[bool, typer.Option("--desktop", help="Open a desktop window (requires the extra 'desktop').")] = False,
) -> None:
    """Serve the studio as a web page."""
    with SHUTDOWN.leaving_with(0):
        try:
            _open(host, port, share, mcp, opened, desktop)
        except StoppedError:
            if not SHUTDOWN.is_requested():
                raise
        exit_now()


def _open(*options: Any) -> None:
    from ..caches import paused_gc
    from ..settings import limit_kernel_cache, private_upload_folder

    limit_kernel_cache()
    _remove_orphaned_uploads()
    with private_upload_folder(), paused_gc() as started:
        _serve(started, *options)


def _serve(started: Callable[[], None], host: str | None, port: int | None, share: bool, mcp: bool, opened: bool, desktop: bool) -> None:
    """Serve the page until it is closed; call ``started`` once it responds."""
    from ..settings import Settings, has_screen, require_root_path

    settings = Settings.from_env()
    require_root_path()
    warn_unknown_variables()
    if settings.zero_gpu:  # before any other import detects a GPU
        from ..models.inference.zerogpu import enable

        if not enable():
            print_message("this Space provides a GPU, but the package 'spaces' is not installed: everything runs on the CPU")
    from ..services import Studio
    from ..services.mirror import open_mirror
    from ..ui.app import launch

    settings = settings.served(host or settings.host, settings.port if port is None else port, share or settings.share)
    if desktop:
        require_webview()
    hint = "choose another --host (SBERT_STUDIO_HOST) or --port (SBERT_STUDIO_PORT)"
    if desktop and port is None and not _is_free(settings.host, settings.port):
        settings = replace(settings, port=0)  # a window needs no fixed port
    require_free(settings.host, settings.port, hint)
    print_message("opening the studio; stop it with Ctrl-C")
    checkpoint()
    with Studio(settings) as studio:
        mirror = open_mirror(studio, print_message)
        with address_errors(settings.host, settings.port, hint):
            _, url = launch(studio, settings.host, settings.port, settings.share, block=False, mcp=mcp or settings.mcp, ready=started)
        checkpoint()
        print_message(f"the studio is at {url}")
        if mirror is not None:
            mirror.start()
        if desktop:
            open_window(studio, url)
        else:
            if opened and not (has_screen() and webbrowser.open(url)):
                print_message(f"no browser could be opened: open {url} manually")
            SHUTDOWN.wait()
        print_message("ending the studio; runs in progress are saved")
    if mirror is not None:
        mirror.close()  # after the runs were interrupted


def _remove_orphaned_uploads() -> None:
    """Delete uploads and temporary files of killed processes after a day.

    Not at once, because a process id in a shared temporary folder may belong to another machine.
    """
    import psutil  # type: ignore[import-untyped, unused-ignore]

    from ..settings import UPLOAD_PREFIX

    for folder in Path(tempfile.gettempdir()).glob(f"{UPLOAD_PREFIX}*-*"):
        number = folder.name.removeprefix(UPLOAD_PREFIX).partition("-")[0]
        with suppress(OSError):
            if number.isdigit() and not psutil.pid_exists(int(number)) and time.time() - folder.stat().st_mtime > _ORPHAN_SECONDS:
                shutil.rmtree(folder)


def exit_now() -> None:
    """Exit the process without tearing down the interpreter.

    A training step still running in another thread would crash during teardown; this way the run is interrupted and can be resumed.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)


def _is_free(host: str, port: int) -> bool:
    try:
        require_free(host, port)
    except StudioError:
        return False
    return True


def require_free(host: str, port: int, hint: str = _CHOOSE_ANOTHER) -> None:
    """Raise StudioError before the page is built if the address cannot be bound."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise StudioError(f"{host} port {port} cannot be used: {error.strerror}", hint) from error
    except (TypeError, UnicodeError):  # a name that no host can have, such as one with an overlong part
        raise StudioError(f"{host!r} is not a host name", hint) from None


@contextmanager
def address_errors(host: str, port: int, hint: str = _CHOOSE_ANOTHER) -> Iterator[None]:
    """Raise StudioError if binding the address fails within the block: another program may take it after :func:`require_free`."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE or "empty port" in str(error):  # Gradio's message, without a number
            require_free(host, port, hint)
        raise


def require_webview() -> None:
    """Raise StudioError unless pywebview is installed."""
    if importlib.util.find_spec("webview") is None:
        raise StudioError(
            "a window of its own needs pywebview, which is not installed",
            "run pip install 'sbert-studio[desktop]', or pip install 'pywebview[qt]' on Linux; or leave --desktop out and use a browser",
        )


def closing_question(studio: Studio) -> str:
    """Return a question that lists the work that closing the studio would interrupt; empty if there is none."""
    runs = len(studio.fine_tune.list_active())
    queues = (studio.embedding_jobs, studio.distillation_jobs, studio.evaluation_jobs, studio.document_jobs, studio.export_jobs)
    jobs = sum(len(queue.list_active()) for queue in queues)
    notes = [f"Running trainings: {runs}. They can be resumed from the last checkpoint."] if runs else []
    notes += [f"Other running tasks: {jobs}. They would have to start again."] if jobs else []
    return " ".join([*notes, "Close the studio anyway?"]) if notes else ""


def open_window(studio: Studio, url: str) -> None:
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
