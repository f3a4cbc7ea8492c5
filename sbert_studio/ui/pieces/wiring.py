"""What is done to the events of the whole page once all of them are registered, so that the browser has less to do for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_args

import gradio as gr
from gradio.utils import get_type_hints


def hide_hidden_progress(blocks: Any) -> None:
    """Let no component be told about the progress of events whose progress is hidden.

    At each step of any event, Gradio's page tells every component that any past event has filled, and searches the whole page for each of
    them: five of the seven seconds of processor time that opening the page took.
    """
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def long_works(blocks: Any) -> dict[int, str]:
    """The works that a visitor can cancel (see :func:`.controls.cancel_button`), by the numbers of the events that do them.

    The page's own script knows by them when to show a Cancel button; events of Gradio for it took a third of all events.
    """
    return {event._id: event.fn.work for event in blocks.fns.values() if getattr(event.fn, "work", "")}


def join_events(blocks: Any) -> None:
    """Make one event of all quiet ones that start at the same moment, such as those that follow the corpus chooser.

    Each event costs the browser some 50 ms, since Gradio's page searches itself at each of its messages. Only handlers that fill different
    components, show no progress, take no event data and start nothing else are joined; one with an attribute ``slow`` stays alone
    (see :func:`alone`).
    """
    events = blocks.fns.values()
    followed = {event.trigger_after for event in events} | {number for event in events for number in event.cancels}
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for event in events:
        if event._id in followed or not _is_joinable(event):
            continue
        start = (*map(tuple, event.targets), event.trigger_after, event.trigger_only_on_success, event.trigger_only_on_failure)
        filled = {component._id for component in event.outputs}
        same_start = groups.setdefault((*start, event.trigger_mode), [])
        for group in same_start:
            if all(filled.isdisjoint(component._id for component in other.outputs) for other in group):
                group.append(event)
                break
        else:
            same_start.append([event])
    for same_start in groups.values():
        for group in same_start:
            _join(blocks, group)


def alone(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a handler that takes long, which others must not wait for: :func:`join_events` leaves it as it is."""
    handler.slow = True  # type: ignore[attr-defined]
    return handler


def _is_joinable(event: Any) -> bool:
    fn = event.fn
    plain = fn is not None and event.js is None and event.queue and not event.types_generator and not event.batch and not _is_special(fn)
    quiet = event.show_progress == "hidden" and not event.collects_event_data and not event.tracks_progress and not event.cancels
    usual = event.concurrency_id == str(id(fn)) and not event.component_prop_inputs and event.api_visibility == "private"
    return bool(plain and quiet and usual and event.targets and event.outputs and not getattr(fn, "slow", False))


def _is_special(fn: Callable[..., Any]) -> bool:
    """Whether Gradio calls it otherwise than with its inputs alone: it is asynchronous, or asks for the request or the signed-in user."""
    asked = [kind for hint in get_type_hints(fn).values() for kind in (hint, *get_args(hint))]
    return inspect.iscoroutinefunction(inspect.unwrap(fn)) or any(kind in asked for kind in (gr.Request, gr.OAuthProfile, gr.OAuthToken))


def _join(blocks: Any, group: list[Any]) -> None:
    if len(group) == 1:
        return
    first = group[0]
    first.fn = _one_after_the_other([(event.fn, len(event.inputs), len(event.outputs)) for event in group])
    first.name = first.fn.__name__
    first.concurrency_id = str(id(first.fn))
    first.inputs = [component for event in group for component in event.inputs]
    first.outputs = [component for event in group for component in event.outputs]
    first.input_parameter_names, first.input_keyword_names = [], []
    for event in group[1:]:
        del blocks.fns[event._id]


def _one_after_the_other(parts: Sequence[tuple[Callable[..., Any], int, int]]) -> Callable[..., Any]:
    """One handler of several, each given with its numbers of inputs and outputs."""

    def joined(*values: Any) -> list[Any]:
        found: list[Any] = []
        at = 0
        for handler, inputs, outputs in parts:
            try:
                answer = handler(*values[at : at + inputs])
            except gr.Error as error:  # the others' answers count all the same
                gr.Warning(error.message, duration=error.duration, title=error.title)
                answer = gr.skip()
            at += inputs
            found += _of_each_output(answer, outputs)
        return found

    joined.__name__ = "+".join(dict.fromkeys(getattr(handler, "__name__", "handler") for handler, _, _ in parts))
    return joined


def _of_each_output(answer: Any, outputs: int) -> list[Any]:
    if isinstance(answer, (list, tuple)) and outputs > 1:
        if len(answer) != outputs:
            raise ValueError(f"a handler with {outputs} outputs returned {len(answer)} values")
        return list(answer)
    if outputs == 1:
        return [answer]
    if answer != gr.skip():
        raise ValueError(f"a handler with {outputs} outputs returned one value")
    return [gr.skip() for _ in range(outputs)]
