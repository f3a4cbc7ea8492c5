"""Checks of rows: duplicates, contradictions, leaks, long texts, languages and encoding errors."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...i18n import _
from ..findings import Finding, Fix, count, drop_rows_fix
from ..language import LANGUAGE_NAMES, detect_language, detect_main_language, multilingual_model_hint
from ..split import find_leaks
from .context import CheckContext
from .fixes import remove_markup, repair_mojibake

_FOREIGN_SHARE = 0.2
_LONG_SHARE = 0.05
# Lead bytes of two- and three-byte UTF-8 sequences decoded as Windows-1252 or Latin-1, followed by a continuation byte.
_MOJIBAKE = re.compile(
    "[\u00c2-\u00f4][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
)


def check_duplicates(context: CheckContext) -> Iterator[Finding]:
    """Report rows that repeat an earlier row exactly, or except for case, spacing and punctuation."""
    exact, targets = context.exact_keys, context.examples.targets
    keys = exact
    if targets is not None:
        values = np.unique(targets, return_inverse=True)[1]
        keys = exact * (int(values.max()) + 1) + values
    is_first = np.zeros(len(keys), dtype=bool)
    is_first[np.unique(keys, return_index=True)[1]] = True
    if not is_first.all():
        rows = context.rows(np.flatnonzero(~is_first))
        yield Finding("warning", _("{rows} repeating an earlier row", rows=count(len(rows), "row")), rows, drop_rows_fix(rows))

    def same_target(a: int, b: int) -> bool:
        return targets is None or abs(float(targets[a]) - float(targets[b])) <= context.target_tolerance

    near: list[int] = []
    for indices in _groups(context.folded_keys, np.flatnonzero(is_first)):
        earlier: list[int] = []
        for index in indices.tolist():
            if any(exact[other] != exact[index] and same_target(other, index) for other in earlier):
                near.append(index)
            else:
                earlier.append(index)
    if near:
        rows = context.rows(sorted(near))
        message = _("{rows} repeating an earlier row except for case, spacing or punctuation", rows=count(len(rows), "row"))
        yield Finding("info", message, rows, drop_rows_fix(rows))


def check_contradictions(context: CheckContext) -> Iterator[Finding]:
    """Report identical pairs with different labels, or with scores that differ by more than a fifth of the scale."""
    targets = context.examples.targets
    if targets is None:
        return
    groups = _groups(context.folded_keys, np.arange(len(targets)))
    sets = [context.rows(indices) for indices in groups if float(np.ptp(targets[indices])) > context.target_tolerance]
    if not sets:
        return
    rows = tuple(sorted(row for part in sets for row in part))
    if context.roles.kind == "scored_pairs":
        values = {"column": context.roles.target, "sets": [list(part) for part in sets]}
        fix = Fix("average_scores", "Keep each pair once, with its mean score", values)
        yield Finding("warning", _("{pairs} with contradictory scores", pairs=count(len(sets), "pair")), rows, fix)
        return
    if context.roles.kind == "labelled_texts":
        message = count(len(sets), "text in several categories", "texts in several categories")
    else:
        message = count(len(sets), "pair with contradictory labels", "pairs with contradictory labels")
    yield Finding("warning", message, rows, drop_rows_fix(rows, _("Remove all {rows}", rows=count(len(rows), "row"))))


def check_self_pairs(context: CheckContext) -> Iterator[Finding]:
    """Report texts paired with themselves if the pair carries no information or is marked as dissimilar."""
    kind, texts, targets = context.roles.kind, context.examples.texts, context.examples.targets
    if kind in ("sentences", "labelled_texts"):
        return
    if kind == "triplets":
        indices = [index for index, row in enumerate(zip(*texts, strict=True)) if row[0] in row[2:] or row[1] in row[2:]]
        problem = "whose negative is also the anchor or the positive"
    else:
        indices = [index for index, (a, b) in enumerate(zip(texts[0], texts[1], strict=True)) if a == b]
        problem = "pairing a text with itself"
        if kind != "positive_pairs":
            assert targets is not None
            middle = 0.5 if kind == "scored_pairs" else (len(context.roles.labels) - 1) / 2
            is_ordered = kind == "scored_pairs" or context.roles.ordered
            indices = [index for index in indices if is_ordered and targets[index] < middle]
            problem = "rating a text as dissimilar to itself"
    if indices:
        rows = context.rows(indices)
        yield Finding("warning", _("{rows} {problem}", rows=count(len(rows), "row"), problem=problem), rows, drop_rows_fix(rows))


def check_leaks(context: CheckContext) -> Iterator[Finding]:
    """Report training rows that contain a text of the held-out file, which would inflate the held-out score."""
    if context.dev is None:
        return
    rows = context.rows(np.flatnonzero(find_leaks(context.examples, context.dev)))
    if rows:
        message = _(
            "{rows} of {examples} with a text that is also in the held-out file",
            rows=count(len(rows), "row"),
            examples=f"{len(context.examples):,}",
        )
        yield Finding("warning", message, rows, _drop_unless_all(context, rows))


def check_length(context: CheckContext) -> Iterator[Finding]:
    """Report texts longer than the model's maximum sequence length, and the number of truncated tokens."""
    if context.tokenize is None or context.max_tokens is None:
        return
    limit = context.max_tokens
    # A token has at least one byte, so short texts need not be tokenized; 8 leaves room for special tokens.
    long = sorted({text for column in context.examples.texts for text in column if len(text.encode("utf-8", "replace")) + 8 > limit})
    excess = {text: tokens - limit for text, tokens in zip(long, context.tokenize(long), strict=True) if tokens > limit} if long else {}
    if excess:
        lost = np.array([sum(excess.get(text, 0) for text in row) for row in zip(*context.examples.texts, strict=True)])
        rows = context.rows(np.flatnonzero(lost))
        message = _(
            "{rows} with texts longer than {limit} tokens; {tokens} will be truncated",
            rows=count(len(rows), "row"),
            limit=limit,
            tokens=count(int(lost.sum()), "token"),
        )
        yield Finding("warning" if len(rows) > _LONG_SHARE * len(context.examples) else "info", message, rows)


def check_language(context: CheckContext) -> Iterator[Finding]:
    """Report texts in a language that the model was not trained on, if they make up at least a fifth of the rows."""
    if not context.languages:
        return
    language = detect_main_language([text for column in context.examples.texts for text in column])
    if not language.code or (language.code in context.languages and language.share > 1 - _FOREIGN_SHARE):
        return
    is_foreign = np.zeros(len(context.examples), dtype=bool)
    for column in context.examples.texts:
        is_foreign |= np.array([detect_language(text) not in ("", *context.languages) for text in column], dtype=bool)
    share = is_foreign.mean()
    if share < _FOREIGN_SHARE:
        return
    known = " and ".join(LANGUAGE_NAMES.get(code, code) for code in context.languages)
    hint = _("{multilingual_model_hint}, or train anyway", multilingual_model_hint=multilingual_model_hint(context.multilingual))
    rows = context.rows(is_foreign)
    if share > 0.5:
        yield Finding(
            "warning",
            _("the texts look like {name}, but the model was trained on {known}: {hint}", name=language.name, known=known, hint=hint),
            rows,
        )
    else:
        message = _(
            "{rows} in a language other than {known}, which the model was trained on: {hint}",
            rows=count(len(rows), "row"),
            known=known,
            hint=hint,
        )
        yield Finding("warning", message, rows, drop_rows_fix(rows))


def check_mojibake(context: CheckContext) -> Iterator[Finding]:
    """Report UTF-8 that was decoded as Windows-1252 (``cafÃ©``), and lost characters (U+FFFD)."""
    garbled: set[int] = set()
    lost: set[int] = set()
    columns = []
    for name, column in zip(context.roles.texts, context.examples.texts, strict=True):
        here = [index for index, text in enumerate(column) if _MOJIBAKE.search(text) and repair_mojibake(text) != text]
        lost.update(index for index, text in enumerate(column) if "\ufffd" in text)
        if here:
            columns.append(name)
            garbled.update(here)
    if garbled:
        rows = context.rows(sorted(garbled))
        fix = Fix("repair_text", "Repair these characters", {"columns": columns, "rows": list(rows)})
        yield Finding(
            "warning", _("{rows} with letters garbled by a wrong encoding, such as Ã© for é", rows=count(len(rows), "row")), rows, fix
        )
    if lost:
        rows = context.rows(sorted(lost))
        message = _("{rows} with characters lost to a wrong encoding (�)", rows=count(len(rows), "row"))
        yield Finding("warning", message, rows, _drop_unless_all(context, rows))


def check_markup(context: CheckContext) -> Iterator[Finding]:
    """Report HTML tags and character entities, which are common in help-desk and web exports."""
    found: set[int] = set()
    columns = []
    for name, column in zip(context.roles.texts, context.examples.texts, strict=True):
        here = [index for index, text in enumerate(column) if remove_markup(text) != text]
        if here:
            columns.append(name)
            found.update(here)
    if found:
        rows = context.rows(sorted(found))
        fix = Fix("remove_markup", "Remove markup and entities", {"columns": columns, "rows": list(rows)})
        yield Finding("warning", _("{rows} with HTML in the text, such as <br> or &amp;", rows=count(len(rows), "row")), rows, fix)


def _drop_unless_all(context: CheckContext, rows: tuple[int, ...]) -> Fix | None:
    return drop_rows_fix(rows) if len(rows) < len(context.examples) else None


def _groups(keys: np.ndarray, indices: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the groups of two or more ``indices`` with the same key, each in the order of ``indices``."""
    order = indices[np.argsort(keys[indices], kind="stable")]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        yield order[start : start + size]
