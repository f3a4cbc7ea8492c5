"""The verb by which a caller judges models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import StudioError
from ...services.leaderboard import LOCAL
from .reading import reads, sent

if TYPE_CHECKING:
    from ...data.choices.column_choices import ColumnChoices
    from ...services import Studio

_MOST_MODELS = 6


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
    one = sent(str(given[0]) if given else None)
    return studio.judge.evaluate(model or None, one, task or "auto", asked=said, known=known or None, owner=owner).to_json()
