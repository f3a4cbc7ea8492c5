"""Texts of Python files: messages (``_``, ``ngettext``, ``count``), and literals that reach the page as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.wording.templates import has_words, is_prose

Text = str | tuple[str, str]
"""A text, or one for a single thing and one for several."""
# Arguments that nobody reads, and calls whose words stay in the code.
_SILENT = {
    *("again", "api_name", "api_visibility", "classes", "dtype", "elem_classes", "elem_id", "encoding", "form", "js", "show_progress"),
    *("storage_key", "variant"),
}
_UNSEEN = {
    *("AssertionError", "Fraction", "KeyError", "Literal", "NewType", "NotImplementedError", "OSError", "RuntimeError", "TypeError"),
    *(
        "TypeVar",
        "ValueError",
        "CrossWeightsError",
        "cast",
        "doc",
        "environ",
        "execute",
        "executemany",
        "executescript",
        "getLogger",
        "log",
    ),
    *("logger", "logging", "re", "strftime", "warnings"),
}
_UNREAD_NAMES = {"source"}  # references to papers are the same in every language
_UNREAD_FIELDS = {"annotation", "returns", "slice", "decorator_list", "type_comment"}


def texts(path: Path, *, literals: str = "prose") -> Iterator[Text]:
    """Yield the texts of a file in their order.

    Args:
        literals: which strings that no function marks as messages: ``prose``, ``all`` (also single words, which may be names) or ``none``.
    """
    yield from _walk(ast.parse(path.read_text(encoding="utf-8")), literals)


def _walk(node: ast.AST, literals: str) -> Iterator[Text]:
    message = _message(node) if isinstance(node, ast.Call) else None
    if message is not None:
        yield message
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value and (literals == "all" or (literals == "prose" and is_prose(node.value))):
            yield " ".join(node.value.split())
        return
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _lacks_label(node.value) and literals != "none":
        yield node.target.id.replace("_", " ").capitalize()  # the label of its control
    for child in _children(node, skip_first=message is not None):
        yield from _walk(child, literals)


def _lacks_label(value: ast.expr | None) -> bool:
    """Return True for a setting whose control is called by its name."""
    return isinstance(value, ast.Call) and _called(value) == "setting" and all(one.arg != "label" for one in value.keywords)


def _message(call: ast.Call) -> Text | None:
    words = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    match _called(call), words:
        case "_", [template] if has_words(template):
            return template
        case "ngettext", [single, several]:
            return single, several
        case "count", [noun, *plural]:
            return f"{{n}} {noun}", f"{{n}} {plural[0] if plural else noun + 's'}"
    return None


def _called(node: ast.AST | None) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _children(node: ast.AST, *, skip_first: bool) -> list[ast.AST]:
    """Return what of a node may be read: not conditions, docstrings, errors of programmers, or arguments with the names of things."""
    if isinstance(node, ast.Assert | ast.Compare | ast.JoinedStr) or (isinstance(node, ast.Raise) and _is_unseen(node.exc)):
        return []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return []
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and _UNREAD_NAMES & set(map(ast.unparse, node.targets)):
        return []
    if isinstance(node, ast.Call):
        if _is_unseen(node):
            return []
        own = [] if isinstance(node.func, ast.Name) else [node.func]
        args = [one for one in node.args if not (skip_first and isinstance(one, ast.Constant))]
        return [*own, *args, *(one.value for one in node.keywords if one.arg not in _SILENT)]
    fields = [value for name, value in ast.iter_fields(node) if name not in _UNREAD_FIELDS]
    return [child for value in fields for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]


def _is_unseen(node: ast.AST | None) -> bool:
    if not isinstance(node, ast.Call):
        return False
    func: ast.AST = node.func
    names = []
    while isinstance(func, ast.Attribute):
        names.append(func.attr)
        func = func.value
    if isinstance(func, ast.Name):
        names.append(func.id)
    return bool(_UNSEEN & set(names[-1:] + names[:1]))
