"""The one error that a user can put right. Anything else that is raised is a bug."""

from __future__ import annotations

import errno
import importlib.util
import re
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

from .memory import free_memory

_SHOWN_ROWS = 10
_QUOTED = 80  # characters of what is quoted
_LONGEST = 4_000
_QUOTE = re.compile(r"""(?<![\w=])(['"])([^\n]{121,}?)(\1(?!\w)|$)""", re.MULTILINE)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_WORDS = re.compile(rf"(?:\[Errno|os error) (?:{'|'.join(map(str, _NO_ROOM))})[\])]|\b\d+ requested and \d+ written")
# A library may also be refused because its disk is mounted noexec, or for want of room among the variables of threads.
_NO_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory(?! in static TLS)|could not (?:create|execute) a primitive"
    r"|could not create a memory object|bad_alloc|unable to allocate|can't start new thread|_STATUS_ALLOC_FAILED"
    r"|failed to map segment from shared object(?!: Operation not permitted)",
    re.IGNORECASE,
)
_NOT_LOADED = re.compile(r"Could not find/load shared object file '([^']+)' from resource location: '([\w.]+)'")
_ALLOCATION = re.compile(r"allocate (\d+(?:\.\d+)?) ?([KMGTPE]i?B|bytes)?", re.IGNORECASE)
# What a disk or its owner says no to; a file that is not there is caught where it is named.
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EIO}
_UNREACHABLE = {errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ETIMEDOUT}
# As sockets say it. Whoever waits for a lock, a thread or a cluster raises a TimeoutError too, which has no words or others.
_TIMED_OUT = re.compile(r"(?:_ssl\.c:\d+: )?(?:The (?:\w+ )?operation )?timed out")
_DAMAGED = ("SafetensorError", "BadZipFile", "BadGzipFile", "ArrowInvalid", "zlib.error", "_lzma.LZMAError")
# Of Python, bz2, NumPy and SQLite.
_DAMAGED_WORDS = re.compile(
    r"mmap length is greater than file size|cannot mmap an empty file|Compressed file ended before|^Invalid data stream$"
    r"|^No data left in file$|^EOF: reading array |^Failed to read all data for array"
    r"|database disk image is malformed|file is not a database"
)
_WORD = re.compile(r"\S{501,}")


class StudioError(Exception):
    """Something the user can mend.

    Args:
        message: what was wrong, without a full stop at the end.
        hint: how to mend it.
        rows: the row numbers at fault, as a spreadsheet would show them (the header is row 1).
    """

    def __init__(self, message: str, hint: str = "", rows: Sequence[int] = ()) -> None:
        self.message, self.hint = shorten_quotes(message), shorten_quotes(hint)
        super().__init__(self.message)
        self.rows = tuple(int(row) for row in rows)

    def __str__(self) -> str:
        """One line: ``what (rows 3, 7). hint: how.`` as the command line prints it after ``error:``."""
        where = f" ({describe_rows(self.rows)})" if self.rows else ""
        how = f" hint: {with_full_stop(self.hint)}" if self.hint else ""
        return f"{with_full_stop(self.message.rstrip('.') + where)}{how}"


def shorten_quotes(words: str) -> str:
    """A sentence with what it quotes cut to some 80 characters, and written in whole characters, so that it can be sent.

    A quotation of up to 120 characters, and a word of up to 500, such as the path of a file, stay whole.
    """
    words = to_valid_utf8(words)
    if len(words) > _LONGEST:
        words = f"{words[: 3 * _LONGEST // 4]}…{words[-_LONGEST // 4 :]}"
    words = _QUOTE.sub(lambda found: f"{found[1]}{found[2][:_QUOTED]}…{found[1]}", words)
    return _WORD.sub(lambda found: f"{found[0][:_QUOTED]}…", words)


def to_valid_utf8(words: str) -> str:
    """``words`` with a question mark for what cannot be written as UTF-8, as in the name of a file in another encoding."""
    return words.encode("utf-8", "replace").decode("utf-8")


def is_valid_utf8(words: str) -> bool:
    """Whether ``words`` can be written as UTF-8, as half of a pair of surrogates cannot."""
    try:
        words.encode("utf-8")
    except UnicodeError:
        return False
    return True


def with_full_stop(words: str) -> str:
    """Words with a full stop behind them, unless they end in a sign of their own, as a question does."""
    words = words.rstrip(". ")
    return words if words.endswith(("?", "!", "…", "。", "？", "！")) else f"{words}."


def describe_rows(rows: Sequence[int]) -> str:
    """Row numbers in words, the first ten of many: ``row 3``, ``rows 3, 7 and 12 more``."""
    shown = ", ".join(str(row) for row in rows[:_SHOWN_ROWS])
    rest = len(rows) - _SHOWN_ROWS
    return f"row{'s' if len(rows) != 1 else ''} {shown}" + (f" and {rest} more" if rest > 0 else "")


class DiskFull(StudioError):
    """No space was left on the disk of a run."""


def is_disk_full(error: BaseException) -> bool:
    """Tell if ``error`` says that no room is left on a disk, or none for this user or file."""
    if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        return True
    if _is_of_sqlite(error):
        return "disk is full" in str(error)
    # Who copies a folder, or writes safetensors, a tokenizer or an array, raises an error that says so in words alone.
    in_words = (isinstance(error, OSError) and error.errno is None) or type(error) is Exception or type(error).__name__ == "SafetensorError"
    return in_words and _IN_WORDS.search(str(error)) is not None


def is_out_of_memory(error: BaseException) -> bool:
    """Tell if ``error`` says that the memory is used up: Python's own, or what torch, oneDNN, CUDA, C++ and the system call it."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    if not isinstance(error, RuntimeError | OSError | ImportError):
        return False
    # torch.OutOfMemoryError is a RuntimeError, and says so.
    return _NO_MEMORY.search(str(error)) is not None or _is_too_large_to_load(str(error))


def is_machine_error(error: BaseException) -> bool:
    """Tell if ``error`` is a lack of memory or of room on a disk, so that it says nothing about the file that was read meanwhile."""
    return is_out_of_memory(error) or is_disk_full(error)


def to_user_error(error: BaseException, *, place: bool = False) -> StudioError | None:
    """What is said of an error of the machine rather than of this program; ``None`` of any other.

    The one place where such errors are told apart: memory, disk, permissions, the network, damaged files.

    Args:
        place: name the file, as for whoever sits at this machine; visitors of a page are not told its paths.
    """
    where = _place(error) if place else ""
    if is_disk_full(error):
        return StudioError(f"the disk is full{f' ({where})' if where else ''}", "make room, then try again")
    if is_out_of_memory(error):
        return StudioError(_short_of_memory(error), "lower the batch size, take fewer rows, or choose a smaller model")
    if (isinstance(error, OSError) and error.errno in (_REFUSED | _UNREACHABLE if error.filename else _REFUSED)) or (
        _is_of_sqlite(error) and "disk I/O error" in str(error)
    ):
        said = error.strerror if isinstance(error, OSError) else error
        what = f"{where} cannot be used: {said}" if where else "a file of this machine cannot be used"
        return StudioError(what, "check the path, who may write there, and the room on its disk")
    if is_network_error(error):
        return StudioError(f"the network failed: {_first_line(error)}", "check the connection, then try again")
    if _is_damage(error):
        return StudioError(f"a file is damaged: {_first_line(error)}", "fetch it again, or choose another one")
    return None


def _place(error: BaseException) -> str:
    return str(error.filename2 or error.filename or "") if isinstance(error, OSError) else ""


def _short_of_memory(error: BaseException) -> str:
    """How much was asked for, where the error says it, and how much there is."""
    asked = _ALLOCATION.search(str(error))
    if asked is None:
        return "there was not enough memory"
    unit = 1 << 10 * max(0, " KMGTPE".find((asked[2] or " ")[0].upper()))
    free = free_memory()
    more = f"{float(asked[1]) * unit / 1e9:,.1f}"
    if free is None:
        return f"there was not enough memory: {more} GB more were needed"
    return f"there was not enough memory: {more} GB more were needed, and {free / 1e9:,.1f} GB were free"


def _is_too_large_to_load(words: str) -> bool:
    """Tell if a library that "could not be found or loaded" is there, and larger than the memory that is free."""
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
    """Tell if ``error`` says that another machine cannot be reached, or that the connection to it broke off."""
    if isinstance(error, ConnectionError | socket.gaierror | ssl.SSLError) and not isinstance(error, BrokenPipeError):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return not error.filename  # of a file on a disk of the network it is the disk
    if isinstance(error, TimeoutError):
        return _TIMED_OUT.fullmatch(str(error)) is not None
    name, family = type(error).__name__, type(error).__module__.partition(".")[0]
    if name == "URLError" and isinstance(reason := getattr(error, "reason", None), BaseException):
        return is_network_error(reason)
    if family in ("urllib", "http"):
        return name not in ("URLError", "InvalidURL")
    return family in ("httpx", "httpx2", "httpcore", "requests", "urllib3") and not isinstance(error, ValueError)


def _is_damage(error: BaseException) -> bool:
    name = type(error).__name__
    if name in _DAMAGED or f"{type(error).__module__}.{name}" in _DAMAGED:
        return True
    return (isinstance(error, ValueError | EOFError | OSError) or _is_of_sqlite(error)) and _DAMAGED_WORDS.search(str(error)) is not None


def _is_of_sqlite(error: BaseException) -> bool:
    return type(error).__module__ == "sqlite3"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
