"""Texts → one ``.npy`` of their vectors: written as it goes under another name, gone on with after whatever ended it.

Blocks of vectors are appended to ``X.npy.part``; ``X.npy.part.json`` says how many rows of it are on the disk, with their checksum, and
what they were made from. Both are flushed every few seconds, so that a process that is killed, or a power cut, costs those seconds. The
file gets its name when it is whole, and whoever opens it maps it into memory. It is written by plain writes all the same: pages that are
mapped for writing count as memory of the process, and a disk that fills up would kill it without a word.
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
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from ..errors import StudioError
from ..models.base import require_finite_vectors
from ..progress import checkpoint
from ..workspace import require_disk_space, write_json
from .jobs import SHARD_ROWS

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from ..data.file_texts import FileTexts
    from ..models.base import Encoder
    from ..progress import Progress

_FORMAT = 1
_BLOCK = SHARD_ROWS  # rows that are encoded together, and lost together
_EVERY = 2.0  # seconds between two flushes
_READ = 1 << 24
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class VectorFileSpec:
    """What a file of vectors is made from; on one machine, with as many threads, it decides every bit.

    Attributes:
        model: the encoder's fingerprint, which tells its precision too; precision: for people.
        rows, dim: the shape.
        texts: the digest of the texts and of where they stand.
        block: how many rows are encoded together.
    """

    model: str
    precision: str
    dim: int
    rows: int
    texts: str
    block: int
    format: int = _FORMAT

    @classmethod
    def of(cls, found: FileTexts, encoder: Encoder, precision: str) -> VectorFileSpec:
        """What the vectors of ``found`` by ``encoder`` are made from."""
        return cls(encoder.fingerprint, precision, encoder.dim, found.rows, found.digest(), _BLOCK)

    @property
    def header(self) -> bytes:
        """What stands before the vectors, as NumPy writes it."""
        found = io.BytesIO()
        told = {"descr": np.lib.format.dtype_to_descr(_FLOAT), "fortran_order": False, "shape": (self.rows, self.dim)}
        np.lib.format.write_array_header_1_0(found, told)
        return found.getvalue()

    def end(self, rows: int) -> int:
        """How many bytes the file has up to a row."""
        return len(self.header) + rows * self.dim * _FLOAT.itemsize

    def difference(self, other: VectorFileSpec) -> str:
        """In words, in what another one differs; nothing where it does not."""
        if self.precision != other.precision:
            return f"in {other.precision}, not {self.precision}"
        if self.model != other.model:
            return "by another model"
        return "" if self == other else "from other rows"


@dataclass(frozen=True)
class WriteSummary:
    """What came of it.

    Attributes:
        resumed: rows that were there already.
        encoded: texts that were encoded now; seconds: what that took.
    """

    resumed: int
    encoded: int
    seconds: float


class _Part:
    """The unfinished file, and the journal of what stands in it."""

    def __init__(self, out: Path, made: VectorFileSpec) -> None:
        self.made, self.path = made, out.with_name(f"{out.name}.part")
        self.journal = out.with_name(f"{out.name}.part.json")
        self.committed, self._last, self._sum = 0, time.monotonic(), 0
        self._was_there = False

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, which nobody else writes meanwhile.

        Raises:
            StudioError: somebody does; or what has its name is no ordinary file.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink() or (self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode)):
            raise StudioError(f"{self.path.name} is there, and is no ordinary file", "name another file to write, or move that one")
        self._was_there = self.path.exists()
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644), "r+b") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise self._taken() from None
                except OSError:  # a disk on the network without locks
                    pass
                if not self.path.exists() or not os.path.samestat(os.fstat(file.fileno()), self.path.stat()):
                    raise self._taken()  # it was whole, and got its name, between the opening and the lock
            yield file

    def _taken(self) -> StudioError:
        return StudioError(f"{self.path.name} is being written by another program", "wait for it, or name another file")

    def begun(self, file: BinaryIO) -> tuple[int, str]:
        """How many rows can be believed; and where there are some that cannot, in what they differ."""
        try:
            told = json.loads(self.journal.read_text(encoding="utf-8"))
            done, checksum, known = int(told.pop("done")), told.pop("checksum", None), VectorFileSpec(**told)
        except FileNotFoundError:
            return 0, f"and ended before its first {self.made.block:,} rows were written" if self._was_there else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return 0, "by another version of this program"
        if other := self.made.difference(known):
            return 0, other
        if (
            not 0 < done <= self.made.rows
            or (done % self.made.block and done < self.made.rows)
            or os.fstat(file.fileno()).st_size < self.made.end(done)
        ):
            return 0, "and what was written is gone"
        if self._summed(file, self.made.end(done)) != checksum:
            self._sum = 0
            return 0, "and what was written is damaged"
        self.committed = done
        return done, ""

    def _summed(self, file: BinaryIO, size: int) -> int:
        """The checksum of the first ``size`` bytes."""
        file.seek(0)
        self._sum = 0
        while size > 0 and (read := file.read(min(size, _READ))):
            self._sum, size = zlib.crc32(read, self._sum), size - len(read)
        return self._sum

    def write(self, file: BinaryIO, data: bytes) -> None:
        """Append."""
        file.write(data)
        self._sum = zlib.crc32(data, self._sum)

    def require_disk(self, file: BinaryIO) -> None:
        """Ask for what the file still lacks; where it is not to be had, what was there stays as it is."""
        there = os.fstat(file.fileno()).st_size
        try:
            require_disk_space(self.path.parent, self.made.end(self.made.rows) - there)
        except StudioError:
            if not there:
                self.remove()
            raise

    def commit(self, file: BinaryIO, done: int, *, now: bool = False) -> None:
        """Have the rows so far on the disk, then say so; every few seconds, unless ``now``."""
        if done > self.committed and (now or time.monotonic() - self._last > _EVERY):
            file.flush()
            os.fsync(file.fileno())
            write_json(self.journal, {**asdict(self.made), "done": done, "checksum": self._sum})
            self.committed, self._last = done, time.monotonic()

    def remove(self) -> None:
        """Leave nothing."""
        for path in (self.path, self.journal):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def write_vectors(
    out: Path,
    made: VectorFileSpec,
    found: FileTexts,
    encoder: Encoder,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> WriteSummary:
    """Write the vectors of ``found`` to ``out``: (rows, dim) float32, NaN where a row has no text.

    Args:
        progress: told how many rows are done, of how many.
        tell: told in words that it goes on with, begins anew or replaces what was there, and what is kept of it where it is stopped.

    Raises:
        StudioError: the disk is too small, another program writes the same file, or a vector is not finite.
    """
    part, say = _Part(out, made), tell or (lambda words: None)
    with part.opened() as file:
        resumed, other = part.begun(file)
        if resumed:
            say(f"{resumed:,} of {made.rows:,} rows were there already: going on from there")
        elif other:
            say(f"{part.path.name} was begun {other}: beginning anew")
        if out.exists():
            say(f"{out.name} is there already, and is replaced once the new vectors are whole")
        part.require_disk(file)
        done, start = resumed, time.perf_counter()
        try:
            file.truncate(made.end(resumed) if resumed else 0)
            file.seek(0, os.SEEK_END)
            if not resumed:
                part.journal.unlink(missing_ok=True)
                part.write(file, made.header)
            for block in _blocks(made, found, resumed, encoder, progress):
                part.write(file, block.tobytes())
                done += len(block)
                part.commit(file, done)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            _kept(part, file, done, say)
            raise
        if fcntl is None:
            file.close()  # Windows renames no open file; elsewhere nobody may take it up before it has its name
        part.path.chmod(0o644)
        part.path.replace(out)
        part.journal.unlink(missing_ok=True)
    encoded = len(found.texts) - int(np.searchsorted(found.places, resumed))
    return WriteSummary(resumed, encoded, time.perf_counter() - start)


def _kept(part: _Part, file: BinaryIO, done: int, say: Callable[[str], None]) -> None:
    """Keep what there is, on a disk that may be full."""
    with suppress(OSError):
        part.commit(file, done, now=True)
    if part.committed:
        say(f"{part.committed:,} of {part.made.rows:,} rows are kept in {part.path.name}: the same command goes on from there")
    else:
        part.remove()


def _blocks(made: VectorFileSpec, found: FileTexts, first: int, encoder: Encoder, progress: Progress | None) -> Iterator[np.ndarray]:
    """The vectors of the rows from ``first`` on, ``made.block`` at a time; each block is encoded by itself."""
    for start in range(first, made.rows, made.block):
        checkpoint()
        stop = min(start + made.block, made.rows)
        low, high = (int(place) for place in np.searchsorted(found.places, (start, stop)))
        block = np.full((stop - start, made.dim), np.nan, _FLOAT)

        def told(texts: int, _: int, start: int = start, stop: int = stop) -> None:
            if progress is not None:
                progress(min(start + texts, stop), made.rows)

        told(0, 0)
        if low < high:
            block[found.places[low:high] - start] = require_finite_vectors(encoder.encode(found.texts[low:high], progress=told))
        yield block
        told(stop - start, 0)
