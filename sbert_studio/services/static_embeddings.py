"""Static embedding service: train, distill, list, export and delete static embedding models."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.corpus import find_text_columns
from ..errors import StudioError, to_valid_utf8
from ..i18n import _, join, with_full_stop
from ..progress import Progress
from ..registry import parse_params
from ..runs.run import LOCAL_OWNER
from ..serialization import JsonResult
from ..workspace import Workspace, atomic_file, existing_path, write_json
from .data import DataService, require_model_folder
from .jobs import BeginPhase
from .resources import Resources, Service

if TYPE_CHECKING:
    from ..data.loading.table import Table
    from ..models.static import Learner
    from ..models.word_encoder import WordEncoder

KINDS = {"word2vec": "skip_gram", "skipgram": "skip_gram", "cbow": "cbow", "glove": "glove", "tfidf": "tfidf"}
STATIC = "static"
_VECTOR_FILES = (".txt", ".vec", ".bin", ".gz")
_RECORD_FILE = "fitted.json"
_ORPHAN_SECONDS = 24 * 3600


@dataclass(frozen=True)
class FitOptions:
    """Options of static embeddings.

    Attributes:
        weighting: weights of words in a text's mean: ``plain``, ``tfidf`` or ``sif``; ``sif`` by default, unless the vectors are weighted.
        common: number of common components to remove.
        settings: hyperparameters of the learner.
    """

    weighting: str | None = None
    common: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 12


@dataclass(frozen=True)
class FittedEmbeddings(JsonResult):
    """A new static embedding model.

    Attributes:
        model: its folder or id.
        kind: as requested; ``static`` if distilled.
        words: vocabulary size.
        texts: number of training texts.
        seconds: training time.
        notes: warnings.
    """

    model: str
    kind: str
    words: int
    dim: int
    texts: int
    seconds: float
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        """Return vocabulary size, dimension, number of texts and the notes as a message."""
        words = (
            _("{words} words as {dim}-d vectors from {texts} texts", words=f"{self.words:,}", dim=self.dim, texts=f"{self.texts:,}")
            if self.texts
            else _("{words} words as {dim}-d vectors", words=f"{self.words:,}", dim=self.dim)
        )
        return join(" ", (with_full_stop(words), *self.notes))


class StaticEmbeddingService(Service):
    """Trains word vectors on texts or distills them from an encoder; the resulting model averages them."""

    def __init__(self, resources: Resources, data: DataService) -> None:
        super().__init__(resources)
        self._data = data

    def fit(
        self,
        file: str | Path,
        kind: str = "glove",
        *,
        options: FitOptions | None = None,
        columns: Sequence[str] = (),
        out: Path | None = None,
        name: str = "",
        owner: str = "local",
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> FittedEmbeddings:
        """Train word vectors on the texts of ``file``, or load pretrained ones, and write the encoder that averages them.

        Args:
            kind: ``word2vec`` or ``skipgram``, ``cbow``, ``glove``, ``tfidf``; or pretrained vectors such as ``glove-6B-50d`` or a file
                in word2vec's or GloVe's format, for which only word weights and common components are computed from the texts.
            columns: text columns; by default all columns that contain text.
            out: folder of the model; by default it is stored with the other models under ``name``.
            begin_phase: called as each phase begins.
        """
        from ..models.static import load_pretrained
        from ..models.static.weighting import require_weighting
        from ..models.word_encoder import build_average_encoder

        options = options or FitOptions()
        weighting, common = options.weighting, options.common
        learner = self.get_learner(kind, options.settings)
        has_weights = learner is not None and learner.weighted
        if has_weights and weighting not in (None, "plain"):
            raise StudioError(_("the vectors of {kind} already include word weights", kind=kind), "omit the weighting")
        weighting = require_weighting(weighting or ("plain" if has_weights else "sif"))
        if out is not None:
            require_model_folder(out)
        title, texts = self.read_texts(file, columns, begin_phase("reading", "bytes"))
        start = time.perf_counter()
        if learner is not None:
            vectors = learner.learn(texts, options.seed, begin_phase("learning", learner.unit))
        else:
            begin_phase("reading the table", "words")
            vectors = load_pretrained(kind)
        progress = begin_phase("averaging", "texts") if common else None
        encoder = build_average_encoder(vectors, texts, weighting=weighting, common=common, normalize=has_weights, progress=progress)
        seconds = time.perf_counter() - start
        coverage = encoder.coverage(texts)
        assert coverage is not None  # static models always report it
        reason = "they are too rare" if learner is not None else "they are not in the table"
        total = coverage.known + coverage.unknown
        notes = (
            (
                _(
                    "{unknown} of {total} words of the texts have no vector: {reason}",
                    unknown=f"{coverage.unknown:,}",
                    total=f"{total:,}",
                    reason=reason,
                ),
            )
            if coverage.unknown
            else ()
        )
        label = kind if learner is not None else to_valid_utf8(Path(kind).name)
        encoder.name = to_valid_utf8(name or f"{Path(title).stem}-{kind if learner is not None else Path(kind).stem}")
        begin_phase("writing", "")
        model = self._save(encoder, out, owner, label, notes)
        return FittedEmbeddings(model, kind, len(vectors), encoder.dim, len(texts), seconds, notes)

    def distill(
        self,
        model: str | None = None,
        *,
        dim: int = 256,
        vocabulary: str | Path | Table | None = None,
        columns: Sequence[str] = (),
        out: Path | None = None,
        name: str = "",
        owner: str = "local",
        begin_phase: BeginPhase = lambda phase, unit: None,
    ) -> FittedEmbeddings:
        """Distill an encoder into a static model; see :func:`sbert_studio.models.word_encoder.distill`.

        Args:
            dim: vector length.
            vocabulary: file of texts whose words get a vector, weighted by their frequency in the file.
            columns, out, name, owner, begin_phase: see :meth:`fit`.

        Raises:
            StudioError: the model, file or column does not exist, there are no words, or the model cannot be written to ``out``.
        """
        from ..models.card import CardFacts
        from ..models.word_encoder import distill

        if out is not None:
            require_model_folder(out)
        texts: list[str] = []
        if vocabulary is not None:
            texts = self.read_texts(vocabulary, columns, begin_phase("reading", "bytes"))[1]
        begin_phase("loading the model", "")
        teacher = self.catalog.load(model or self.settings.default_model)
        start = time.perf_counter()
        encoder = distill(teacher, texts, dim=dim, progress=begin_phase("encoding words", "words"))
        seconds = time.perf_counter() - start
        encoder.name = to_valid_utf8(name or f"{Path(teacher.name).name}-static")
        begin_phase("writing", "")
        notes, words = (encoder.note,), len(encoder.tokens.words())
        card = encoder.card(CardFacts(title=encoder.name, base_model=encoder.base, tags=("static-embeddings",)))
        saved = self._save(encoder, out, owner, STATIC, notes, card)
        return FittedEmbeddings(saved, STATIC, words, encoder.dim, len(texts), seconds, notes)

    def list_models(self, owner: str | None = None) -> list[StaticModelRecord]:
        """List the static models (of one owner) trained on this machine, newest first."""
        return list_static_models(self.workspace, owner)

    def delete(self, model_id: str, owner: str | None = None) -> None:
        """Delete a model (of one owner)."""
        if model_id not in {record.id for record in self.list_models(owner)}:
            raise StudioError(_("there is no static embedding model {model_id}", model_id=repr(model_id[:80])), "reload the list")
        shutil.rmtree(self.workspace.fitted / model_id, ignore_errors=True)

    def remove_expired(self, now: datetime) -> list[str]:
        """Delete models older than the retention time of a shared page, except those made by commands; return their ids."""
        days, removed = self.settings.limits.keep_days, list[str]()
        for record in self.list_models() if days else ():
            if self.settings.shared and record.owner == LOCAL_OWNER:
                continue
            if now >= datetime.fromisoformat(record.created) + timedelta(days=days):
                self.delete(record.id)
                removed.append(record.id)
        return removed

    def export_zip(self, model_id: str, path: Path) -> Path:
        """Write a model's folder as a zip."""
        folder, target = self.workspace.fitted / model_id / "model", path.with_suffix(".zip")
        if not folder.is_dir():
            raise StudioError(_("the static embeddings {model_id} no longer exist", model_id=model_id), "choose another model")
        with atomic_file(target) as part:
            archive = Path(shutil.make_archive(str(part.with_suffix("")), "zip", folder))
            if archive != part:
                archive.replace(part)
        return target

    def get_learner(self, kind: str, settings: Mapping[str, Any] | None = None) -> Learner | None:
        """Return the learner of a kind with its hyperparameters; ``None`` for pretrained vectors."""
        from ..models.static import LEARNERS, VECTOR_PACKAGES

        known = [*KINDS, *VECTOR_PACKAGES]
        if kind in KINDS:
            learner = LEARNERS[KINDS[kind]]
            return learner(parse_params(learner.Params, settings or {}))
        path = existing_path(kind)
        if kind not in known and Path(kind).suffix.lower() in _VECTOR_FILES and path is None:
            raise StudioError(
                _("there is no file {name}", name=repr(Path(kind).name)),
                _("check the path, or choose one of {known}", known=", ".join(known)),
            )
        if kind not in known and (path is None or not path.is_file()):
            raise StudioError(
                _("there is no static embedding type {kind}", kind=repr(kind)),
                _("choose one of {known}, or a file of them", known=", ".join(known)),
            )
        if settings:
            raise StudioError(_("the vectors of {kind} are already trained", kind=kind), "omit --set")
        return None

    def read_texts(self, file: str | Path | Table, columns: Sequence[str], progress: Progress | None = None) -> tuple[str, list[str]]:
        """Return the name of a file and the texts of its columns (by default all that contain text), without blanks."""
        table = self._data.read_table(file, progress=progress)
        names = list(columns) or find_text_columns(table)
        if missing := [name for name in names if name not in table.columns]:
            raise StudioError(
                _("{name} has no column {missing}", name=table.name, missing=repr(missing[0])),
                _("choose from {columns}", columns=", ".join(table.columns[:20])),
            )
        texts = [text for name in names for text in table.column(name) if text.strip()]
        limit = self.settings.limits.rows
        if limit and len(texts) > limit:
            raise StudioError(
                _("there are {texts} texts; the maximum here is {limit}", texts=f"{len(texts):,}", limit=f"{limit:,}"),
                "use fewer texts; there is no limit on your own machine",
            )
        return table.name, texts

    def _save(self, encoder: WordEncoder, out: Path | None, owner: str, kind: str, notes: tuple[str, ...], card: str | None = None) -> str:
        if out is not None:
            encoder.save(out, card=card)
            return str(out)
        self.workspace.require_writable()
        for folder in self.workspace.fitted.glob("words-*"):  # without a record: left by a killed process
            with suppress(OSError):
                if not (folder / _RECORD_FILE).exists() and time.time() - folder.stat().st_mtime > _ORPHAN_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        record = StaticModelRecord(f"words-{secrets.token_hex(5)}", encoder.name, owner, kind, created, notes)
        folder = self.workspace.fitted / record.id
        try:
            encoder.save(folder / "model", card=card)
            write_json(folder / _RECORD_FILE, asdict(record))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return record.id


@dataclass(frozen=True)
class StaticModelRecord:
    """Record of a stored static model.

    Attributes:
        id: accepted wherever a model name is; ``name`` is for display.
        kind: for example ``glove`` or ``static``.
        created: UTC, ISO 8601.
        notes: warnings.
    """

    id: str
    name: str
    owner: str
    kind: str
    created: str
    notes: tuple[str, ...] = ()


def list_static_models(workspace: Workspace, owner: str | None = None) -> list[StaticModelRecord]:
    """List the stored models (of one owner), newest first; unreadable records are skipped."""
    found = []
    for path in workspace.fitted.glob(f"words-*/{_RECORD_FILE}"):
        with suppress(OSError, ValueError, TypeError, KeyError):
            values = json.loads(path.read_text(encoding="utf-8"))
            record = StaticModelRecord(**{**values, "notes": tuple(map(str, values["notes"]))})
            if record.id == path.parent.name and owner in (None, record.owner):
                found.append(record)
    return sorted(found, key=lambda record: record.created, reverse=True)
