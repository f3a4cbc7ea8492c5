"""Theme of the page: colors, styles and scripts of ``assets/page``, and HTML files with them. Nothing is loaded from the network."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..serialization import to_plain
from ..workspace import assets, atomic_file

if TYPE_CHECKING:
    import gradio as gr
    import numpy as np

PAGE = assets() / "page"
SCRIPTS = (
    *("core.js", "help.js", "keys.js", "place.js", "tray.js", "files.js", "views.js", "form.js", "dataset.js", "sight.js"),
    *(f"training/{name}.js" for name in ("training", "pins", "evaluation", "mistakes", "labels", "exports")),
    *(f"pairs/{name}.js" for name in ("alike", "basket", "comparing")),
    *(f"changes/{name}.js" for name in ("morph", "changed")),
    *(f"map/drawing/{name}.js" for name in ("colours", "camera", "spatial", "marks", "points", "density", "labels", "overlay")),
    *(f"map/drawing/{name}.js" for name in ("picking", "picture")),
    *(f"map/{name}.js" for name in ("columns", "paint", "filters", "gestures", "legend", "panel", "find", "side", "scene", "page")),
)
# Before all other scripts, including Gradio's, which read the browser's storage.
_FIRST = ("storage.js",)
# For the page only: event streams and translations. Exported files are in English.
_SERVED = ("stream.js", *(f"language/{name}.js" for name in ("translator", "choice", "page")))
STYLES = (
    "studio.css",
    "cards.css",
    "dataset.css",
    "form.css",
    "help.css",
    "pairs/pairs.css",
    "training/pins.css",
    "changes/changed.css",
    "map/map.css",
)

_COLORS = {  # setting of Gradio's theme → (light, dark)
    "body_background_fill": ("*neutral_50", "*neutral_950"),
    "body_text_color": ("#1b1d1c", "#e8e9e6"),
    "body_text_color_subdued": ("*neutral_500", "*neutral_400"),
    "background_fill_primary": ("white", "*neutral_900"),
    "background_fill_secondary": ("*neutral_50", "*neutral_950"),
    "border_color_primary": ("*neutral_200", "#2c2f2e"),
    "color_accent_soft": ("*primary_50", "#10302e"),
    "link_text_color": ("*primary_700", "*primary_300"),
    "block_background_fill": ("white", "*neutral_900"),
    "block_label_text_color": ("*neutral_600", "*neutral_300"),
    "block_title_text_color": ("*neutral_700", "*neutral_300"),
    "input_background_fill": ("white", "#1f2221"),
    "input_border_color": ("*neutral_300", "#3a3d3c"),
    "input_border_color_focus": ("*primary_500", "*primary_400"),
    "button_primary_background_fill": ("*primary_600", "*primary_600"),
    "button_primary_background_fill_hover": ("*primary_700", "*primary_700"),
    "button_primary_border_color": ("transparent", "transparent"),
    "button_primary_text_color": ("white", "white"),
    "button_secondary_background_fill": ("white", "#1f2221"),
    "button_secondary_background_fill_hover": ("*neutral_100", "#2a2d2c"),
    "button_secondary_border_color": ("*neutral_300", "#3a3d3c"),
    "button_secondary_text_color": ("#1b1d1c", "#e8e9e6"),
    "button_cancel_background_fill": ("white", "#1f2221"),
    "button_cancel_background_fill_hover": ("#fdf1ef", "#331c19"),
    "button_cancel_border_color": ("#e3b5ad", "#6b3a32"),
    "button_cancel_text_color": ("#a43323", "#f0a79b"),
    "slider_color": ("*primary_600", "*primary_400"),
    "checkbox_background_color_selected": ("*primary_600", "*primary_500"),
    "checkbox_border_color_selected": ("*primary_600", "*primary_500"),
    "table_border_color": ("*neutral_200", "#2c2f2e"),
}
_PLAIN = {
    "color_accent": "*primary_600",
    "block_border_width": "0px",
    "block_border_color": "*border_color_primary",
    "block_shadow": "none",
    "block_padding": "0px",
    "block_radius": "10px",
    "block_label_background_fill": "transparent",
    "block_label_border_width": "0px",
    "block_title_text_size": "13px",
    "block_title_text_weight": "400",
    "block_info_text_size": "12.5px",
    "form_gap_width": "0px",
    "layout_gap": "16px",
    "input_border_width": "1px",
    "input_radius": "8px",
    "input_padding": "9px 12px",
    "input_shadow": "none",
    "input_shadow_focus": "0 0 0 3px rgba(31, 151, 141, 0.16)",
    "button_border_width": "1px",
    "button_large_radius": "8px",
    "button_medium_radius": "8px",
    "button_small_radius": "999px",
    "button_large_padding": "9px 18px",
    "button_medium_padding": "8px 14px",
    "button_small_padding": "4px 12px",
    "button_large_text_size": "15px",
    "button_large_text_weight": "600",
    "button_medium_text_weight": "600",
    "button_small_text_size": "13px",
    "button_small_text_weight": "400",
    "loader_color": "*primary_500",
    "stat_background_fill": "*primary_500",
}


def theme() -> gr.themes.Base:
    """Return the Gradio theme; both color schemes share the variables in ``studio.css``."""
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
    # Gradio provides these two completely only in regular and bold; other weights lack most letters.
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
    dark = {f"{name}_dark": value for name, (_, value) in _COLORS.items()}
    return base.set(**{name: value for name, (value, _) in _COLORS.items()}, **dark, **_PLAIN)


def css() -> str:
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in STYLES)


def scripts() -> str:
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
        languages: see :class:`.language_switch.PageCatalogs`.
        own: titles of samples, which are translated even next to visitors' names.
        poll: seconds between polls for running tasks.
        tasks: those that can be cancelled, by event (:func:`.panel.cancellable_tasks`).
    """
    config = json.dumps({"languages": languages or {}, "own": list(own), "poll": poll, "works": tasks or {}}, ensure_ascii=False)
    safe = f"{_joined(_FIRST)}\nwindow.SB_PAGE = {config};\n{scripts()}\n{_joined(_SERVED)}".replace("</script", "<\\/script")
    return f'<meta name="sb-plotly" content="{html.escape(plotly)}">\n<script>\n{safe}\n</script>'


def _joined(names: Iterable[str]) -> str:
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in names)


def plotly_folder() -> Path:
    import plotly

    return Path(plotly.__file__).parent / "package_data"


def to_base64(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def write_html(path: Path, name: str, data: object) -> Path:
    """Write results as a single HTML file with the page's drawing code and style.

    Visitors' texts are stored as JSON and shown as text content, so that they are never interpreted as HTML.

    Args:
        name: name of the template ``assets/page/NAME.html`` and the script ``NAME.js`` that draws ``data``, such as ``map/export``.
    """
    text = json.dumps(to_plain(data), ensure_ascii=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    code = {"scripts": scripts(), "start": _joined([f"{name}.js"])}
    known = {"css": css(), "data": safe, **{part: script.replace("</script", "<\\/script") for part, script in code.items()}}
    head, *rest = _joined([f"{name}.html"]).split("{{")
    pieces = [head]
    for piece in rest:
        part, after = piece.split("}}", 1)
        pieces += [known[part], after]
    with atomic_file(path) as target:
        target.write_text("".join(pieces), encoding="utf-8")
    return path
