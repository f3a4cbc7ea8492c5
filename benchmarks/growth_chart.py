"""Fits, chart and table of the points that growth.py measures."""

from __future__ import annotations

from typing import Any

import numpy as np

Point = dict[str, Any]
Points = dict[str, dict[str, Point]]
_FITTED_FROM = 10_000
_COLOURS = {"encode": "#4f7df3", "search": "#2fa36b", "mine": "#d9822b", "map": "#b455c9"}
_INK = "#808080"  # readable on light and on dark
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 400, 300, 62, 108, 92


def exponents(points: Points) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return task → method → ``seconds`` and ``memory`` → b of cost = a · rows ** b."""
    return {
        task: {
            method: {
                which: exponent([rows for rows, _ in some], _costs([point for _, point in some], which)) for which in ("seconds", "memory")
            }
            for method, some in _by_method(found).items()
        }
        for task, found in points.items()
    }


def _by_method(found: dict[str, Point]) -> dict[str, list[tuple[int, Point]]]:
    """Return the points of each method by rising rows, since an exact and an approximate method grow differently."""
    methods: dict[str, list[tuple[int, Point]]] = {}
    for rows in sorted(int(count) for count in found):
        point = found[str(rows)]
        methods.setdefault(point.get("method", ""), []).append((rows, point))
    return methods


def table(points: Points) -> str:
    """Return a Markdown table: seconds, and MiB beyond the base, of each task by rows."""
    rows = sorted({int(count) for found in points.values() for count in found})
    lines = [f"| task | {' | '.join(f'{count:,}' for count in rows)} | b of time, of memory |", "|---" * (len(rows) + 2) + "|"]
    for task, found in points.items():
        fits = exponents(points)[task]
        cells = [_cell(found.get(str(count))) for count in rows]
        fitted = "; ".join(f"{method} {', '.join(_two_digits(fit) for fit in by.values())}".strip() for method, by in fits.items())
        lines.append(f"| {task} | {' | '.join(cells)} | {fitted} |")
    return "\n".join(lines)


def _two_digits(fit: float | None) -> str:
    return "–" if fit is None else f"{fit:.2f}"


def _cell(point: Point | None) -> str:
    if point is None:
        return "–"
    seconds, recall = point["seconds"], f", recall {point['recall']:.3f}" if "recall" in point else ""
    shown = f"{seconds * 1000:.2g} ms" if seconds < 0.1 else f"{seconds:.3g} s"
    return f"{shown}, {(point['memory'] - point['base']) / 2**20:,.0f} MiB{recall}"


def exponent(rows: list[int], costs: list[float]) -> float | None:
    """Return b of cost = a · rows ** b, or None where fewer than two points can be fitted."""
    used = [(count, cost) for count, cost in zip(rows, costs, strict=True) if count >= _FITTED_FROM and cost > 0]
    return float(np.polyfit(*np.log(np.array(used)).T, 1)[0]) if len(used) > 1 else None


def chart(points: Points) -> str:
    """Return an SVG of two panels, time and memory by rows, both axes logarithmic."""
    panels = [("seconds", 1.0, "seconds"), ("memory", 2.0**20, "MiB at most")]
    panels_svg = "".join(_panel(points, which, unit, title, _LEFT + at * (_WIDTH + _GAP)) for at, (which, unit, title) in enumerate(panels))
    wide, high = _LEFT + 2 * _WIDTH + _GAP + 46, _TOP + _HEIGHT + 54
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="13" fill="{_INK}">\n'
        f"<title>Time and memory by rows</title>\n{panels_svg}</svg>\n"
    )


def _panel(points: Points, which: str, unit: float, title: str, left: int) -> str:
    values = [point[which] / unit for found in points.values() for point in found.values()]
    if not values:
        return ""
    low, high = np.floor(np.log10(min(values))), max(np.ceil(np.log10(max(values))), np.floor(np.log10(min(values))) + 1)
    every = [int(rows) for found in points.values() for rows in found]
    first, last = np.floor(np.log10(min(every))), max(np.ceil(np.log10(max(every))), np.floor(np.log10(min(every))) + 1)

    def x(rows: float) -> float:
        return float(left + (np.log10(rows) - first) / (last - first) * _WIDTH)

    def y(value: float) -> float:
        return float(_TOP + _HEIGHT - (np.log10(value) - low) / (high - low) * _HEIGHT)

    lines = [f'<text x="{left}" y="{_TOP - 92}" font-weight="bold">{title}</text>']
    for power in range(int(low), int(high) + 1):
        at = y(10.0**power)
        lines.append(f'<line x1="{left}" x2="{left + _WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="{_INK}" stroke-opacity=".3"/>')
        tick = f"{10.0**power:,.0f}" if power >= 0 else f"{10.0**power:.{-power}f}"
        lines.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{tick}</text>')
    for power in range(int(first), int(last) + 1):
        at = x(10.0**power)
        lines.append(f'<text x="{at:.1f}" y="{_TOP + _HEIGHT + 20}" text-anchor="middle">{10**power:,}</text>')
    lines.append(f'<text x="{left + _WIDTH / 2}" y="{_TOP + _HEIGHT + 42}" text-anchor="middle">rows</text>')
    fits = exponents(points)
    for place, (task, found) in enumerate(points.items()):
        rows = sorted(int(count) for count in found)
        costs = [found[str(count)][which] / unit for count in rows]
        name = f"{task}: " + ", ".join(f"{method} b = {_two_digits(by[which])}".strip() for method, by in fits[task].items())
        path = " ".join(f"{x(count):.1f},{y(cost):.1f}" for count, cost in zip(rows, costs, strict=True))
        places, colour = list(zip(rows, costs, strict=True)), _COLOURS.get(task, _INK)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        lines += [f'<circle cx="{x(count):.1f}" cy="{y(cost):.1f}" r="3.5" fill="{colour}"/>' for count, cost in places]
        lines.append(f'<text x="{left + 10}" y="{_TOP - 72 + place * 17}" fill="{colour}">{name}</text>')
    return "\n".join(lines) + "\n"


def _costs(found: list[Point], which: str) -> list[float]:
    return [point[which] - point["base"] * (which == "memory") for point in found]
