"""Panels: components by name, and events that connect them to handlers.

A *handler* is a plain function, testable without a browser. Its parameters name the components whose values it takes, and it
returns a *view model*: a frozen dataclass whose fields name the components that they fill::

    @dataclass(frozen=True)
    class PairView:                                     # view_model.py
        gauge: Value
        hint: None = None
        model: Update | Unchanged = UNCHANGED           # leaves the component as it is

    def compare_texts(page: Page, first: str, second: str, model: str, owner: object) -> PairView | None:      # handlers.py
        ...                                             # None: leave all components as they are

    panel = Panel(page, first=first, second=second, gauge=gauge, hint=hint)                                    # view.py
    panel.on([button.click, first.submit], compare_texts)

Names are looked up in the panel, then among the components of :class:`.page.Page` (``model``, ``corpus``, ``owner``, …); a name without
a component is an error when the page is built. Special parameters:

- ``page``: the :class:`.page.Page`;
- ``progress``: a ``gr.Progress``, for :func:`.handlers.progress_callback`;
- ``selection``: what was clicked in a view, a :class:`Selection`;
- ``token``: the visitor's Hugging Face token, a ``gr.OAuthToken`` or ``None``;
- a parameter whose type is a dataclass and which is no component's name is built from the components that its fields name. A view model
  may likewise have fields that are view models.

To add a tab, create ``tabs/NAME.py``, or ``tabs/NAME/`` with ``view.py`` and ``handlers.py``; the first has ``TITLE``, ``ORDER`` and
``build(studio, page)``, which draws the components. Tabs never import each other: what one hands to another is in :mod:`.state`. No
event may have more than :data:`MAX_COMPONENTS` inputs or outputs: the values of a longer form are one component
(:func:`.components.form`, which the browser edits as a whole).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, get_args

import gradio as gr
from gradio.blocks import BlockFunction
from gradio.utils import get_type_hints

from .handlers import handle_errors
from .sessions.language import localize
from .views import UNCHANGED

if TYPE_CHECKING:
    from .page import Page

Handler = Callable[..., object]
MAX_COMPONENTS = 24
"""Inputs, and outputs, that one event may have."""
_SPECIAL = ("page", "progress", "selection", "token")


@dataclass(frozen=True)
class Selection:
    """A click in a view. It comes from the browser and may contain anything.

    Attributes:
        action: what was clicked, such as "row".
        item: which item, such as a row number.
    """

    action: object
    item: object

    def row(self, count: int) -> int | None:
        """Return the item as a row number below ``count``; ``None`` if it is not one."""
        is_row = isinstance(self.item, int) and not isinstance(self.item, bool) and 0 <= self.item < count
        return self.item if is_row else None  # type: ignore[return-value]


class EventOptions(TypedDict, total=False):
    """Options of :meth:`Panel.on`; the last five are arguments of ``gr.on``.

    Attributes:
        quiet: show no progress.
        progress_on: name of the component that shows the progress, instead of all outputs.
        each: every trigger counts, even while an earlier one is being processed, such as clicks in a list.
        latest_only: may be triggered again while running; only the result of the latest call is used if the handler calls
            ``TASKS.supersede_earlier()``.
        ends_chain: an error ends the chain of events that follow by ``.success``.
        alone: takes long, so it is not joined with other events (:func:`join_events`).
    """

    quiet: bool
    progress_on: str
    each: bool
    latest_only: bool
    ends_chain: bool
    alone: bool
    trigger_mode: str
    concurrency_limit: int
    concurrency_id: str
    queue: bool
    js: str


class Panel:
    """Named components of a part of the page.

    Args:
        components: names for handlers, in addition to those of the page.
    """

    def __init__(self, page: Page, **components: gr.components.Component) -> None:
        self.page, self.components = page, components

    def __getitem__(self, name: str) -> gr.components.Component:
        found = self.components.get(name) or self.page.component(name)
        if found is None:
            raise KeyError(f"no component is called {name!r}")
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.components or self.page.component(name) is not None

    def on(
        self,
        triggers: gr.events.Trigger | Sequence[gr.events.Trigger],
        handler: Handler,
        *,
        output: str | tuple[str, ...] = "",
        task: str = "",
        **options: Unpack[EventOptions],
    ) -> gr.events.Dependency:
        """Call ``handler`` after any of the triggers.

        Args:
            triggers: such as ``button.click``, ``state.change`` or ``event.success``.
            output: the component updated by the handler's result, or the components updated by a tuple, if the handler returns no view
                model.
            task: the task that a Cancel button of this name stops (:func:`.components.cancel_button`).
            options: see :class:`EventOptions`.
        """
        binding = _Binding(self, handler, output)
        latest_only, each = options.pop("latest_only", False), options.pop("each", False)
        fn = handle_errors(binding.call, stop=options.pop("ends_chain", False), work=task, newest=latest_only)
        fn = run_alone(fn) if options.pop("alone", False) else fn
        show_progress = "hidden" if options.pop("quiet", False) else "full"
        progress_on = options.pop("progress_on", "")
        more: dict[str, object] = {"trigger_mode": "multiple"} if each or latest_only else {}
        more |= {"show_progress_on": self[progress_on]} if progress_on else {}
        # Gradio names events after their functions, even private ones, and would number the public endpoint of the same name.
        name = f"page_{_name_of(handler)}"
        more |= {"api_name": name, "api_visibility": "private", "show_progress": show_progress, **options}
        return _listen(triggers, fn, binding.inputs, binding.outputs, more)


def _listen(
    triggers: gr.events.Trigger | Sequence[gr.events.Trigger],
    fn: Handler,
    inputs: Sequence[gr.components.Component],
    outputs: Sequence[gr.components.Component],
    options: Mapping[str, object],
) -> gr.events.Dependency:
    several = list(triggers) if isinstance(triggers, Sequence) else [triggers]
    if len(several) == 1:  # also an event's .then and .success, which gr.on does not take
        return several[0](fn, list(inputs), list(outputs), **options)
    return gr.on(several, fn, list(inputs), list(outputs), **options)


class _Binding:
    """A handler in the form that Gradio calls: positional values in, a list of outputs out."""

    def __init__(self, panel: Panel, handler: Handler, output: str | tuple[str, ...]) -> None:
        self._page, self._handler, self._output = panel.page, handler, output
        self._groups: dict[str, tuple[type, list[str]]] = {}  # parameter → its dataclass and the names of the fields
        self._names: list[str] = []
        signature = inspect.signature(handler)
        bound = handler.keywords if isinstance(handler, partial) else {}
        self._parameters = [name for name in signature.parameters if name not in bound]
        for name in self._parameters:
            if name in _SPECIAL:
                continue
            if name in panel:
                self._names.append(name)
            else:
                kind = _annotated_class(handler, signature.parameters[name].annotation)
                if not is_dataclass(kind):
                    raise LookupError(f"{_name_of(handler)}: no component is called {name!r}")
                self._groups[name] = kind, [item.name for item in fields(kind)]
                self._names += self._groups[name][1]
        self.inputs = [panel[name] for name in self._names]
        names = [output] if isinstance(output, str) else list(output)
        self._output_names = names if output else _output_names(panel, _annotated_class(handler, signature.return_annotation))
        if not self._output_names and signature.return_annotation not in ("None", None, inspect.Signature.empty):
            raise LookupError(f"{_name_of(handler)}: the class of its result is not imported, or no view model")
        self.outputs = [panel[name] for name in self._output_names]
        self.call = self._make_call()

    def _make_call(self) -> Handler:
        """Return a function with the signature by which Gradio recognizes progress, event data and sign-in."""
        special = [name for name in self._parameters if name in _SPECIAL and name != "page"]

        def call(*values: object) -> object:
            return self._run(dict(zip(special, values, strict=False)), values[len(special) :])

        call.__name__ = _name_of(self._handler)
        kinds = {"selection": gr.SelectData, "token": gr.OAuthToken | None}
        call.__annotations__ = {name: kinds[name] for name in special if name in kinds}
        positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
        defaults = {"progress": gr.Progress(), "token": None}
        parameters = [inspect.Parameter(name, positional, default=defaults.get(name, inspect.Parameter.empty)) for name in special]
        parameters.append(inspect.Parameter("values", inspect.Parameter.VAR_POSITIONAL))
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return call

    def _run(self, special: Mapping[str, object], values: Sequence[object]) -> object:
        given = dict(zip(self._names, values, strict=True))
        arguments: dict[str, object] = {}
        for name in self._parameters:
            if name == "page":
                arguments[name] = self._page
            elif name == "selection":
                arguments[name] = _selection(special[name])
            elif name in _SPECIAL:
                arguments[name] = special[name]
            elif name in self._groups:
                kind, names = self._groups[name]
                arguments[name] = kind(**{one: given[one] for one in names})
            else:
                arguments[name] = given[name]
        result = self._handler(**arguments)
        if not self._output_names:
            if result is not None:
                raise TypeError(f"{_name_of(self._handler)} returns a value for no component: annotate its view model, or name an output")
            return None
        if result is None and not (self._output and isinstance(self._output, str)):
            return gr.skip()
        if isinstance(result, tuple) and not isinstance(self._output, str):
            values = list(result)
        else:
            filled = {self._output: result} if self._output and isinstance(self._output, str) else _flatten(result, self._output_names)
            values = [filled.get(name, UNCHANGED) for name in self._output_names]
        # The data of an answer that does not change it is left alone: the visitor may have chosen other data meanwhile.
        same = [
            name == "corpus" and given.get(name) is not None and value == given[name]
            for name, value in zip(self._output_names, values, strict=True)
        ]
        values = [UNCHANGED if is_same else value for is_same, value in zip(same, values, strict=True)]
        found = [_localize(component, value) for component, value in zip(self.outputs, values, strict=True)]
        return found[0] if len(found) == 1 else found


# Components whose value is not the program's text: labels are translated, values are passed back to handlers.
_STATES = (gr.State, gr.BrowserState, gr.JSON)
_CHOOSERS = (gr.Dropdown, gr.Radio, gr.CheckboxGroup)


def _localize(component: gr.components.Component, value: object) -> object:
    """Return a value for a component in the language of the page."""
    if value is UNCHANGED:
        return gr.skip()
    if isinstance(component, _STATES):
        return value
    if not isinstance(component, _CHOOSERS):
        return localize(value, component._id)
    if not isinstance(value, Mapping) or "__type__" not in value:
        return value
    texts = localize({name: item for name, item in value.items() if name not in ("choices", "value")}, component._id)
    if not value.get("choices"):
        return {**value, **texts}
    choices = [one if isinstance(one, tuple) else (one, one) for one in value["choices"]]
    return {**value, **texts, "choices": [(localize(label), item) for label, item in choices]}


def _selection(event: gr.SelectData) -> Selection:
    return Selection(event.value, event.index)


def _flatten(view_model: object, names: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in fields(view_model):  # type: ignore[arg-type]
        value = getattr(view_model, item.name)
        if item.name in names:
            found[item.name] = value
        elif value is not UNCHANGED:
            found |= _flatten(value, names)
    return found


def _output_names(panel: Panel, kind: type | None) -> list[str]:
    if kind is None or not is_dataclass(kind):
        return []
    found: list[str] = []
    for item in fields(kind):
        nested = _annotated_class(kind, item.type)
        if item.name in panel and is_dataclass(nested) and not isinstance(panel[item.name], _STATES):
            raise LookupError(f"{kind.__name__}.{item.name}: a component has the name of this part; rename the part")
        if item.name in panel:
            found.append(item.name)
            continue
        if not is_dataclass(nested):
            raise LookupError(f"{kind.__name__}: no component is called {item.name!r}")
        found += _output_names(panel, nested)
    return found


def _annotated_class(owner: Handler | type, annotation: object) -> type | None:
    while isinstance(owner, partial):
        owner = owner.func
    if isinstance(annotation, str):
        # Not get_type_hints: other names in the signature may be imported only for type checkers.
        module = inspect.getmodule(owner)
        name = annotation.split(" | ")[0]  # without None or Unchanged
        found = getattr(module, name, None)
        return found if isinstance(found, type) else None
    kinds = [kind for kind in (get_args(annotation) or (annotation,)) if isinstance(kind, type) and kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else None


def _name_of(handler: Handler) -> str:
    while isinstance(handler, partial):
        handler = handler.func
    return handler.__name__


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
    up to :data:`MAX_COMPONENTS` inputs and outputs. Handlers marked with :func:`run_alone` are not merged.
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
