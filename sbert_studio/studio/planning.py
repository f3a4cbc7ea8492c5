"""Verbs that say what a training would be, before it is one: its settings, their reasons, its time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError
from ..registry import parse_params
from .reading import Reading
from .results import Forecast

if TYPE_CHECKING:
    from ..data.asked import Asked
    from ..data.doctor import Diagnosis
    from ..data.examples import Examples, Roles
    from ..data.tables import Table
    from ..training.advisor import Advice
    from ..training.rehearsal import Estimate
    from ..training.spec import TrainSpec

FIRST = "first."
"""What the names of a first stage's settings begin with."""

_SAMPLE = 2_000  # texts of each column whose length the advisor sees


@dataclass(frozen=True)
class DrawnUp:
    """A run before it is one. ``stage``: data and roles of the first stage; ``earlier``: its examples."""

    spec: TrainSpec
    reasons: tuple[str, ...]
    table: Table
    roles: Roles
    examples: Examples
    dev: Examples | None
    stage: tuple[Path | Table, Roles] | None
    earlier: Examples | None


class Planning(Reading):
    """Files → what a run would be."""

    def plan(self, diagnosis: Diagnosis, model: str | None = None, **overrides: Any) -> Advice:
        """The spec that the advisor would choose for these examples, with ``overrides`` put in its place, and why."""
        return self._advise(diagnosis.examples, model, overrides)

    def estimate(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None = None,
        first: str | Path | Table | None = None,
        roles: Roles | Asked | None = None,
        overrides: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Forecast:
        """What a run would take, by a rehearsal of a few seconds; nothing is trained and nothing kept.

        Raises:
            StudioError: as :meth:`submit` would; or a training is under way.
        """
        from ..training.rehearsal import rehearse
        from ..training.spec import TrainSpec
        from ..training.tuned import fresh

        drawn = self._draw_up(path, dev=dev, first=first, roles=roles, overrides=overrides or {}, model=model)

        def work() -> Estimate:
            found = rehearse(drawn.spec, drawn.examples, encoder=fresh(self.catalog, drawn.spec, drawn.examples), dev=drawn.dev)
            if drawn.earlier is None:
                return found
            stage = TrainSpec.from_json(drawn.spec.first).replace(model=drawn.spec.model, dev_fraction=0)
            return rehearse(stage, drawn.earlier, encoder=fresh(self.catalog, stage, drawn.earlier)) + found

        return Forecast(drawn.spec, drawn.reasons, self.runner.rehearse(work))

    def _advise(self, examples: Examples, model: str | None, overrides: Mapping[str, Any]) -> Advice:
        from ..objectives import objectives_of
        from ..training.advisor import advise

        name = model or self.settings.default_model
        chosen = {**overrides, "model": name}
        if overrides.get("architecture") == "cross":
            info, lengths = self.catalog.load_either(name).describe(), None
        else:
            encoder = self.catalog.load(name)
            sample = [text for column in examples.texts for text in column[:_SAMPLE]]
            info, lengths = encoder.describe(), encoder.tokens.counts(sample)
        advice = advise(examples, info=info, device=str(self.catalog.device), lengths=lengths, overrides=chosen)
        # The objective's own settings are checked here as well, before a run is made of them.
        given = advice.spec.objective_params
        checked = asdict(parse_params(objectives_of(advice.spec.architecture)[advice.spec.objective].Params, given))
        return replace(advice, spec=advice.spec.replace(objective_params={name: checked[name] for name in given}))

    def _draw_up(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None,
        first: str | Path | Table | None,
        roles: Roles | Asked | None,
        overrides: Mapping[str, Any],
        model: str | None,
    ) -> DrawnUp:
        """All that decides a run, read and checked; nothing is kept yet."""
        from ..data.examples import build_examples, build_like

        table = self._table(path)
        parts = self.roles(table, roles, overrides.get("objective"))
        examples, _ = build_examples(table, parts)
        judged = None if dev is None else build_like(self._table(dev), parts)[0]
        chosen, chosen_first = _by_stage(overrides)
        advice = self._advise(examples, model, chosen)
        reasons, stage, earliest = (*_columns_in_words(parts), *advice.reasons), None, None
        if first is None and chosen_first:
            raise StudioError(f"there is no first stage to set {', '.join(chosen_first)} of", "name the file of the first stage")
        if first is not None:
            before = self._table(first)
            stage = (Path(first) if isinstance(first, str | Path) else first, self.roles(before, None, chosen_first.get("objective")))
            shared: dict[str, Any] = {name: chosen[name] for name in ("architecture", "head") if name in chosen}
            earliest = build_examples(before, stage[1])[0]
            earlier = self._advise(earliest, model, {**shared, **chosen_first})
            advice = replace(advice, spec=advice.spec.replace(first=earlier.spec.to_json()))
            reasons = (*(f"First stage: {reason}" for reason in earlier.reasons), *reasons)
        return DrawnUp(advice.spec, reasons, table, parts, examples, judged, stage, earliest)


def _columns_in_words(roles: Roles) -> tuple[str, ...]:
    """What the rows were taken for: the scale, or the labels and why they were chosen."""
    return (f"{roles.note[0].upper()}{roles.note[1:]}.",) if roles.note else ()


def _by_stage(overrides: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the run, and those of its first stage, whose names begin with ``first.``."""
    own: dict[str, Any] = {}
    first: dict[str, Any] = {}
    for name, value in overrides.items():
        stage = first if name.startswith(FIRST) else own
        stage[name.removeprefix(FIRST)] = value
    return own, first
