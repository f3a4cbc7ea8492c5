"""Planning of a training run: its rows, its settings with reasons, and its time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.examples import Examples
from ..data.language import LANGUAGE_NAMES, dominant_foreign_language
from ..data.loading.table import Table
from ..data.schema.roles import Roles, SchemaOverrides, parse_fields
from ..errors import StudioError
from ..i18n import _, join, ngettext, to_sentence
from ..models.prompts import column_roles, describe_prompts, parse_prompts, require_prompts
from ..models.similarity import TITLES
from ..progress import Progress
from ..registry import parse_params
from .data import DataService, existing_file, existing_folder
from .questions import for_first_stage, overrides_from_json
from .resources import Resources, Service
from .results import TrainingForecast
from .results.training import describe_duration
from .training_plan import FIRST_STAGE_PREFIX, PlanFile, TrainPlan, TrainRequest

if TYPE_CHECKING:
    from ..data.doctor.diagnosis import Diagnosis
    from ..training.advisor import Advice
    from ..training.estimate import Estimate
    from ..training.spec import TrainSpec

_LENGTH_SAMPLE = 2_000  # texts per column used for token counts
PATIENCE = 180.0
"""Seconds that a cross-validation may take by default: labelling some texts and training on them should take five minutes."""
_SPLIT_ROWS = 500
"""With fewer rows, a tenth of them cannot choose a model: `benchmarks/choice_interval.py --folds` compares the choices."""
_EVALUATION_SETTINGS = ("evaluation", "max_folds", "folds", "seeds", "dev_fraction")
_TIMED = ("model", "loss", "epochs", "soup", "evaluations_per_epoch")  # settings on which the time of the folds depends
_FILE_OPTIONS = ("encoding", "delimiter", "header")


class TrainingPlanner(Service):
    """Turns requests into plans and estimates."""

    def __init__(self, resources: Resources, data: DataService) -> None:
        super().__init__(resources)
        self._data = data

    def plan(
        self,
        request: TrainRequest,
        before: TrainPlan | None = None,
        *,
        table: Table | None = None,
        read_progress: Progress | None = None,
        check_progress: Progress | None = None,
    ) -> TrainPlan:
        """Read and check the files, and choose the settings of a run. Nothing is stored.

        Args:
            before: an earlier plan. Parts not affected by the request are reused, so that changing the learning rate does not read files
                again.
            table: the rows of the request's file, if already read.

        Raises:
            StudioError: a file cannot be read or contains no examples of any kind, or a setting is invalid. Unanswered questions and
                invalid rows are part of the plan; :meth:`require_trainable` rejects them.
        """
        from ..training.spec import SHAPE

        settings, first_settings, first_overrides = _split_by_stage(request.overrides)
        if request.first is None and (first_settings or first_overrides):
            names = ", ".join([*first_settings, *first_overrides])
            raise StudioError(_("there is no first stage for the settings {names}", names=names), "specify the file of the first stage")
        if (source := request.data) is None:
            raise StudioError("there is no file to train on", "specify a file, or a run to resume")
        overrides = _file_overrides(request.choices)
        if table is None:
            table = self._read(source, overrides, before.data if before else None, read_progress)
        model, model_reason = self._choose_model(request, table)
        if model_reason:
            request = replace(request, model=model)
        dev_table = None if request.dev is None else self._read(request.dev, overrides, before.dev if before else None, read_progress)
        diagnosis = before.diagnosis if before and self._has_same_rows(before, table, dev_table, overrides, model, settings) else None
        if diagnosis is None:
            diagnosis = self._data.diagnose(
                table, overrides, dev_table, model, settings.get("loss"), check_progress, uses_own_dev=_uses_own_dev(settings)
            )
        data = _plan_file(source, table, overrides, diagnosis)
        dev, held_out, held_account = None, diagnosis.dev_examples, diagnosis.dev_account
        if request.dev is not None and dev_table is not None and held_out is not None and held_account is not None:
            dev = replace(_plan_file(request.dev, dev_table, overrides, diagnosis), examples=held_out, account=held_account)
        advice = self._advise(diagnosis.examples, model, settings)
        spec, time_reason = advice.spec, ""
        if request.first is None and request.dev is None:
            spec, time_reason = self._limit_folds(advice.spec, settings, diagnosis, before)
        column_reason = to_sentence(diagnosis.roles.note) if diagnosis.roles.note else ""
        model_notes = self._describe_model(diagnosis.roles, model, spec)
        split_reason = _describe_split(diagnosis, uses_dev=dev_table is None and _uses_own_dev(settings))
        reasons = (*filter(None, (column_reason, split_reason, model_reason, time_reason, *model_notes)), *advice.reasons)
        first = earlier = None
        if request.first is not None:
            first, earlier = self._plan_first_stage(request.first, first_overrides, first_settings, model, before, read_progress)
            shared: dict[str, Any] = {name: settings[name] for name in SHAPE if name in settings}
            stage = self._advise(earlier.examples, model, {**shared, **first_settings})
            spec = spec.replace(first=stage.spec.to_json())
            first_reasons = (*filter(None, [_describe_split(earlier, uses_dev=False)]), *stage.reasons)
            reasons = (*(_("First stage: {reason}", reason=reason) for reason in first_reasons), *reasons)
        return TrainPlan(request, data, dev, first, diagnosis, earlier, spec, reasons, time_reason)

    def estimate(self, plan: TrainPlan | TrainRequest) -> TrainingForecast:
        """Estimate time and memory of a run from a few seconds of trial steps; no model is kept."""
        from ..runs.teacher import try_teacher
        from ..training.estimate import estimate_run
        from ..training.prepare import create_model
        from ..training.spec import TrainSpec

        plan = self.require_trainable(plan)

        def estimate(spec: TrainSpec, examples: Examples, dev: Examples | None = None) -> Estimate:
            examples, seconds = try_teacher(examples, spec, self.catalog)
            found = estimate_run(spec, examples, encoder=create_model(self.catalog, spec, examples), dev=dev)
            return replace(found, seconds=found.seconds + seconds)

        def run() -> Estimate:
            found = estimate(plan.spec, plan.examples, plan.dev_examples)
            if plan.first is None:
                return found
            return (
                estimate(TrainSpec.from_json(plan.spec.first).replace(model=plan.spec.model, dev_fraction=0), plan.first.examples) + found
            )

        return TrainingForecast(plan.spec, plan.reasons, self.runner.rehearse(run), plan.accounts, plan.splits)

    def describe_trainings(self, plan: TrainPlan) -> str:
        """Describe a run's trainings, if there are several, and their total time, if the model's speed is known."""
        from ..training.members import count_passes, plan_folds

        spec = plan.spec
        try:
            folds = plan_folds(spec, plan.examples, plan.dev_examples)
        except StudioError:
            return ""  # Start reports it
        times = 1 if folds else spec.seeds * max(1, spec.folds)
        epochs = ngettext("{n} epoch", "{n} epochs", spec.epochs, n=f"{spec.epochs:g}")
        what = []
        if folds:
            what.append(_("Cross-validation trains {parts}, for {epochs} each.", parts=self.describe_parts(plan), epochs=epochs))
        elif times > 1:
            what.append(_("{trainings} models are trained for {epochs} each.", trainings=times, epochs=epochs))
        seconds = count_passes(spec, plan.examples, folds) * times * self._data.encoding_seconds(spec.model, plan.examples.texts)
        if seconds:
            time = describe_duration(seconds)
            what.append(_("This takes about {time} in total.", time=time) if what else _("Training takes about {time}.", time=time))
        return join(" ", [*what, *filter(None, [plan.time_reason])])

    def describe_parts(self, plan: TrainPlan) -> str:
        """Return the number of models that cross-validation trains, by purpose; empty without it."""
        from ..training.members import plan_curve, plan_folds

        folds = plan_folds(plan.spec, plan.examples, plan.dev_examples)
        if not folds:
            return ""
        curve = len(plan_curve(folds))
        values = {"n": len(folds) + curve + 1, "folds": len(folds), "curve": curve}
        if not curve:
            return _("{n} models: {folds} on parts of the rows and one on all rows", **values)
        return _("{n} models: {folds} on parts of the rows, {curve} on fewer rows for the learning curve, and one on all rows", **values)

    def _limit_folds(
        self, spec: TrainSpec, settings: Mapping[str, Any], diagnosis: Diagnosis, before: TrainPlan | None
    ) -> tuple[TrainSpec, str]:
        """Return the spec with fewer folds, or one split of many rows, if the usual ones take longer than :data:`PATIENCE`; and the reason.

        The choice for the same rows, loss and epochs is kept, so that it does not change with the load of the machine.
        """
        from ..training.members import count_passes, plan_folds

        if any(name in settings for name in _EVALUATION_SETTINGS):
            return spec, ""
        is_same = (
            before is not None
            and before.diagnosis is diagnosis
            and all(getattr(before.spec, name) == getattr(spec, name) for name in _TIMED)
        )
        # A choice of the user that was taken back is not kept.
        if before is not None and is_same and before.request.first is None and not {*_EVALUATION_SETTINGS} & {*before.request.overrides}:
            return spec.replace(evaluation=before.spec.evaluation, max_folds=before.spec.max_folds), before.time_reason
        examples = diagnosis.examples

        def seconds(most: int = 0) -> tuple[int, float]:
            folds = plan_folds(spec.replace(max_folds=most), examples, diagnosis.dev_examples)
            return len(folds), once * count_passes(spec, examples, folds)

        once = self._data.encoding_seconds(spec.model, examples.texts)
        usual, whole = seconds()
        if whole <= PATIENCE or not usual:
            return spec, ""
        least = 2 if len(examples) < _SPLIT_ROWS else 0
        fewer = next((most for most in range(usual - 1, 1, -1) if seconds(most)[1] <= PATIENCE), least)
        if fewer == usual:
            return spec, ""
        shown = {"usual": usual, "time": describe_duration(whole), "limit": describe_duration(PATIENCE)}
        if fewer:
            reason = (
                "There are {folds} folds, because {usual} would take about {time} on this machine, more than {limit}; set "
                "“Max folds” to {usual} to use them."
            )
            return spec.replace(max_folds=fewer), _(reason, folds=fewer, **shown)
        reason = (
            "The model is evaluated on one part of the rows, because cross-validation in {usual} folds would take about {time} on this "
            "machine, more than {limit}. There will be no learning curve; set “Evaluation” to folds to have one."
        )
        return spec.replace(evaluation="split"), _(reason, **shown)

    def require_trainable(self, plan: TrainPlan | TrainRequest) -> TrainPlan:
        """Return the plan (of a request).

        Raises:
            StudioError: a question is unanswered, the rows are not suitable for training, or the teacher cannot be used.
        """
        from ..runs.teacher import require_teacher_model

        plan = self.plan(plan) if isinstance(plan, TrainRequest) else plan
        plan.require_settled()
        require_teacher_model(plan.spec, plan.examples, self.catalog)
        return plan

    def _choose_model(self, request: TrainRequest, table: Table) -> tuple[str, str]:
        default = self.settings.default_model
        if request.model:
            return request.model, ""
        languages = self._data.count_languages(table)
        model = self._data.languages.default_model(languages)
        if model == default:
            return model, ""
        return (
            model,
            _(
                "Model {model}: most texts look like {language_names}; {default} was not trained on it.",
                model=model,
                language_names=LANGUAGE_NAMES[dominant_foreign_language(languages)],
                default=default,
            ),
        )

    def _read(self, source: Path | str | Table, overrides: SchemaOverrides, earlier: PlanFile | None, progress: Progress | None) -> Table:
        if not isinstance(source, str | Path):
            return source
        if existing_folder(source) is not None:
            return self._data.read_table(source, progress=progress)
        path = existing_file(source, full_path=self._resources.allow_folders)
        if earlier is not None and earlier.given == path and _file_options(earlier.choices) == _file_options(overrides):
            return earlier.table
        return self._data.read_table(path, progress=progress, overrides=overrides)

    def _has_same_rows(
        self,
        before: TrainPlan,
        table: Table,
        dev_table: Table | None,
        overrides: SchemaOverrides,
        model: str,
        settings: Mapping[str, Any],
    ) -> bool:
        """Return True if the earlier diagnosis still applies: most settings do not affect the rows."""
        known_dev = None if before.dev is None else before.dev.table
        known_model = before.request.model or self.settings.default_model
        loss, known_loss = settings.get("loss"), before.request.overrides.get("loss")
        kinds = self._data.kinds_of_loss(loss)
        is_same_kind = known_loss == loss or (before.roles.kind in kinds if kinds else known_loss is None)
        is_same_file = before.table is table and known_dev is dev_table and before.data.choices == overrides
        is_same_evaluation = _uses_own_dev(before.request.overrides) == _uses_own_dev(settings)
        return is_same_file and known_model == model and is_same_kind and is_same_evaluation

    def _plan_first_stage(
        self,
        source: Path | str | Table,
        chosen: Mapping[str, Any],
        settings: Mapping[str, Any],
        model: str,
        before: TrainPlan | None,
        progress: Progress | None,
    ) -> tuple[PlanFile, Diagnosis]:
        overrides = _file_overrides(None, chosen)
        known = before.first if before is not None else None
        table = self._read(source, overrides, known, progress)
        diagnosis = before.earlier if before and known and known.table is table and known.choices == overrides else None
        if diagnosis is None:
            diagnosis = self._data.diagnose(table, overrides, None, model, settings.get("loss"), uses_own_dev=False)
            diagnosis = replace(diagnosis, questions=tuple(map(for_first_stage, diagnosis.questions)))
        return _plan_file(source, table, overrides, diagnosis), diagnosis

    def _describe_model(self, roles: Roles, model: str, spec: TrainSpec) -> tuple[str, str]:
        """Describe the prompt of each column, and the similarity function if it is not cosine."""
        from ..training.prepare import require_no_prompt

        if spec.architecture == "cross":
            require_no_prompt(spec)
            return "", ""
        encoder = self.catalog.load_vector_encoder(model)
        prompts, default = encoder.prompts, encoder.default_prompt
        if spec.prompt:
            require_prompts(encoder)
            prompts, default = parse_prompts(spec.prompt)
        roles_of_columns = column_roles("positive_pairs" if spec.architecture == "poly" else roles.kind, len(roles.texts))
        measure = encoder.similarity_name
        note = (
            _("The model uses {titles} and is evaluated with it; the losses optimize cosine.", titles=TITLES[measure])
            if measure != "cosine"
            else ""
        )
        return describe_prompts(prompts, default, roles.texts, roles_of_columns), note

    def _advise(self, examples: Examples, model: str, settings: Mapping[str, Any]) -> Advice:
        from ..losses import losses_of
        from ..training.advisor import advise

        self.catalog.require_trainable(model)
        architecture, lengths = settings.get("architecture"), None
        if architecture == "cross":
            info = self.catalog.load_any(model).describe()
        else:
            encoder = self.catalog.load_vector_encoder(model) if architecture == "poly" else self.catalog.load(model)
            info = encoder.describe()
            if encoder.tokens is not None:
                lengths = encoder.tokens.count_tokens([text for column in examples.texts for text in column[:_LENGTH_SAMPLE]])
        device, multilingual = str(self.catalog.device), self._data.languages.multilingual
        overrides = {**settings, "model": model}
        advice = advise(examples, info=info, device=device, lengths=lengths, overrides=overrides, multilingual=multilingual)
        # Also validate the loss parameters here, before a run is created.
        given = advice.spec.loss_params
        loss = losses_of(advice.spec.architecture)[advice.spec.loss]
        checked = asdict(parse_params(loss.Params, given))
        return replace(advice, spec=advice.spec.replace(loss_params={name: checked[name] for name in given}))


def _plan_file(path: Path | str | Table, table: Table, overrides: SchemaOverrides, diagnosis: Diagnosis) -> PlanFile:
    source = table if not isinstance(path, str | Path) or existing_folder(path) is not None else existing_file(path)
    return PlanFile(source, table, overrides, diagnosis.roles, diagnosis.examples, diagnosis.account)


def _uses_own_dev(settings: Mapping[str, Any]) -> bool:
    """Return False if the run is evaluated on anything other than the validation rows of its file."""
    return settings.get("evaluation") != "folds" and not any(int(settings.get(name) or 1) > 1 for name in ("folds", "seeds"))


def _describe_split(diagnosis: Diagnosis, *, uses_dev: bool) -> str:
    return "" if diagnosis.split is None else to_sentence(diagnosis.split.describe(uses_dev=uses_dev))


def _file_overrides(overrides: SchemaOverrides | None, more: Mapping[str, Any] | None = None) -> SchemaOverrides:
    """Return the overrides for a file. ``as_read`` accepts uncertainty and does not concern the file itself."""
    return replace(overrides or SchemaOverrides(), **overrides_from_json(more or {}), as_read=False)


def _file_options(overrides: SchemaOverrides) -> list[Any]:
    return [getattr(overrides, name) for name in _FILE_OPTIONS]


def _split_by_stage(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the run's settings, those of its first stage (``first.…``), and the overrides for the first stage's file."""
    file_fields = {item.name for item in fields(SchemaOverrides)}
    settings: dict[str, Any] = {}
    first: dict[str, Any] = {}
    file: dict[str, Any] = {}
    for name, value in values.items():
        bare = name.removeprefix(FIRST_STAGE_PREFIX)
        target = settings if bare == name else file if bare in file_fields else first
        target[bare] = value
    return settings, first, parse_fields(file)
