"""A template is what one literal of the code can say, such as ``{0} of {1} rows``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

_MOST = 32  # variants of one literal; beyond them what may differ is filled in
_HOLE = "\0"
_WORD = re.compile(r"[^\W\d_]{2,}")
_CODE = (
    r"^(sb-\S+( sb-\S+)*( |$)|https?://|data:|--|[.*~#/\[(<]|\{(?!\d)|[\w.-]+/|\w+=)",  # a class, an address, an option, a pattern, a tag
    r"=>|</?\w|&\w+;|\\w|\(\?|==|::|\w\[\w+=|\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND) |\{\w+\}/\{",
    r"^[a-z]+(-[a-z0-9]+)+$|^M[\d. -]+|var\(|rgba?\(|px\b|^[a-z-]+\(|^function |\*\.|\.(csv|html|json|npy|zip)$|\{[a-z]",
    r"^[\w.]+ [|] \w+|^[a-z]\w*_\w+( \w+)*$",  # types, columns
)
_NAME = re.compile(r"^[A-Z0-9_]+$|^[a-z0-9_.-]+$|^[A-Za-z]+[a-z]+[A-Z]\w*$|^\w+\.\w+$|^_\w+$|^\S+[-+:|/]\S*$")
_TITLE = re.compile(r"^[A-Z][a-z]+(-[a-z]+)?$")

# What a part of a literal may be: one of several texts. ``None`` stands for what only the running program knows.
Part = Sequence[str] | None


def spelled(parts: Iterable[Part]) -> list[str]:
    """Every template that a literal with these parts can be."""
    kept: list[Sequence[str]] = [[_HOLE] if part is None else part for part in parts]
    while _count(kept) > _MOST:
        kept = [[_HOLE] if len(part) == max(map(len, kept)) else part for part in kept]
    return list(dict.fromkeys(_numbered("".join(one)) for one in product(*kept)))


def trimmed(template: str) -> str:
    """A template as the catalogue holds it: without spaces around it, or two in a row."""
    return " ".join(template.split())


def is_prose(template: str) -> bool:
    """Whether somebody may read it: English words, and no name of the code's own."""
    template = template.strip()
    bare = re.sub(r"\{\d+\}", " ", template).strip()
    if (
        not re.search(r"[A-Za-z]{2,}", bare)
        or (not bare[0].isascii() and bare[0].isalpha())
        or any(re.search(code, template) for code in _CODE)
    ):
        return False
    if len(_WORD.findall(bare)) > 15 and not re.search(r"[.,:;?]", bare):
        return False  # a list of words
    if template != bare:  # something is filled in
        return " " in template
    return not _NAME.match(bare) or bool(_TITLE.match(bare))


def _count(parts: Sequence[Sequence[str]]) -> int:
    count = 1
    for part in parts:
        count *= len(part)
    return count


def _numbered(text: str) -> str:
    pieces = re.sub(f"{_HOLE}+", _HOLE, text).split(_HOLE)
    return "".join(piece + (f"{{{at}}}" if at < len(pieces) - 1 else "") for at, piece in enumerate(pieces))
