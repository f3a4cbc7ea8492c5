"""The form by which models are judged, how far that is, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....data.samples import default_sample
from ....errors import StudioError
from ....evaluation.tasks import SCORED_KINDS, all_tasks
from ....services.training_questions import Unanswered
from ...components import sample_buttons, samples_of, upload
from ...handlers import handle_errors
from ...page import Page, is_own_model
from ...sessions import file_store
from ...views import Value, placeholder, view
from .form import FILE, PUBLIC, SUITE, Form
from .known import KnownRows, known_rows
from .shown import BLANK, job_value, mark, results_of
from .work import AGAIN, MOST_MODELS, Asked, Judged, public_set, start

if TYPE_CHECKING:
    from ....data.samples import Sample
    from ....services.jobs import JobView

TASKS = [("Found from the columns", "auto"), *((task.title, task.name) for task in all_tasks())]
_SOURCES = [("A file", FILE), ("A suite", SUITE), ("A public set", PUBLIC)]
_LOOKED_AT = 64 << 20  # bytes of a file whose language is looked at before it is judged on
_PUBLIC_HELP = "The id of a set on huggingface.co with Parquet files; its test split is taken, or the file that you name behind the id."


class JudgingPanel:
    """The form, and beside it what comes of it. A job belongs to its owner: a reload or another page of theirs finds it as it stands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        studio = page.studio
        self.samples: list[Sample] = samples_of(*SCORED_KINDS)
        with gr.Row():
            with gr.Column(elem_classes=["sb-panel"], min_width=300, scale=1):
                self.models = gr.Dropdown(
                    page.model_choices(None, "texts", "pairs"),
                    value=[studio.settings.default_model],
                    multiselect=True,
                    allow_custom_value=True,
                    label="Models",
                    elem_id="evaluate-models",
                    elem_classes=["sb-data"],
                )
                self.source = gr.Radio(_SOURCES, value=FILE, label="Judge on", elem_id="evaluate-source")
                with gr.Column(visible=True, elem_classes=["sb-tight"]) as self.of_file:
                    self.file = upload("Scored pairs, triplets or labelled texts", "evaluate-file")
                    self.buttons = sample_buttons(self.samples, "evaluate")
                    self.task = gr.Dropdown(TASKS, value="auto", label="Task", elem_id="evaluate-task")
                    self.known = KnownRows()
                with gr.Column(visible=False, elem_classes=["sb-tight"]) as self.of_suite:
                    suites = self._suites()
                    self.suite = gr.Dropdown(
                        suites, value=suites[0][1] if suites else None, label="Suite", info=self._suite_help(), elem_id="evaluate-suite"
                    )
                with gr.Column(visible=False, elem_classes=["sb-tight"]) as self.of_public:
                    self.public = gr.Textbox(
                        label="Set",
                        info=_PUBLIC_HELP,
                        placeholder="OWNER/NAME",
                        max_lines=1,
                        max_length=500,
                        elem_id="evaluate-public",
                    )
                self.go = gr.Button("Evaluate", variant="primary", elem_id="evaluate-go")
                self.redo = gr.Button("Do it again", visible="hidden", elem_id=AGAIN)
            with gr.Column(min_width=320, scale=2):
                self.job = view("job", elem_id="evaluate-job")
                self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="evaluate-stop")
                self.asking = view("questions", elem_id="evaluate-questions")
                self.said = view("said", elem_id="evaluate-said")
                self.scores = view("table", placeholder(BLANK), elem_id="evaluate-scores")
                self.chart = view("speeds", elem_id="evaluate-chart")
                self.differences = view("table", elem_id="evaluate-differences")
                self.details = view("table", elem_id="evaluate-details")
                self.form = view("form", elem_id="evaluate-form")
        self.shown, self.job_id, self.typed = gr.State(None), gr.State(""), gr.State("")
        self.joined = gr.State(studio.settings.default_model)
        # A State that changes by the timer tells nobody; a text in the page does.
        self.ended = gr.Textbox("", visible="hidden", label="ended", elem_id="evaluate-ended")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`look` updates."""
        found = [self.shown, self.job_id, self.job, self.stop, self.page.evaluations_timer]
        return [*found, self.asking, self.said, self.scores, self.chart, self.differences, self.details]

    def look(self, owner: Any) -> list[Any]:
        """Updates of :attr:`outputs` to the visitor's evaluation as it stands."""
        job = self.page.studio.evaluations.latest(self.page.visitor(owner))
        live = job is not None and job.active
        stop = live and job is not None and not job.stopping
        shown = [mark(job), job.id if job else "", job_value(job), gr.update(visible=stop), gr.Timer(active=live)]
        return [*shown, *results_of(job)]

    def chosen(self, source: str, path: str | None, suite: str | None, address: str | None, language: str = "en") -> Judged:
        """What the form says is to be judged on; the first sample where no file is given.

        Raises:
            StudioError: no suite is chosen, or the address is none.
        """
        if source == PUBLIC:
            return public_set(address)
        if source == SUITE:
            if suite not in {name for _, name in self._suites()}:
                raise StudioError("no suite is chosen", self._suite_help())
            return Judged("", suite or "", suite=suite or "")
        if path:
            return Judged(Path(path), Path(path).name)
        sample = default_sample(language, *SCORED_KINDS) or self.samples[0]
        return Judged(sample.path, sample.title)

    def fitting(self, form: Form, judged: Judged, model: str, kept: Any) -> tuple[Form, list[Any]]:
        """Return the form with the model that fits the language of a file where nobody chose one, and updates of what depends on it.

        Args:
            model: that in the header; kept: the one that the visitor chose, if any.

        Returns:
            the form; updates of the model in the header, the models of the form, the one that joined them, and ``page.other_texts``.
        """
        unchanged = form, [gr.skip()] * 4
        if judged.suite or not isinstance(judged.path, Path) or judged.path.stat().st_size > _LOOKED_AT:
            return unchanged
        try:
            table = self.page.studio.read.table(judged.path, asked=judged.asked)
        except StudioError:
            return unchanged  # the evaluation says so
        fitting, fitted = self.page.fit_model(model, kept, judged.name, self.page.studio.read.languages(table))
        if tuple(form.models or ()) != (model,):
            return unchanged  # these models were chosen one by one, and the evaluation says which of them do not read the texts
        if fitting == model:
            return form, [*unchanged[1][:3], fitted.values()[1]]
        update, other_texts = fitted.values()
        return replace(form, models=(fitting,)), [update, [fitting], fitting, other_texts]

    def begin(self, owner: Any, model: str, form: Form, language: str = "en") -> JobView:
        """Judge on what the form says; what was said of a file before holds while it is this one.

        Args:
            model: that in the header.
            language: of the page, and of the sample where no file is given.
        """
        judged, before = self.chosen(form.source, form.path, form.suite, form.address, language), self._asked(owner)
        if before is not None and judged.path and file_store.fingerprint(before.judged.path) == file_store.fingerprint(judged.path):
            judged = replace(before.judged, path=judged.path)
        task = form.task if form.source == FILE else "auto"
        judged = replace(judged, known=known_rows(task, form.known))
        return start(self.page, owner, form.models, judged, task, form=form.kept(self.page, owner, model))

    def again(self, owner: Any, model: str, form: Form) -> JobView:
        """What the form says, once more; where its file is gone the one that the result was made of, never a sample in its place.

        Raises:
            StudioError: that is gone as well.
        """
        before = self._asked(owner)
        if form.source != FILE or form.path or before is None or before.form.source != FILE or not before.form.path:
            return self.begin(owner, model, form)
        path = (
            before.form.path if Path(before.form.path).is_file() else file_store.restore_form_file(self.page, owner, before.form.kept_path)
        )
        if path is None:
            raise StudioError(f"the file {before.judged.name} is no longer here", "choose it once more, then press Evaluate")
        return self.begin(owner, model, replace(form, path=path))

    def filled(self, owner: Any) -> list[Any]:
        """Updates of the form to what the visitor's evaluation was asked for by: its parts, what they show, and the header's model then."""
        asked = self._asked(owner)
        if asked is None or not asked.form.source:
            return [gr.skip()] * 13
        form = asked.form.found(self.page, owner)
        choices = self.page.model_choices(owner, "texts", "pairs")
        here = [name for name in form.models if name in {known for _, known in choices} or not is_own_model(name)]
        parts = [gr.update(choices=choices, value=here), form.source, form.path, form.suite, form.address, form.task, form.known]
        shows = [gr.update(visible=form.source == name) for name in (FILE, SUITE, PUBLIC)]
        return [*parts, *shows, *self.known.look(form.task), form.model]

    def _asked(self, owner: Any) -> Asked | None:
        job = self.page.studio.evaluations.latest(self.page.visitor(owner))
        return job.about if job is not None and isinstance(job.about, Asked) else None

    def listen(self, loaded: Any) -> None:
        """Bind the events; ``loaded`` is the page's own load event."""
        page = self.page
        private = {"api_visibility": "private"}
        quiet = {**private, "show_progress": "hidden"}

        def on_source(source: str) -> list[Any]:
            choices = self._suites()
            return [
                *(gr.update(visible=source == name) for name in (FILE, SUITE, PUBLIC)),
                gr.update(choices=choices, info=self._suite_help()),
            ]

        def on_go(owner: Any, model: str, kept: Any, language: str, *said: Any) -> list[Any]:
            form = Form(*said)
            judged = self.chosen(form.source, form.path, form.suite, form.address, language)
            form, updates = self.fitting(form, judged, model, kept)
            self.begin(owner, model, form, language)
            return [*self.look(owner), *updates]

        def on_again(owner: Any, model: str, *said: Any) -> list[Any]:
            self.again(owner, model, Form(*said))
            return self.look(owner)

        def on_sample(item: Sample, owner: Any, model: str, kept: Any, language: str, *said: Any) -> list[Any]:
            form = Form(*said)
            judged = Judged(item.path, item.title, known=known_rows(form.task, form.known))
            form, updates = self.fitting(form, judged, model, kept)
            start(page, owner, form.models, judged, form.task, form=form.kept(page, owner, model), again=f"evaluate-{item.id}")
            return [*self.look(owner), *updates]

        def on_answer(owner: Any, event: gr.SelectData) -> list[Any]:
            job = page.studio.evaluations.latest(page.visitor(owner))
            if job is None or not isinstance(job.error, Unanswered) or not isinstance(job.about, Asked):
                raise StudioError("that question is no longer open", "press Evaluate again")
            asked = job.about
            judged = with_questions(asked, job.error).answered(event.index)
            start(page, owner, asked.models, judged, asked.task, form=asked.form, again=asked.again)
            return self.look(owner)

        def on_tick(owner: Any, shown: str | None) -> Any:
            found = self.look(owner)
            if found[0] == shown:
                return gr.skip()
            job = page.studio.evaluations.latest(page.visitor(owner))
            over = job is not None and not job.active
            return [*found, f"{job.id} {job.status}" if over and job else gr.skip()]

        def on_stop(owner: Any, job_id: str) -> list[Any]:
            page.studio.evaluations.stop(page.visitor(owner), job_id)
            return self.look(owner)

        self.source.input(handle_errors(on_source), self.source, [self.of_file, self.of_suite, self.of_public, self.suite], **quiet)
        self.task.input(handle_errors(self.known.look), self.task, self.known.outputs, **quiet)
        form = [self.models, self.source, self.file, self.suite, self.public, self.task, self.known.file]
        asked = [page.owner, page.model, *form]
        fitted = [page.owner, page.model, page.saved_model, page.language, *form]
        outputs = [*self.outputs, *(of_model := [page.model, self.models, self.joined, page.other_texts])]
        self.go.click(handle_errors(on_go), fitted, outputs, **private, show_progress_on=self.job)
        self.redo.click(handle_errors(on_again), asked, self.outputs, **private, show_progress_on=self.job)
        for item, button in zip(self.samples, self.buttons, strict=True):
            button.click(handle_errors(partial(on_sample, item)), fitted, outputs, **quiet)
        # One work for all parts: of several the answer to an earlier state of the form could come last.
        gr.on([part.change for part in form], handle_errors(form_value), form, self.form, trigger_mode="always_last", **quiet)
        self.asking.select(handle_errors(on_answer), page.owner, self.outputs, **quiet)
        page.evaluations_timer.tick(
            handle_errors(on_tick), [page.owner, self.shown], [*self.outputs, self.ended], queue=False, trigger_mode="once", **quiet
        )
        self.stop.click(None, js="() => SB.stopping('evaluate-stop')")
        self.stop.click(handle_errors(on_stop), [page.owner, self.job_id], self.outputs, queue=False, **quiet)
        self._listen_to_models(loaded, form, of_model, quiet)
        loaded.then(handle_errors(self.look), page.owner, self.outputs, **quiet)
        parts = [self.of_file, self.of_suite, self.of_public, self.known.place, self.known.use, self.joined]
        loaded.then(handle_errors(self.filled), page.owner, [*form, *parts], **quiet)

    def _listen_to_models(self, loaded: Any, form: list[Any], of_model: list[Any], quiet: dict[str, Any]) -> None:
        page = self.page

        def on_file(model: str, kept: Any, *said: Any) -> list[Any]:
            form = Form(*said)
            return self.fitting(form, Judged(Path(form.path), Path(form.path).name), model, kept)[1] if form.path else [gr.skip()] * 4

        self.file.upload(handle_errors(on_file), [page.model, page.saved_model, *form], of_model, **quiet)

        def on_models(owner: Any, model: str | None, kept: Any, chosen: list[str] | None, typed: str, joined: str) -> Any:
            # The model in the header joins the comparison once; what is gone leaves it, and so does a name that was typed there before.
            choices = page.model_choices(owner, "texts", "pairs")
            known = {name for _, name in choices}
            asked = joined_models(chosen or [], model or "", joined, typed, chosen_by_hand=bool(kept))
            now = [name for name in asked if name in known or not is_own_model(name)][:MOST_MODELS]
            # What need not change is left: a reload may have filled it meanwhile.
            shown = gr.update(choices=choices) if now == chosen else gr.update(choices=choices, value=now)
            return shown, "" if model in known else model or "", model or ""

        def on_focus(owner: Any) -> Any:
            return gr.update(choices=page.model_choices(owner, "texts", "pairs"))

        inputs = [page.owner, page.model, page.saved_model, self.models, self.typed, self.joined]
        # The page begins with the usual model; one that the browser kept is told by its change. Were it asked here as well, that answer
        # could come last and take the kept one out again.
        for event in (self.models.focus, loaded.then):
            event(handle_errors(on_focus), page.owner, self.models, **quiet)
        for event in (page.model.change, page.runs_version.change):
            event(handle_errors(on_models), inputs, [self.models, self.typed, self.joined], **quiet)

    def _suites(self) -> list[tuple[str, str]]:
        return [
            (f"{one.name} · {one.parts} of {one.wanted} files" if one.parts < one.wanted else one.name, one.name)
            for one in self.page.studio.judge.suites_here()
        ]

    def _suite_help(self) -> str:
        if self.page.studio.judge.suites_here():
            return "Sets of the literature that lie on this machine."
        where = "" if self.page.shared else f": {self.page.studio.workspace.home / 'suites'}"
        return f"None lies on this machine. Put folders such as sts12/ or stsb/ into “suites” in the data folder{where}"


def joined_models(chosen: Sequence[str], model: str, joined: str, typed: str, *, chosen_by_hand: bool) -> list[str]:
    """Return the models of a comparison, which the model in the header joins.

    Args:
        chosen: the models until now.
        model: that in the header, and ``joined`` the one that was there before; the later one takes the earlier one's place where
            nothing else was chosen, and neither of them ``chosen_by_hand``.
        typed: a name that was typed in the header and makes way for the next.
    """
    new = [model] if model != joined else []
    gone = {typed, joined} if new and not chosen_by_hand and list(chosen) == [joined] else {typed}
    return list(dict.fromkeys(name for name in [*(name for name in chosen if name not in gone), *new] if name))


def form_value(*said: Any) -> Value:
    """The value of the ``form`` view: what the form says now, as far as it counts; ``said`` are the parts of a :class:`Form`."""
    return {"form": "evaluate", "key": Form(*said).key}


def with_questions(asked: Asked, error: Unanswered) -> Judged:
    """What was judged on, with what its owner is asked."""
    return replace(asked.judged, questions=error.questions)
