"""The worst mistakes of a run's model, as a list; each can be looked at in the Similarity tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....errors import StudioError
from ....runs.files import RunFiles
from ...handover import TextPair
from ...views import Value, to_json

if TYPE_CHECKING:
    from ....data.schema.roles import Roles
    from ....runs.run import Run
    from ....services import Studio

_OF = {
    "labelled_texts": "The nearest text is of another category.",
    "scored_pairs": "“the model”: pairs in the order in which it finds them alike, each with the score of the same place in your order.",
    "labelled_pairs": "“the model”: pairs in the order in which it finds them alike, each with the label of the same place in your order.",
    "triplets": "The text of another meaning is nearer.",
    "positive_pairs": "Another text is nearer than its partner.",
}


def mistakes_view(studio: Studio, run: Run) -> Value | None:
    """The value of a ``mistakes`` view; ``None`` where the run has a model no longer, or nothing was held out from it."""
    found = studio.tune.mistakes(run.id) if run.status in ("finished", "stopped") and run.model_path is not None else None
    if found is None or found["kind"] not in _OF:
        return None
    roles = _roles(studio, run.id)
    rows = [
        {
            "texts": one["texts"],
            "line": one["line"],
            "gold": _value(one["gold"], roles),
            "said": _value(one["said"], roles),
            "beside": one["beside"],
        }
        for one in found["worst"]
    ]
    many = f"{len(rows)} worst mistakes" if len(rows) > 1 else "worst mistake" if rows else ""
    title = f"The {many} on {found['rows']:,} held-out rows" if rows else f"No mistake on {found['rows']:,} held-out rows"
    now = (run.after.get("kept") or run.after).get("strength")
    then = found.get("strength")
    in_folds = bool((run.after.get("kept") or run.after).get("folds"))
    as_trained = isinstance(then, int | float) and isinstance(now, int | float) and abs(then - now) > 1e-6
    note = f"{_OF[found['kind']]} Each row was judged by a model that had not seen it."
    note += f" They are those at strength {then:g}, as the training ended." if as_trained else ""
    note += " Compare shows what the model makes of it that was kept, which has since learned from these rows." if in_folds else ""
    return to_json({"title": title, "note": note, "rows": rows})  # type: ignore[no-any-return]


def pair_of(studio: Studio, run_id: str, place: Any) -> TextPair:
    """The two texts that a mistake is about, and whose it is; ``place`` comes from the browser.

    Raises:
        StudioError: there is no such mistake.
    """
    found: Mapping[str, Any] = studio.tune.mistakes(run_id) or {"worst": []}
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(found["worst"]):
        raise StudioError("this mistake is no longer in the list", "look at the run again")
    one = found["worst"][place]
    return TextPair(one["texts"][0], one["beside"] or one["texts"][-1], run_id)


def _roles(studio: Studio, run_id: str) -> Roles | None:
    try:
        return RunFiles(studio.workspace.run(run_id)).roles()
    except StudioError:
        return None


def _value(value: Any, roles: Roles | None) -> str:
    """A label, or a score on the scale that the file has."""
    if value is None or isinstance(value, str):
        return value or ""
    if roles is None or roles.low is None or roles.high is None:
        return f"{value:.2f}"
    return f"{roles.low + value * (roles.high - roles.low):.2g}"
