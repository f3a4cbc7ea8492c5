"""Data service: read, check, fix and convert files."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..data.corpus import Corpus, FileTexts, corpus_from_table, find_text_columns, texts_of_table
from ..data.documents.passages import TEXT as PASSAGE_COLUMN
from ..data.findings import Finding, Fix
from ..data.language import count_languages
from ..data.loading.hub import fetch_hub_file, is_hub_address
from ..data.loading.table import Table, read_table
from ..data.schema.evidence import EncoderSimilarity, SimilarityFunction
from ..data.schema.inference import infer_schema
from ..data.schema.roles import InferredSchema, Kind, Roles, SchemaOverrides
from ..datasets.search import FoundDataset, find_datasets
from ..errors import StudioError
from ..i18n import _
from ..models.base import Encoder
from ..models.io.digests import find_other_file
from ..models.prompts import column_roles, describe_prompts
from ..progress import Progress, checkpoint
from ..workspace import existing_path
from .documents import DocumentService
from .languages import LanguageService, model_languages
from .questions import OpenQuestionsError
from .resources import Resources, Service
from .training_history import TrainingHistory, describe_overlap

if TYPE_CHECKING:
    from collections import Counter

    import numpy as np

    from ..data.doctor.diagnosis import Diagnosis

NO_MODEL = "none"  # model name for checking a file without a model
_LANGUAGE_COLUMNS = 3
_MAX_KNOWN_TEXTS = 10_000  # texts per encoder whose vectors are kept for the next check: 15 MB at 384 dimensions


class DataService(Service):
    """Reads files into tables and corpora; diagnoses, fixes and converts them."""

    def __init__(self, resources: Resources, languages: LanguageService) -> None:
        super().__init__(resources)
        self.languages, self._history = languages, TrainingHistory(resources)
        self.documents = DocumentService(resources, languages)
        # Vectors of the texts of earlier checks: a file is checked again after each change of its columns. They go with their encoder.
        self._similarities: WeakKeyDictionary[Encoder, EncoderSimilarity] = WeakKeyDictionary()

    def read_table(
        self,
        path: str | Path | Table,
        name: str | None = None,
        progress: Progress | None = None,
        overrides: Roles | SchemaOverrides | None = None,
    ) -> Table:
        """Read a file, a public dataset, or a folder with one known benchmark. A table is returned unchanged.

        Args:
            overrides: the file's encoding, delimiter and header, if set by the user.
        """
        if not isinstance(path, str | Path):
            return path
        max_bytes = self.settings.max_upload_mb << 20
        if is_hub_address(path):
            # The command line uses this machine's Hub token; a visitor of the page sees only public data.
            with fetch_hub_file(path, max_bytes, progress, identity=self.catalog.identity) as (file, title):
                return read_table(file, name=title, max_bytes=max_bytes)
        if (folder := existing_folder(path)) is not None:
            return self._read_benchmark_folder(folder)
        path, options = existing_file(path, full_path=self._resources.allow_folders), dict[str, Any]()
        if self.documents.is_source(path):
            hint = "make pairs from them: sbert-studio pairs DOCUMENTS --out pairs.jsonl"
            raise StudioError(_("{name} contains documents, not a table", name=name or path.name), hint)
        if isinstance(overrides, SchemaOverrides):
            options = {name: getattr(overrides, name) for name in ("encoding", "delimiter", "header")}
        try:
            return read_table(path, name=name, progress=progress, max_bytes=max_bytes, **options)
        except StudioError:
            # A file with only sentences or only scores may be half of a benchmark.
            if (table := self._read_benchmark_file(path)) is None:
                raise
            return table

    def _read_benchmark_folder(self, folder: Path) -> Table:
        found = find_datasets(folder)
        if not found:
            raise _folder_error(folder)
        if len(found) > 1:
            names = ", ".join(one.title for one in found[:8]) + ("…" if len(found) > 8 else "")
            raise StudioError(
                _("{name} contains {found} datasets: {names}", name=folder.name, found=len(found), names=names),
                "specify the file, or the folder, of one of them",
            )
        return self._read_benchmark(found[0])

    def _read_benchmark_file(self, path: Path) -> Table | None:
        for one in find_datasets(path):
            for found in one.subsets.values() or (one,):
                if path in found.files and all(file.is_file() for file in found.files) and len(found.files) > 1:
                    return self._read_benchmark(found)
        return None

    def _read_benchmark(self, benchmark: FoundDataset) -> Table:
        limit, size = self.settings.max_upload_mb, sum(file.stat().st_size for file in benchmark.files if file.is_file())
        if size > limit << 20:
            what = _("the files of {title} exceed the maximum of {limit} MiB", title=benchmark.title, limit=f"{limit:,}")
            raise StudioError(what, "use smaller files")
        return benchmark.table

    def read_corpus(
        self,
        path: str | Path | Table,
        column: str | None = None,
        name: str | None = None,
        progress: Progress | None = None,
        *,
        model: str | None = None,
        passages: bool = False,
    ) -> Corpus:
        """Read a column of texts (by default the most text-like one), with the other columns as fields. Documents become passages.

        Args:
            model: the model whose token limit applies to passages; by default the one for the language of the documents.
            passages: read the rows of a table as documents, too.
        """
        table = self.read_texts_table(path, name, progress, column=column, model=model, passages=passages)
        return corpus_from_table(table, PASSAGE_COLUMN if table.places else column)

    def read_texts(
        self,
        path: str | Path | Table,
        column: str | None = None,
        progress: Progress | None = None,
        *,
        model: str | None = None,
        passages: bool = False,
    ) -> tuple[FileTexts, Table]:
        """Read a column of texts, for files with millions of rows; parameters as for :meth:`read_corpus`. Also return the table."""
        table = self.read_texts_table(path, None, progress, column=column, model=model, passages=passages)
        return texts_of_table(table, PASSAGE_COLUMN if table.places else column), table

    def read_texts_table(
        self,
        path: str | Path | Table,
        name: str | None = None,
        progress: Progress | None = None,
        *,
        column: str | None = None,
        model: str | None = None,
        passages: bool = False,
    ) -> Table:
        """Read a table of texts to explore; parameters as for :meth:`read_corpus`."""
        if isinstance(path, Table):
            return path
        if not passages and not self.documents.is_source(path):
            return self.read_table(path, name, progress)
        if column is not None and not passages:
            raise StudioError("documents have no columns", "omit the column")
        return self.documents.read_passages(path, name=name, column=column, model=model, progress=progress)

    def read_cached_corpus(self, path: Path, column: str | None = None) -> Corpus:
        """Read a corpus that is requested repeatedly, for example by API callers; it is read again only if the file changes."""
        path = existing_file(path, full_path=self._resources.allow_folders)
        state = path.stat()
        key = (str(path), state.st_size, state.st_mtime_ns, column)
        return self._resources.corpora.get(key, lambda: self.read_corpus(path, column), checkpoint)

    def count_languages(self, table: Table) -> Counter[str]:
        """Count the texts of a table by language; see :func:`sbert_studio.data.language.count_languages`."""
        columns = find_text_columns(table)[:_LANGUAGE_COLUMNS]
        return count_languages([text for column in columns for text in table.column(column) if text.strip()])

    def check(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None = None,
        overrides: Roles | SchemaOverrides | None = None,
        model: str | None = None,
        progress: Progress | None = None,
    ) -> Diagnosis:
        """Detect the format of a file and report problems.

        Args:
            overrides: columns set by the user; the rest is detected.
            model: the model to be fine-tuned, which counts tokens and compares texts; with ``none``, or a model that cannot be loaded
                (reported as a finding), only names and values are checked.
            progress: called with the number of rows checked.
        """
        table, dev_table = self.read_table(path, overrides=overrides), None if dev is None else self.read_table(dev)
        name, load_error = self._loadable(model or self.settings.default_model)
        found = self.diagnose(table, overrides, dev_table, name, progress=progress)
        if prompts := self._describe_prompts(found, name):
            found = found.with_finding("info", prompts)
        return (
            found.with_finding("warning", _("checked by names and values only: {load_error}", load_error=load_error))
            if load_error
            else found
        )

    def _describe_prompts(self, diagnosis: Diagnosis, model: str) -> str:
        if model == NO_MODEL or self.catalog.is_cross_encoder(model):
            return ""
        names, encoder = diagnosis.roles.texts, self.catalog.load_vector_encoder(model)
        return describe_prompts(encoder.prompts, encoder.default_prompt, names, column_roles(diagnosis.roles.kind, len(names)))

    def _loadable(self, model: str) -> tuple[str, str]:
        if model.casefold() == NO_MODEL:
            return NO_MODEL, ""
        self.catalog.resolve(model)
        try:
            self.catalog.load_any(model)
        except StudioError as error:
            return NO_MODEL, error.message
        return model, ""

    def diagnose(
        self,
        table: Table,
        overrides: Roles | SchemaOverrides | None,
        dev: Table | None,
        model: str,
        loss: str | None = None,
        progress: Progress | None = None,
        *,
        uses_own_dev: bool = True,
    ) -> Diagnosis:
        """Diagnose a table.

        Args:
            loss: decides between scores and labels if the table has both.
            uses_own_dev: use the validation rows of a table with a column of parts, unless there is a table ``dev``.
        """
        from ..data.doctor.diagnosis import diagnose

        kinds = self.kinds_of_loss(loss)
        if model.casefold() == NO_MODEL:
            reading = overrides if isinstance(overrides, Roles) else infer_schema(table, overrides, kinds)
            return _with_group_findings(diagnose(table, reading, dev, progress=progress, uses_own_dev=uses_own_dev), overrides)
        encoder = None if self.catalog.is_cross_encoder(model) else self.catalog.load_vector_encoder(model)
        counts, max_length = None, None
        if encoder is not None and encoder.tokens is not None:
            counts, max_length = encoder.tokens.count_tokens, encoder.max_length
        similar, note = self._similarity_evidence(table, model, encoder)
        inferred: Roles | InferredSchema = overrides if isinstance(overrides, Roles) else infer_schema(table, overrides, kinds, similar)
        found = diagnose(
            table,
            inferred,
            dev,
            counts,
            max_length,
            languages=model_languages(self.catalog, model),
            multilingual=self.languages.multilingual,
            similar=similar,
            progress=progress,
            uses_own_dev=uses_own_dev,
        )
        return _with_group_findings(found.with_finding("info", note) if note else found, overrides)

    def _similarity_evidence(self, table: Table, model: str, encoder: Encoder | None) -> tuple[SimilarityFunction, str]:
        """Return the similarity used as evidence of column meaning, and a note if it is not that of the model.

        A cross-encoder has no vectors, and a run trained on these rows would only confirm its training.
        """
        default, note = self.settings.default_model, ""
        if encoder is None:
            model, encoder = default, self.catalog.load(default)
        elif trained := next(self._history.find_trained_rows(model, table), None):
            model, encoder = self._history.find_base_model(model) or (default, self.catalog.load(default))
            overlap = describe_overlap(trained[1], table, trained[0])
            note = _(
                "{overlap}, so its similarities are not evidence of what the columns mean: {history} was used instead",
                overlap=overlap,
                history=self._history.title(model),
            )
        known = self._similarities.get(encoder)
        if known is None or known.count > _MAX_KNOWN_TEXTS:
            own = weakref.ref(encoder)  # the dictionary must not keep its key alive

            def encode(texts: list[str]) -> np.ndarray:
                alive = own()
                assert alive is not None
                return alive.for_role("symmetric").encode(texts)

            known = self._similarities[encoder] = EncoderSimilarity(encode, self._history.title(model))
        known.model = self._history.title(model)
        return known, note

    def encoding_seconds(self, model: str, columns: Sequence[Sequence[str]]) -> float:
        """Return the seconds that the model takes to encode columns of texts, by its speed in the checks so far; 0 if unknown."""
        # A cross-encoder has no vectors: the default model was used instead.
        name = self.settings.default_model if self.catalog.is_cross_encoder(model) else model
        known = self._similarities.get(self.catalog.load_vector_encoder(name))
        return 0.0 if known is None else known.seconds_per_character * sum(len(text) for column in columns for text in column)

    def infer_roles(self, table: Table, overrides: Roles | SchemaOverrides | None = None, loss: str | None = None) -> Roles:
        """Infer the roles of the columns that ``overrides`` does not set."""
        if isinstance(overrides, Roles):
            return overrides
        return infer_schema(table, overrides, self.kinds_of_loss(loss)).roles

    @staticmethod
    def kinds_of_loss(loss: object) -> tuple[Kind, ...]:
        """Return the kinds of examples that a loss accepts; empty if the loss is unknown or was not chosen."""
        from ..losses import LOSSES_BY_ARCHITECTURE

        if not isinstance(loss, str):  # unvalidated settings
            return ()
        return next((known[loss].kinds for known in LOSSES_BY_ARCHITECTURE.values() if loss in known), ())

    def fix_all(
        self, path: str | Path | Table, *, dev: str | Path | Table | None = None, overrides: SchemaOverrides, model: str | None = None
    ) -> tuple[Table, SchemaOverrides, tuple[Finding, ...]]:
        """Apply the fixes of all findings.

        Returns:
            The fixed table, the overrides that still apply, and the findings that were fixed, in order.
        """
        from ..data.doctor.fixes import apply_all_fixes

        dev_table = None if dev is None else self.read_table(dev)

        def findings(table: Table, overrides: SchemaOverrides) -> tuple[Finding, ...]:
            found = self.check(table, dev=dev_table, overrides=overrides, model=model)
            if found.questions:
                raise OpenQuestionsError.of_file(table.name, found.questions)
            return found.findings

        return apply_all_fixes(self.read_table(path, overrides=overrides), overrides, findings)

    def convert(
        self, path: str | Path | Table, name: str, overrides: Roles | SchemaOverrides | None = None, model: str | None = None
    ) -> Table:
        """Convert a file's examples to another kind (see :mod:`sbert_studio.data.convert`).

        Raises:
            OpenQuestionsError: a question about the file must be answered first, because a conversion would depend on a guess.
        """
        from ..data.convert import convert_to_table

        table = self.read_table(path)
        found = self.check(table, overrides=overrides, model=model)
        if found.questions:
            raise OpenQuestionsError.of_file(table.name, found.questions)
        return convert_to_table(found.examples, name, table.name, found.dev_examples)

    def fix(self, path: str | Path | Table, fixes: Fix | Iterable[Fix]) -> Table:
        """Apply fixes in order."""
        from ..data.doctor.fixes import apply_fix

        table = self.read_table(path)
        for fix in [fixes] if isinstance(fixes, Fix) else fixes:
            table = apply_fix(table, fix)
        return table


def _with_group_findings(diagnosis: Diagnosis, overrides: Roles | SchemaOverrides | None) -> Diagnosis:
    """Report groups with rows in several parts, as a warning only if the user chose the column; an inferred one may contain topics."""
    if diagnosis.split is None or diagnosis.roles.group is None:
        return diagnosis
    is_chosen = overrides is not None and overrides.group is not None
    return diagnosis.with_findings(*diagnosis.split.report_groups(diagnosis.roles.group, "warning" if is_chosen else "info"))


def existing_folder(path: str | Path) -> Path | None:
    """Return ``path`` if it is an existing folder, else ``None``."""
    found = existing_path(path)
    return found if found is not None and found.is_dir() else None


def existing_file(path: str | Path, *, full_path: bool = False) -> Path:
    """Return ``path`` if it is an existing regular file.

    Args:
        full_path: show the whole path in errors; visitors of a page see only the file name.

    Raises:
        StudioError: the file does not exist or is not a regular file.
    """
    found = existing_path(path)
    if found is not None and found.is_dir():
        raise _folder_error(found)
    name = str(path) if full_path else Path(path).name or str(path)
    if found is None:
        raise StudioError(_("there is no file {name}", name=repr(name[:200])), "check the path, or quote it if it contains spaces")
    if not found.is_file():
        raise StudioError(_("{name} is not a regular file", name=repr(name[:200])), "specify a file: csv, tsv, jsonl, xlsx, parquet or txt")
    return found


def _folder_error(path: Path) -> StudioError:
    return StudioError(_("{name} is a folder", name=path.name or path), "specify a file: csv, tsv, jsonl, xlsx, parquet or txt")


def require_model_folder(out: Path) -> None:
    """Check that a model can be written to ``out``: a new or empty folder, or one that contains only a model written before.

    Raises:
        StudioError: ``out`` is anything else.
    """
    folder, hint = out.expanduser().resolve(), "specify a folder that is new or empty"
    if folder.is_file():
        raise StudioError(_("{name} is a file", name=folder.name), hint)
    if Path.cwd().resolve().is_relative_to(folder) or folder.parent == folder:
        raise StudioError(
            _("the folder {out} is or contains the current folder, and would be replaced", out=out), "specify a new folder, such as model"
        )
    if folder.is_dir() and (other := find_other_file(folder)):
        raise StudioError(_("the folder {name} contains {other}, which would be lost", name=folder.name, other=other), hint)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent)).rmdir()
    except OSError as error:
        raise StudioError(
            _("the folder {out} cannot be created: {strerror}", out=out, strerror=error.strerror), "specify a folder with write permission"
        ) from error
