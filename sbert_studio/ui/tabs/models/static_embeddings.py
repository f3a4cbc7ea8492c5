"""Training of static embeddings from a file, or distillation from the selected model: the form, its handlers and the job."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....i18n import _
from ....models.static import LEARNERS, WEIGHTINGS
from ....registry import Field, fields_of
from ....services.static_embeddings import STATIC, FitOptions
from ... import components
from ...components import find_sample, samples_of
from ...page import Page
from ...panel import Selection
from ...views import Value
from .jobs import JobKind, JobPanelView, show_job

if TYPE_CHECKING:
    from ....data.samples import Sample
    from ....services import Studio
    from ....services.jobs import JobView

PREFIX = "fit"
_DEFAULT_KIND = "glove"
_SAMPLE_KINDS = ("corpus", "scored_pairs", "labelled_pairs", "triplets", "labelled_texts")
_DISTILLATION = "Static distillation of the model above"
_DISTILLATION_HELP = (
    "Uses the vectors of single words from the model in the header: less accurate, but much faster. A file is "
    "optional; its words are added to the vocabulary."
)
_PRETRAINED_HELP = "Pre-trained on billions of words; only the word weights are fitted to your texts."
_WEIGHTING_TITLES = {"sif": "By rarity (SIF)", "tfidf": "By rarity (TF-IDF)", "plain": "All equal"}
_SERVICE_NAMES = {"skip_gram": "skipgram"}
MAX_NAME = 80
_DIM = Field("dim", int, 256, "Number of dimensions.", min=1, max=4096)
_WEIGHTING = Field("weighting", str, "sif", "Weight of each word in the mean vector of a text.", choices=WEIGHTINGS)
_COMMON = Field("common", int, 0, "Number of directions shared by all texts to remove.", min=0, max=10, step=1)


JOB = JobKind(PREFIX, "static embeddings", lambda studio: studio.embedding_jobs)


def samples() -> list[Sample]:
    return samples_of(*_SAMPLE_KINDS)


def choose_file(file: str | None) -> tuple[str | None, Value | None]:
    return file, {"text": _("File: {name}", name=Path(file).name)} if file else None


def choose_sample(selection: Selection) -> tuple[str, Value] | None:
    sample = find_sample(selection.item, *_SAMPLE_KINDS)
    return None if sample is None else (str(sample.path), {"text": _("Sample: {title}", title=sample.title)})


def change_form(page: Page, form: object) -> Value:
    return components.answer_form(form, embeddings_form(page.studio, components.form_values(form)))


def start(page: Page, owner: object, form: object, chosen_file: str | None, model: str | None) -> JobPanelView:
    values = components.form_values(form)
    file = chosen_file or (None if values.get("kind") == STATIC else str(samples()[0].path))
    start_training(page, owner, values, file, model)
    return show_job(page, owner, JOB)


def kind_choices(studio: Studio) -> list[tuple[str, str]]:
    """Return (title, name) of the types: each learning algorithm, the installed pretrained embeddings, and distillation."""
    pretrained = [(_("{name} (pre-trained)", name=name), name) for name in studio.catalog.tables()]
    return [*((LEARNERS[name].title, name) for name in LEARNERS), *pretrained, (_DISTILLATION, STATIC)]


def kind_fields(kind: str) -> list[Field]:
    return fields_of(LEARNERS[kind].Params) if kind in LEARNERS else [_DIM] if kind == STATIC else []


def has_weighting(kind: str) -> bool:
    return kind != STATIC and not (kind in LEARNERS and LEARNERS[kind].weighted)


def embeddings_form(studio: Studio, values: Mapping[str, object] | None = None) -> Value:
    """Return the form; its values, by default those of the settings, are named "kind", "name", "weighting", "common" and "TYPE-SETTING"."""
    choices = kind_choices(studio)
    names = [name for _, name in choices]
    kind = str((values or {}).get("kind"))
    kind = kind if kind in names else _DEFAULT_KIND
    summary = _DISTILLATION_HELP if kind == STATIC else LEARNERS[kind].summary if kind in LEARNERS else _PRETRAINED_HELP
    weightings = [[_WEIGHTING_TITLES[name], name] for name in reversed(WEIGHTINGS)]
    weights = [
        components.describe_control(_WEIGHTING, label="Weights", choices=weightings),
        components.describe_control(_COMMON, label="Common components"),
    ]
    settings = [
        components.group(
            [components.describe_control(field, name=f"{name}-{field.name}") for field in kind_fields(name)],
            name=name,
            visible=name == kind,
        )
        for name in names
    ]
    settings.append(components.group(weights, name="weights", visible=has_weighting(kind)))
    items = [
        {"kind": "choice", "name": "kind", "label": "Type", "info": summary, "choices": [list(choice) for choice in choices]},
        components.group(settings, name="settings", title="Settings"),
        {"kind": "text", "name": "name", "label": "Model name", "info": "", "placeholder": "(defaults to the file name)"},
    ]
    defaults: dict[str, object] = {"kind": kind, "name": "", "weighting": _WEIGHTING.default, "common": _COMMON.default}
    for name in names:
        defaults |= {f"{name}-{field.name}": components.to_control_value(field, field.default) for field in kind_fields(name)}
    return components.form_view(PREFIX, items, {**defaults, **(values or {}), "kind": kind})


def start_training(page: Page, owner: object, values: Mapping[str, Any], file: str | None, model: str | None) -> JobView:
    studio, kind = page.studio, str(values.get("kind"))
    if kind not in {name for _, name in kind_choices(studio)}:
        raise StudioError(_("unknown static embedding type {kind}", kind=kind), "choose one from the list")
    if file is None and kind != STATIC:
        raise StudioError("there are no texts to train on", "choose a file or a sample")
    settings = components.parse_values(kind_fields(kind), values, f"{kind}-")
    visitor = page.visitor(owner)
    title = str(values.get("name") or "").strip()[:MAX_NAME] or _default_name(studio, kind, file, model)
    if kind == STATIC:
        work = partial(studio.static_embeddings.distill, model or None, dim=settings["dim"], vocabulary=file)
    else:
        learner = _SERVICE_NAMES.get(kind, kind)
        weights = components.parse_values((_WEIGHTING, _COMMON), values) if has_weighting(kind) else {"weighting": None, "common": 0}
        studio.static_embeddings.get_learner(learner, settings)
        work = partial(studio.static_embeddings.fit, str(file), learner, options=FitOptions(**weights, settings=settings))
    return studio.embedding_jobs.submit(visitor, title, lambda begin: work(name=title, owner=visitor, begin_phase=begin))


def _default_name(studio: Studio, kind: str, file: str | None, model: str | None) -> str:
    if kind != STATIC:
        return f"{Path(file).stem if file else ''}-{kind}"
    titles = {card.name: card.title for card in studio.models.list_available()[0]}
    teacher = model or studio.settings.default_model
    return f"{titles.get(teacher, Path(teacher).name)}-static"
