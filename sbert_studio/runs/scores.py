"""Leaderboard: the latest score of each model on each set of rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, MutableMapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..errors import StudioError, is_disk_full
from ..i18n import _
from ..workspace import atomic_file
from .lease import WriteLock
from .run import Count, Number, parse_json

MOST = 2_000
"""Maximum number of scores per owner; beyond it, the oldest are removed."""
_CHECK = "check the owner and the permissions of leaderboard.jsonl in the data folder"


class LeaderboardEntry(BaseModel):
    """Score of one model on one set of rows.

    Attributes:
        owner: the visitor who evaluated the model.
        public: visible to everyone: a bundled model on a public dataset.
        model, title: the name used in commands, and the display name.
        fingerprint: changes with the model's weights and configuration; empty if an earlier version stored the score.
        data: name of the dataset.
        digest: changes with the rows of the dataset.
        task, metric: names of the task and the metric.
        low, high: 95 % confidence interval; ``None`` if there is none.
        rows: number of evaluated rows.
        rate: sentences per second while encoding; 0 if nothing was encoded.
        rate_low, rate_high: lowest and highest measurement of it; ``None`` if it was measured only once.
        dim: components of a vector; 0 for a model that scores pairs.
        seconds: time of the model for all datasets of that evaluation.
        created: UTC, ISO 8601.
        id: number of the entry; 0 before it is stored.
    """

    model_config = ConfigDict(frozen=True)

    owner: str
    public: bool
    model: str
    title: str
    fingerprint: str
    data: str
    digest: str
    task: str
    metric: str
    score: Number
    low: Number | None
    high: Number | None
    rows: Count
    rate: Number
    dim: Count
    seconds: Number
    created: str
    rate_low: Number | None = None  # earlier versions measured once
    rate_high: Number | None = None
    id: Annotated[int, Field(ge=0)] = 0

    @property
    def rate_spread(self) -> tuple[float, float] | None:
        """Lowest and highest measurement of the rate."""
        return None if self.rate_low is None or self.rate_high is None else (self.rate_low, self.rate_high)


class ScoreStore:
    """Leaderboard of all owners, in one JSON Lines file; ``notices`` receives messages about damaged lines."""

    def __init__(self, path: Path, notices: MutableMapping[str, str]) -> None:
        self.path = path
        self._notices = notices
        self._lock = WriteLock(path.with_name(f".{path.name}.lock"), "the leaderboard is locked by another program")

    def add(self, scores: Sequence[LeaderboardEntry]) -> None:
        """Store scores; each replaces an earlier score of the same owner for the same model, rows and metric."""
        with self._lock.held():
            known = self._read()
            kept = {_identity(score): score for score in known}
            for number, score in enumerate(scores, start=1 + max((score.id for score in known), default=0)):
                kept.pop(_identity(score), None)
                kept[_identity(score)] = score.model_copy(update={"id": number})
            for owner in {score.owner for score in scores}:
                own = [key for key, score in kept.items() if score.owner == owner]
                for key in own[:-MOST]:
                    del kept[key]
            self._write(kept.values())

    def visible_to(self, owner: str | None = None) -> list[LeaderboardEntry]:
        """Return the scores visible to an owner, newest first; all scores if none is given.

        An owner sees their own scores and, for models and datasets they have not evaluated themselves, public scores.
        """
        found = self._read()[::-1]
        if owner is None:
            return found
        shown: dict[tuple[object, ...], LeaderboardEntry] = {}
        for score in found:
            key = _identity(score)[1:]
            if (score.public or score.owner == owner) and (key not in shown or (score.owner == owner and shown[key].owner != owner)):
                shown[key] = score
        return sorted(shown.values(), key=lambda score: -score.id)

    def remove(self, score_id: int, owner: str | None = None) -> None:
        with self._lock.held():
            known = self._read()
            kept = [score for score in known if score.id != score_id or owner not in (None, score.owner)]
            if len(kept) == len(known):
                raise StudioError("this entry of the leaderboard does not exist, or is not yours", "reload the list")
            self._write(kept)

    def _write(self, scores: Iterable[LeaderboardEntry]) -> None:
        try:
            with atomic_file(self.path) as part:
                part.write_text("".join(f"{json.dumps(dict(score), ensure_ascii=False)}\n" for score in scores), encoding="utf-8")
        except OSError as error:
            if is_disk_full(error):
                raise StudioError("the disk is full: the leaderboard cannot be written", "free some disk space, then try again") from error
            raise StudioError(_("the leaderboard cannot be written: {strerror}", strerror=error.strerror), _CHECK) from error

    def _read(self) -> list[LeaderboardEntry]:
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StudioError(_("the leaderboard cannot be read: {strerror}", strerror=error.strerror), _CHECK) from error
        found, damaged = list[LeaderboardEntry](), 0
        for line in filter(bytes.strip, lines):
            try:
                found.append(LeaderboardEntry.model_validate(parse_json(line), strict=True))
            except ValueError:
                damaged += 1
        if damaged:
            self._notices[self.path.name] = _("{damaged} damaged lines of leaderboard.jsonl are skipped", damaged=f"{damaged:,}")
        else:
            self._notices.pop(self.path.name, None)
        return found


_identity = attrgetter("owner", "model", "fingerprint", "data", "digest", "task", "metric")
