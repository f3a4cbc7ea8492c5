"""Verbs by which text comes in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StudioError
from ..workspace import existing
from .cards import languages_of
from .services import Services

if TYPE_CHECKING:
    from ..data.asked import Asked
    from ..data.corpus import Corpus
    from ..data.doctor import Diagnosis
    from ..data.examples import Roles
    from ..data.findings import Finding, Mend
    from ..data.progress import Progress
    from ..data.tables import Table


class Reading(Services):
    """Files → tables, corpora, diagnoses."""

    def read(self, path: str | Path, name: str | None = None, progress: Progress | None = None, asked: Asked | None = None) -> Table:
        """A file as a table whose rows keep their spreadsheet numbers.

        Args:
            asked: its encoding, its delimiter and whether it has a header, where that was said.

        Raises:
            StudioError: there is no such file, it is too large, or it cannot be read.
        """
        from ..data.tables import read_table

        path = existing_file(path)
        said = {} if asked is None else {"encoding": asked.encoding, "delimiter": asked.delimiter, "header": asked.header}
        return read_table(path, name=name, progress=progress, max_bytes=self.settings.max_upload_mb << 20, **said)  # type: ignore[arg-type]

    def corpus(
        self, path: str | Path | Table, column: str | None = None, name: str | None = None, progress: Progress | None = None
    ) -> Corpus:
        """A column of texts (the one that looks most like text where none is named) with the other columns beside it."""
        from ..data.corpus import corpus_from_table

        return corpus_from_table(self._table(path, name, progress), column)

    def check(
        self,
        path: str | Path | Table,
        *,
        dev: str | Path | Table | None = None,
        roles: Roles | Asked | None = None,
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
        from ..data.doctor import diagnose
        from ..data.evidence import similar_by

        table = self._table(path)
        judged = None if dev is None else self._table(dev)
        name = model or self.settings.default_model
        if name.casefold() == "none":
            return diagnose(table, roles, judged, progress=progress)
        try:
            encoder, languages = self.catalog.load(name), languages_of(self.catalog, name)
        except StudioError as error:
            return diagnose(table, roles, judged, progress=progress).noting("warning", f"checked without a model: {error.message}")
        similar = similar_by(encoder.encode)
        return diagnose(
            table, roles, judged, encoder.tokens.counts, encoder.max_length, languages=languages, similar=similar, progress=progress
        )

    def roles(self, table: Table, asked: Roles | Asked | None = None, objective: str | None = None) -> Roles:
        """What the columns are: as asked, the rest detected; the objective decides between scores and labels where both are there."""
        from ..data.asked import roles_as_asked
        from ..data.examples import Roles
        from ..objectives import OBJECTIVES, PAIR_OBJECTIVES

        if isinstance(asked, Roles):
            return asked
        known = PAIR_OBJECTIVES if objective in PAIR_OBJECTIVES else OBJECTIVES
        return roles_as_asked(table, asked, known[objective].kinds if objective is not None and objective in known else ())

    def heal(
        self, path: str | Path | Table, *, dev: str | Path | Table | None = None, asked: Asked, model: str | None = None
    ) -> tuple[Table, Asked, tuple[Finding, ...]]:
        """The table with every mend applied that its findings offer, what of ``asked`` still holds, and what was mended, in order."""
        from ..data.healing import heal

        judged = None if dev is None else self._table(dev)
        return heal(self._table(path), asked, lambda table, asked: self.check(table, dev=judged, roles=asked, model=model).findings)

    def convert(self, path: str | Path | Table, name: str, roles: Roles | Asked | None = None) -> Table:
        """The file's examples as those of another kind, in a table of their own (see :mod:`sbert_studio.data.conversions`).

        Raises:
            StudioError: there is no such conversion, or it does not fit.
        """
        from ..data.conversions import converted
        from ..data.examples import build_examples

        table = self._table(path)
        return converted(build_examples(table, self.roles(table, roles))[0], name, table.name)

    def mend(self, path: str | Path | Table, mends: Mend | Iterable[Mend]) -> Table:
        """The table with mends applied, in their order."""
        from ..data.findings import Mend
        from ..data.mends import mend

        table = self._table(path)
        for one in [mends] if isinstance(mends, Mend) else mends:
            table = mend(table, one)
        return table

    def _table(self, path: str | Path | Table, name: str | None = None, progress: Progress | None = None) -> Table:
        return self.read(path, name, progress) if isinstance(path, str | Path) else path


def existing_file(path: str | Path) -> Path:
    """``path`` if a file stands there.

    Raises:
        StudioError: nothing does, or a folder.
    """
    found = existing(path)
    if found is not None and found.is_dir():
        raise StudioError(f"{found.name or found} is a folder", "name a file: csv, tsv, jsonl, xlsx, parquet or txt")
    if found is None or not found.is_file():
        raise StudioError(f"there is no file {(Path(path).name or str(path))[:200]!r}", "check the path, or quote it if it holds spaces")
    return found
