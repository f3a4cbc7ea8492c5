"""The named endpoints: the verbs for ``gradio_client`` and MCP, with every argument explicit and no hidden state.

Files come through ``gr.File``, whose check keeps a caller from naming a path of this machine.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from ..errors import StudioError, is_text
from ..studio.leaderboard import LOCAL
from ..studio.plans import TrainRequest
from .endpoints import answering
from .page import FILE_TYPES, Page
from .reading import reads

if TYPE_CHECKING:
    from ..data.choices.column_choices import ColumnChoices
    from ..studio import Studio

_FOLDERS = ("path", "model")
_DIGITS = 16
_MOST_MODELS = 6
_COUNT = re.compile(r"\+?[0-9]{1,9}", re.ASCII)


def similarity(studio: Studio, a: str, b: str, model: str) -> dict[str, Any]:
    """Compare two texts by meaning.

    Args:
        a: the first text.
        b: the second text.
        model: a bundled model's name, a run's id or a hub id; empty for the default.

    Returns:
        cosine and dot product (larger is closer), Euclidean and Manhattan distance (smaller is closer); notes where the
        model was not trained on the language of the texts.
    """
    return studio.explore.similarity(a, b, model or None).to_json()


def search(studio: Studio, file: str, query: str, k: float, mode: str, model: str, column: str) -> dict[str, Any]:
    """Find the texts of a file that are nearest to a query.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        query: what is looked for.
        k: how many hits.
        mode: semantic, lexical or hybrid.
        model: a bundled model's name, a run's id or a hub id; empty for the default.
        column: the column of texts; empty to find it.

    Returns:
        hits, best first, each with row, text, score and the row's other columns; the milliseconds that the search took; account: what
        became of every row of the file (read, used, held_out, left_out, reasons with row numbers); and notes.
    """
    return studio.explore.search(studio.read.known_corpus(_file(file), column or None), query, int(k), mode, model=model or None).to_json()  # type: ignore[arg-type]


def mine(studio: Studio, file: str, top: float, model: str, column: str) -> dict[str, Any]:
    """Find the most similar pairs of texts in a file.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        top: how many pairs.
        model: a bundled model's name, a run's id or a hub id; empty for the default.
        column: the column of texts; empty to find it.

    Returns:
        pairs, closest first, each with both texts, both rows and the cosine; the seconds that the comparison took; account and
        notes as /search.
    """
    return studio.explore.mine(studio.read.known_corpus(_file(file), column or None), int(top), model or None).to_json()


def draw(studio: Studio, file: str, clusters: str, dimensions: float, model: str, column: str) -> dict[str, Any]:
    """Draw the texts of a file as a map with labelled clusters.

    Args:
        file: a CSV, TSV, TXT, JSONL, XLSX or Parquet file of texts.
        clusters: auto, or how many there should be.
        dimensions: 2 or 3.
        model: a bundled model's name, a run's id or a hub id; empty for the default.
        column: the column of texts; empty to find it.

    Returns:
        points, clusters with id, label and size, the cluster id of each text, the coordinates of each text; account and notes
        as /search.
    """
    from ..explore.clustering import ClusterParams
    from ..explore.projection import ProjectionParams

    number = 0 if clusters in ("", "auto") else int(clusters) if _COUNT.fullmatch(clusters) else -1
    if number < 0:
        raise StudioError(f"clusters is {clusters[:40]!r}", "give auto or a number")
    if dimensions not in (2, 3):
        raise StudioError(f"dimensions is {dimensions:g}", "choose 2 or 3")
    params = ClusterParams(method="kmeans", count=number) if number else ClusterParams()
    drawn = studio.explore.map(
        studio.read.known_corpus(_file(file), column or None), ProjectionParams(dimensions=int(dimensions), seed=12), params, model or None
    )
    return {**drawn.to_json(), "ids": [int(number) for number in drawn.ids], "coordinates": drawn.coordinates()}


@reads(goes_on=False)
def check(
    studio: Studio,
    file: str,
    model: str = "",
    *,
    said: ColumnChoices,
) -> dict[str, Any]:
    """Find out what kind of training examples a file holds and what is wrong with it.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        model: the model whose tokens are counted; empty for the default.
        said: what the owner says of the file.

    Returns:
        kind, roles of the columns, number of rows, findings with severity, message, rows and mend, and the conversions that fit;
        whether the reading is certain, and where it is not, the questions, each with its answers and what they set.
    """
    return studio.read.check(_file(file), roles=said, model=model or None).to_json()


@reads(goes_on=True)
def train(
    page: Page,
    file: str,
    objective: str,
    method: str,
    settings: str,
    model: str,
    name: str,
    dev: str | None = None,
    first: str | None = None,
    *,
    said: ColumnChoices,
) -> dict[str, Any]:
    """Start tuning a model on a file of examples. It goes on in the background: poll /run with the id.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file of pairs, triplets or sentences.
        objective: auto, or the name of an objective.
        method: auto, full or lora.
        settings: further training settings as a JSON object, such as {"epochs": 1, "learning_rate": 2e-5}; empty for none.
        model: the model to start from; empty for the default.
        name: what the new model is called; empty for the file's name.
        dev: a file with the same columns to judge by; without it a part of the rows is held out.
        first: a file to learn from before, in a stage of its own, whose settings are named like "first.epochs".
        said: what the owner says of the file.

    Returns:
        the run: its id, which is also the name of the finished model, its status, its settings and what becomes of every row; and its
        token, by which /stop ends it. Who knows the id can see and use the run; only who holds the token can stop it.
    """
    try:
        given = json.loads(settings or "{}", parse_int=_integer)
        written = json.dumps(given, ensure_ascii=False)
    except (ValueError, RecursionError):  # no JSON, or brackets in brackets without end
        given, written = None, ""
    if not is_text(written):
        raise StudioError("the settings hold half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if not isinstance(given, dict):
        raise StudioError("the settings are not a JSON object", 'write them like {"epochs": 1}')
    if "first.model" in given:
        raise StudioError("a first stage begins with the run's own model", 'leave "first.model" out of the settings')
    named = given.pop("model", None) or None
    if named is not None and (not isinstance(named, str) or (model and model != named)):
        raise StudioError("the settings name another model than the model argument", "name it once")
    overrides = given | {key: value for key, value in (("objective", objective), ("method", method)) if value not in ("", "auto")}
    request = TrainRequest(
        _file(file),
        dev=Path(dev) if dev else None,
        first=Path(first) if first else None,
        choices=said,
        overrides=overrides,
        model=model or named,
        owner=page.caller(),
        name=name or None,
    )
    begun = page.studio.tune.submit(request)
    accounts = {part: account.to_json() for part, account in page.studio.tune.accounts(begun.id).items()}
    return {**begun.to_json(), "accounts": accounts, "token": page.studio.tune.token_of(begun.id)}


def run(studio: Studio, run_id: str, after: float) -> dict[str, Any]:
    """See how a training run stands.

    Args:
        run_id: the id that /train returned.
        after: only events numbered above this are returned; pass the last answer's cursor, at first 0.

    Returns:
        the run with its status, step, scores and time; what became of every row; its new events, and the cursor for the next call.
        A run of status "asks" was stopped by an alarm: its last event holds the question, whose answers go into a new /train.
    """
    seen = studio.tune.run(run_id, int(after)).to_json()
    # Folders of this machine are nobody's business, and a client would try to fetch what is called a path.
    accounts = {part: account.to_json() for part, account in studio.tune.accounts(run_id).items()}
    return {
        **seen,
        "accounts": accounts,
        "events": [{name: value for name, value in event.items() if name not in _FOLDERS} for event in seen["events"]],
    }


def stop(studio: Studio, run_id: str, token: str) -> dict[str, Any]:
    """Stop a training run; its best model so far is kept.

    Args:
        run_id: the id that /train returned.
        token: the token that /train returned with it.

    Returns:
        the run as it stands: one that trains ends after the step it is in, so poll /run until its status is "stopped".
    """
    return studio.tune.stop_with_token(run_id, token).to_json()


@reads(goes_on=True)
def evaluate(
    studio: Studio,
    file: str,
    model: str,
    task: str,
    *,
    said: ColumnChoices,
    files: list[str] | None = None,
    models: str = "",
    suite: str = "",
    known: str | None = None,
) -> dict[str, Any]:
    """Judge a model on a file of scored pairs, triplets or labelled texts; or several models on several files, and compare them.

    Args:
        file: a CSV, TSV, JSONL, XLSX or Parquet file.
        model: a bundled model's name, a run's id or a hub id; empty for the default.
        task: auto, or the name of a task; one that there is not is answered with their list.
        said: what the owner says of the file.
        files: further files.
        models: further models, with commas between them.
        suite: the name of a suite of the literature, such as STS12, whose files are among those given or lie on the server; empty for none.
        known: rows whose answers are known: senteval learns from them, categories lays the judged texts beside them.

    Returns:
        of one model on one file the task, the number of rows, the scores (correlations lie in -1 to 1), and the account of the file's rows
        as /search. Of several: for each file a report for each model, the files taken together, and every two models compared.
    """
    named = [model, *(name.strip() for name in models.split(",") if name.strip())]
    if len(named) > _MOST_MODELS:
        raise StudioError(f"{len(named)} models are named", f"name at most {_MOST_MODELS}")
    given = [Path(path) for path in (file, *(files or ())) if path]
    # A caller of a shared page is nobody whose leaderboard it could be.
    owner = LOCAL if studio.catalog.allow_folders else ""
    if suite or len(named) > 1 or len(given) > 1:
        return studio.judge.evaluate_all(
            [name or studio.settings.default_model for name in named],
            given,
            task or "auto",
            suite,
            asked=said,
            known=known or None,
            owner=owner,
        ).to_json()
    one = _file(str(given[0]) if given else None)
    return studio.judge.evaluate(model or None, one, task or "auto", asked=said, known=known or None, owner=owner).to_json()


def build(page: Page) -> None:
    """Add the endpoints to the page, behind components that nobody sees."""
    with gr.Column(visible=False):
        file, dev, first, known = (gr.File(file_types=FILE_TYPES, label=label) for label in ("file", "dev", "first", "known"))
        model, column, query, a, b, name, run_id, token = (
            gr.Textbox("", label=label) for label in ("model", "column", "query", "a", "b", "name", "run_id", "token")
        )
        k, top, after = (gr.Number(value, precision=0, label=label) for label, value in (("k", 10), ("top", 10), ("after", 0)))
        dimensions = gr.Number(2, precision=0, label="dimensions")
        mode = gr.Radio(["semantic", "lexical", "hybrid"], value="semantic", label="mode")
        clusters, objective, method, task = (gr.Textbox("auto", label=label) for label in ("clusters", "objective", "method", "task"))
        settings = gr.Textbox("", label="settings")
        parts = [
            gr.Textbox("", label=label)
            for label in ("kind", "columns", "target", "group", "scale", "order", "encoding", "delimiter", "header")
        ]
        files = gr.File(file_count="multiple", file_types=FILE_TYPES, label="files")
        models, suite = (gr.Textbox("", label=label) for label in ("models", "suite"))
        as_read = gr.Checkbox(False, label="as_read")
        found = gr.JSON()
        for verb, endpoint, inputs in (
            (similarity, "similarity", [a, b, model]),
            (search, "search", [file, query, k, mode, model, column]),
            (mine, "mine", [file, top, model, column]),
            (draw, "map", [file, clusters, dimensions, model, column]),
            (check, "check", [file, model, *parts]),
            (train, "train", [file, objective, method, settings, model, name, dev, first, *parts, as_read]),
            (run, "run", [run_id, after]),
            (stop, "stop", [run_id, token]),
            (evaluate, "evaluate", [file, model, task, *parts, as_read, files, models, suite, known]),
        ):
            gr.Button().click(
                answering(verb, endpoint, page if verb is train else page.studio), inputs, found, api_name=endpoint, show_progress="hidden"
            )


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise StudioError(f"the settings hold a number of {len(digits):,} digits", f"at most {_DIGITS} are read")
    return int(digits)


def _file(path: str | None) -> Path:
    if not path:
        raise StudioError("there is no file", "send one")
    return Path(path)
