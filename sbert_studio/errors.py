"""The one error that a user can put right. Anything else that is raised is a bug."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

_SHOWN_ROWS = 10
_QUOTED = 80  # characters of what is quoted
_LONGEST = 4_000
_QUOTE = re.compile(r"""(?<![\w=])(['"])([^\n]{121,}?)(\1(?!\w)|$)""", re.MULTILINE)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_WORDS = re.compile(rf"(?:\[Errno|os error) (?:{'|'.join(map(str, _NO_ROOM))})[\])]|\b\d+ requested and \d+ written")
_WORD = re.compile(r"\S{501,}")


class StudioError(Exception):
    """Something the user can mend.

    Args:
        message: what was wrong, without a full stop at the end.
        hint: how to mend it.
        rows: the row numbers at fault, as a spreadsheet would show them (the header is row 1).
    """

    def __init__(self, message: str, hint: str = "", rows: Sequence[int] = ()) -> None:
        self.message, self.hint = in_brief(message), in_brief(hint)
        super().__init__(self.message)
        self.rows = tuple(int(row) for row in rows)

    def __str__(self) -> str:
        """One line: ``what (rows 3, 7). hint: how.`` as the command line prints it after ``error:``."""
        where = f" ({describe_rows(self.rows)})" if self.rows else ""
        how = f" hint: {ended(self.hint)}" if self.hint else ""
        return f"{ended(self.message.rstrip('.') + where)}{how}"


def in_brief(words: str) -> str:
    """A sentence with what it quotes cut to some 80 characters, and written in whole characters, so that it can be sent.

    A quotation of up to 120 characters, and a word of up to 500, such as the path of a file, stay whole.
    """
    words = whole(words)
    if len(words) > _LONGEST:
        words = f"{words[: 3 * _LONGEST // 4]}…{words[-_LONGEST // 4 :]}"
    words = _QUOTE.sub(lambda found: f"{found[1]}{found[2][:_QUOTED]}…{found[1]}", words)
    return _WORD.sub(lambda found: f"{found[0][:_QUOTED]}…", words)


def whole(words: str) -> str:
    """``words`` with a question mark for what cannot be written as UTF-8, as in the name of a file in another encoding."""
    return words.encode("utf-8", "replace").decode("utf-8")


def is_text(words: str) -> bool:
    """Whether ``words`` can be written as UTF-8, as half of a pair of surrogates cannot."""
    try:
        words.encode("utf-8")
    except UnicodeError:
        return False
    return True


def ended(words: str) -> str:
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
    """Whether ``error`` says that no room is left on a disk, or none for this user or file."""
    if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        return True
    # Who copies a folder, or writes safetensors or an array, raises an error that says so in words alone.
    in_words = (isinstance(error, OSError) and error.errno is None) or type(error).__name__ == "SafetensorError"
    return in_words and _IN_WORDS.search(str(error)) is not None


def plainly(error: Exception) -> StudioError | None:
    """What is said to whoever cannot look at this machine where its disk is full or its memory used up; ``None`` of other errors."""
    if is_disk_full(error):
        return StudioError("the disk is full", "make room, then try again")
    if isinstance(error, MemoryError):
        return StudioError("there was not enough memory", "take less at once, or a smaller model")
    return None
