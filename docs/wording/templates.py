"""Which strings of the code are texts that somebody reads."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{2,}")
_CODE = (
    r"^(sb-\S+( sb-\S+)*( |$)|https?://|data:|--|[.*~#/\[(<]|[\w.-]+/|\w+=)",  # a class, an address, an option, a pattern, a tag
    r"=>|</?\w|&\w+;|\\w|\(\?|==|::|\w\[\w+=|\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND) |\{\w+\}/\{",
    r"^[a-z]+(-[a-z0-9]+)+$|^M[\d. -]+|var\(|rgba?\(|px\b|^[a-z-]+\(|^function |\*\.|\.(csv|html|json|npy|zip)$",
    r"^[\w.]+ [|] \w+|^[a-z]\w*_\w+( \w+)*$",  # types, columns
)
_NAME = re.compile(r"^[A-Z0-9_]+$|^[a-z0-9_.-]+$|^[A-Za-z]+[a-z]+[A-Z]\w*$|^\w+\.\w+$|^_\w+$|^\S+[-+:|/]\S*$")
_TITLE = re.compile(r"^[A-Z][a-z]+(-[a-z]+)?$")
_FOREIGN = re.compile(r"[^\W\d_A-Za-z](?!: )")  # a letter of another script, but not a symbol that is explained, such as "λ: …"
PLACEHOLDER = re.compile(r"\{=?\w+\}")


def is_prose(text: str) -> bool:
    """Return True for English words that are no name of the code's own."""
    bare = PLACEHOLDER.sub(" ", text).strip()
    is_code = any(re.search(code, text.strip()) for code in _CODE)
    if not re.search(r"[A-Za-z]{2,}", bare) or _FOREIGN.match(bare) or is_code:
        return False
    if len(_WORD.findall(bare)) > 15 and not re.search(r"[.,:;?]", bare):
        return False  # a list of words
    return not _NAME.match(bare) or bool(_TITLE.match(bare))


def has_words(template: str) -> bool:
    """Return True if there is something to translate besides the placeholders."""
    return re.search(r"[A-Za-z]{2,}|\bs\b", PLACEHOLDER.sub(" ", template)) is not None
