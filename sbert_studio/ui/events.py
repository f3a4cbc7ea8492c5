"""Optimization of the page's events once all are registered: each event costs the browser about 50 ms when the page opens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import get_args

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.utils import get_type_hints

Handler = Callable[..., object]
MAX_COMPONENTS = 24
"""Maximum number of inputs, and of outputs, of an event."""


def drop_hidden_progress(blocks: gr.Blocks) -> None:
    """Do not notify components about events whose progress is hidden.

    At each step of an event, Gradio's page notifies every component that any past event has updated, and searches the whole page for each:
    five of the seven seconds of CPU time for opening the page.
    """
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def cancellable_tasks(blocks: gr.Blocks) -> dict[int, str]:
    """Return the tasks that a Cancel button stops (:func:`.components.cancel_button`), by event.

    The page's script uses them to show the button; showing it by Gradio events would take a third of all events.
    """
    return {event._id: event.fn.work for event in blocks.fns.values() if getattr(event.fn, "work", "")}


def join_events(blocks: gr.Blocks) -> None:
    """Merge quiet events with the same trigger into one, such as those that follow the corpus selector.

    Only events that update different components, show no progress, take no event data and are not followed by others are merged, and only
    up
    to :data:`MAX_COMPONENTS` inputs and outputs. Handlers marked with :func:`run_alone` are not merged.
    """
    events = blocks.fns.values()
    followed = {event.trigger_after for event in events} | {number for event in events for number in event.cancels}
    groups: dict[tuple[object, ...], list[list[BlockFunction]]] = {}
    for event in events:
        if event._id in followed or not _is_joinable(event):
            continue
        start = (*map(tuple, event.targets), event.trigger_after, event.trigger_only_on_success, event.trigger_only_on_failure)
        filled = {component._id for component in event.outputs}
        same_start = groups.setdefault((*start, event.trigger_mode), [])
        for group in same_start:
            if _fits_group(event, group, filled):
                group.append(event)
                break
        else:
            same_start.append([event])
    for same_start in groups.values():
        for group in same_start:
            _join(blocks, group)


def _fits_group(event: BlockFunction, group: Sequence[BlockFunction], filled: set[int]) -> bool:
    together = [*group, event]
    small = all(sum(len(getattr(one, side)) for one in together) <= MAX_COMPONENTS for side in ("inputs", "outputs"))
    return small and all(filled.isdisjoint(component._id for component in other.outputs) for other in group)


def run_alone(handler: Handler) -> Handler:
    """Mark a slow handler, which other handlers must not wait for."""
    handler.slow = True  # type: ignore[attr-defined]
    return handler


def _is_joinable(event: BlockFunction) -> bool:
    fn = event.fn
    plain = fn is not None and event.js is None and event.queue and not event.types_generator and not event.batch and not _is_special(fn)
    quiet = event.show_progress == "hidden" and not event.collects_event_data and not event.tracks_progress and not event.cancels
    usual = event.concurrency_id == str(id(fn)) and not event.component_prop_inputs and event.api_visibility == "private"
    return bool(plain and quiet and usual and event.targets and event.outputs and not getattr(fn, "slow", False))


def _is_special(fn: Handler) -> bool:
    asked = [kind for hint in get_type_hints(fn).values() for kind in (hint, *get_args(hint))]
    return inspect.iscoroutinefunction(inspect.unwrap(fn)) or any(kind in asked for kind in (gr.Request, gr.OAuthProfile, gr.OAuthToken))


def _join(blocks: gr.Blocks, group: list[BlockFunction]) -> None:
    if len(group) == 1:
        return
    first = group[0]
    first.fn = _chain([(event.fn, len(event.inputs), len(event.outputs)) for event in group])
    first.name = first.fn.__name__
    first.concurrency_id = str(id(first.fn))
    first.inputs = [component for event in group for component in event.inputs]
    first.outputs = [component for event in group for component in event.outputs]
    first.input_parameter_names, first.input_keyword_names = [], []
    for event in group[1:]:
        del blocks.fns[event._id]


def _chain(parts: Sequence[tuple[Handler, int, int]]) -> Handler:
    def joined(*values: object) -> list[object]:
        found: list[object] = []
        at = 0
        for handler, inputs, outputs in parts:
            try:
                answer = handler(*values[at : at + inputs])
            except gr.Error as error:  # the other results are still used
                gr.Warning(error.message, duration=error.duration, title=error.title)
                answer = gr.skip()
            at += inputs
            found += _split_result(answer, outputs)
        return found

    joined.__name__ = "+".join(dict.fromkeys(getattr(handler, "__name__", "handler") for handler, _, _ in parts))
    return joined


def _split_result(answer: object, outputs: int) -> list[object]:
    if isinstance(answer, (list, tuple)) and outputs > 1:
        if len(answer) != outputs:
            raise ValueError(f"a handler with {outputs} outputs returned {len(answer)} values")
        return list(answer)
    if outputs == 1:
        return [answer]
    if answer != gr.skip():
        raise ValueError(f"a handler with {outputs} outputs returned one value")
    return [gr.skip() for _ in range(outputs)]
