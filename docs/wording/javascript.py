"""Texts of JavaScript files: string literals, found by a scanner that knows comments and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.wording.templates import has_words, is_prose

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_BEFORE_PATTERN = re.compile(r"(^|[=(,:;!&|?{}\[+>]|\breturn|\btypeof|\bcase)\s*$")


def texts(path: Path, *, literals: str = "prose") -> Iterator[str]:
    """Yield the texts of a file in their order; with ``all`` also single words, which may be names."""
    for text, is_message in _scanned(path.read_text(encoding="utf-8")):
        if has_words(text) if is_message else (literals == "all" or is_prose(text)):
            yield " ".join(text.split())


def _scanned(code: str) -> Iterator[tuple[str, bool]]:
    """Yield strings, and whether each is a message (a template literal with the tag ``t``)."""
    at = 0
    while at < len(code):
        sign = code[at]
        if code.startswith("//", at):
            at = (code.find("\n", at) + 1) or len(code)
        elif code.startswith("/*", at):
            at = code.find("*/", at) + 2
        elif sign in "\"'":
            text, at = _string(code, at)
            yield text, False
        elif sign == "`":
            is_message = code[:at].endswith("t") and not code[at - 2].isalnum()
            text, inner, at = _template(code, at)
            if is_message or not inner:
                yield text, is_message
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


def _template(code: str, at: int) -> tuple[str, list[str], int]:
    """Return the text of a template literal with named placeholders, the code in its holes, and where it ends."""
    at, inner, text = at + 1, [], ""
    while code[at] != "`":
        if code.startswith("${", at):
            end = _closing(code, at + 2)
            inner.append(code[at + 2 : end])
            text, at = f"{text}{{{_name(inner[-1], text)}}}", end + 1
        elif code[at] == "\\":
            text, at = text + _ESCAPES.get(code[at + 1], code[at + 1]), at + 2
        else:
            text, at = text + code[at], at + 1
    return text, inner, at + 1


def _name(expression: str, text: str) -> str:
    """Return a name for a placeholder that ``text`` does not have yet: the first property or variable that the expression reads."""
    found = re.search(r"([A-Za-z_]\w*)(?![\w.(\"'])", re.sub(r"[\"'].*?[\"']", "", expression))
    name, number = found[1] if found else "value", 2
    first = name
    while f"{{{name}}}" in text:
        name, number = f"{first}{number}", number + 1
    return name


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
