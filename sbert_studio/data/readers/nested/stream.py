"""The elements of one long JSON array, one at a time, so that memory holds no more than one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ....errors import StudioError
from ...cells import LONGEST_CELL

_LARGEST = 32 * LONGEST_CELL
_BLANK = " \t\r\n\ufeff"
Refuse = Callable[[str, int], StudioError]


def elements(pieces: Iterable[str], decoder: json.JSONDecoder, refuse: Refuse) -> Iterator[Any]:
    """The elements of the array that the pieces of a text, put together, hold.

    Args:
        pieces: parts of the text, in order.
        decoder: reads an element.
        refuse: makes an error of what is wrong and the number of the element at fault.

    Raises:
        StudioError: it is not an array, an element is not JSON, or one is beyond all bounds.
    """
    text = _Text(iter(pieces), refuse)
    text.take("[", "it is no array")
    if text.next_mark() != "]":
        while True:
            yield text.value(decoder)
            text.number += 1
            if text.next_mark() != ",":
                break
            text.take(",", "")
    text.take("]", "',' or ']' is missing")
    if text.next_mark():
        raise refuse("something follows the array", text.number)


class _Text:
    """The text from where it has been read to; it grows by pieces as it is needed."""

    def __init__(self, source: Iterator[str], refuse: Refuse) -> None:
        self.source, self.refuse = source, refuse
        self.buffer, self.at, self.number = "", 0, 1

    def next_mark(self) -> str:
        """The next character that is not blank, or ``""`` at the end; it is not taken."""
        while True:
            while self.at < len(self.buffer):
                if self.buffer[self.at] not in _BLANK:
                    return self.buffer[self.at]
                self.at += 1
            if not self.grow():
                return ""

    def take(self, mark: str, otherwise: str) -> None:
        """Go past ``mark``."""
        if self.next_mark() != mark:
            raise self.refuse(otherwise, self.number)
        self.at += 1

    def value(self, decoder: json.JSONDecoder) -> Any:
        """The next value; while it may go on in the next piece, the text grows to twice its length and it is read anew."""
        self.next_mark()
        while True:
            failed = None
            end = len(self.buffer)
            try:
                value, end = decoder.raw_decode(self.buffer, self.at)
            except json.JSONDecodeError as error:
                failed = error
            except RecursionError:
                raise self.refuse("it is nested too deeply", self.number) from None
            if end < len(self.buffer):
                self.at = end
                return value
            held = len(self.buffer) - self.at
            if held > _LARGEST:
                raise self.refuse(f"an element is longer than {_LARGEST:,} characters", self.number)
            if not self.grow(held):
                raise self.refuse(failed.msg if failed else "the array is not closed", self.number)

    def grow(self, by: int = 1) -> bool:
        """Drop what has been read and add pieces of at least ``by`` characters; False at the end of the text."""
        parts, size = [self.buffer[self.at :]], 0
        while size < by and (piece := next(self.source, None)) is not None:
            parts.append(piece)
            size += len(piece)
        self.buffer, self.at = "".join(parts), 0
        return size > 0
