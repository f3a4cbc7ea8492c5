"""Leaderboard: stored scores of every evaluation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data.cells import markdown_cell, write_rows
from ..data.examples import Examples
from ..errors import StudioError, to_valid_utf8
from ..evaluation.bootstrap import percentile_interval
from ..evaluation.changes import format_score, format_speed
from ..evaluation.comparison import EvaluationFile, ModelScores
from ..evaluation.ranking import MAIN
from ..evaluation.report import Report
from ..evaluation.tasks import TASKS, get_task, main_score
from ..i18n import _
from ..runs.run import LOCAL_OWNER, utc_now
from ..runs.scores import LeaderboardEntry
from ..workspace import atomic_file, digest_texts, existing_path, require_writable_file
from .resources import Service
from .results import EvaluationResult, RetrievalResult, RetrievalScores
from .static_embeddings import list_static_models

_PUBLIC_KINDS = ("bundled", "table", "foreign")
# Columns of files and JSON, and the corresponding attributes of an entry.
_COLUMNS = {
    "set": "data", "rows_digest": "digest", "task": "task", "metric": "metric", "model": "model", "name": "title",
    "fingerprint": "fingerprint", "score": "score", "low": "low", "high": "high", "rows": "rows", "sentences_per_second": "rate",
    "sentences_per_second_low": "rate_low", "sentences_per_second_high": "rate_high",
    "dimensions": "dim", "seconds": "seconds", "when": "created",
}  # fmt: skip
_SHOWN = ("Set", "Task", "Metric", "Model", "Score", "95% interval", "Sentences/s", "Dimensions", "Rows", "When (UTC)")
log = logging.getLogger(__name__)


class Leaderboard(Service):
    """Stored evaluation scores."""

    def add(self, result: EvaluationResult, owner: str = LOCAL_OWNER) -> tuple[str, ...]:
        """Store every model's scores on every file, suite and average. A write error becomes a note, so that no result is lost.

        Args:
            owner: owner of the entries; empty to store nothing.

        Returns:
            A note if the scores could not be stored.
        """
        if not owner:
            return ()
        when = utc_now()
        return self._store(lambda: [score for model in result.models for score in self._scores(result, model, owner, when)])

    def add_retrieval(self, result: RetrievalResult, owner: str = LOCAL_OWNER) -> tuple[str, ...]:
        """Store the main metric of every model of an evaluation of retrieval; see :meth:`add`."""
        if not owner:
            return ()
        when, digest = utc_now(), result.digest

        def entry(model: RetrievalScores) -> LeaderboardEntry:
            low, high = model.intervals[MAIN] or (None, None)
            return LeaderboardEntry(
                owner=owner, public=False, model=to_valid_utf8(model.name), title=to_valid_utf8(self._title(model.name)),
                fingerprint=model.fingerprint, data=to_valid_utf8(result.title), digest=digest, task="retrieval", metric=MAIN,
                score=model.metric(MAIN), low=low, high=high, rows=result.queries, rate=model.sentences_per_second, dim=model.dim,
                seconds=round(model.seconds, 3), created=when,
            )  # fmt: skip

        return self._store(lambda: [entry(model) for model in result.models])

    def _store(self, make: Callable[[], list[LeaderboardEntry]]) -> tuple[str, ...]:
        try:
            self.store.scores.add(make())
        except StudioError as error:
            return (_("the scores are not on the leaderboard: {message}", message=error.message),)
        except Exception as error:
            log.exception("scores could not be stored")
            return (_("the scores are not on the leaderboard: {name}", name=type(error).__name__),)
        return ()

    def entries(self, owner: str | None = None, data: str = "") -> list[LeaderboardEntry]:
        """Return the entries visible to an owner, of one dataset if specified, grouped by dataset, best first."""
        found = self.store.scores.visible_to(owner)
        if data:
            wanted = data.strip().casefold()
            known = sorted({one.data for one in found})
            found = [one for one in found if one.data.casefold() == wanted]
            if not found:
                shown = ", ".join(known[:12]) + ("…" if len(known) > 12 else "")
                raise StudioError(
                    _("there is no evaluation on {data} yet", data=repr(data[:100])),
                    _("choose from {shown}", shown=shown) if known else "evaluate a model on it",
                )
        return rank_entries(found)

    def remove(self, entry_id: int, owner: str | None = None) -> None:
        self.store.scores.remove(entry_id, owner)

    def _scores(self, result: EvaluationResult, model: ModelScores, owner: str, when: str) -> Iterator[LeaderboardEntry]:
        is_public_model = self._is_public_model(model.model)
        title, name = to_valid_utf8(self._title(model.model)), to_valid_utf8(model.model)

        def entry(data: str, digest: str, rows: int, public: bool, task: str, metric: str, score: float, interval: Any) -> LeaderboardEntry:
            low, high = interval or (None, None)
            slowest, fastest = model.rate_spread or (None, None)
            return LeaderboardEntry(
                owner=owner, public=is_public_model and public, model=name, title=title, fingerprint=model.fingerprint,
                data=to_valid_utf8(data), digest=digest, task=task, metric=metric, score=score, low=low, high=high, rows=rows,
                rate=round(model.rate, 2), rate_low=_rounded(slowest), rate_high=_rounded(fastest), dim=model.dim,
                seconds=round(model.seconds, 3), created=when,
            )  # fmt: skip

        def aggregate(members: Sequence[int]) -> tuple[str, int, bool]:
            files = [result.files[place] for place in members]
            digest = digest_texts(digests[place] for place in members)
            return digest, sum(len(file.rows.examples) for file in files), all(file.public for file in files)

        digests = [_digest(file) for file in result.files]
        for file, digest, report in zip(result.files, digests, model.reports, strict=True):
            label = f"{file.suite} {file.name}" if file.suite and file.suite != file.name else file.name
            yield entry(label, digest, report.rows, file.public, report.task, *_main(report))
        suites: dict[str, list[int]] = {}
        for place, file in enumerate(result.files):
            suites.setdefault(file.suite, []).append(place)
        for group, own in zip(result.groups, model.groups, strict=True):
            if own is None or group.name not in suites:
                continue  # the user's own files evaluated together are not a dataset
            if own.pooled is not None:
                yield entry(_("{name}, all", name=group.name), *aggregate(group.members), own.task, *_main(own.pooled))
            else:
                yield entry(
                    _("{name}, mean", name=group.name), *aggregate(group.members), own.task, own.metric, own.main, _interval(own.resampled)
                )
        for average, mean in zip(result.averages, model.averages, strict=True):
            if mean is not None:
                members = aggregate([place for suite in average.suites for place in suites[suite]])
                yield entry(_("{name}, average", name=average.name), *members, mean.task, mean.metric, mean.main, _interval(mean.resampled))

    def _is_public_model(self, model: str) -> bool:
        with suppress(StudioError):
            return self.catalog.resolve(model).kind in _PUBLIC_KINDS
        return False

    def _title(self, model: str) -> str:
        if model.startswith("run-"):
            with suppress(StudioError):
                return self.store.get(model).name
        if model.startswith("words-"):
            return next((one.name for one in list_static_models(self.workspace) if one.id == model), model)
        return Path(model).name if existing_path(model) is not None else model


def _digest(file: EvaluationFile) -> str:
    parts = [rows_digest(one) for one in (file.rows.examples, file.rows.reference, file.rows.dev) if one is not None]
    return parts[0] if len(parts) == 1 else digest_texts(parts)


def rank_entries(entries: Iterable[LeaderboardEntry]) -> list[LeaderboardEntry]:
    """Sort by dataset, then best first; ties by date, newest first."""
    smaller = {name for name in TASKS if get_task(name).lower_is_better}

    def place(one: LeaderboardEntry) -> tuple[Any, ...]:
        worth = one.score if one.task in smaller else -one.score
        return one.data.casefold(), one.digest, one.task, one.metric, worth, -one.id

    return sorted(entries, key=place)


def dataset_key(one: LeaderboardEntry) -> str:
    """Return a key of a dataset: its name and a digest of its rows."""
    return f"{one.digest[:12]}{one.data}"


def dataset_names(entries: Iterable[LeaderboardEntry]) -> dict[str, str]:
    """Return display names of datasets by key, in order; if several have the same name but different rows, part of the digest is added."""
    names = {dataset_key(one): one.data for one in entries}
    used = list(names.values())
    return {key: name if used.count(name) == 1 else _("{name} · rows {key}", name=name, key=key[:4]) for key, name in names.items()}


def write_leaderboard(path: Path, entries: Sequence[LeaderboardEntry]) -> Path:
    """Write entries as CSV (without live formulas) or as a Markdown table, depending on the file's suffix."""
    require_writable_file(path, suffixes=(".csv", ".md"))
    if path.suffix.lower() == ".csv":
        write_rows(path, list(_COLUMNS), [_cells(one) for one in entries])
        return path
    with atomic_file(path) as part:
        part.write_text("\n".join(_markdown(entries)) + "\n", encoding="utf-8")
    return path


def entry_to_json(one: LeaderboardEntry) -> dict[str, Any]:
    """Return an entry as plain data for JSON."""
    return {"id": one.id, **{name: None if cell == "" else cell for name, cell in zip(_COLUMNS, _cells(one), strict=True)}}


def rows_digest(examples: Examples) -> str:
    """Return a digest of evaluation rows, 32 hex digits: texts, targets and labels."""
    targets = () if examples.targets is None else (repr(value) for value in examples.targets.tolist())
    parts = [digest_texts(column) for column in examples.texts]
    return digest_texts([examples.kind, *parts, digest_texts(targets), digest_texts(map(str, examples.labels))])


def _cells(one: LeaderboardEntry) -> list[Any]:
    """Return the cells of an entry; unknown values are blank."""
    values = ((name, getattr(one, name)) for name in _COLUMNS.values())
    return ["" if value is None or (name in ("rate", "dim") and not value) else value for name, value in values]


def _markdown(entries: Sequence[LeaderboardEntry]) -> Iterator[str]:
    names = dataset_names(entries)
    yield f"| {' | '.join(_SHOWN)} |"
    yield f"| {' | '.join('---:' if name in _SHOWN[4:9] else '---' for name in _SHOWN)} |"
    for one in entries:
        interval = "" if one.low is None or one.high is None else f"{format_score(one.low)} – {format_score(one.high)}"
        rate, dim = format_speed(one.rate, one.rate_spread), (f"{one.dim:,}" if one.dim else "")
        texts = [markdown_cell(text) for text in (names[dataset_key(one)], one.task, one.metric, one.title)]
        when = one.created[:16].replace("T", " ")
        yield f"| {' | '.join([*texts, format_score(one.score), interval, rate, dim, f'{one.rows:,}', when])} |"


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)


def _main(report: Report) -> tuple[str, float, Any]:
    return (*main_score(report), report.scores.get("interval"))


def _interval(resampled: Any) -> list[float] | None:
    return None if resampled is None or not len(resampled) else percentile_interval(resampled)
