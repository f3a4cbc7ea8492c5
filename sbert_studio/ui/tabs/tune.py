"""Fine-tune: a file of examples, settings that fit it, and the run as it goes."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gradio as gr

from ...errors import StudioError
from ..components import drop_unchanged_values
from ..events import run_alone
from ..handlers import handle_errors, warn
from ..handover import FINE_TUNE
from ..page import Page
from ..panels.tuning import data_panel, drafts, memory, pinning, settings_form, told
from ..panels.tuning.data_panel import DataPanel
from ..panels.tuning.drafts import Draft
from ..panels.tuning.follow import Follow
from ..panels.tuning.pinning import PinsForm
from ..panels.tuning.run_list import RunList
from ..panels.tuning.run_panel import RunPanel
from ..panels.tuning.settings_form import SettingsForm
from ..views import Value, view

if TYPE_CHECKING:
    from ...services import Studio

TITLE = FINE_TUNE
ORDER = 4
_ABOUT = "Give examples of what should count as alike. The model learns from them and can then be chosen in every tab."
_QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
_AS_FILE = "as the file is called"
_REFUSED = 100  # drafts of which it is known what was said last


def start(
    page: Page,
    key: str | None,
    raw: Sequence[Any],
    model: str | None,
    owner: Any,
    name: str,
    pinned: Sequence[Any] = (),
    language: str = "en",
) -> tuple[Draft, str]:
    """Start training with the settings as the controls hold them; on the first sample, where no file was chosen.

    Args:
        raw: the controls' values, in the order of ``SettingsForm.inputs``.
        pinned: the values of ``PinsForm.inputs``.
        language: of the page, and of the sample.

    Returns:
        the draft and the run's id.

    Raises:
        StudioError: the file cannot be trained on, or a setting is refused.
    """
    pins, draft = pinning.typed(pinned), _chosen(page, key, raw, model, language)
    return draft, drafts.start(page.studio, draft, page.visitor(owner), name, pins).id


def estimate(page: Page, key: str | None, raw: Sequence[Any], model: str | None, language: str = "en") -> tuple[Draft, Value]:
    """What :func:`start` would take, as a ``reasons`` view, and the draft; nothing is trained."""
    draft = _chosen(page, key, raw, model, language)
    return draft, drafts.estimate(page.studio, draft)


def _chosen(page: Page, key: str | None, raw: Sequence[Any], model: str | None, language: str) -> Draft:
    draft = page.drafts.get(key) if key else data_panel.take(page, data_panel.samples(language)[0].path, model)
    before = shown_of(draft) if key else settings_form.defaults_shown()
    return drafts.planned(page.studio, draft, model, settings_form.overrides(raw, before, draft.overrides))


def replan(page: Page, key: str | None, raw: Sequence[Any], model: str | None) -> Draft | None:
    """The draft with the advisor's settings around what a person has changed; ``None`` without a draft."""
    if not key:
        return None
    draft = page.drafts.get(key)
    return drafts.planned(page.studio, draft, model, settings_form.overrides(raw, shown_of(draft), draft.overrides))


def answered(page: Page, key: str, which: Any, raw: Sequence[Any], model: str | None) -> Draft:
    """The draft read again with the answer to a question, and with the settings as the controls hold them.

    Args:
        which: the question's place and the answer's, as a browser sent them.
    """
    draft = page.drafts.get(key)
    typed = draft.asking(overrides=settings_form.overrides(raw, shown_of(draft), draft.overrides))
    return told.answer(page.studio, typed, which, model)


def shown_of(draft: Draft) -> dict[str, Any]:
    """What the controls show for a draft."""
    return settings_form.shown_of(draft.plan.spec, draft.overrides) if draft.plan else settings_form.defaults_shown()


def _tell_name(wanted: str, given: str) -> None:
    """Say so where a run could not be called what its owner wanted."""
    if given != wanted:
        words = f"“{html.escape(wanted)}” is already the name of another model of yours: this one is called “{html.escape(given)}”."
        gr.Info(words, title="Named with a number")


def build(studio: Studio, page: Page) -> None:
    """Draw the tab."""
    view("intro", {"title": "Teach it your meaning", "text": _ABOUT})
    draft, chosen, follow = gr.State(None), gr.State(""), gr.State(Follow())
    with gr.Row():
        with gr.Column(min_width=320, scale=4):
            data = DataPanel(page, draft)
            why = view("reasons", elem_id="tune-reasons", classes=["sb-aside"])
            terminal = view("command", elem_id="tune-command", classes=["sb-aside"])
        with gr.Column(min_width=320, scale=5):
            with gr.Column(elem_classes=["sb-panel"]):
                form = settings_form.draw()
                name = gr.Textbox(label="Name of the new model", placeholder=_AS_FILE, max_lines=1, max_length=80, elem_id="tune-name")
                pins = PinsForm()
                asking = view("questions", elem_id="tune-questions")
                with gr.Row(elem_classes=["sb-buttons"]):
                    go = gr.Button("Start training", variant="primary", elem_id="tune-start")
                    ask = gr.Button("Estimate time and memory", elem_id="tune-ask")
                forecast = view("reasons", elem_id="tune-estimate")
            run = RunPanel(page, chosen, follow)
            listed = RunList(page, run)
    plan_outputs = [*form.inputs, *form.groups.values(), *form.sections, why, terminal, asking, go, forecast]

    def plan(draft: Draft, model: str) -> list[Any]:
        shown, kind = shown_of(draft), draft.diagnosis.roles.kind if draft.diagnosis else None
        groups = [gr.update(visible=one == shown["acting"]) for one in form.groups]
        return [
            *settings_form.updates(kind, shown),
            *groups,
            *settings_form.seen(shown["method"], shown["architecture"]),
            told.reasons(draft),
            told.line(draft, model, studio.settings.default_model),
            told.questions(draft),
            gr.update(variant="primary" if draft.plan and draft.plan.certain else "secondary"),
            None,  # what was estimated for other rows or settings
        ]

    def on_answer(key: str, model: str, event: gr.SelectData, *raw: Any) -> Any:
        again = answered(page, key, event.index, raw, model)
        return [*data.show(page.drafts.put(again), again), *plan(again, model)]

    def on_model(key: str | None, model: str) -> Any:
        draft = page.drafts.get(key) if key else None
        if draft is None or draft.request.model == model:
            return gr.skip()
        again = drafts.checked(page.studio, draft, model)
        # Another file may have been chosen meanwhile, and its answer come first.
        return [*data.show(page.drafts.put(again, key), again), *plan(again, model)] if page.drafts.last() == key else gr.skip()

    def on_start(key: str | None, model: str, owner: Any, name: str, changes: int, language: str, *values: Any) -> Any:
        planned, run_id = start(page, key, values[len(pins.inputs) :], model, owner, name, values[: len(pins.inputs)], language)
        browser = {**(owner if isinstance(owner, dict) else {}), "job": run_id}
        _tell_name(drafts.called(planned, name), page.studio.tune.run(run_id).run.name)
        return [*data.show(page.drafts.put(planned), planned), *plan(planned, model), *run.show(Follow(run_id)), browser, changes + 1]

    def on_ask(key: str | None, model: str, language: str, *raw: Any) -> Any:
        planned, found = estimate(page, key, raw, model, language)
        return [*data.show(page.drafts.put(planned), planned), *plan(planned, model)[:-1], found]

    data.listen(plan, plan_outputs)
    asking.select(
        handle_errors(on_answer),
        [draft, page.model, *form.inputs],
        [*data.outputs, *plan_outputs],
        api_visibility="private",
        show_progress_on=asking,
    )
    go.click(
        handle_errors(on_start),
        [draft, page.model, page.owner, name, page.runs_version, page.language, *pins.inputs, *form.inputs],
        [*data.outputs, *plan_outputs, *run.outputs, page.owner, page.runs_version],
        api_visibility="private",
        show_progress_on=run.panel,
    )
    # One at a time: two would measure each other. Searches and the like have places of their own.
    ask.click(
        handle_errors(on_ask),
        [draft, page.model, page.language, *form.inputs],
        [*data.outputs, *plan_outputs],
        api_visibility="private",
        show_progress_on=ask,
        concurrency_limit=1,
    )
    # Another model has other tokens, and finds other evidence for what the columns are.
    page.model.change(run_alone(handle_errors(on_model)), [draft, page.model], [*data.outputs, *plan_outputs], **_QUIET)
    kept = _follow_form(page, draft, name, pins, form, data, plan, plan_outputs)
    page.on_load += [kept, run.listen, listed.listen]


def _warn_once(
    said: dict[str | None, tuple[Any, ...]], key: str, choices: tuple[str, ...], before: dict[str, Any], error: StudioError
) -> None:
    """Warn where a choice had no effect on the plan, once; a number that is only half typed is reported by Start.

    Args:
        said: what was said last of each draft.
        choices: what the controls hold; before: what they would show of the plan.
    """
    if choices == tuple(str(before[name]) for name in ("method", "objective", "architecture", "head")):
        return
    if said.get(key) != (choices, str(error)):
        warn(error)
    if len(said) > _REFUSED:
        said.clear()
    said[key] = choices, str(error)


def _follow_form(
    page: Page,
    draft: Any,
    name: Any,
    pins: PinsForm,
    form: SettingsForm,
    data: DataPanel,
    plan: Callable[..., list[Any]],
    plan_outputs: list[Any],
) -> Callable[[Any], None]:
    """Answer every change of the form, and store its values in the browser.

    Returns:
        a function that restores the form after the given load event.
    """
    refused: dict[str | None, tuple[Any, ...]] = {}
    count = len(form.inputs)
    section, described = count + len(form.groups), count + len(form.groups) + len(form.sections)

    def on_kept(owner: Any, key: str | None, name: str, *pinned: Any) -> Any:
        """Store the form. Its settings are those of the last answer: what the browser sends of them may be older."""
        if not key or key not in page.drafts:
            return gr.skip()
        now = page.drafts.get(key)
        return memory.remember(page, owner, now, now.chosen, name, pinning.kept(list(pinned)))

    def on_form(owner: Any, key: str | None, name: str, model: str, *values: Any) -> list[Any]:
        raw, answer = values[len(pins.inputs) :], [gr.skip()] * len(plan_outputs)
        key = key if key and key in page.drafts else None  # without one, or once it was let go of, Start says so
        planned = None
        try:
            planned = replan(page, key, raw, model)
            refused.pop(key, None)
        except StudioError as error:
            _warn_once(refused, str(key), settings_form.choices_in(raw), shown_of(page.drafts.get(str(key))), error)
        if planned is None or planned.plan is None:
            answer[section:described] = settings_form.seen(str(raw[0]), settings_form.architecture_in(raw))
            if planned is not None:
                page.drafts.put(planned, key)
        else:
            before, shown = shown_of(page.drafts.get(str(key))), shown_of(planned)
            if settings_form.deciding_values(before) == settings_form.deciding_values(shown):
                # No other control depends on what was changed, so none is updated: the user may still be typing.
                page.drafts.put(replace(page.drafts.get(str(key)), typed=planned.overrides), key)
                answer[described : described + 2] = told.reasons(planned), told.line(planned, model, page.studio.settings.default_model)
            else:
                page.drafts.put(planned, key)
                answer = plan(planned, model)
                changed = drop_unchanged_values(answer[:count], raw)
                if before["architecture"] != shown["architecture"]:  # the objective may just have been chosen from the previous list
                    changed[form.inputs.index(form.objective)] = answer[form.inputs.index(form.objective)]
                answer[:count] = changed
        return [*answer, on_kept(owner, key, name, *values[: len(pins.inputs)])]

    def on_return(owner: Any, saved: Any, model: str, key: str | None) -> Any:
        found = None if key else memory.restore(page, owner, saved, model)
        if found is None:
            return gr.skip()
        return [
            *data.show(page.drafts.put(found), found),
            *plan(found, model),
            str(saved.get("name") or ""),
            *pins.filled(pinning.kept(saved.get("pinned"))),
        ]

    # One event at a time: a choice made while another is answered is sent after the answer, with the values that the answer set. Sent
    # at once, it would carry the previous values, and these would count as chosen by the user. One handler serves all controls because
    # Gradio repeats the whole event for each handler that waits, and two of them would repeat it forever.
    in_turn = {"trigger_mode": "always_last", "concurrency_limit": 1, "concurrency_id": "tune-form"}
    kept = [draft.change, name.blur, *(box.blur for box in pins.inputs)]
    gr.on(kept, handle_errors(on_kept), [page.owner, draft, name, *pins.inputs], page.saved_form, **in_turn, **_QUIET)
    # A text box tells of each letter that is typed, and of nothing that is pasted or deleted until it is left.
    left = [control.blur for control in form.inputs if isinstance(control, gr.Textbox)]
    changed = [*(control.input for control in form.inputs), *left]
    inputs = [page.owner, draft, name, page.model, *pins.inputs, *form.inputs]
    gr.on(changed, handle_errors(on_form), inputs, [*plan_outputs, page.saved_form], **in_turn, **_QUIET)
    returned = [*data.outputs, *plan_outputs, name, *pins.outputs]

    def listen(loaded: Any) -> None:
        loaded.then(run_alone(handle_errors(on_return)), [page.owner, page.saved_form, page.model, draft], returned, **_QUIET)

    return listen
