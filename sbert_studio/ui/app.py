"""The page: header, six tabs, the named endpoints; and how it is served."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr
from starlette.middleware import Middleware

from ..caches import keep_little
from ..data.samples import list_samples
from ..errors import StudioError
from ..services.janitor import Janitor
from ..settings import summarise_events_seldom, trust_proxies
from . import banner, opening, places, tabs
from .api.build import build as build_api
from .api.for_mcp import configure_mcp
from .look import gradio_patches, theme
from .look.languages import FOLDER, GradioInEnglish, languages, served
from .page import Page, is_ours
from .panels.basket import panel as basket
from .pieces.handlers import guarded
from .pieces.plots import plotly_folder
from .pieces.views import view
from .pieces.wiring import hide_hidden_progress, join_events, long_works
from .tray import panel as tray
from .visitors.callers import InnerCalls
from .visitors.disconnects import DisconnectWatcher
from .visitors.hosts import AllowedHosts, OwnHostsOnly
from .visitors.refusals import PlainBlocks
from .visitors.streams import OpenStreams, keep_streams
from .visitors.uploads import Ledger, UploadBudget

if TYPE_CHECKING:
    from ..services import Studio

log = logging.getLogger(__name__)
NAME = "SBERT Studio"
TAGLINE = "Explore sentences, and tune the model that compares them."
# Scrambles what the browser keeps (a visitor's name and the run they follow), so that it survives a restart. It protects nothing.
_BROWSER_KEY = "sbert-studio-visitor"
_CLEAN_EVERY, _KEEP_FOR = 3600, 86400
_SESSIONS = 1000
# Gradio 6.31 announces the end of an event by a key that its own words lack, and the bare key would be seen.
_WORDS = {"common.complete": "Done"}
_AT_ONCE = 4
# Seconds between polls of the queue. Gradio's defaults, 0.001 and 0.01, take 6% of a core while the page is idle.
_EVENT_POLL, _PROGRESS_POLL = 0.01, 0.1


def build(studio: Studio, *, shared: bool | None = None) -> Any:
    """The whole page as ``gr.Blocks``, not yet served.

    Args:
        shared: whether strangers can reach it; by the settings where not given. They then see their own runs only, and may not
            name folders of this machine.
    """
    return _drawn(studio, Page(studio, studio.settings.shared if shared is None else shared))


def _drawn(studio: Studio, page: Page) -> Any:
    if page.shared:
        studio.catalog.allow_folders = False
    with PlainBlocks(title=NAME, analytics_enabled=False, delete_cache=(_CLEAN_EVERY, _KEEP_FOR), fill_width=True) as blocks:
        page.corpus = gr.State(None)
        page.arrived = gr.State(None)
        page.compare = gr.State(None)
        page.brought = gr.State(None)
        page.runs_changed = gr.State(0)
        page.pair = gr.State(None)
        page.basket_changed = gr.State(0)
        page.teach = gr.State(None)
        page.on_map, page.within = gr.State(None), gr.State(None)
        poll = studio.settings.poll_seconds
        page.timer = gr.Timer(poll, active=False)
        page.runs_timer = gr.Timer(4 * poll)
        page.fits_timer = gr.Timer(poll, active=False)
        page.evaluations_timer = gr.Timer(poll / 2, active=False)
        page.owner = gr.BrowserState({"owner": "", "job": ""}, storage_key=_BROWSER_KEY, secret=_BROWSER_KEY)
        page.kept_form = gr.BrowserState({"file": ""}, storage_key=f"{_BROWSER_KEY}-form", secret=_BROWSER_KEY)
        page.kept_alike = gr.BrowserState({"corpus": ""}, storage_key=f"{_BROWSER_KEY}-alike", secret=_BROWSER_KEY)
        page.kept_model = gr.BrowserState("", storage_key=f"{_BROWSER_KEY}-model", secret=_BROWSER_KEY)
        page.language = gr.Textbox(opening.ENGLISH, visible="hidden", label="language", elem_id="language")
        with gr.Row(elem_classes=["sb-header"]):
            view("header", {"title": NAME, "tagline": TAGLINE, **_device(studio)})
            in_tray = tray.draw(page, NAME)
            pairs = basket.button()
            page.corpus_name = places.corpus_chooser(page)
            page.model = gr.Dropdown(
                choices=page.model_choices(None),
                value=studio.settings.default_model,
                label="Model",
                allow_custom_value=True,
                elem_id="model",
                elem_classes=["sb-model", "sb-data"],
                scale=0,
                min_width=200,
            )
        above = banner.build(page)
        modules = {module.TITLE.lower(): module for module in _tabs()}
        with gr.Tabs(elem_classes=["sb-tabs"]) as page.tabs:
            for word, module in modules.items():
                with gr.Tab(module.TITLE, id=module.TITLE, elem_id=f"tab-{word}") as tab:
                    module.build(studio, page)
                tab.select(None, js=f"() => SB.place({{ tab: '{word}' }})")
        basket.build(page, pairs)
        build_api(page)
        blocks.unload(page.leave)
        blocks.load(page.come, None, None, queue=False, api_visibility="private", show_progress="hidden")
        named = opening.listen(page, blocks)
        tray.listen(page, in_tray, NAME, named)
        _keep_model(page, named)
        places.listen(page, {word: module.TITLE for word, module in modules.items()}, named)
        banner.listen(page, above, named)
        for listen in page.on_load:
            listen(named)
        for event in (named.then, page.runs_changed.change):
            event(guarded(partial(_models, page)), [page.owner, page.model], page.model, api_visibility="private", show_progress="hidden")
        hide_hidden_progress(blocks)
        join_events(blocks)
    return blocks


def launch(
    studio: Studio, host: str, port: int, share: bool, *, block: bool = True, mcp: bool = False, ready: Callable[[], None] = lambda: None
) -> tuple[Any, str]:
    """Serve the page until it is interrupted (or, not ``block``, from a background thread).

    Args:
        host, port: what to listen on; port 0 takes a free one.
        share: ask Gradio for a public tunnel.
        mcp: serve the endpoints to MCP clients as well, at ``/gradio_api/mcp/``.
        ready: called once the page answers, before anything is read in ahead of its first use.

    Returns:
        the running ``gr.Blocks`` and its local URL.
    """
    page = Page(studio, replace(studio.settings, host=host, share=share).shared)
    blocks = _drawn(studio, page)
    keep_little()
    folder, own = plotly_folder(), [sample.title for sample in list_samples()]
    gr.set_static_paths([folder, FOLDER])
    summarise_events_seldom()
    trust_proxies(studio.settings)
    blocks.queue(max_size=128, default_concurrency_limit=_AT_ONCE)
    blocks._queue.sleep_when_free = _EVENT_POLL
    blocks._queue.progress_update_sleep_when_free = _PROGRESS_POLL
    streams, ledger = keep_streams(blocks), _ledger(studio)
    _, url, _ = blocks.launch(
        server_name=host,
        server_port=port or None,
        share=share,
        theme=theme.theme(),
        css=theme.css(),
        head=theme.head(served(folder / "plotly.min.js"), languages(), own, studio.settings.poll_seconds, long_works(blocks)),
        footer_links=[],
        run_history=False,
        max_file_size=studio.settings.max_upload_mb << 20,
        state_session_capacity=_SESSIONS,
        ssr_mode=False,
        i18n=gr.I18n(en=_WORDS),
        mcp_server=mcp,
        show_error=False,
        prevent_thread_lock=True,
        app_kwargs={
            "routes": gradio_patches.routes(),
            "middleware": [
                Middleware(OwnHostsOnly, allowed=AllowedHosts(host, studio.settings.allowed_hosts, share=share)),
                Middleware(InnerCalls),
                Middleware(UploadBudget, ledger=ledger, max_file=studio.settings.max_upload_mb << 20),
                Middleware(OpenStreams, streams=streams),
                Middleware(DisconnectWatcher),
                Middleware(GradioInEnglish),
            ],
        },
        blocked_paths=[str(studio.workspace.home)],
    )
    blocks.fetches = not page.shared
    configure_mcp(blocks.mcp_server_obj, takes_paths=not page.shared, ledger=ledger, max_file=studio.settings.max_upload_mb << 20)
    page.sessions.set_blocks(blocks)
    blocks.app.state_holder = page.sessions
    ready()
    if studio.settings.resume and not studio.settings.zero_gpu:  # whose GPU time is a visitor's who has to ask for it
        try:
            studio.tune.take_up()
        except StudioError as error:  # the database cannot be read; whatever asks for a run says so
            log.warning("interrupted runs could not be gone on with: %s", error)
    # UMAP is read in, and where no compiled code of it is kept compiled, on first use: seconds that nobody should wait for.
    threading.Thread(target=partial(_warm_up, studio), name="warm-up", daemon=True).start()
    janitor = Janitor(studio, page.sweep, page.held)
    janitor.start()
    studio.on_close.append(janitor.close)
    if block:
        blocks.block_thread()
    return blocks, url


def _keep_model(page: Page, named: Any) -> None:
    """The browser remembers the model in the header, so that a reload does not forget it."""
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    named.then(guarded(partial(_restored, page)), [page.kept_model, page.owner], page.model, **quiet)
    # Buttons that choose a model write it themselves; the page that is drawn anew shows the usual one first, which nobody chose.
    page.model.input(lambda name: name, page.model, page.kept_model, **quiet)


def _restored(page: Page, kept: Any, owner: Any) -> Any:
    choices = page.model_choices(owner)
    return gr.update(choices=choices, value=kept) if kept in {name for _, name in choices} else gr.skip()


def _models(page: Page, owner: Any, chosen: str) -> Any:
    choices = page.model_choices(owner)
    gone = is_ours(chosen) and chosen not in {name for _, name in choices}
    # Only what is gone is replaced: the visitor may have chosen another one while this was on its way.
    return gr.update(choices=choices, value=page.studio.settings.default_model) if gone else gr.update(choices=choices)


def _tabs() -> list[Any]:
    found = [importlib.import_module(f"{tabs.__name__}.{item.name}") for item in pkgutil.iter_modules(tabs.__path__)]
    return sorted(found, key=lambda module: module.ORDER)


def _ledger(studio: Studio) -> Ledger:
    limits = studio.settings.limits
    return Ledger(limits.uploads_mb << 20, limits.all_uploads_mb << 20, _KEEP_FOR)


def _device(studio: Studio) -> dict[str, str]:
    import torch

    from ..models.runtime import resolve_device

    device = resolve_device(studio.settings.device)
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        return {"device": name.removeprefix("NVIDIA "), "device_title": f"Models run on {name}"}
    if device.type == "mps":
        return {"device": "Apple GPU", "device_title": "Models run on the Apple GPU"}
    threads = torch.get_num_threads()
    return {"device": "CPU", "device_title": f"Models run on the processor, {threads} threads"}


def _warm_up(studio: Studio) -> None:
    from ..explore.projection import warm_up

    try:
        studio.catalog.load(studio.settings.default_model)
    except StudioError as error:
        log.warning("the default model cannot be loaded: %s", error)  # the verb that needs it says so
    warm_up(studio.workspace)
