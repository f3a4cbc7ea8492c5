"""The templates of Python files: string literals, f-strings, and what is put together by ``+``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.wording.templates import Part, spelled, trimmed

# Arguments that nobody reads, and calls whose words stay in the code.
_SILENT = {
    *(
        "again",
        "api_name",
        "api_visibility",
        "classes",
        "elem_classes",
        "elem_id",
        "encoding",
        "form",
        "js",
        "show_progress",
        "storage_key",
    ),
    "variant",
}
_UNSEEN = {
    *(
        "AssertionError",
        "Fraction",
        "KeyError",
        "Literal",
        "NewType",
        "NotImplementedError",
        "OSError",
        "RuntimeError",
        "TypeError",
        "TypeVar",
    ),
    *("ValueError", "CrossWeightsError", "cast", "environ", "execute", "executemany", "executescript", "getLogger", "log", "logger"),
    *("logging", "re", "strftime", "warnings"),
}


def templates(path: Path) -> Iterator[str]:
    """Every template of a file, one after the other, in its order."""
    yield from _walked(ast.parse(path.read_text(encoding="utf-8")))


def _walked(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assert | ast.Compare) or (isinstance(node, ast.Raise) and _unseen(node.exc)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    if _is_literal(node):
        yield from (text for one in spelled(_parts(node)) if (text := trimmed(one)))
        yield from _within(node)
        return
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_setting(node.value):
        yield node.target.id.replace("_", " ").capitalize()  # the label of its control
    for child in _call(node) if isinstance(node, ast.Call) else _children(node):
        yield from _walked(child)
    if isinstance(node, ast.Call):
        yield from _counted(node)


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_text(node)
    )


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "slice", "decorator_list", "type_comment"}:
            yield from (child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST))


def _call(node: ast.Call) -> list[ast.AST]:
    """What of a call may be read: its arguments, unless they are for the log, a pattern or a programmer."""
    if _unseen(node):
        return []
    own = [] if isinstance(node.func, ast.Name) else [node.func]
    return [*own, *node.args, *(keyword.value for keyword in node.keywords if keyword.arg not in _SILENT)]


def _counted(node: ast.Call) -> Iterator[str]:
    """``count(n, "row")`` says "1 row" or "3 rows"."""
    nouns = [each.value for each in node.args[1:] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    if isinstance(node.func, ast.Name) and node.func.id == "count" and nouns:
        yield from (f"{{0}} {noun}" for noun in (nouns[0], nouns[1] if len(nouns) > 1 else f"{nouns[0]}s"))


def _unseen(node: ast.AST | None) -> bool:
    """Whether a call's words are for the log, a pattern or a programmer."""
    if not isinstance(node, ast.Call):
        return False
    func = node.func
    names = []
    while isinstance(func, ast.Attribute):
        names.append(func.attr)
        func = func.value
    if isinstance(func, ast.Name):
        names.append(func.id)
    return bool(_UNSEEN & set(names[-1:] + names[:1]))


def _is_setting(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setting"


def _is_text(node: ast.AST) -> bool:
    """Whether one of the parts that are added is a literal."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _parts(node: ast.AST) -> list[Part]:
    if isinstance(node, ast.Constant):
        return [[node.value]] if isinstance(node.value, str) else [[]] if node.value is None else [None]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in _parts(value)]
    if isinstance(node, ast.FormattedValue):
        return _parts(node.value) if isinstance(node.value, ast.IfExp) and node.conversion < 0 else [None]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    if isinstance(node, ast.IfExp):
        found = [*_variants(node.body), *_variants(node.orelse)]
        return [found]
    return [None]


def _variants(node: ast.AST) -> list[str]:
    """What one side of a condition can say; its holes are numbered with those around it."""
    import re

    if isinstance(node, ast.Constant | ast.JoinedStr | ast.IfExp) or (isinstance(node, ast.BinOp) and _is_text(node)):
        return [re.sub(r"\{\d+\}", "\0", one) for one in spelled(_parts(node))]
    return ["\0"]


def _within(node: ast.AST) -> Iterator[str]:
    """What stands in the holes of a literal may be a literal itself."""
    if isinstance(node, ast.FormattedValue):
        yield from _inside(node.value)
    elif isinstance(node, ast.JoinedStr):
        for value in node.values:
            yield from _within(value)
    elif isinstance(node, ast.BinOp):
        for side in (node.left, node.right):
            yield from _within(side) if isinstance(side, ast.JoinedStr | ast.BinOp | ast.Constant) else _inside(side)


def _inside(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        for side in (node.body, node.orelse):
            if isinstance(side, ast.JoinedStr | ast.BinOp):
                yield from _within(side)
            elif not isinstance(side, ast.Constant):
                yield from _inside(side)
    else:
        yield from _walked(node)
