"""Writer of one ``.npy`` file of vectors, resumable; readers can memory-map the finished file.

Blocks of vectors are appended to ``X.npy.part``; the journal ``X.npy.part.json`` records the rows on disk, their checksum, and the inputs
they were computed from. Both are flushed every few seconds, and the finished file is renamed. The writer itself does not memory-map the
file: pages mapped for writing count as memory of the process, and a full disk would kill it with SIGBUS.
"""

from __future__ import annotations

import io
import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..data.corpus import FileTexts
from ..errors import StudioError
from ..i18n import _
from ..models.base import Encoder, require_finite_vectors
from ..progress import Progress, checkpoint
from ..workspace import require_disk_space, write_json
from . import SHARD_ROWS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_FORMAT = 1
_BLOCK = SHARD_ROWS  # rows encoded together
_FLUSH_SECONDS = 2.0
_READ_BYTES = 1 << 24
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class VectorFileSpec:
    """Specification of a vector file; with a given machine and number of threads it determines every bit.

    Attributes:
        model: fingerprint of the encoder, including its precision.
        precision: precision of the encoder, for messages.
        texts: digest of the texts and their rows.
        block: rows encoded together.
    """

    model: str
    precision: str
    dim: int
    rows: int
    texts: str
    block: int
    format: int = _FORMAT

    @classmethod
    def of(cls, texts: FileTexts, encoder: Encoder, precision: str) -> VectorFileSpec:
        """Return the specification for the vectors of ``texts`` computed by ``encoder``."""
        return cls(encoder.fingerprint, precision, encoder.dim, texts.rows, texts.digest(), _BLOCK)

    @property
    def header(self) -> bytes:
        """NumPy's header of the file."""
        buffer = io.BytesIO()
        fields = {"descr": np.lib.format.dtype_to_descr(_FLOAT), "fortran_order": False, "shape": (self.rows, self.dim)}
        np.lib.format.write_array_header_1_0(buffer, fields)
        return buffer.getvalue()

    def end(self, rows: int) -> int:
        """Return the file offset after ``rows`` rows."""
        return len(self.header) + rows * self.dim * _FLOAT.itemsize

    def difference(self, other: VectorFileSpec) -> str:
        """Describe how another specification differs; ``""`` if it is equal."""
        if self.precision != other.precision:
            return _("in {precision}, not {precision2}", precision=other.precision, precision2=self.precision)
        if self.model != other.model:
            return "with a different model"
        return "" if self == other else "from different rows"


@dataclass(frozen=True)
class WriteSummary:
    """Summary of a write.

    Attributes:
        resumed: rows written earlier.
        encoded: texts encoded now, in ``seconds``.
    """

    resumed: int
    encoded: int
    seconds: float


class _PartialFile:
    """The unfinished file and its journal."""

    def __init__(self, out: Path, spec: VectorFileSpec) -> None:
        self.spec, self.path = spec, out.with_name(f"{out.name}.part")
        self.journal = out.with_name(f"{out.name}.part.json")
        self.committed, self._last_flush, self._checksum = 0, time.monotonic(), 0
        self._existed = False

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open and lock the file.

        Raises:
            StudioError: another program writes it, or it is not a regular file.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink() or (self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode)):
            raise StudioError(_("{name} is not a regular file", name=self.path.name), "specify another output file, or move that one")
        self._existed = self.path.exists()
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644), "r+b") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise self._busy() from None
                except OSError:  # a network file system without locks
                    pass
                if not self.path.exists() or not os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    raise self._busy()  # it was finished and renamed between opening and locking
            yield file

    def _busy(self) -> StudioError:
        return StudioError(
            _("{name} is being written by another program", name=self.path.name), "wait until it has finished, or specify another file"
        )

    def resume(self, file: BinaryIO) -> tuple[int, str]:
        """Return the number of valid rows, and the reason if other rows cannot be used."""
        try:
            data = json.loads(self.journal.read_text(encoding="utf-8"))
            done, checksum, known = int(data.pop("done")), data.pop("checksum", None), VectorFileSpec(**data)
        except FileNotFoundError:
            return 0, _("and ended before its first {block} rows were written", block=f"{self.spec.block:,}") if self._existed else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return 0, "by a different version of this program"
        if difference := self.spec.difference(known):
            return 0, difference
        if (
            not 0 < done <= self.spec.rows
            or (done % self.spec.block and done < self.spec.rows)
            or os.fstat(file.fileno()).st_size < self.spec.end(done)
        ):
            return 0, "and its rows are missing"
        if self._compute_checksum(file, self.spec.end(done)) != checksum:
            self._checksum = 0
            return 0, "and its rows are damaged"
        self.committed = done
        return done, ""

    def _compute_checksum(self, file: BinaryIO, size: int) -> int:
        file.seek(0)
        self._checksum = 0
        while size > 0 and (read := file.read(min(size, _READ_BYTES))):
            self._checksum, size = zlib.crc32(read, self._checksum), size - len(read)
        return self._checksum

    def write(self, file: BinaryIO, data: bytes) -> None:
        """Append to the file and its checksum."""
        file.write(data)
        self._checksum = zlib.crc32(data, self._checksum)

    def require_space(self, file: BinaryIO) -> None:
        """Check that the rest of the file fits on the disk; if not, existing rows are kept."""
        size = os.fstat(file.fileno()).st_size
        try:
            require_disk_space(self.path.parent, self.spec.end(self.spec.rows) - size)
        except StudioError:
            if not size:
                self.remove()
            raise

    def commit(self, file: BinaryIO, done: int, *, now: bool = False) -> None:
        """Flush the rows and then the journal, at most every few seconds unless ``now``."""
        if done > self.committed and (now or time.monotonic() - self._last_flush > _FLUSH_SECONDS):
            file.flush()
            os.fsync(file.fileno())
            write_json(self.journal, {**asdict(self.spec), "done": done, "checksum": self._checksum})
            self.committed, self._last_flush = done, time.monotonic()

    def remove(self) -> None:
        """Delete the file and its journal."""
        for path in (self.path, self.journal):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def write_vectors(
    out: Path,
    spec: VectorFileSpec,
    texts: FileTexts,
    encoder: Encoder,
    progress: Progress | None = None,
    on_message: Callable[[str], None] | None = None,
) -> WriteSummary:
    """Write the vectors of ``texts`` to ``out``: (rows, dim) float32, NaN for rows without text.

    Args:
        progress: called with (rows done, rows in total).
        on_message: called with messages on what is resumed, restarted or replaced, and what is kept after an interruption.

    Raises:
        StudioError: the disk is too small, another program writes the same file, or a vector is not finite.
    """
    part, say = _PartialFile(out, spec), on_message or (lambda words: None)
    with part.opened() as file:
        resumed, difference = part.resume(file)
        if resumed:
            say(_("{resumed} of {rows} rows already exist: resuming after them", resumed=f"{resumed:,}", rows=f"{spec.rows:,}"))
        elif difference:
            say(_("{name} was started {difference}: starting over", name=part.path.name, difference=difference))
        if out.exists():
            say(_("{name} already exists and will be replaced once the new vectors are complete", name=out.name))
        part.require_space(file)
        done, start = resumed, time.perf_counter()
        try:
            file.truncate(spec.end(resumed) if resumed else 0)
            file.seek(0, os.SEEK_END)
            if not resumed:
                part.journal.unlink(missing_ok=True)
                part.write(file, spec.header)
            for block in _blocks(spec, texts, resumed, encoder, progress):
                part.write(file, block.tobytes())
                done += len(block)
                part.commit(file, done)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            _keep_partial(part, file, done, say)
            raise
        if fcntl is None:
            file.close()  # Windows cannot rename an open file; elsewhere the lock is held until the rename
        part.path.chmod(0o644)
        part.path.replace(out)
        part.journal.unlink(missing_ok=True)
    encoded = len(texts.texts) - int(np.searchsorted(texts.places, resumed))
    return WriteSummary(resumed, encoded, time.perf_counter() - start)


def _keep_partial(part: _PartialFile, file: BinaryIO, done: int, say: Callable[[str], None]) -> None:
    with suppress(OSError):  # the disk may be full
        part.commit(file, done, now=True)
    if part.committed:
        say(
            _(
                "{committed} of {rows} rows are kept in {name}: run the same command to resume",
                committed=f"{part.committed:,}",
                rows=f"{part.spec.rows:,}",
                name=part.path.name,
            )
        )
    else:
        part.remove()


def _blocks(spec: VectorFileSpec, texts: FileTexts, first: int, encoder: Encoder, progress: Progress | None) -> Iterator[np.ndarray]:
    """Yield the vectors of the rows from ``first`` on in blocks, each encoded separately."""
    for start in range(first, spec.rows, spec.block):
        checkpoint()
        stop = min(start + spec.block, spec.rows)
        low, high = (int(place) for place in np.searchsorted(texts.places, (start, stop)))
        block = np.full((stop - start, spec.dim), np.nan, _FLOAT)

        def report(count: int, _: int, start: int = start, stop: int = stop) -> None:
            if progress is not None:
                progress(min(start + count, stop), spec.rows)

        report(0, 0)
        if low < high:
            block[texts.places[low:high] - start] = require_finite_vectors(encoder.encode(texts.texts[low:high], progress=report))
        yield block
        report(stop - start, 0)
