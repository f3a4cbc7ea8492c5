"""Look of the page: theme, styles and scripts of ``assets/page``. Nothing is loaded from the network."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..assets import assets

if TYPE_CHECKING:
    import gradio as gr

PAGE = assets() / "page"
SCRIPTS = (
    *("core.js", "help.js", "keys.js", "place.js", "tray.js", "views.js", "form.js"),
    *(f"training/{name}.js" for name in ("training", "pins", "evaluation", "mistakes")),
    *(f"pairs/{name}.js" for name in ("alike", "basket", "comparing")),
    *(f"changes/{name}.js" for name in ("morph", "changed")),
    *(f"map/drawing/{name}.js" for name in ("colours", "camera", "points", "density", "labels", "overlay", "picking", "picture", "style")),
    *(f"map/{name}.js" for name in ("gestures", "legend", "find", "side", "scene", "page")),
)
# Before all others, including Gradio's, which read the browser's storage.
_FIRST = ("storage.js",)
# For the page only: streams of events and translations. Exported files stay in English.
_SERVED = ("stream.js", *(f"language/{name}.js" for name in ("translator", "choice", "page")))
STYLES = ("studio.css", "cards.css", "form.css", "help.css", "pairs/pairs.css", "training/pins.css", "changes/changed.css", "map/map.css")


def theme() -> gr.themes.Base:
    """Return the Gradio theme; both colour schemes share one set of names in ``studio.css``."""
    import gradio as gr
    from gradio.themes.utils import colors, fonts, sizes

    teal = colors.Color(
        name="sbert-teal",
        c50="#effaf8", c100="#d5f2ed", c200="#ade4dc", c300="#78cfc5", c400="#43b3a8",
        c500="#1f978d", c600="#127a73", c700="#12625e", c800="#134e4c", c900="#14413f", c950="#052624",
    )  # fmt: skip
    stone = colors.Color(
        name="sbert-stone",
        c50="#fafaf8", c100="#f3f3f0", c200="#e6e6e1", c300="#d3d3cd", c400="#a1a19a",
        c500="#74746d", c600="#55554f", c700="#3a3b39", c800="#242625", c900="#181a1a", c950="#101212",
    )  # fmt: skip
    # Gradio ships these two completely in regular and bold only; its other weights lack most letters.
    sans = (
        fonts.LocalFont("IBM Plex Sans", weights=(400, 700)),
        "system-ui",
        "Segoe UI",
        "PingFang SC",
        "Microsoft YaHei",
        "Noto Sans CJK SC",
        "sans-serif",
    )
    mono = (fonts.LocalFont("IBM Plex Mono", weights=(400, 700)), "ui-monospace", "Consolas", "monospace")
    base = gr.themes.Base(
        primary_hue=teal,
        secondary_hue=teal,
        neutral_hue=stone,
        font=sans,
        font_mono=mono,
        text_size=sizes.text_md,
        spacing_size=sizes.spacing_md,
        radius_size=sizes.radius_md,
    )
    return base.set(
        body_background_fill="*neutral_50",
        body_background_fill_dark="*neutral_950",
        body_text_color="#1b1d1c",
        body_text_color_dark="#e8e9e6",
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_400",
        background_fill_primary="white",
        background_fill_primary_dark="*neutral_900",
        background_fill_secondary="*neutral_50",
        background_fill_secondary_dark="*neutral_950",
        border_color_primary="*neutral_200",
        border_color_primary_dark="#2c2f2e",
        color_accent="*primary_600",
        color_accent_soft="*primary_50",
        color_accent_soft_dark="#10302e",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
        block_background_fill="white",
        block_background_fill_dark="*neutral_900",
        block_border_width="0px",
        block_border_color="*border_color_primary",
        block_shadow="none",
        block_padding="0px",
        block_radius="10px",
        block_label_background_fill="transparent",
        block_label_border_width="0px",
        block_label_text_color="*neutral_600",
        block_label_text_color_dark="*neutral_300",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_300",
        block_title_text_size="13px",
        block_title_text_weight="400",
        block_info_text_size="12.5px",
        form_gap_width="0px",
        layout_gap="16px",
        input_background_fill="white",
        input_background_fill_dark="#1f2221",
        input_border_color="*neutral_300",
        input_border_color_dark="#3a3d3c",
        input_border_color_focus="*primary_500",
        input_border_color_focus_dark="*primary_400",
        input_border_width="1px",
        input_radius="8px",
        input_padding="9px 12px",
        input_shadow="none",
        input_shadow_focus="0 0 0 3px rgba(31, 151, 141, 0.16)",
        button_border_width="1px",
        button_large_radius="8px",
        button_medium_radius="8px",
        button_small_radius="999px",
        button_large_padding="9px 18px",
        button_medium_padding="8px 14px",
        button_small_padding="4px 12px",
        button_large_text_size="15px",
        button_large_text_weight="600",
        button_medium_text_weight="600",
        button_small_text_size="13px",
        button_small_text_weight="400",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_border_color="transparent",
        button_primary_border_color_dark="transparent",
        button_primary_text_color="white",
        button_primary_text_color_dark="white",
        button_secondary_background_fill="white",
        button_secondary_background_fill_dark="#1f2221",
        button_secondary_background_fill_hover="*neutral_100",
        button_secondary_background_fill_hover_dark="#2a2d2c",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="#3a3d3c",
        button_secondary_text_color="#1b1d1c",
        button_secondary_text_color_dark="#e8e9e6",
        button_cancel_background_fill="white",
        button_cancel_background_fill_dark="#1f2221",
        button_cancel_background_fill_hover="#fdf1ef",
        button_cancel_background_fill_hover_dark="#331c19",
        button_cancel_border_color="#e3b5ad",
        button_cancel_border_color_dark="#6b3a32",
        button_cancel_text_color="#a43323",
        button_cancel_text_color_dark="#f0a79b",
        slider_color="*primary_600",
        slider_color_dark="*primary_400",
        checkbox_background_color_selected="*primary_600",
        checkbox_background_color_selected_dark="*primary_500",
        checkbox_border_color_selected="*primary_600",
        checkbox_border_color_selected_dark="*primary_500",
        loader_color="*primary_500",
        stat_background_fill="*primary_500",
        table_border_color="*neutral_200",
        table_border_color_dark="#2c2f2e",
    )


def css() -> str:
    """Return the style sheet of the page."""
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in STYLES)


def scripts() -> str:
    """Return the JavaScript of the page, which exported HTML files contain too."""
    return _joined(SCRIPTS)


def head(
    plotly: str,
    languages: Mapping[str, Mapping[str, str]] | None = None,
    own: Iterable[str] = (),
    poll: float = 1.0,
    tasks: Mapping[int, str] | None = None,
) -> str:
    """Return the content of ``<head>``: the URL of plotly.js, and the page's scripts and their configuration.

    Args:
        plotly: URL of ``plotly.min.js``.
        languages: see :class:`.i18n.PageCatalogs`.
        own: titles of samples, which are translated although they appear among visitors' names.
        poll: seconds between polls for running tasks.
        tasks: those that can be cancelled, by event (:func:`.events.cancellable_tasks`).
    """
    config = json.dumps({"languages": languages or {}, "own": list(own), "poll": poll, "works": tasks or {}}, ensure_ascii=False)
    safe = f"{_joined(_FIRST)}\nwindow.SB_PAGE = {config};\n{scripts()}\n{_joined(_SERVED)}".replace("</script", "<\\/script")
    return f'<meta name="sb-plotly" content="{html.escape(plotly)}">\n<script>\n{safe}\n</script>'


def _joined(names: Iterable[str]) -> str:
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in names)


def plotly_folder() -> Path:
    """Return the folder of the installed plotly package with ``plotly.min.js``."""
    import plotly

    return Path(plotly.__file__).parent / "package_data"
