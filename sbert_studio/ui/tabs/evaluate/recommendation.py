"""Recommendation of a model to start from, in the Evaluate tab: the available models compared on the selected data with one click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....data.language import LANGUAGE_NAMES
from ....i18n import _, join
from ....services.recommendation import explain_choice
from ....services.results import RetrievalResult
from ...views import Value, column, table
from .handlers import form_request, retrieval_set, show_evaluation, start_evaluation
from .request import FILE, EvaluationForm, EvaluationOwner, EvaluationRequest
from .retrieval import retrieval_result
from .view_model import EvaluationPanel, EvaluationView, evaluation_result

if TYPE_CHECKING:
    from ....services.jobs import BeginPhase
    from ....services.recommendation import StartingModel
    from ...page import Page

RECOMMEND = "evaluate-recommend"
"""Id of the button."""


def start_recommendation(page: Page, owner: object, model: str, corpus: str | None, form: EvaluationForm) -> EvaluationView:
    """Compare the available models on the selected data in the background, and recommend one."""
    form = replace(form, source=FILE, models=form.models or (model,))
    request = form_request(page, owner, model, form, corpus)
    start_evaluation(page, owner, replace(request, run=recommend, repeat_button=RECOMMEND))
    return show_evaluation(page, owner, corpus)


def recommend(page: Page, request: EvaluationRequest, whose: EvaluationOwner, begin: BeginPhase) -> EvaluationPanel:
    """Return the views of the comparison, with the recommendation as its conclusion."""
    data, judged = request.data, retrieval_set(page, request)
    found = page.studio.recommendation.recommend(
        data.path if judged is None else judged,
        task=request.task,
        options=None if judged is None else request.retrieval,
        overrides=data.overrides or None,
        owner=whose.visitor,
        visitor=whose.visitor,
        begin_phase=begin,
    )
    if isinstance(found.evaluation, RetrievalResult):
        panel = retrieval_result(found.evaluation, whose.titles, data.name, whose.provenance)
    else:
        panel = evaluation_result(found.evaluation, whose.titles, data.name, whose.provenance)
    said = panel.conclusion
    shown = [whose.titles.get(one.name, one.name) for one in found.models]
    made = {**whose.provenance, "words": _("{models} models at hand · {name}", models=len(shown), name=data.name), "theirs": [data.name]}
    conclusion = {
        **said,
        "text": explain_choice(found.models, found.metric, whose.titles),
        # The recommendation has timed the models itself, one after the other on the same texts.
        "more": [said["text"], *(one for one in said["more"] if one != said.get("speeds"))],
        "made": made,
    }
    return replace(panel, conclusion=conclusion, offers=offers_table(found.not_downloaded))


def offers_table(models: Sequence[StartingModel]) -> Value | None:
    """Return the table of models that would have to be downloaded; ``None`` if there are none."""
    if not models:
        return None
    columns = [column("Model", main=True), column("Download", ours=True), column("Parameters (millions)", "count")]
    columns += [column("Languages", ours=True), column("License"), column("Tokens", "count")]
    rows: list[list[object]] = []
    for one in models:
        size = _("{megabytes} MB", megabytes=f"{one.megabytes:,}")
        names = join(", ", (_(LANGUAGE_NAMES.get(code, code)) for code in one.languages))
        languages = "50 and more" if "multi" in one.languages else names
        rows.append([one.name, size, one.parameters, languages, one.license, one.tokens or None])
    note = "Type a name into Models to download it and compare it, too."
    return table(columns, rows, caption="Also worth a try: not on this machine, and not downloaded", note=note)
