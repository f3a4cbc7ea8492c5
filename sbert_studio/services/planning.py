"""Verbs that say what a training would be, before it is one: its rows, its settings, their reasons, its time and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.schema.overrides import SchemaOverrides
from ..errors import StudioError
from ..registry import parse_params
from .data import existing_file, existing_folder
from .questions import for_first_stage, overrides_from_json, parse_overrides
from .resources import Service
from .results import TrainingForecast
from .training_plan import FIRST_STAGE_PREFIX, PlanFile, TrainPlan, TrainRequest

if TYPE_CHECKING:
    from ..data.doctor.diagnosis import Diagnosis
    from ..data.examples import Examples
    from ..data.loading.table import Table
    from ..data.schema.roles import Roles
    from ..progress import Progress
    from ..training.advisor import Advice
    from ..training.estimate import Estimate
    from ..training.spec import TrainSpec
    from .data import DataService
    from .resources import Resources

_SAMPLE = 2_000  # texts of each column whose length the advisor sees
_READING = ("encoding", "delimiter", "header")


class TrainingPlanner(Service):
    """Requests → plans."""

    def __init__(self, services: Resources, read: DataService) -> None:
        super().__init__(services)
        self.read = read

    def plan(
        self,
        request: TrainRequest,
        before: TrainPlan | None = None,
        *,
        table: Table | None = None,
        reading: Progress | None = None,
        checking: Progress | None = None,
    ) -> TrainPlan:
        """All that decides a run, read, checked and advised; nothing is kept yet, and nothing is asked of anybody.

        Args:
            before: an earlier plan; what it read and what it found is taken over where the request has not changed it, so that
                another learning rate reads no file again.
            table: the rows of the request's file, where they were read already.
            reading, checking: told how far the one and then the other is.

        Raises:
            StudioError: a file cannot be read, no kind of examples can be had from it, or a setting is refused. What is merely
                uncertain or wrong with its rows stands in the plan, which :meth:`~sbert_studio.services.fine_tune.FineTuneService.submit` refuses.
        """
        from ..training.spec import SHAPE

        own, chosen_first, asked_first = _by_stage(request.overrides)
        if request.first is None and (chosen_first or asked_first):
            named = ", ".join([*chosen_first, *asked_first])
            raise StudioError(f"there is no first stage to set {named} of", "name the file of the first stage")
        asked = _said(request.choices)
        given = request.data
        if given is None:
            raise StudioError("there is no file to train on", "name a file, or a run to resume")
        if table is None:
            table = self._read_again(given, asked, None if before is None else before.data, reading)
        model, chosen = self._model(request, table)
        request = replace(request, model=model) if chosen else request
        judged = None if request.dev is None else self._read_again(request.dev, asked, None if before is None else before.dev, reading)
        diagnosis = before.diagnosis if before is not None and self._same_rows(before, table, judged, asked, model, own) else None
        diagnosis = diagnosis or self.read.diagnosed(table, asked, judged, model, own.get("objective"), checking)
        data = _source(given, table, asked, diagnosis)
        dev, held, account = None, diagnosis.dev_examples, diagnosis.dev_account
        if request.dev is not None and judged is not None and held is not None and account is not None:
            dev = replace(_source(request.dev, judged, asked, diagnosis), examples=held, account=account)
        advice = self._advise(diagnosis.examples, model, own)
        own_settings = self._model_in_words(diagnosis.roles, model, advice.spec)
        spec, reasons = advice.spec, (*_columns_in_words(diagnosis.roles), *chosen, *own_settings, *advice.reasons)
        first = earlier = None
        if request.first is not None:
            first, earlier = self._first_stage(request.first, asked_first, chosen_first, model, before, reading)
            shared: dict[str, Any] = {name: own[name] for name in SHAPE if name in own}
            stage = self._advise(earlier.examples, model, {**shared, **chosen_first})
            spec = spec.replace(first=stage.spec.to_json())
            reasons = (*(f"First stage: {reason}" for reason in stage.reasons), *reasons)
        return TrainPlan(request, data, dev, first, diagnosis, earlier, spec, reasons)

    def _model(self, request: TrainRequest, table: Table) -> tuple[str, tuple[str, ...]]:
        """Return the model to start from, and why where the language of the texts decided."""
        from ..data.language import LANGUAGE_NAMES, dominant_foreign_language

        default = self.settings.default_model
        if request.model:
            return request.model, ()
        found = self.read.languages(table)
        model = self.usual_model(found)
        if model == default:
            return model, ()
        language = LANGUAGE_NAMES[dominant_foreign_language(found)]
        return model, (f"Model {model}: most texts look like {language}, which {default} was not trained on.",)

    def estimate(self, plan: TrainPlan | TrainRequest) -> TrainingForecast:
        """What a run would take, by a rehearsal of a few seconds; nothing is trained and nothing kept.

        Raises:
            StudioError: as :meth:`~sbert_studio.services.fine_tune.FineTuneService.submit` would; or a training is under way.
        """
        from ..training.estimate import estimate_run
        from ..training.prepare import create_model
        from ..training.spec import TrainSpec

        drawn = self.settled(plan)
        dev = drawn.dev.examples if drawn.dev else None

        def work() -> Estimate:
            found = estimate_run(drawn.spec, drawn.examples, encoder=create_model(self.catalog, drawn.spec, drawn.examples), dev=dev)
            if drawn.first is None:
                return found
            stage, earlier = TrainSpec.from_json(drawn.spec.first).replace(model=drawn.spec.model, dev_fraction=0), drawn.first.examples
            return estimate_run(stage, earlier, encoder=create_model(self.catalog, stage, earlier)) + found

        return TrainingForecast(drawn.spec, drawn.reasons, self.runner.rehearse(work), drawn.accounts)

    def settled(self, plan: TrainPlan | TrainRequest) -> TrainPlan:
        """The plan itself, or that of a request, if it may be trained.

        Raises:
            StudioError: as :meth:`plan`; or a question is open, or the rows are not fit to learn from.
        """
        plan = self.plan(plan) if isinstance(plan, TrainRequest) else plan
        plan.require_settled()
        return plan

    def _read_again(self, given: Path | str | Table, asked: SchemaOverrides, known: PlanFile | None, progress: Progress | None) -> Table:
        """The table of a file, read only if it was not read in the same way before."""
        if not isinstance(given, str | Path):
            return given
        if existing_folder(given) is not None:
            return self.read.table(given, progress=progress)
        path = existing_file(given, in_full=self._services.allow_folders)
        if known is not None and known.given == path and _how(known.choices) == _how(asked):
            return known.table
        return self.read.table(path, progress=progress, asked=asked)

    def _same_rows(
        self, before: TrainPlan, table: Table, judged: Table | None, asked: SchemaOverrides, model: str, own: Mapping[str, Any]
    ) -> bool:
        """Whether what was found out before holds still: another setting changes nothing in the rows."""
        held = None if before.dev is None else before.dev.table
        name = before.request.model or self.settings.default_model
        kinds, objective = self.read.kinds_of(own.get("objective")), before.request.overrides.get("objective")
        read_alike = objective == own.get("objective") or (before.roles.kind in kinds if kinds else objective is None)
        return before.table is table and held is judged and before.data.choices == asked and name == model and read_alike

    def _first_stage(
        self,
        given: Path | str | Table,
        said: Mapping[str, Any],
        chosen: Mapping[str, Any],
        model: str,
        before: TrainPlan | None,
        progress: Progress | None,
    ) -> tuple[PlanFile, Diagnosis]:
        asked = _said(None, said)
        known = before.first if before is not None else None
        table = self._read_again(given, asked, known, progress)
        if before is not None and before.earlier is not None and known is not None and known.table is table and known.choices == asked:
            diagnosis = before.earlier
        else:
            diagnosis = self.read.diagnosed(table, asked, None, model, chosen.get("objective"))
            diagnosis = replace(diagnosis, questions=tuple(map(for_first_stage, diagnosis.questions)))
        return _source(given, table, asked, diagnosis), diagnosis

    def _model_in_words(self, roles: Roles, model: str, spec: TrainSpec) -> tuple[str, ...]:
        """Say which prompt is put before the texts of each column, and how the model compares where that is not by the cosine.

        Raises:
            StudioError: the model takes no prompts, and one was chosen.
        """
        from ..models.prompts import column_roles, describe_prompts, parse_prompts, require_prompts
        from ..models.similarity import TITLES
        from ..training.prepare import require_no_prompt

        if spec.architecture == "cross":
            require_no_prompt(spec)
            return ()
        encoder = self.catalog.load_vector_encoder(model)
        prompts, default = encoder.prompts, encoder.default_prompt
        if spec.prompt:
            require_prompts(encoder)
            prompts, default = parse_prompts(spec.prompt)
        of_columns = column_roles("positive_pairs" if spec.architecture == "poly" else roles.kind, len(roles.texts))
        told = describe_prompts(prompts, default, roles.texts, of_columns)
        by = encoder.similarity_name
        fits = f"The model compares by {TITLES[by]}, and is judged so; the objectives fit the cosine." if by != "cosine" else ""
        return tuple(filter(None, (told, fits)))

    def _advise(self, examples: Examples, model: str, overrides: Mapping[str, Any]) -> Advice:
        from ..losses import losses_of
        from ..training.advisor import advise

        self.catalog.require_trainable(model)
        chosen = {**overrides, "model": model}
        if overrides.get("architecture") == "cross":
            info, lengths = self.catalog.load_any(model).describe(), None
        else:
            encoder = self.catalog.load_vector_encoder(model) if overrides.get("architecture") == "poly" else self.catalog.load(model)
            sample = [text for column in examples.texts for text in column[:_SAMPLE]]
            info, lengths = encoder.describe(), None if encoder.tokens is None else encoder.tokens.count_tokens(sample)
        advice = advise(
            examples, info=info, device=str(self.catalog.device), lengths=lengths, overrides=chosen, multilingual=self.multilingual
        )
        # The objective's own settings are checked here as well, before a run is made of them.
        given = advice.spec.objective_params
        checked = asdict(parse_params(losses_of(advice.spec.architecture)[advice.spec.objective].Params, given))
        return replace(advice, spec=advice.spec.replace(objective_params={name: checked[name] for name in given}))


def _source(given: Path | str | Table, table: Table, asked: SchemaOverrides, diagnosis: Diagnosis) -> PlanFile:
    whole = table if not isinstance(given, str | Path) or existing_folder(given) is not None else existing_file(given)
    return PlanFile(whole, table, asked, diagnosis.roles, diagnosis.examples, diagnosis.account)


def _said(asked: SchemaOverrides | None, more: Mapping[str, Any] | None = None) -> SchemaOverrides:
    """What was said of a file; whether to go on with what is uncertain says nothing of the file itself."""
    from ..data.schema.overrides import SchemaOverrides

    return replace(asked or SchemaOverrides(), **overrides_from_json(more or {}), as_read=False)


def _how(asked: SchemaOverrides) -> Sequence[Any]:
    return [getattr(asked, name) for name in _READING]


def _columns_in_words(roles: Roles) -> tuple[str, ...]:
    """What the rows were taken for: the scale, or the labels and why they were chosen."""
    return (f"{roles.note[0].upper()}{roles.note[1:]}.",) if roles.note else ()


def _by_stage(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The settings of the run; those of its first stage, whose names begin with ``first.``; and what is said of its file."""
    from ..data.schema.overrides import SchemaOverrides

    said = {item.name for item in fields(SchemaOverrides)}
    own: dict[str, Any] = {}
    first: dict[str, Any] = {}
    asked: dict[str, Any] = {}
    for name, value in overrides.items():
        bare = name.removeprefix(FIRST_STAGE_PREFIX)
        part = own if bare == name else asked if bare in said else first
        part[bare] = value
    return own, first, parse_overrides(asked)
