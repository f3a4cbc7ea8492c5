"""Train, distill, list and delete static embedding models."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StudioError, to_valid_utf8
from ..workspace import Workspace, atomic_file, existing_path, write_json
from .data import require_model_folder
from .resources import Service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..models.static import Learner
    from ..models.word_encoder import WordEncoder
    from ..progress import Progress
    from ..settings import Limits
    from .data import DataService
    from .jobs import BeginPhase
    from .resources import Resources


_FILE = "fitted.json"
_LEFT = 24 * 3600  # seconds


@dataclass(frozen=True)
class StaticModelRecord:
    """What is known of one.

    Attributes:
        id: by which every verb takes it.
        name: what people call it.
        owner: whose it is.
        kind: how it was made, such as ``glove`` or ``static``.
        created: in UTC, ISO 8601.
        notes: what should be told of it.
    """

    id: str
    name: str
    owner: str
    kind: str
    created: str
    notes: tuple[str, ...] = ()

    @classmethod
    def new(cls, name: str, owner: str, kind: str, notes: tuple[str, ...] = ()) -> StaticModelRecord:
        """One that is made now."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(f"words-{secrets.token_hex(5)}", name, owner, kind, created, notes)

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {**self.__dict__, "notes": list(self.notes)}


def model_folder(workspace: Workspace, model_id: str) -> Path:
    """Where the model of that id lies; it need not be there."""
    return workspace.fitted / model_id / "model"


@contextmanager
def registered_model(workspace: Workspace, record: StaticModelRecord) -> Iterator[Path]:
    """Enter a model into the list once its folder, which is given, was written; nothing is left of one that could not be written."""
    _sweep(workspace)
    try:
        yield model_folder(workspace, record.id)
        write_json(workspace.fitted / record.id / _FILE, record.to_json())
    except BaseException:
        shutil.rmtree(workspace.fitted / record.id, ignore_errors=True)
        raise


def _sweep(workspace: Workspace) -> None:
    """Remove what programs that were killed have left: folders that nothing tells of, a day after."""
    for folder in workspace.fitted.glob("words-*"):
        with suppress(OSError):
            if not (folder / _FILE).exists() and time.time() - folder.stat().st_mtime > _LEFT:
                shutil.rmtree(folder, ignore_errors=True)


def list_static_models(workspace: Workspace, owner: str | None = None) -> list[StaticModelRecord]:
    """Those (of one owner) that are there, newest first; what cannot be read is passed over."""
    found = []
    for path in workspace.fitted.glob(f"words-*/{_FILE}"):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            record = StaticModelRecord(**{**values, "notes": tuple(map(str, values["notes"]))})
        except (OSError, ValueError, TypeError, KeyError):
            continue
        if record.id == path.parent.name and owner in (None, record.owner):
            found.append(record)
    return sorted(found, key=lambda record: record.created, reverse=True)


def delete_static_model(workspace: Workspace, model_id: str, owner: str | None = None) -> None:
    """Remove one.

    Raises:
        StudioError: the owner has none of that id.
    """
    if model_id not in {record.id for record in list_static_models(workspace, owner)}:
        raise StudioError(f"there are no word vectors {model_id[:80]!r}", "reload the list")
    shutil.rmtree(workspace.fitted / model_id, ignore_errors=True)


def write_model_zip(workspace: Workspace, model_id: str, target: Path) -> Path:
    """The model's folder as a zip.

    Raises:
        StudioError: it is gone.
    """
    folder = model_folder(workspace, model_id)
    if not folder.is_dir():
        raise StudioError(f"the static embeddings {model_id} no longer exist", "choose another model")
    with atomic_file(target.with_suffix(".zip")) as part:
        made = shutil.make_archive(str(part.with_suffix("")), "zip", folder)
        if Path(made) != part:
            Path(made).replace(part)
    return target.with_suffix(".zip")


def remove_expired_models(workspace: Workspace, limits: Limits, now: datetime) -> list[str]:
    """Remove those whose days are over, where a shared page sets how long things are kept; their ids."""
    gone = []
    for record in list_static_models(workspace) if limits.keep_days else ():
        if now >= datetime.fromisoformat(record.created) + timedelta(days=limits.keep_days):
            delete_static_model(workspace, record.id)
            gone.append(record.id)
    return gone


KINDS = {"word2vec": "skip_gram", "skipgram": "skip_gram", "cbow": "cbow", "glove": "glove", "tfidf": "tfidf"}
STATIC = "static"
_TABLES = (".txt", ".vec", ".bin", ".gz")


@dataclass(frozen=True)
class FittedEmbeddings:
    """An encoder on word vectors that were learned or distilled.

    Attributes:
        model: its folder, or its id in the list of models, by which every verb takes it.
        kind: what was asked for; ``static`` of a distillation.
        words: how many have a vector.
        dim: the components of a vector.
        texts: what was learned from.
        seconds: of the learning.
        notes: what was left out.
    """

    model: str
    kind: str
    words: int
    dim: int
    texts: int
    seconds: float
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What was made, of what, and what was left out."""
        words = f"{self.words:,} words as {self.dim}-d vectors" + (f" from {self.texts:,} texts" if self.texts else "")
        return " ".join((f"{words}.", *self.notes))

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return {**self.__dict__, "notes": list(self.notes)}


class StaticEmbeddingService(Service):
    """Texts, or an encoder → word vectors → an encoder that averages them."""

    def __init__(self, services: Resources, read: DataService) -> None:
        super().__init__(services)
        self.read = read

    def fit(
        self,
        file: str | Path,
        kind: str = "glove",
        *,
        columns: Sequence[str] = (),
        out: Path | None = None,
        weighting: str | None = None,
        common: int = 0,
        settings: Mapping[str, Any] | None = None,
        seed: int = 12,
        name: str = "",
        owner: str = "local",
        begin: BeginPhase = lambda what, unit: None,
    ) -> FittedEmbeddings:
        """Learn word vectors from the texts of ``file``, or take those that others learned, and write the encoder that averages them.

        Args:
            kind: ``word2vec`` or ``skipgram``, ``cbow``, ``glove``, ``tfidf``; or a table that is there, such as ``glove-6B-50d`` or a
                file in word2vec's or GloVe's format, of which only the weights and the common components are fitted to the texts.
            columns: of texts; none: every column that looks like text.
            out: the encoder's folder; by default it is kept among the models.
            weighting: ``plain``, ``tfidf`` or ``sif``; None: ``sif``, unless the vectors carry their words' weights.
            common: how many directions that all texts have in common are taken away.
            settings: of the learner, by their names.
            name, owner: of a model that is kept.
            begin: told each phase.

        Raises:
            StudioError: there is no such kind, column or setting, or there is nothing to learn from; or ``out`` cannot take a model.
        """
        from ..models.static import load_pretrained
        from ..models.static.distill import build_average_encoder
        from ..models.static.weighting import require_weighting

        learner = self.learner(kind, settings)
        weighted = learner is not None and learner.weighted
        if weighted and weighting not in (None, "plain"):
            raise StudioError(f"the vectors of {kind} carry their words' weights already", "leave the weighting out")
        weighting = require_weighting(weighting or ("plain" if weighted else "sif"))
        if out is not None:
            require_model_folder(out)
        title, texts = self._texts(file, columns, begin("reading", "bytes"))
        began = time.perf_counter()
        if learner is not None:
            vectors = learner.learn(texts, seed, begin("learning", learner.unit))
        else:
            begin("reading the table", "words")
            vectors = load_pretrained(kind)
        averaging = begin("averaging", "texts") if common else None
        encoder = build_average_encoder(vectors, texts, weighting=weighting, common=common, normalize=weighted, progress=averaging)
        seconds = time.perf_counter() - began
        found = encoder.coverage(texts)
        assert found is not None  # it is a table of words
        why = "they are too rare" if learner is not None else "the table does not know them"
        left = f"{found.unknown:,} of {found.known + found.unknown:,} words of the texts have no vector: {why}"
        notes = (left,) if found.unknown else ()
        encoder.name = to_valid_utf8(name or f"{Path(title).stem}-{kind if learner is not None else Path(kind).stem}")
        begin("writing", "")
        model = self._written(encoder, out, owner, kind if learner is not None else to_valid_utf8(Path(kind).name), notes)
        return FittedEmbeddings(model, kind, len(vectors), encoder.dim, len(texts), seconds, notes)

    def distil(
        self,
        model: str | None = None,
        *,
        dim: int = 256,
        vocabulary: str | Path | None = None,
        columns: Sequence[str] = (),
        out: Path | None = None,
        name: str = "",
        owner: str = "local",
        begin: BeginPhase = lambda what, unit: None,
    ) -> FittedEmbeddings:
        """Distil an encoder into a table of words; see :func:`sbert_studio.models.static.distill.distill`.

        Args:
            dim: components of a vector.
            vocabulary: a file of texts whose words get a vector, and which tell how often each occurs.
            columns, out, name, owner, begin: as :meth:`fit`.

        Raises:
            StudioError: there is no such model, file or column; or no word; or ``out`` cannot take a model.
        """
        from ..models.card import CardFacts
        from ..models.static.distill import distill

        if out is not None:
            require_model_folder(out)
        texts: list[str] = []
        if vocabulary is not None:
            texts = self._texts(vocabulary, columns, begin("reading", "bytes"))[1]
        begin("loading the model", "")
        teacher = self.catalog.load(model or self.settings.default_model)
        began = time.perf_counter()
        encoder = distill(teacher, texts, dim=dim, progress=begin("encoding words", "words"))
        seconds = time.perf_counter() - began
        encoder.name = to_valid_utf8(name or f"{Path(teacher.name).name}-static")
        begin("writing", "")
        notes = (encoder.note,)
        facts = CardFacts(title=encoder.name, base_model=encoder.base, tags=("static-embeddings",))
        words = len(encoder.tokens.words())
        written = self._written(encoder, out, owner, STATIC, notes, encoder.card(facts))
        return FittedEmbeddings(written, STATIC, words, encoder.dim, len(texts), seconds, notes)

    def fitted(self, owner: str | None = None) -> list[StaticModelRecord]:
        """The tables of words (of one owner) that were made here, newest first."""
        return list_static_models(self.workspace, owner)

    def delete_fitted(self, model_id: str, owner: str | None = None) -> None:
        """Remove one (of one owner).

        Raises:
            StudioError: there is none.
        """
        delete_static_model(self.workspace, model_id, owner)

    def export_fitted(self, model_id: str, path: Path) -> Path:
        """The folder of one as a zip.

        Raises:
            StudioError: it is gone.
        """
        return write_model_zip(self.workspace, model_id, path)

    def learner(self, kind: str, settings: Mapping[str, Any] | None = None) -> Learner | None:
        """The learner of a kind with its settings; ``None`` of a table that is there.

        Raises:
            StudioError: there is no such kind or setting.
        """
        from ..models.static import LEARNERS, VECTOR_PACKAGES
        from ..registry import parse_params

        known = [*KINDS, *VECTOR_PACKAGES]
        if kind in KINDS:
            found = LEARNERS[KINDS[kind]]
            return found(parse_params(found.Params, settings or {}))
        if kind not in known and Path(kind).suffix.lower() in _TABLES and existing_path(kind) is None:
            raise StudioError(f"there is no file {Path(kind).name!r}", f"check the path, or choose one of {', '.join(known)}")
        if kind not in known and (existing_path(kind) is None or not Path(kind).is_file()):
            raise StudioError(f"there is no kind of word vectors {kind!r}", f"choose one of {', '.join(known)}, or a file of them")
        if settings:
            raise StudioError(f"the vectors of {kind} are learned already", "leave --set out")
        return None

    def _texts(self, file: str | Path, columns: Sequence[str], progress: Progress | None) -> tuple[str, list[str]]:
        """A file's name and its texts that are not blank."""
        from ..data.corpus import find_text_columns

        table = self.read.table(file, progress=progress)
        names = list(columns) or find_text_columns(table)
        if absent := [name for name in names if name not in table.columns]:
            raise StudioError(f"{table.name} has no column {absent[0]!r}", f"choose from {', '.join(table.columns[:20])}")
        texts = [text for name in names for text in table.column(name) if text.strip()]
        if most := self.settings.limits.rows:
            _require_few(len(texts), most)
        return table.name, texts

    def _written(
        self, encoder: WordEncoder, out: Path | None, owner: str, kind: str, notes: tuple[str, ...], card: str | None = None
    ) -> str:
        """Write the encoder to ``out``, or keep it among the models: its folder, or its id."""
        if out is not None:
            encoder.save(out, card=card)
            return str(out)
        self.workspace.require_writable()
        record = StaticModelRecord.new(encoder.name, owner, kind, notes)
        with registered_model(self.workspace, record) as folder:
            encoder.save(folder, card=card)
        return record.id


def _require_few(texts: int, most: int) -> None:
    if texts > most:
        raise StudioError(
            f"these are {texts:,} texts, and here at most {most:,} are read", "take fewer; on a machine of your own there is no limit"
        )
