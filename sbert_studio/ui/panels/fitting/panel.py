"""The form by which word vectors are made, and how far they are: learned from a file or distilled from the model in the header."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ....models.static import WEIGHTINGS
from ....registry import Field
from ....services.static_embeddings import STATIC
from ... import forms
from ...components import sample_buttons, samples_of, upload
from ...handlers import handle_errors
from ...page import Page
from ...task_list import job_view
from ...views import Value, view
from ..tuning.follow import Follow
from ..tuning.run_panel import use
from .choices import LONGEST, is_weighted_by_choice, kinds, own_settings, start, summary

if TYPE_CHECKING:
    from ....data.samples import Sample

_SHAPES = ("corpus", "scored_pairs", "labelled_pairs", "triplets", "labelled_texts")
_TITLE = "Make word vectors of your own"
_WEIGHTS = {"sif": "By rarity (SIF)", "tfidf": "By rarity (TF-IDF)", "plain": "All alike"}
_HELP = "How much each word counts in the mean of a text."


class FittingPanel:
    """The form, and below it what is made. A job belongs to its owner: a reload or another page of theirs finds it as it stands."""

    def __init__(self, page: Page) -> None:
        self.page = page
        studio = page.studio
        self.samples: list[Sample] = samples_of(*_SHAPES)
        self.file = gr.State(None)
        with (
            gr.Column(elem_classes=["sb-panel", "sb-fit"]),
            gr.Accordion(_TITLE, open=False, elem_id="fit-open") as self.section,
            gr.Row(),
        ):
            with gr.Column(min_width=280, scale=2):
                self.upload = upload("Texts: CSV, TSV, TXT, JSONL, XLSX or Parquet", "fit-file")
                self.buttons = sample_buttons(self.samples, "fit")
                self.chosen = view("note", elem_id="fit-chosen")
            with gr.Column(min_width=280, scale=3):
                choices = kinds(studio)
                first = choices[0][1]
                self.kind = gr.Dropdown(choices, value=first, label="Kind", info=summary(first), elem_id="fit-kind")
                with gr.Accordion("Settings", open=False, elem_id="fit-settings"):
                    self.groups, self.own = _groups([name for _, name in choices], first)
                    with gr.Column(visible=is_weighted_by_choice(first)) as self.weights:
                        shown = [(_WEIGHTS[name], name) for name in reversed(WEIGHTINGS)]
                        self.weighting = gr.Dropdown(shown, value="sif", label="Weights", info=_HELP, elem_id="fit-weighting")
                        words = "Directions that all texts share are taken away."
                        self.common = gr.Slider(0, 10, 0, step=1, label="Common components", info=words, elem_id="fit-common")
                as_file = "as the file is called"
                self.name = gr.Textbox(label="Name", placeholder=as_file, max_lines=1, max_length=LONGEST, elem_id="fit-name")
                self.go = gr.Button("Make word vectors", variant="primary", elem_id="fit-go")
                self.panel = view("job", elem_id="fit-job")
                with gr.Row(elem_classes=["sb-buttons"]):
                    self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="fit-stop")
                    self.use = gr.Button("Use this model", variant="primary", visible=False, elem_id="fit-use")
        self.job, self.model = gr.State(""), gr.State("")
        self.shown = gr.State(None)
        # As in the panel of runs: a State that changes by the timer tells nobody; a text in the page does.
        self.ended = gr.Textbox("", visible="hidden", label="ended", elem_id="fit-ended")

    @property
    def outputs(self) -> list[Any]:
        """What :meth:`look` updates."""
        return [self.shown, self.job, self.model, self.panel, self.stop, self.use, self.page.fits_timer, self.ended]

    def look(self, owner: Any) -> list[Any]:
        """Updates of :attr:`outputs` to the visitor's job as it stands; one that nobody saw go on has ended as well."""
        job = self.page.studio.jobs.latest(self.page.visitor(owner))
        value = job_view(job)
        live, model = job is not None and job.active, job.model if job is not None else ""
        stop = live and job is not None and not job.stopping
        ended = gr.skip() if job is None or live else f"{job.id} {job.status}"
        made = [gr.update(visible=stop), gr.update(visible=bool(model)), gr.Timer(active=live), ended]
        return [value, job.id if job else "", model, value, *made]

    def listen(self, loaded: Any) -> None:
        """Bind the events; ``loaded`` is the page's own load event."""
        page = self.page
        private = {"api_visibility": "private"}
        quiet = {**private, "show_progress": "hidden"}

        def on_file(path: str | None) -> tuple[Any, Any]:
            return path, {"text": f"Chosen: {Path(path).name}"} if path else None

        def on_sample(item: Sample) -> tuple[Any, Any]:
            return str(item.path), {"text": f"Chosen: {item.title}"}

        def on_kind(kind: str) -> list[Any]:
            groups = [gr.update(visible=name == kind) for name in self.groups]
            return [gr.update(info=summary(kind)), *groups, gr.update(visible=is_weighted_by_choice(kind))]

        def on_start(owner: Any, kind: str, file: str | None, model: str, weighting: str, common: float, name: str, *raw: Any) -> list[Any]:
            given = {field.name: value for (of, field, _), value in zip(self.own, raw, strict=True) if of == kind}
            path = file or (None if kind == STATIC else str(self.samples[0].path))
            start(page, owner, kind, path, model, settings=given, weighting=weighting, common=int(common), name=name)
            return self.look(owner)

        def on_tick(owner: Any, shown: Value | None) -> Any:
            found = self.look(owner)
            return gr.skip() if found[0] == shown else found

        def on_stop(owner: Any, job_id: str) -> list[Any]:
            page.studio.jobs.stop(page.visitor(owner), job_id)
            return self.look(owner)

        def on_load(owner: Any) -> list[Any]:
            found = self.look(owner)
            # The page's lists have just been drawn: an end of long ago would only have them drawn again.
            return [*found[:-1], gr.skip(), gr.update(open=True) if found[0] and found[0]["live"] else gr.skip()]

        self.upload.change(handle_errors(on_file), self.upload, [self.file, self.chosen], **quiet)
        for item, button in zip(self.samples, self.buttons, strict=True):
            button.click(handle_errors(partial(on_sample, item)), None, [self.file, self.chosen], **quiet)
        self.kind.input(handle_errors(on_kind), self.kind, [self.kind, *self.groups.values(), self.weights], **quiet)
        controls = [control for _, _, control in self.own]
        inputs = [page.owner, self.kind, self.file, page.model, self.weighting, self.common, self.name, *controls]
        self.go.click(handle_errors(on_start), inputs, self.outputs, **private, show_progress_on=self.panel)
        page.fits_timer.tick(handle_errors(on_tick), [page.owner, self.shown], self.outputs, queue=False, trigger_mode="once", **quiet)
        self.stop.click(None, js="() => SB.stopping('fit-stop')")
        self.stop.click(handle_errors(on_stop), [page.owner, self.job], self.outputs, queue=False, **quiet)
        self.ended.change(lambda changes: changes + 1, page.runs_version, page.runs_version, **quiet)
        self.use.click(
            handle_errors(lambda model, owner: use(page, Follow(model), owner)),
            [self.model, page.owner],
            [page.model, page.saved_model],
            **quiet,
        )
        loaded.then(handle_errors(on_load), page.owner, [*self.outputs, self.section], **quiet)


def _groups(names: Sequence[str], first: str) -> tuple[dict[str, Any], list[tuple[str, Field, Any]]]:
    """The settings of each kind in a column of their own, of which one is seen."""
    groups: dict[str, Any] = {}
    own: list[tuple[str, Field, Any]] = []
    for name in names:
        with gr.Column(visible=name == first) as groups[name]:
            own += [(name, item, forms.control(item, elem_id=f"fit-{name}-{item.name}")) for item in own_settings(name)]
    return groups, own
