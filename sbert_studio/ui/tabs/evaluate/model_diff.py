"""Comparison of two models on the visitor's corpus: aligned maps, moved texts, neighbors, pairs and confused categories."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import gradio as gr
import numpy as np

from ....errors import StudioError
from ....evaluation.changes import describe_change
from ....evaluation.report import natural_frequencies
from ....i18n import _
from ....runs.files import RunFiles
from ....serialization import to_plain
from ....services.model_diff import MAX_QUERIES
from ...components import cancel_button, download_button, first_sight, form_key, form_provenance
from ...handlers import progress_callback
from ...panel import EventOptions, Panel
from ...run_view import scores_view
from ...state import ModelPair, base_model
from ...theme import to_base64, write_html
from ...views import UNCHANGED, Unchanged, Update, Value, placeholder, props, server_function, shorten, text_range, view

if TYPE_CHECKING:
    from ....data.corpus import Corpus
    from ....explore.model_diff import PairChange
    from ....runs.run import Run
    from ....services.results import CategoryChange, ModelDiff, QueryChange
    from ...page import Page
    from ...routing import Location

SUBTAB = "changed"
_TAB = "Evaluate"
_EMPTY = "Compare two models on one corpus: aligned maps, pairs that moved, neighbors lost and gained."
_NO_CATEGORY = "No category"
# What the sub-tab opens with by itself is no place of its own.
_SAVE_IN_ADDRESS = """(from, to, ask) => {
  const isFirst = SB.isFirst(document.querySelector('#changed-view .sb-view'));
  if (from && to && !isFirst) SB.place({ tab: 'evaluate', view: 'changed', from, to, ask });
}"""
_MAX_MOVED_TEXTS = 20
_MAX_FIRST_TEXTS = 1_000  # texts on which models are compared without being asked
_MAX_CATEGORY_PAIRS = 12
_MOSTLY = 0.5  # share of a text's neighbors


@dataclass(frozen=True, eq=False)  # hashed by identity, as values of states must be and a dictionary cannot
class Comparison:
    key: str  # key in ``page.model_diffs``
    has_queries: bool  # whether the visitor typed queries
    scores: Value | None  # see :func:`run_scores`


@dataclass(frozen=True)
class ModelDiffView:
    corpus: str | Unchanged
    comparison: Comparison
    diff: Value
    downloads: Update


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison requested by a URL or another tab; ``nonce`` makes each one count as a change."""

    before: str
    after: str
    queries: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))


@dataclass(frozen=True)
class RequestedView:
    before: Update
    after: Update
    queries: str
    requested: ComparisonRequest
    tabs: gr.Tabs | Unchanged = UNCHANGED
    subtabs: gr.Tabs | Unchanged = UNCHANGED


def compare(
    page: Page,
    corpus: str | None,
    before: str | None,
    after: str | None,
    queries: str | None,
    category: str | None,
    progress: gr.Progress | None = None,
) -> ModelDiffView:
    if not before or not after:
        raise StudioError("a second model is needed", "choose one, such as a run from the Fine-tune tab")
    key, selected = page.corpora.current(corpus)
    texts, typed = selected.corpus, parse_queries(queries)
    column = category if category in texts.fields else None
    begin = None if progress is None else lambda phase: progress_callback(progress, phase)
    changes = page.studio.model_diff.compare(texts, before, after, queries=typed, column=column, begin_phase=begin)
    titles = (page.model_title(before), page.model_title(after))
    comparison = Comparison(page.model_diffs.put(changes), bool(typed), run_scores(page, before, after))
    words = _("{=before} → {=after} · {corpus}", before=titles[0], after=titles[1], corpus=texts.name)
    theirs = (*titles, *page.corpora.user_names(selected))
    form = form_value(before, after, queries, category)["key"]
    provenance = form_provenance(SUBTAB, form, words, "changed-go", texts, theirs)
    return ModelDiffView(key, comparison, diff_value(changes, titles, comparison) | {"made": provenance}, props(visible=True))


def compare_first(
    page: Page,
    corpus: str | None,
    before: str | None,
    after: str | None,
    queries: str | None,
    category: str | None,
    progress: gr.Progress | None = None,
) -> ModelDiffView | None:
    """Return what the sub-tab opens with: the proposed models compared on the corpus, unless it is large."""
    is_small = len(page.corpora.selected(corpus).corpus) <= _MAX_FIRST_TEXTS
    if not is_small or not before or not after or before == after:
        return None
    return replace(compare(page, corpus, before, after, queries, category, progress), corpus=UNCHANGED)


def compare_requested(
    page: Page, requested: ComparisonRequest | None, corpus: str | None, category: str | None, progress: gr.Progress | None = None
) -> ModelDiffView | None:
    if requested is None:
        return None
    return compare(page, corpus, requested.before, requested.after, requested.queries, category, progress)


def open_models(page: Page, models_to_compare: ModelPair | None, owner: object, queries: str | None) -> RequestedView | None:
    models = models_to_compare
    if models is None:
        return None
    tabs, subtabs = gr.Tabs(selected=_TAB), gr.Tabs(selected=SUBTAB)
    return _requested_view(page, owner, ComparisonRequest(models.before, models.after, queries or ""), tabs, subtabs)


def open_location(page: Page, location: Location | None, owner: object) -> RequestedView | None:
    """Fill the form from a URL with two models of this page; :func:`.routing.open_location` reports missing ones."""
    if location is None or not (location.before and location.after):
        return None
    if not {location.before, location.after} <= page.model_titles(owner).keys():
        return None
    return _requested_view(page, owner, ComparisonRequest(location.before, location.after, location.ask))


def _requested_view(
    page: Page, owner: object, request: ComparisonRequest, tabs: gr.Tabs | Unchanged = UNCHANGED, subtabs: gr.Tabs | Unchanged = UNCHANGED
) -> RequestedView:
    choices = page.model_choices(owner)
    before, after = (props(choices=choices, value=name) for name in (request.before, request.after))
    return RequestedView(before, after, request.queries, request, tabs, subtabs)


def update_models(page: Page, owner: object, before: str | None, after: str | None) -> tuple[Update, Update]:
    choices = page.model_choices(owner)
    names = [name for _, name in choices]
    bundled = _bundled_pair(page, names)
    if (before, after) == bundled:  # proposed before there was a run
        before = after = None
    if after not in names:
        after = next((name for name in names if name.startswith("run-")), bundled[1])
    before = before if before in names else base_model(page, after)
    return props(choices=choices, value=before), props(choices=choices, value=after)


def _bundled_pair(page: Page, names: Sequence[str]) -> tuple[str, str | None]:
    """Return the default model and another one of ``names``, the multilingual one if it is among them."""
    default, others = page.studio.settings.default_model, [page.studio.languages.multilingual, *names]
    return default, next((name for name in others if name in names and name != default), None)


def select_base(page: Page, owner: object, after: str | None) -> str | Unchanged:
    base = base_model(page, after)
    is_known = base != after and base in page.model_titles(owner)
    return base if is_known and after and after.startswith("run-") else UNCHANGED


def update_categories(page: Page, corpus: str | None, category: str | None) -> Update:
    return _category_props(page.corpora.current(corpus)[1].corpus, category)


def _category_props(corpus: Corpus, category: str | None) -> Update:
    columns = corpus.category_columns()
    value = category if category in columns else corpus.default_category() or ""
    return props(choices=[(_NO_CATEGORY, ""), *((name, name) for name in columns)], value=value, visible=bool(columns))


def form_value(before: str | None, after: str | None, queries: str | None, category: str | None) -> Value:
    """Return the value of the ``form`` view, which marks a result as outdated once the form changes."""
    return {"form": SUBTAB, "key": form_key(before, after, parse_queries(queries), category or "")}


def parse_queries(queries: str | None) -> list[str]:
    return [line.strip() for line in (queries or "").splitlines() if line.strip()][:MAX_QUERIES]


def run_scores(page: Page, before: str, after: str) -> Value | None:
    """Return the scores of the run that fine-tuned ``before`` to ``after``, with its rows; ``None`` if there is no such run."""
    if not after.startswith("run-"):
        return None
    run = page.studio.store.get(after)
    scores = scores_view(run) if run.model == before else None
    return None if scores is None else scores | {"of": _describe_dev_rows(page, run)}


def _describe_dev_rows(page: Page, run: Run) -> str:
    try:
        files = RunFiles(page.studio.workspace.run(run.id)).source()
        data, dev = files["data"]["name"], files.get("dev", {}).get("name")
    except (StudioError, OSError, ValueError, KeyError):  # the run's folder was deleted
        return ""
    rows = _("{dev_rows} held-out rows", dev_rows=f"{run.dev_rows:,}") if run.dev_rows else "held-out rows"
    if dev is None:
        return _("Evaluated on {rows} of its training file {data}, not on the current corpus.", rows=rows, data=data)
    return _("Evaluated on {rows} of {dev}, not on the current corpus; it was trained on {data}.", rows=rows, dev=dev, data=data)


def get_texts(page: Page, request: Mapping[str, object]) -> list[str]:
    key = request.get("key")
    return text_range(page.model_diffs.get(key if isinstance(key, str) else None).corpus, request)


def write_file(page: Page, comparison: Comparison | None) -> Path:
    if comparison is None:
        raise StudioError("nothing has been compared yet", "press Compare")
    changes = page.model_diffs.get(comparison.key)
    titles, corpus = (page.model_title(changes.before), page.model_title(changes.after)), changes.corpus
    value = diff_value(changes, titles, comparison) | {"key": "file"}
    value["texts"] = text_range(corpus, {"start": 0, "count": len(corpus)}, len(corpus))
    data = {
        "title": _("{titles} compared with {titles2}", titles=titles[0], titles2=titles[1]),
        "made": _("{name} · {corpus} texts", name=corpus.name, corpus=f"{len(corpus):,}"),
        "value": value,
    }
    return write_html(page.downloads.path(f"{titles[0]} to {titles[1]}.html"), "changes/changed-file", data)


def diff_value(changes: ModelDiff, titles: tuple[str, str], comparison: Comparison) -> Value:
    """Return the value of a ``changed`` view. It contains only the listed texts; the page fetches the others by key."""
    movement, moved = changes.movement, changes.moved
    column = [] if changes.categories is None else [changes.categories.column]
    # If no neighbor changed, two layouts would only show differences that do not exist.
    points_after = changes.points_after if moved.any() else changes.points_before
    value = {
        "key": comparison.key,
        "n": len(changes.corpus),
        "k": movement.before.shape[1],
        "titles": list(titles),
        "theirs": [*titles, *column],
        "points": [to_base64(points.astype("<f4")) for points in (changes.points_before, points_after)],
        "moved": to_base64(moved.astype("<f4")),
        "near": [to_base64(rows.astype("<i4")) for rows in (movement.before, movement.after)],
        "changed": [to_base64(rows.astype("u1")) for rows in (movement.lost, movement.gained)],
        "most": np.argsort(-moved, kind="stable")[:_MAX_MOVED_TEXTS].tolist(),
        "said": describe_neighbors(changes, titles),
        "more": ["The maps are aligned projections; movement is measured in the models' own embedding spaces."],
        "outcome": comparison.scores,
        "queries": [_query_value(changes, one) for one in changes.queries],
        "typed": comparison.has_queries,
        "closer": [_pair_value(changes, one) for one in changes.closer],
        "apart": [_pair_value(changes, one) for one in changes.apart],
        "categories": None if changes.categories is None else _categories_value(changes, changes.categories),
        "notes": list(changes.notes),
    }
    return to_plain(value)  # type: ignore[no-any-return]


def describe_neighbors(changes: ModelDiff, titles: Sequence[str]) -> str:
    k = changes.movement.before.shape[1]
    if not changes.moved.any():
        return _(
            "No neighbor changed from {titles} to {titles2}: every text keeps its {k} nearest texts. If training "
            "brings no gain, the base model is kept.",
            titles=titles[0],
            titles2=titles[1],
            k=k,
        )
    unchanged, mostly = k * (1 - float(changes.moved.mean())), int((changes.moved > _MOSTLY).sum())
    words = _(
        "From {titles} to {titles2}, a text keeps {unchanged} of its {k} nearest texts on average",
        titles=titles[0],
        titles2=titles[1],
        unchanged=f"{unchanged:.1f}",
        k=k,
    )
    if mostly == 1:
        return _("{words}; 1 of {corpus} texts has mostly different neighbors.", words=words, corpus=f"{len(changes.corpus):,}")
    return _(
        "{words}; {mostly} of {corpus} texts have mostly different neighbors.",
        words=words,
        mostly=f"{mostly:,}",
        corpus=f"{len(changes.corpus):,}",
    )


def describe_categories(groups: CategoryChange) -> str:
    """Describe how many texts have a nearest text of the same category, before and after, and whether the difference could be chance."""
    of, before, after = natural_frequencies(groups.before, groups.after)
    if groups.texts <= of or (before == after and groups.before != groups.after):  # counts instead of shares
        of, before, after = groups.texts, round(groups.texts * groups.before), round(groups.texts * groups.after)
    words = _(
        "Of {of} texts, {before} → {after} have a nearest neighbor in the same category",
        of=f"{of:,}",
        before=f"{before:,}",
        after=f"{after:,}",
    )
    if groups.interval is None:
        return _("{words}; {texts} texts are too few to distinguish a gain from chance.", words=words, texts=f"{groups.texts:,}")
    change = describe_change(groups.before, groups.after, groups.interval)
    verdict = "no difference" if groups.before == groups.after else change.verdict
    span = " to ".join(change.interval).replace("-", "−")
    if groups.learned:
        flattered = _(
            "{texts} texts, {learned} of which were used to fine-tune a model, so its score is too optimistic",
            texts=f"{groups.texts:,}",
            learned=f"{groups.learned:,}",
        )
        return _(
            "{words}: {verdict} (95% interval of the gain: {span}; {flattered}).",
            words=words,
            verdict=_(verdict),
            span=span,
            flattered=flattered,
        )
    return _(
        "{words}: {verdict} (95% interval of the gain: {span}; {texts} texts that no model was fine-tuned on).",
        words=words,
        verdict=_(verdict),
        span=span,
        texts=f"{groups.texts:,}",
    )


def _query_value(changes: ModelDiff, query: QueryChange) -> Value:
    def hits(neighbors: Sequence[tuple[int, float]], changed: frozenset[int]) -> list[Value]:
        texts = changes.corpus.texts
        return [{"row": row, "text": shorten(texts[row]), "score": score, "changed": row in changed} for row, score in neighbors]

    lost = len(query.lost)
    words = (
        _("{lost} of {before} neighbors lost, {gained} gained", lost=lost, before=len(query.before), gained=len(query.gained))
        if lost
        else "the same neighbors"
    )
    before, after = hits(query.before, query.lost), hits(query.after, query.gained)
    return {"text": shorten(query.text), "row": query.row, "words": words, "before": before, "after": after}


def _pair_value(changes: ModelDiff, pair: PairChange) -> Value:
    return {"texts": [shorten(changes.corpus.texts[row]) for row in (pair.a, pair.b)], "before": pair.before, "after": pair.after}


def _categories_value(changes: ModelDiff, groups: CategoryChange) -> Value:
    fewer = [one for one in groups.confused if one.after < one.before]
    more = [one for one in groups.confused if one.after > one.before]
    # Decreased confusions come first, but some increased ones are always shown.
    shown = [*fewer[: max(_MAX_CATEGORY_PAIRS - len(more), _MAX_CATEGORY_PAIRS // 2)]]
    shown += more[::-1][: _MAX_CATEGORY_PAIRS - min(len(fewer), _MAX_CATEGORY_PAIRS // 2)]
    rows: list[Value] = []
    for one in shown[:_MAX_CATEGORY_PAIRS]:
        examples = one.resolved if one.after < one.before else one.introduced
        theirs = [shorten(changes.corpus.texts[examples[0]]), changes.corpus.fields[groups.column][examples[0]]] if examples else []
        example = _("such as “{theirs}” ({theirs2})", theirs=theirs[0], theirs2=theirs[1]) if theirs else ""
        rows.append({"categories": list(one.categories), "before": one.before, "after": one.after, "example": example, "theirs": theirs})
    return {"column": groups.column, "said": describe_categories(groups), "rows": rows}


def build_model_diff(page: Page, subtabs: gr.Tabs) -> None:
    """Draw the panel in the sub-tab :data:`SUBTAB` of ``subtabs`` and connect its events."""
    comparison, requested = gr.State(None), gr.State(None)
    with gr.Column(elem_classes=["sb-panel"]):
        with gr.Row():
            choices = page.model_choices(None)
            names = [name for _, name in choices]
            proposed = [name if name in names else None for name in _bundled_pair(page, names)]
            before, after = (
                gr.Dropdown(choices, value=value, label=label, elem_id=elem_id, elem_classes=["sb-data"], min_width=200)
                for label, elem_id, value in (("From", "changed-before", proposed[0]), ("To", "changed-after", proposed[1]))
            )
            columns = _category_props(page.corpora.sample().corpus, None)
            category = gr.Dropdown(
                columns["choices"],
                value=columns["value"],
                visible=columns["visible"],
                label="Category",
                elem_id="changed-column",
                elem_classes=["sb-data"],
                min_width=160,
            )
        queries = gr.Textbox(
            label="Queries: up to three, one per line",
            info="Without queries, the three texts whose neighbors changed most are shown.",
            lines=1,
            max_lines=3,
            max_length=2000,
            elem_id="changed-queries",
        )
        button = gr.Button("Compare", variant="primary", elem_id="changed-go")
        cancel_button("changed")
    form = view("form", elem_id="changed-form")
    with gr.Row(elem_classes=["sb-downloads"], visible=False) as downloads:
        download_button("Save as a single HTML file", lambda found: write_file(page, found), [comparison], elem_id="changed-file")
    diff = view("changed", placeholder(_EMPTY), elem_id="changed-view", server=[server_function(page, "changed_texts", get_texts)])
    panel = Panel(page, comparison=comparison, requested=requested, before=before, after=after, category=category, queries=queries)
    panel.components |= {"form": form, "downloads": downloads, "diff": diff, "subtabs": subtabs}
    running: EventOptions = {"progress_on": "diff"}
    panel.on(button.click, compare, task="changed", **running)
    panel.on(first_sight("changed-view").select, compare_first, task="changed", **running)
    panel.on(page.models_to_compare.change, open_models, quiet=True)
    panel.on(page.location.change, open_location, quiet=True)
    panel.on(requested.change, compare_requested, task="changed", **running)
    comparison.change(None, [before, after, queries], None, js=_SAVE_IN_ADDRESS)
    panel.on(after.input, select_base, output="before", quiet=True)
    panel.on(page.corpus.change, update_categories, output="category", quiet=True)
    # One event for all controls: with several, the response to an earlier state of the form could arrive last.
    parts = [before.change, after.change, queries.change, category.change]
    panel.on(parts, form_value, output="form", trigger_mode="always_last", quiet=True)
    panel.on(page.runs_version.change, update_models, output=("before", "after"), quiet=True)
    page.on_load.append(lambda loaded: panel.on(loaded.then, update_models, output=("before", "after"), quiet=True))
