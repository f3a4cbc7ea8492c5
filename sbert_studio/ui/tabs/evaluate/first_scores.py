"""What the Evaluate tab opens with: the usual models compared on the selected data, or on a sample where the data has no answers.

The result is computed once for each version of the program, data and models, and stored in the workspace. It is no evaluation of the
visitor's: it is not on the leaderboard, and does not use a place in the queue.
"""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .... import __version__
from ....data.retrieval import retrieval_kind
from ....data.samples import default_sample
from ....data.schema.roles import SchemaOverrides
from ....errors import StudioError
from ....evaluation.tasks import SCORED_KINDS
from ....i18n import _, join, restore_messages, store_messages
from ....progress import checkpoint
from ....serialization import to_plain
from ....services.data_overview import describe_uses
from ....workspace import write_json
from ...handlers import progress_callback
from ...sessions.file_store import fingerprint
from .view_model import EvaluationPanel, evaluation_result

if TYPE_CHECKING:
    import gradio as gr

    from ....progress import Progress
    from ....services import Studio
    from ...page import Page
    from ...state import SelectedCorpus

MAX_ROWS = 1_000  # rows of the visitor's data that are evaluated without being asked
_LOCK = threading.Lock()


def first_scores(page: Page, selected: SelectedCorpus, language: str, progress: gr.Progress | None = None) -> EvaluationPanel | None:
    """Return the comparison of the usual models; ``None`` if there is no suitable data."""
    found = _suitable(page, selected, language, progress_callback(progress, "Reading"))
    if found is None:
        return None
    path, name = found
    models = list(dict.fromkeys(one for one in (page.studio.settings.default_model, page.studio.languages.multilingual) if one))
    key = hashlib.sha256(json.dumps([__version__, fingerprint(path), name, models]).encode()).hexdigest()[:32]
    file = page.studio.workspace.cache("first-scores") / f"{key}.json"
    if (panel := _read(file)) is None:
        report = progress_callback(progress, "Comparing models")
        while not _LOCK.acquire(timeout=0.2):  # another page may be computing the same
            checkpoint()
        try:
            panel = _read(file) or _compute(page.studio, path, name, models, file, report)
        finally:
            _LOCK.release()
    if selected.corpus.account.read > MAX_ROWS:
        made, name = panel.conclusion["made"], selected.corpus.name
        why = _("a sample, since {name} has more than {rows} rows; press Evaluate to use them", name=name, rows=f"{MAX_ROWS:,}")
        made["words"] = join(" · ", [made["words"], why])
    return panel


def _suitable(page: Page, selected: SelectedCorpus, language: str, report: Progress | None) -> tuple[Path, str] | None:
    with suppress(StudioError):
        table = page.corpora.table(selected.path, selected.corpus.name, report)
        if retrieval_kind(table) is not None:
            return None  # retrieval takes longer, and needs documents of its own
        if selected.corpus.account.read <= MAX_ROWS and describe_uses(table, (selected.column,))[-1].is_possible:
            return selected.path, selected.corpus.name
    sample = default_sample(language, *SCORED_KINDS)
    return None if sample is None else (sample.path, sample.title)


def _compute(studio: Studio, path: Path, name: str, models: list[str], file: Path, report: Progress | None) -> EvaluationPanel:
    def begin(phase: str, unit: str) -> Progress:
        return report if report is not None else lambda done, total: None

    overrides = SchemaOverrides(as_read=True)
    found = studio.evaluation.evaluate_models(models, [path], overrides=overrides, owner="", begin_phase=begin)
    words = join(" · ", [*models, name])
    # Neither the header nor the form decides on the models, so that a change of either does not mark the result.
    made = {"model": "", "corpus": "", "form": "first", "key": "", "words": _("{words}", words=words), "again": "", "theirs": models}
    panel = evaluation_result(found, {}, name, made)
    with suppress(OSError):  # on a full disk it is computed again
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, store_messages(to_plain(asdict(panel))))
    return panel


def _read(file: Path) -> EvaluationPanel | None:
    try:
        stored: dict[str, Any] = restore_messages(json.loads(file.read_text(encoding="utf-8")))
        return EvaluationPanel(**stored)
    except (OSError, ValueError, TypeError):
        return None
