"""The chart of speeds as data for the page's JavaScript, and where plotly's own lies. The only place that knows plotly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .views import Value, plain


def plotly_folder() -> Path:
    """The folder of the installed plotly that holds ``plotly.min.js``."""
    import plotly

    return Path(plotly.__file__).parent / "package_data"


def speed_value(points: Sequence[tuple[str, float, float, Sequence[float] | None]], metric: str) -> Value:
    """The value of a ``speeds`` view: score against speed, for each model (title, sentences a second, score, 95% interval or ``None``)."""
    shown = [
        {"name": title, "rate": rate, "score": score, "low": span[0] if span else None, "high": span[1] if span else None}
        for title, rate, score, span in points
    ]
    return plain({"points": shown, "metric": metric})  # type: ignore[no-any-return]
