"""StudioError, the only error that users can fix, and the conversion of system errors to it. Any other exception is a bug."""

from __future__ import annotations

import errno
import importlib.util
import re
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from .i18n import Message, _, ngettext, with_full_stop
from .memory import free_memory

_MAX_ROWS = 10
_MAX_QUOTE, _MAX_QUOTED = 80, 120  # characters
_MAX_CHARACTERS = 4_000
_QUOTE = re.compile(r"""(?<![\w=])(['"])([^\n]{121,}?)(\1(?!\w)|$)""", re.MULTILINE)
_DISK_FULL_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DISK_FULL = re.compile(rf"(?:\[Errno|os error) (?:{'|'.join(map(str, _DISK_FULL_CODES))})[\])]|\b\d+ requested and \d+ written")
# Excluded: a library on a disk mounted noexec, and static TLS exhaustion.
_OUT_OF_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory(?! in static TLS)|could not (?:create|execute) a primitive"
    r"|could not create a memory object|bad_alloc|unable to allocate|can't start new thread|_STATUS_ALLOC_FAILED"
    r"|failed to map segment from shared object(?!: Operation not permitted)",
    re.IGNORECASE,
)
_NOT_LOADED = re.compile(r"Could not find/load shared object file '([^']+)' from resource location: '([\w.]+)'")
_ALLOCATION = re.compile(r"allocate (\d+(?:\.\d+)?) ?([KMGTPE]i?B|bytes)?", re.IGNORECASE)
# Disk and permission errors. Missing files are reported where their names are checked.
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EIO}
_UNREACHABLE = {errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT}
# Messages of socket errors; a TimeoutError from a lock, thread or cluster has none or another one.
_TIMED_OUT = re.compile(r"(?:_ssl\.c:\d+: )?(?:The (?:\w+ )?operation )?timed out")
_DAMAGED = ("SafetensorError", "BadZipFile", "BadGzipFile", "ArrowInvalid", "zlib.error", "_lzma.LZMAError")
# Messages of Python, bz2, NumPy and SQLite.
_DAMAGED_WORDS = re.compile(
    r"mmap length is greater than file size|cannot mmap an empty file|Compressed file ended before|^Invalid data stream$"
    r"|^No data left in file$|^EOF: reading array |^Failed to read all data for array"
    r"|database disk image is malformed|file is not a database"
)
_WORD = re.compile(r"\S{501,}")


class StudioError(Exception):
    """An error that the user can fix.

    Args:
        message: what is wrong, without a final period.
        hint: how to fix it.
        rows: spreadsheet numbers of the affected rows (the header is row 1).
    """

    def __init__(self, message: str, hint: str = "", rows: Sequence[int] = ()) -> None:
        self.message, self.hint = _(shorten_quotes(message)), _(shorten_quotes(hint))
        super().__init__(self.message)
        self.rows = tuple(int(row) for row in rows)

    def describe(self) -> str:
        """Return the message, and the rows in brackets."""
        return _("{message} ({rows})", message=self.message, rows=describe_rows(self.rows)) if self.rows else self.message

    def __str__(self) -> str:
        """Return a single line, ``what (rows 3, 7). hint: how.``, which the command line prints after ``error:``."""
        where = f" ({describe_rows(self.rows)})" if self.rows else ""
        how = f" hint: {with_full_stop(self.hint)}" if self.hint else ""
        return f"{with_full_stop(self.message.rstrip('.') + where)}{how}"


def shorten_quotes(words: str) -> str:
    """Shorten quotations longer than 120 characters to 80 and words longer than 500; replace characters that are invalid in UTF-8."""
    if isinstance(words, Message):
        return words.map_values(lambda text: _shorten(text, words))
    return _shorten(words)


def _shorten(words: str, whole: str = "") -> str:
    """Shorten ``words``, which is a quotation within ``whole`` unless ``whole`` is empty."""
    words = to_valid_utf8(words)
    if len(words) > _MAX_QUOTED and (f"'{words}'" in whole or f'"{words}"' in whole):
        words = f"{words[:_MAX_QUOTE]}…"
    if len(words) > _MAX_CHARACTERS:
        words = f"{words[: 3 * _MAX_CHARACTERS // 4]}…{words[-_MAX_CHARACTERS // 4 :]}"
    words = _QUOTE.sub(lambda found: f"{found[1]}{found[2][:_MAX_QUOTE]}…{found[1]}", words)
    return _WORD.sub(lambda found: f"{found[0][:_MAX_QUOTE]}…", words)


def to_valid_utf8(words: str) -> str:
    """Replace characters that are invalid in UTF-8 (lone surrogates, as in file names in another encoding) with question marks."""
    return words.encode("utf-8", "replace").decode("utf-8")


def is_valid_utf8(words: str) -> bool:
    """Return True if ``words`` can be encoded as UTF-8 (lone surrogates cannot)."""
    try:
        words.encode("utf-8")
    except UnicodeError:
        return False
    return True


def describe_rows(rows: Sequence[int]) -> str:
    """Return row numbers as text, at most ten: ``row 3``, ``rows 3, 7 and 12 more``."""
    shown = ", ".join(str(row) for row in rows[:_MAX_ROWS])
    rest = len(rows) - _MAX_ROWS
    return (
        ngettext("row {shown} and {rest} more", "rows {shown} and {rest} more", len(rows), shown=shown, rest=rest)
        if rest > 0
        else ngettext("row {shown}", "rows {shown}", len(rows), shown=shown)
    )


class DiskFull(StudioError):
    """The disk that stores the run is full."""


def is_disk_full(error: BaseException) -> bool:
    """Return True if ``error`` indicates a full disk, an exceeded quota or a file size limit."""
    if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _DISK_FULL_CODES):
        return True
    if _is_sqlite_error(error):
        return "disk is full" in str(error)
    # shutil, safetensors, tokenizers and NumPy report it in the message only.
    is_untyped = type(error) is Exception or type(error).__name__ == "SafetensorError"
    has_message_only = is_untyped or (isinstance(error, OSError) and error.errno is None)
    return has_message_only and _DISK_FULL.search(str(error)) is not None


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if ``error`` indicates insufficient memory, as reported by Python, torch, oneDNN, CUDA, C++ or the system."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if not isinstance(error, RuntimeError | OSError | ImportError):
        return False
    # torch.OutOfMemoryError is a RuntimeError with such a message.
    return _OUT_OF_MEMORY.search(str(error)) is not None or _is_too_large_to_load(str(error))


def is_machine_error(error: BaseException) -> bool:
    """Return True if ``error`` is caused by a lack of memory or disk space rather than by the file being read."""
    return is_out_of_memory(error) or is_disk_full(error)


def to_user_error(error: BaseException, *, place: bool = False) -> StudioError | None:
    """Convert a system error (memory, disk, permissions, network, damaged file) to a StudioError; ``None`` for any other error.

    Args:
        place: include the path of the file, which visitors of a shared page must not see.
    """
    where = _place(error) if place else ""
    if is_disk_full(error):
        return StudioError(
            (_("the disk is full ({where})", where=where) if where else _("the disk is full")), "free some disk space, then try again"
        )
    if is_out_of_memory(error):
        return StudioError(_short_of_memory(error), "lower the batch size, use fewer rows, or choose a smaller model")
    if (isinstance(error, OSError) and error.errno in (_REFUSED | _UNREACHABLE if error.filename else _REFUSED)) or (
        _is_sqlite_error(error) and "disk I/O error" in str(error)
    ):
        reason = error.strerror if isinstance(error, OSError) else error
        what = _("{where} cannot be used: {reason}", where=where, reason=reason) if where else "a file on this machine cannot be used"
        return StudioError(what, "check the path, its permissions and the free disk space")
    if is_network_error(error):
        return StudioError(_("the network failed: {first_line}", first_line=_first_line(error)), "check the connection, then try again")
    if _is_damaged_file(error):
        return StudioError(_("a file is damaged: {first_line}", first_line=_first_line(error)), "download it again, or choose another one")
    return None


def _place(error: BaseException) -> str:
    return str(error.filename2 or error.filename or "") if isinstance(error, OSError) else ""


def _short_of_memory(error: BaseException) -> str:
    requested = _ALLOCATION.search(str(error))
    if requested is None:
        return "there was not enough memory"
    unit = 1 << 10 * max(0, " KMGTPE".find((requested[2] or " ")[0].upper()))
    free = free_memory()
    more = f"{float(requested[1]) * unit / 1e9:,.1f}"
    if free is None:
        return _("there was not enough memory: {more} GB more were needed", more=more)
    return _("there was not enough memory: {more} GB more were needed, and {free} GB were free", more=more, free=f"{free / 1e9:,.1f}")


def _is_too_large_to_load(words: str) -> bool:
    """Return True if the error says that a library "could not be found or loaded" but it exists and is larger than the free memory."""
    found = _NOT_LOADED.search(words)
    if found is None:
        return False
    spec = importlib.util.find_spec(found[2].partition(".")[0])
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        library = Path(folder, *found[2].split(".")[1:], found[1])
        if library.is_file():
            free = free_memory()
            return free is not None and free < library.stat().st_size
    return False


def is_network_error(error: BaseException) -> bool:
    """Return True if ``error`` indicates an unreachable host or a broken connection."""
    if isinstance(error, ConnectionError | socket.gaierror | ssl.SSLError) and not isinstance(error, BrokenPipeError):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return not error.filename  # with a file name it is a network disk
    if isinstance(error, TimeoutError):
        return _TIMED_OUT.fullmatch(str(error)) is not None
    name, family = type(error).__name__, type(error).__module__.partition(".")[0]
    if name == "URLError" and isinstance(reason := getattr(error, "reason", None), BaseException):
        return is_network_error(reason)
    if family in ("urllib", "http"):
        return name not in ("URLError", "InvalidURL")
    return family in ("httpx", "httpx2", "httpcore", "requests", "urllib3") and not isinstance(error, ValueError)


def _is_damaged_file(error: BaseException) -> bool:
    name = type(error).__name__
    if name in _DAMAGED or f"{type(error).__module__}.{name}" in _DAMAGED:
        return True
    return (isinstance(error, ValueError | EOFError | OSError) or _is_sqlite_error(error)) and _DAMAGED_WORDS.search(str(error)) is not None


def _is_sqlite_error(error: BaseException) -> bool:
    return type(error).__module__ == "sqlite3"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
