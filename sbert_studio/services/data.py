"""Reading files, samples and model folders."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.schema.overrides import SchemaOverrides
from ..data.schema.roles import Roles
from ..errors import StudioError
from ..progress import checkpoint
from ..workspace import existing_path
from .languages import model_languages
from .questions import OpenQuestionsError
from .resources import Service
from .training_history import describe_overlap, find_base_model, find_trained_rows, model_title

if TYPE_CHECKING:
    from collections import Counter

    from ..data.corpus import Corpus
    from ..data.doctor.diagnosis import Diagnosis
    from ..data.file_texts import FileTexts
    from ..data.findings import Finding, Fix
    from ..data.loading.table import Table
    from ..data.schema.evidence import SimilarityFunction
    from ..data.schema.roles import InferredSchema, Kind
    from ..datasets.search import FoundDataset
    from ..models.base import Encoder
    from ..progress import Progress


def require_model_folder(out: Path) -> None:
    """Find out before long work that the model has nowhere to go: its folder's place is tried.

    Raises:
        StudioError: it cannot be made, is in use, or holds something that is not a model.
    """
    whole, choose = out.expanduser().resolve(), "name a folder that is new, empty or holds a model"
    if whole.is_file():
        raise StudioError(f"{whole.name} is a file", choose)
    if Path.cwd().resolve().is_relative_to(whole) or whole.parent == whole:
        raise StudioError(
            f"the folder {out} is the one you stand in, or holds it, and would be replaced", "name a new folder, such as model"
        )
    if whole.is_dir() and any(whole.iterdir()) and not (whole / "modules.json").is_file() and not (whole / "config.json").is_file():
        raise StudioError(f"the folder {whole.name} holds something that is not a model", choose)
    try:
        whole.parent.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".part-", dir=whole.parent)).rmdir()
    except OSError as error:
        raise StudioError(f"the folder {out} cannot be made: {error.strerror}", "name a folder that you may write") from error


_COLUMNS = 3
NO_MODEL = "none"
"""What is given for a model where a file is to be checked without one."""


class DataService(Service):
    """Files → tables, corpora, diagnoses."""

    def table(
        self,
        path: str | Path | Table,
        name: str | None = None,
        progress: Progress | None = None,
        asked: Roles | SchemaOverrides | None = None,
    ) -> Table:
        """A file, or a public set, as a table whose rows keep their spreadsheet numbers; a folder that holds one known set in several; a
        table as it is.

        Args:
            asked: its encoding, its delimiter and whether it has a header, where that was said.

        Raises:
            StudioError: there is no such file, it is too large, or it cannot be read.
        """
        from ..data.loading.hub import fetch_hub_file, is_hub_address
        from ..data.loading.table import read_table
        from ..data.schema.overrides import SchemaOverrides

        if not isinstance(path, str | Path):
            return path
        if is_hub_address(path):
            most = self.settings.max_upload_mb << 20
            # Who types a command is logged in with what is theirs; a visitor sees what everybody sees.
            with fetch_hub_file(path, most, progress, identity=self.catalog.identity) as (file, called):
                return read_table(file, name=called, max_bytes=most)
        if (folder := existing_folder(path)) is not None:
            return self._set_in(folder)
        path, said = existing_file(path, in_full=self._services.allow_folders), dict[str, Any]()
        if isinstance(asked, SchemaOverrides):
            said = {name: getattr(asked, name) for name in ("encoding", "delimiter", "header")}
        try:
            return read_table(path, name=name, progress=progress, max_bytes=self.settings.max_upload_mb << 20, **said)
        except StudioError:
            if (whole := self._with_its_other_half(path)) is None:
                raise
            return whole

    def _set_in(self, folder: Path) -> Table:
        """The rows of the one known set that lies in a folder, such as the sentences and the gold scores of a year of STS."""
        from ..datasets.search import find_datasets

        found = find_datasets(folder)
        if not found:
            raise _is_folder(folder)
        if len(found) > 1:
            names = ", ".join(one.title for one in found[:8]) + ("…" if len(found) > 8 else "")
            raise StudioError(f"{folder.name} holds {len(found)} sets: {names}", "name the file, or the folder, of one of them")
        return self._of_set(found[0])

    def _with_its_other_half(self, path: Path) -> Table | None:
        """The rows of a file that says nothing by itself, where what it lacks lies beside it: the gold scores of its sentences."""
        from ..datasets.search import find_datasets

        for one in find_datasets(path):
            for found in one.subsets.values() or (one,):
                if path in found.files and all(file.is_file() for file in found.files) and len(found.files) > 1:
                    return self._of_set(found)
        return None

    def _of_set(self, found: FoundDataset) -> Table:
        limit = self.settings.max_upload_mb
        if sum(file.stat().st_size for file in found.files if file.is_file()) > limit << 20:
            raise StudioError(f"the files of {found.title} have more than {limit:,} MiB, as many as are accepted", "give smaller files")
        return found.table

    def corpus(
        self, path: str | Path | Table, column: str | None = None, name: str | None = None, progress: Progress | None = None
    ) -> Corpus:
        """A column of texts (the one that looks most like text where none is named) with the other columns beside it."""
        from ..data.corpus import corpus_from_table

        return corpus_from_table(self.table(path, name, progress), column)

    def texts(self, path: str | Path | Table, column: str | None = None) -> FileTexts:
        """A column of texts (as :meth:`corpus`) without what stands beside it, for files of very many rows."""
        from ..data.file_texts import texts_of_table

        return texts_of_table(self.table(path), column)

    def languages(self, table: Table) -> Counter[str]:
        """Return how many texts of a table are in each language; see :func:`sbert_studio.data.language.count_languages`."""
        from ..data.corpus import find_text_columns
        from ..data.language import count_languages

        return count_languages([text for column in find_text_columns(table)[:_COLUMNS] for text in table.column(column) if text.strip()])

    def known_corpus(self, path: Path, column: str | None = None) -> Corpus:
        """:meth:`corpus` of a file that is asked for again and again, as callers of the API do; it is read anew once it changes."""
        path = existing_file(path, in_full=self._services.allow_folders)
        state = path.stat()
        return self._services.corpora.get(
            (str(path), state.st_size, state.st_mtime_ns, column), lambda: self.corpus(path, column), checkpoint
        )

    def check(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None = None,
        roles: Roles | SchemaOverrides | None = None,
        model: str | None = None,
        progress: Progress | None = None,
    ) -> Diagnosis:
        """What the rows are and what is wrong with them; texts are counted in the tokens of ``model``, and compared by it.

        Args:
            roles: what the columns are, or what of it was chosen by hand; the rest is found out.
            model: the model that is about to be tuned; ``none``, or one that cannot be loaded (which a finding says): names and
                values only.
            progress: told how many rows are looked at.
        """
        table, judged = self.table(path, asked=roles), None if dev is None else self.table(dev)
        name, why_not = self._loadable(model or self.settings.default_model)
        found = self.diagnosed(table, roles, judged, name, progress=progress)
        if prompts := self._prompts(found, name):
            found = found.with_finding("info", prompts)
        return found.with_finding("warning", f"checked by names and values only: {why_not}") if why_not else found

    def _prompts(self, found: Diagnosis, model: str) -> str:
        """Return a sentence on the prompts that a training puts before the texts of each column; empty where there are none."""
        from ..models.prompts import column_roles, describe_prompts

        if model == NO_MODEL or self.catalog.is_cross_encoder(model):
            return ""
        names, encoder = found.roles.texts, self.catalog.load_vector_encoder(model)
        return describe_prompts(encoder.prompts, encoder.default_prompt, names, column_roles(found.roles.kind, len(names)))

    def _loadable(self, model: str) -> tuple[str, str]:
        """A model's name, or ``none`` and why where it cannot be loaded; one that is nowhere is an error."""
        if model.casefold() == NO_MODEL:
            return NO_MODEL, ""
        self.catalog.resolve(model)
        try:
            self.catalog.load_any(model)
        except StudioError as error:
            return NO_MODEL, error.message
        return model, ""

    def diagnosed(
        self,
        table: Table,
        roles: Roles | SchemaOverrides | None,
        dev: Table | None,
        model: str,
        objective: str | None = None,
        progress: Progress | None = None,
    ) -> Diagnosis:
        """What a table is and what is wrong with it; ``objective`` decides between scores and labels where both are there."""
        from ..data.doctor.diagnosis import diagnose
        from ..data.schema.inference import infer_schema
        from ..data.schema.roles import Roles

        kinds = self.kinds_of(objective)
        if model.casefold() == NO_MODEL:
            return diagnose(table, roles if isinstance(roles, Roles) else infer_schema(table, roles, kinds), dev, progress=progress)
        encoder = None if self.catalog.is_cross_encoder(model) else self.catalog.load_vector_encoder(model)
        tokens, most = (
            (encoder.tokens.count_tokens, encoder.max_length) if encoder is not None and encoder.tokens is not None else (None, None)
        )
        similar, note = self._witness(table, model, encoder)
        read: Roles | InferredSchema = roles if isinstance(roles, Roles) else infer_schema(table, roles, kinds, similar)
        languages = model_languages(self.catalog, model)
        found = diagnose(
            table, read, dev, tokens, most, languages=languages, multilingual=self.multilingual, similar=similar, progress=progress
        )
        return found.with_finding("info", note) if note else found

    def _witness(self, table: Table, model: str, encoder: Encoder | None) -> tuple[SimilarityFunction, str]:
        """(how alike texts are, why not by the model itself): beside a cross-encoder, which reads pairs, by the model that the program
        came with; and by what a run's model was before it was tuned on these rows, which would tell what it was taught."""
        from ..data.schema.evidence import EncoderSimilarity

        default = self.settings.default_model
        if encoder is None:
            return EncoderSimilarity(self.catalog.load(default).for_role("symmetric").encode, model_title(lambda: self.store, default)), ""
        found = next(find_trained_rows(lambda: self.store, self.workspace, model, table), None)
        if found is None:
            return EncoderSimilarity(encoder.for_role("symmetric").encode, model_title(lambda: self.store, model)), ""
        name, before = find_base_model(lambda: self.store, self.workspace, self.catalog, model) or (default, self.catalog.load(default))
        (run, rows), asked = found, model_title(lambda: self.store, name)
        note = f"{describe_overlap(rows, table, run)}, so how it orders them says nothing of what more they can teach it: {asked} was asked instead"
        return EncoderSimilarity(before.for_role("symmetric").encode, asked), note

    def roles(self, table: Table, asked: Roles | SchemaOverrides | None = None, objective: str | None = None) -> Roles:
        """What the columns are: as asked, the rest detected; the objective decides between scores and labels where both are there."""
        from ..data.schema.inference import infer_schema
        from ..data.schema.roles import Roles

        if isinstance(asked, Roles):
            return asked
        return infer_schema(table, asked, self.kinds_of(objective)).roles

    @staticmethod
    def kinds_of(objective: str | None) -> tuple[Kind, ...]:
        """The kinds of examples that an objective learns from; none where it is not said, or not known."""
        from ..losses import LOSSES_BY_ARCHITECTURE

        if not isinstance(objective, str):  # from settings that nothing has looked at yet
            return ()
        return next((known[objective].kinds for known in LOSSES_BY_ARCHITECTURE.values() if objective in known), ())

    def fix_all(
        self, path: str | Path | Table, *, dev: str | Path | Table | None = None, asked: SchemaOverrides, model: str | None = None
    ) -> tuple[Table, SchemaOverrides, tuple[Finding, ...]]:
        """Apply the fixes of all findings. Return the table, what of ``asked`` still applies, and the fixed findings in order.

        Raises:
            Unanswered: something about the file is to be asked first.
        """
        from ..data.doctor.fixes import apply_all_fixes

        judged = None if dev is None else self.table(dev)

        def findings(table: Table, asked: SchemaOverrides) -> tuple[Finding, ...]:
            found = self.check(table, dev=judged, roles=asked, model=model)
            if found.questions:
                raise OpenQuestionsError.of_file(table.name, found.questions)
            return found.findings

        return apply_all_fixes(self.table(path, asked=asked), asked, findings)

    def convert(self, path: str | Path | Table, name: str, roles: Roles | SchemaOverrides | None = None, model: str | None = None) -> Table:
        """The file's examples as those of another kind, in a table of their own (see :mod:`sbert_studio.data.convert`).

        Raises:
            Unanswered: something about the file is to be asked first: a conversion would make of a guess what nobody can see any more.
            StudioError: there is no such conversion, or it does not fit.
        """
        from ..data.convert import convert_to_table

        table = self.table(path)
        found = self.check(table, roles=roles, model=model)
        if found.questions:
            raise OpenQuestionsError.of_file(table.name, found.questions)
        return convert_to_table(found.examples, name, table.name)

    def fix(self, path: str | Path | Table, fixes: Fix | Iterable[Fix]) -> Table:
        """Return the table with fixes applied in order."""
        from ..data.doctor.fixes import apply_fix
        from ..data.findings import Fix

        table = self.table(path)
        for one in [fixes] if isinstance(fixes, Fix) else fixes:
            table = apply_fix(table, one)
        return table


def existing_folder(path: str | Path) -> Path | None:
    """``path`` if a folder stands there, else ``None``."""
    found = _existing(path)
    return found if found is not None and found.is_dir() else None


def existing_file(path: str | Path, *, in_full: bool = False) -> Path:
    """``path`` if a file stands there.

    Args:
        in_full: name the path as it was given, and not its last part alone, for whoever sits at this machine.

    Raises:
        StudioError: nothing does, or a folder, or what is no file, such as a device.
    """
    found = _existing(path)
    if found is not None and found.is_dir():
        raise _is_folder(found)
    name = str(path) if in_full else Path(path).name or str(path)
    if found is None:
        raise StudioError(f"there is no file {name[:200]!r}", "check the path, or quote it if it holds spaces")
    if not found.is_file():
        raise StudioError(f"{name[:200]!r} is no ordinary file", "name a file: csv, tsv, jsonl, xlsx, parquet or txt")
    return found


def _is_folder(path: Path) -> StudioError:
    return StudioError(f"{path.name or path} is a folder", "name a file: csv, tsv, jsonl, xlsx, parquet or txt")


def _existing(path: str | Path) -> Path | None:
    """Return the file or folder at ``path``; of a folder that is laid out like a dataset of BEIR, the file of its texts."""
    found = existing_path(path)
    corpus = found / "corpus.jsonl" if found is not None else None
    return corpus if corpus is not None and corpus.is_file() else found
