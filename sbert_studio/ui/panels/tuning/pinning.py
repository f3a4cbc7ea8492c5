"""Pairs and a query that a person pins before Start, and what each model on the way says of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import gradio as gr

from ....training.pins import MAX_CHARACTERS, MAX_PAIRS, TrackedExamples
from ...views import Value, to_json
from .follow import Follow

_HELP = "Texts whose likeness you know by heart. They are shown again at every evaluation, and the training learns nothing from them."
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}


class PinsForm:
    """The controls: two texts for each of the pairs, of which one more is seen at a click, and a query."""

    def __init__(self) -> None:
        self.boxes: list[Any] = []
        with gr.Accordion("Watch it by examples of your own", open=False, elem_id="tune-pinned") as self.whole:
            gr.HTML(f'<span class="sb-label">{_HELP}</span>', padding=False)
            self.rows: list[Any] = []
            for number in range(1, MAX_PAIRS + 1):
                with gr.Row(visible=number == 1, elem_classes=["sb-pinned-pair"]) as row:
                    self.boxes += [_box(f"Pair {number}", f"tune-pin-{number}a"), _box("and", f"tune-pin-{number}b")]
                self.rows.append(row)
            self.more = gr.Button("Another pair", size="sm", elem_id="tune-pin-more", elem_classes=["sb-pin-more"])
            self.query = _box("A query: what lies nearest to it among the texts of your file?", "tune-pin-query")
        self.shown = gr.State(1)
        self.more.click(partial(_one_more, len(self.rows)), self.shown, [self.shown, self.more, *self.rows], **_QUIET)

    @property
    def inputs(self) -> list[Any]:
        """Every control, for an event; :func:`typed` takes their values."""
        return [*self.boxes, self.query]

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`filled` updates."""
        return [self.whole, self.shown, self.more, *self.rows, *self.inputs]

    def filled(self, values: Sequence[str]) -> list[Any]:
        """Updates of :attr:`outputs` to what was typed before a reload, as :func:`kept` has it; nothing changes where that is nothing."""
        if not any(values):
            return [gr.skip()] * len(self.outputs)
        last = max((place // 2 + 1 for place, text in enumerate(values[:-1]) if text), default=1)
        return [gr.update(open=True), *_one_more(len(self.rows), last - 1), *values]


def kept(values: Any) -> list[str]:
    """What the controls held when a browser kept them, a text for each; nothing of it is trusted."""
    texts = [text if isinstance(text, str) else "" for text in values] if isinstance(values, list) else []
    return [text[:MAX_CHARACTERS] for text in texts] if len(texts) == 2 * MAX_PAIRS + 1 else [""] * (2 * MAX_PAIRS + 1)


def typed(values: Sequence[Any]) -> TrackedExamples | None:
    """What the controls hold; ``None`` where nothing is pinned.

    Raises:
        StudioError: it is not whole, or too long.
    """
    texts = [value if isinstance(value, str) else "" for value in values]
    return TrackedExamples.parse(list(zip(texts[:-1:2], texts[1:-1:2], strict=True)), texts[-1]) if texts else None


def pins_view(pins: TrackedExamples | None, follow: Follow) -> Value | None:
    """The value of a ``pins`` view; ``None`` where nothing is pinned, or nothing was seen of it yet.

    Of an event that is not of these pins, as a file in a run's folder may hold, nothing is drawn.
    """
    now = follow.seen
    if pins is None or now is None or len(now["similarities"]) != len(pins.pairs):
        return None
    order = [place for place in now.get("order") or () if place < len(pins.among)]
    before = follow.untuned if follow.untuned and len(follow.untuned["similarities"]) == len(pins.pairs) else None
    then = {place: rank for rank, place in enumerate((before or {}).get("order") or (), start=1)}
    lines = [line for line in follow.lines if len(line[1]) == len(pins.pairs)]
    pairs = [
        {
            "texts": list(texts),
            "before": before["similarities"][place] if before else None,
            "now": now["similarities"][place],
            "line": [[step, values[place]] for step, values in lines],
        }
        for place, texts in enumerate(pins.pairs)
    ]
    nearest = [
        {"text": pins.among[place], "similarity": similarity, "rank": rank, "before": then.get(place)}
        for rank, (place, similarity) in enumerate(zip(order, now.get("nearest") or (), strict=False), start=1)
    ]
    among = f"{len(pins.among):,}" if len(pins.among) == pins.of else f"{len(pins.among):,} of the {pins.of:,}"
    value = {"pairs": pairs, "query": pins.query if nearest else "", "nearest": nearest, "among": f"among {among} texts of the file"}
    return to_json(value | {"which": _which(follow, now)})  # type: ignore[no-any-return]


def _which(follow: Follow, now: Any) -> str:
    """Which model it is that is seen."""
    live = follow.status in ("", "queued", "running")
    if now.get("kept") and not live:
        return "Before, and by the model that is kept."
    step = "The untuned model" if not now["step"] else f"After step {int(now['step']):,}"
    # Of several trainings those on a part of the rows judge, and the model that is kept is another one's.
    return f"{step} of {follow.part}." if follow.part else f"{step}."


def _box(label: str, elem_id: str) -> Any:
    return gr.Textbox(label=label, max_lines=3, max_length=MAX_CHARACTERS, elem_id=elem_id, min_width=200)


def _one_more(most: int, shown: int) -> list[Any]:
    now = min(most, shown + 1)
    return [now, gr.update(visible=now < most), *(gr.update(visible=number < now) for number in range(most))]
