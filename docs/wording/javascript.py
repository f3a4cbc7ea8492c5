"""The templates of JavaScript files: string literals and template literals, found by a scanner that knows comments and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.wording.templates import Part, spelled, trimmed

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_CHOICE = re.compile(r"""\?\s*("[^"]*"|'[^']*'|`[^`$]*`)\s*:\s*("[^"]*"|'[^']*'|`[^`$]*`)\s*$""")
_BEFORE_PATTERN = re.compile(r"(^|[=(,:;!&|?{}\[+>]|\breturn|\btypeof|\bcase)\s*$")


def templates(path: Path) -> Iterator[str]:
    """Every template of a file, in its order."""
    yield from _scanned(path.read_text(encoding="utf-8"))


def _scanned(code: str) -> Iterator[str]:
    at = 0
    while at < len(code):
        sign = code[at]
        if code.startswith("//", at):
            at = (code.find("\n", at) + 1) or len(code)
        elif code.startswith("/*", at):
            at = code.find("*/", at) + 2
        elif sign in "\"'":
            text, at = _string(code, at)
            yield trimmed(text)
        elif sign == "`":
            parts, inner, at = _template(code, at)
            yield from (trimmed(one) for one in spelled(parts))
            for piece in inner:
                yield from _scanned(piece)
        elif sign == "/" and _BEFORE_PATTERN.search(code[max(0, at - 12) : at]):
            at = _pattern(code, at)
        else:
            at += 1


def _string(code: str, at: int) -> tuple[str, int]:
    mark, at, text = code[at], at + 1, ""
    while code[at] != mark:
        if code[at] == "\\":
            at += 1
            if code[at] == "u":
                text, at = text + chr(int(code[at + 1 : at + 5], 16)), at + 4
            else:
                text += _ESCAPES.get(code[at], code[at])
        else:
            text += code[at]
        at += 1
    return text, at + 1


def _template(code: str, at: int) -> tuple[list[Part], list[str], int]:
    """The parts of a template literal, the code in its holes, and where it ends."""
    at, parts, inner, text = at + 1, [], [], ""
    parts = []
    while code[at] != "`":
        if code.startswith("${", at):
            end = _closing(code, at + 2)
            piece = code[at + 2 : end]
            choice = _CHOICE.search(piece)
            parts += [[text], [choice[1][1:-1], choice[2][1:-1]] if choice else None]
            inner.append(piece[: choice.start()] if choice else piece)
            text, at = "", end + 1
        elif code[at] == "\\":
            text, at = text + _ESCAPES.get(code[at + 1], code[at + 1]), at + 2
        else:
            text, at = text + code[at], at + 1
    return [*parts, [text]], inner, at + 1


def _closing(code: str, at: int) -> int:
    depth = 0
    while True:
        sign = code[at]
        if sign in "\"'":
            _, at = _string(code, at)
            continue
        if sign == "`":
            _, _, at = _template(code, at)
            continue
        if sign == "{":
            depth += 1
        elif sign == "}":
            if not depth:
                return at
            depth -= 1
        at += 1


def _pattern(code: str, at: int) -> int:
    at, inside = at + 1, False
    while inside or code[at] != "/":
        if code[at] == "\\":
            at += 1
        elif code[at] == "[":
            inside = True
        elif code[at] == "]":
            inside = False
        at += 1
    return at + 1
