"""The page: header, tabs and API endpoints, and the server."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import gradio as gr
from gradio.route_utils import FnIndexInferError
from starlette.middleware import Middleware
from starlette.routing import Route

from ..caches import tune_malloc
from ..data.samples import list_samples
from ..errors import StudioError
from ..i18n import ENGLISH, _
from ..services.janitor import Janitor
from ..settings import bypass_proxy, reduce_gradio_analytics, trust_proxies
from . import banner, basket, data_dialog, gradio_patches, language_switch, routing, task_list, theme
from .endpoints import build_api, configure_mcp
from .language_switch import GradioInEnglish, PageCatalogs, static_url
from .page import Page
from .panel import Panel, cancellable_tasks, drop_hidden_progress, join_events
from .sessions.blocks import Events, StudioBlocks, report_unknown_endpoint
from .sessions.middleware import AllowedHosts, DisconnectWatcher, HostCheck, McpCallerMiddleware
from .sessions.streams import OpenStreams, install_streams
from .sessions.uploads import UploadBudget, UploadLedger
from .state import is_own_model
from .tabs import load_tabs
from .theme import plotly_folder
from .views import UNCHANGED, Unchanged, Update, props, view

if TYPE_CHECKING:
    from ..services import Studio

log = logging.getLogger(__name__)
NAME = "SBERT Studio"
_CLEAN_EVERY, _KEEP_UPLOADS = 3600, 86400  # seconds
_MAX_SESSIONS = 1000
# Gradio 6.31 announces the end of an event, and names the button that adds files, with keys that have no translation, and would show them.
_TRANSLATIONS = {"common.complete": "Done", "common.upload": "Add files"}
_CONCURRENCY = 4
# Seconds between polls of the queue. Gradio's defaults, 0.001 and 0.01, take 6% of a core while the page is idle.
_EVENT_POLL, _PROGRESS_POLL = 0.01, 0.1


def build(studio: Studio, *, shared: bool | None = None) -> gr.Blocks:
    """Build the page without serving it.

    Args:
        shared: whether other people can reach it; by default as configured. Visitors of a shared page see only their own runs and may not
            access folders of this machine.
    """
    return build_page(studio, Page(studio, studio.settings.shared if shared is None else shared))


def build_page(studio: Studio, page: Page) -> gr.Blocks:
    if page.shared:
        studio.catalog.allow_folders = False
    with StudioBlocks(title=NAME, analytics_enabled=False, delete_cache=(_CLEAN_EVERY, _KEEP_UPLOADS), fill_width=True) as blocks:
        page.draw_states()
        page.language = gr.Textbox(ENGLISH, visible="hidden", label="language", elem_id="language")
        with gr.Row(elem_classes=["sb-header"]):
            view("header", {"title": NAME, **_device(studio)})
            tasks = task_list.draw_task_list(page, NAME)
            basket_button = basket.draw_button()
            data_button = data_dialog.draw_button()
            page.corpus_name = routing.draw_corpus_chooser(page)
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
        notes = banner.draw_banner()
        modules = {module.TITLE.lower(): module for module in load_tabs()}
        with gr.Tabs(elem_classes=["sb-tabs"], overflow_behavior="wrap") as page.tabs:
            for word, module in modules.items():
                with gr.Tab(module.TITLE, id=module.TITLE, elem_id=f"tab-{word}") as tab:
                    module.build(studio, page)
                tab.select(None, js=f"() => SB.place({{ tab: '{word}' }})")
        basket.build(page, basket_button)
        data_dialog.build(page, data_button)
        build_api(page)
        blocks.unload(page.close_session)
        blocks.load(page.open_session, None, None, queue=False, api_visibility="private", show_progress="hidden")
        loaded = language_switch.connect_languages(page, blocks)
        task_list.connect_task_list(page, tasks, NAME, loaded)
        _connect_model_chooser(page, loaded)
        routing.connect_address(page, {word: module.TITLE for word, module in modules.items()}, loaded)
        banner.connect_banner(page, notes, loaded)
        for connect in page.on_load:
            connect(loaded)
        drop_hidden_progress(blocks)
        join_events(blocks)
    return blocks


def launch(
    studio: Studio, host: str, port: int, share: bool, *, block: bool = True, mcp: bool = False, ready: Callable[[], None] = lambda: None
) -> tuple[gr.Blocks, str]:
    """Serve the page.

    Args:
        host, port: address to listen on; port 0 selects a free one.
        share: open a public Gradio tunnel.
        block: wait until interrupted; otherwise serve from a background thread.
        mcp: also serve the endpoints to MCP clients, at ``/gradio_api/mcp/``.
        ready: called once the page responds, before the default model is loaded.

    Returns:
        the running ``gr.Blocks`` and its local URL.
    """
    page = Page(studio, replace(studio.settings, host=host, share=share).shared)
    blocks = build_page(studio, page)
    tune_malloc()
    plotly, catalogs = plotly_folder(), PageCatalogs(blocks)
    gr.set_static_paths([plotly])
    reduce_gradio_analytics()
    trust_proxies(studio.settings)
    bypass_proxy()
    gradio_patches.disable_hot_reload()
    blocks.queue(max_size=128, default_concurrency_limit=_CONCURRENCY)
    blocks._queue.sleep_when_free = _EVENT_POLL
    blocks._queue.progress_update_sleep_when_free = _PROGRESS_POLL
    # Two threads that import it for the first time at once, such as a resumed training and a visitor's request, would fail.
    importlib.import_module("transformers")
    streams, ledger, max_file = install_streams(blocks), _ledger(studio), studio.settings.max_upload_mb << 20
    _, url, _ = blocks.launch(
        server_name=host,
        server_port=port or None,
        share=share,
        theme=theme.theme(),
        css=theme.css(),
        head=theme.head(
            static_url(plotly / "plotly.min.js"),
            catalogs.languages,
            [sample.title for sample in list_samples()],
            studio.settings.poll_seconds,
            cancellable_tasks(blocks),
        ),
        footer_links=[],
        run_history=False,
        max_file_size=max_file,
        state_session_capacity=_MAX_SESSIONS,
        ssr_mode=False,
        i18n=gr.I18n(en=_TRANSLATIONS),
        mcp_server=mcp,
        quiet=True,  # its messages advise on arguments of launch()
        show_error=False,
        prevent_thread_lock=True,
        _frontend=False,  # otherwise it exits with an error unless the page responds within 3 seconds, which a busy machine may not
        app_kwargs={
            "exception_handlers": {FnIndexInferError: report_unknown_endpoint},
            "routes": [*gradio_patches.patched_routes(), *catalogs.routes(), *tab_routes(page)],
            "middleware": [
                Middleware(HostCheck, allowed=AllowedHosts(host, studio.settings.allowed_hosts, share=share), private=not page.shared),
                Middleware(McpCallerMiddleware),
                Middleware(UploadBudget, ledger=ledger, max_file=max_file),
                Middleware(OpenStreams, streams=streams),
                Middleware(DisconnectWatcher),
                Middleware(GradioInEnglish),
            ],
        },
        blocked_paths=[str(studio.workspace.home)],
    )
    blocks.accepts_urls = not page.shared
    configure_mcp(
        blocks.mcp_server_obj,
        takes_paths=not page.shared,
        reads_only=studio.settings.mcp_reads_only,
        ledger=ledger,
        max_file=max_file,
    )
    blocks.default_config.fns = Events(blocks.fns)
    page.sessions.set_blocks(blocks)
    blocks.app.state_holder = page.sessions
    ready()
    if studio.settings.resume and not studio.settings.zero_gpu:  # ZeroGPU time is charged to visitors, who have to request it
        try:
            for run in studio.fine_tune.resume_interrupted():
                log.warning("the run %s was interrupted and is resumed", run.id)
        except StudioError as error:
            log.warning("interrupted runs could not be resumed: %s", error)
    # Load UMAP and compile its loops in advance, which takes seconds if they are not cached.
    threading.Thread(target=partial(_warm_up, studio), name="warm-up", daemon=True).start()
    janitor = Janitor(studio, page.sweep, page.memory_usage)
    janitor.start()
    studio.on_close += [janitor.close, page.delete_temporary_files]
    if block:
        blocks.block_thread()
    return blocks, url


def tab_routes(page: Page) -> list[Route]:
    """Return the additional routes of the tabs that have a function ``routes``."""
    return [route for module in load_tabs() if hasattr(module, "routes") for route in module.routes(page)]


def _connect_model_chooser(page: Page, loaded: gr.events.Dependency) -> None:
    panel = Panel(page)
    panel.on(loaded.then, restore_model, output="model", quiet=True)
    # Store only explicit choices, not the model that the page opens with.
    panel.on(page.model.input, store_model, output="saved_model", quiet=True)
    for trigger in (loaded.then, page.runs_version.change):
        panel.on(trigger, update_models, output="model", quiet=True)


def restore_model(page: Page, saved_model: object, owner: object) -> Update | Unchanged:
    choices = page.model_choices(owner)
    return props(choices=choices, value=saved_model) if saved_model in {name for _, name in choices} else UNCHANGED


def store_model(model: str) -> str:
    return model


def update_models(page: Page, owner: object, model: object) -> Update:
    """Update the list of models. Only a deleted selection is replaced: the visitor may have selected another model in the meantime."""
    choices = page.model_choices(owner)
    is_deleted = is_own_model(model) and model not in {name for _, name in choices}
    return props(choices=choices, value=page.studio.settings.default_model) if is_deleted else props(choices=choices)


def _ledger(studio: Studio) -> UploadLedger:
    limits = studio.settings.limits
    return UploadLedger(limits.uploads_mb << 20, limits.all_uploads_mb << 20, _KEEP_UPLOADS)


def _device(studio: Studio) -> dict[str, str]:
    import torch

    from ..models.inference.machine import resolve_device

    device = resolve_device(studio.settings.device)
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        return {"device": name.removeprefix("NVIDIA "), "device_title": _("Models run on {name}", name=name)}
    if device.type == "mps":
        return {"device": "Apple GPU", "device_title": "Models run on the Apple GPU"}
    threads = torch.get_num_threads()
    return {"device": "CPU", "device_title": _("Models run on the CPU, {threads} threads", threads=threads)}


def _warm_up(studio: Studio) -> None:
    from ..explore.projection import warm_up

    try:
        studio.catalog.load(studio.settings.default_model)
    except StudioError as error:
        log.warning("the default model cannot be loaded: %s", error)  # the handler that needs it reports it
    warm_up(studio.workspace)
