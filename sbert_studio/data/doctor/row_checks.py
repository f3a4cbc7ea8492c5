"""Check rows: duplicates, contradictions, leaks, long texts, languages and encoding damage; and the context shared by all checks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...i18n import _, ngettext
from ..examples import Examples
from ..findings import Finding, Fix, Severity, count, drop_rows_fix
from ..language import LANGUAGE_NAMES, detect_language, detect_main_language, multilingual_model_hint
from ..loading.table import Table
from ..schema.labels import inference_class
from ..schema.roles import Roles
from ..split import find_leaks
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
    yield from context.report("warning", "{rows} repeating an earlier row", np.flatnonzero(~is_first))

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
    yield from context.report("info", "{rows} repeating an earlier row except for case, spacing or punctuation", sorted(near))


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
        message = ngettext(
            "{n} row whose negative is also the anchor or the positive",
            "{n} rows whose negative is also the anchor or the positive",
            len(indices),
        )
    else:
        indices = [index for index, (a, b) in enumerate(zip(texts[0], texts[1], strict=True)) if a == b]
        message = ngettext("{n} row pairing a text with itself", "{n} rows pairing a text with itself", len(indices))
        if kind != "positive_pairs":
            assert targets is not None
            middle = 0.5 if kind == "scored_pairs" else (len(context.roles.labels) - 1) / 2
            is_ordered = kind == "scored_pairs" or context.roles.ordered
            indices = [index for index in indices if is_ordered and targets[index] < middle]
            message = ngettext(
                "{n} row rating a text as dissimilar to itself", "{n} rows rating a text as dissimilar to itself", len(indices)
            )
    if indices:
        rows = context.rows(indices)
        yield Finding("warning", message, rows, drop_rows_fix(rows))


def check_leaks(context: CheckContext) -> Iterator[Finding]:
    """Report training rows that contain a text of the held-out file, which would inflate the held-out score."""
    if context.dev is None:
        return
    leaks = np.flatnonzero(find_leaks(context.examples, context.dev))
    message = "{rows} of {examples} with a text that is also in the held-out rows"
    yield from context.report("warning", message, leaks, context.drop_unless_all, examples=f"{len(context.examples):,}")


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
        message = "{rows} with texts longer than {limit} tokens; {tokens} will be cut off"
        severity: Severity = "warning" if np.count_nonzero(lost) > _LONG_SHARE * len(lost) else "info"
        tokens = count(int(lost.sum()), "token")
        yield from context.report(severity, message, np.flatnonzero(lost), None, limit=limit, tokens=tokens)


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
    if share > 0.5:
        message = "the texts look like {name}, but the model was trained on {known}: {hint}"
        yield from context.report("warning", message, is_foreign, None, name=language.name, known=known, hint=hint)
    else:
        message = "{rows} in a language other than {known}, which the model was trained on: {hint}"
        yield from context.report("warning", message, is_foreign, known=known, hint=hint)


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
    message = "{rows} with letters garbled by a wrong encoding, such as Ã© for é"
    yield from context.report("warning", message, sorted(garbled), _change_texts("repair_text", "Repair these characters", columns))
    yield from context.report("warning", "{rows} with characters lost to a wrong encoding (�)", sorted(lost), context.drop_unless_all)


def check_markup(context: CheckContext) -> Iterator[Finding]:
    """Report HTML tags and character entities, which are common in help-desk and web exports."""
    found: set[int] = set()
    columns = []
    for name, column in zip(context.roles.texts, context.examples.texts, strict=True):
        here = [index for index, text in enumerate(column) if remove_markup(text) != text]
        if here:
            columns.append(name)
            found.update(here)
    message = "{rows} with HTML in the text, such as <br> or &amp;"
    yield from context.report("warning", message, sorted(found), _change_texts("remove_markup", "Remove markup and entities", columns))


def _change_texts(name: str, label: str, columns: Sequence[str]) -> Callable[[tuple[int, ...]], Fix]:
    return lambda rows: Fix(name, label, {"columns": list(columns), "rows": list(rows)})


def _groups(keys: np.ndarray, indices: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the groups of two or more ``indices`` with the same key, each in the order of ``indices``."""
    order = indices[np.argsort(keys[indices], kind="stable")]
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        yield order[start : start + size]


_SCORE_TOLERANCE = 0.2
_NON_WORD = re.compile(r"[\W_]+")
# A translation table by which fold_texts folds ASCII texts; NUL separates joined texts.
_FOLD_ASCII = bytes(ord(sign.lower()) if (sign := chr(code)).isalnum() or not code else ord(" ") for code in range(128)) + bytes(128)


@dataclass(frozen=True)
class CheckContext:
    """A table with its roles and examples, plus information on the model and the held-out file.

    Attributes:
        table: the file as read.
        roles: the roles of its columns.
        examples: its usable rows.
        dev: the examples of the held-out file, if any.
        tokenize: returns the number of tokens of each text, including special tokens.
        max_tokens: the maximum sequence length of the model.
        languages: the ISO 639-1 codes of the model's languages; None: unknown or all.
        multilingual: a multilingual model that needs no download; empty if none is available.
    """

    table: Table
    roles: Roles
    examples: Examples
    dev: Examples | None = None
    tokenize: Callable[[Sequence[str]], list[int]] | None = None
    max_tokens: int | None = None
    languages: tuple[str, ...] | None = None
    multilingual: str = ""

    @property
    def is_directed(self) -> bool:
        """True if (a, b) and (b, a) are different examples, as in entailment and triplets but not in similarity."""
        if self.roles.kind == "labelled_pairs":
            return any(inference_class(label) == "entailment" for label in self.roles.labels) or "entailment" in self.roles.note
        return self.roles.kind in ("triplets", "sentences", "labelled_texts")

    @property
    def target_tolerance(self) -> float:
        """Maximum difference between two targets that agree: a fifth of the scale for scores, 0 for classes."""
        return _SCORE_TOLERANCE if self.roles.kind == "scored_pairs" else 0.0

    @property
    def all_rows(self) -> tuple[int, ...]:
        return tuple(self.examples.lines.tolist())

    def rows(self, indices: np.ndarray | Sequence[int]) -> tuple[int, ...]:
        return tuple(self.examples.lines[np.asarray(indices)].tolist()) if len(indices) else ()

    def report(
        self,
        severity: Severity,
        template: str,
        indices: np.ndarray | Sequence[int],
        fix: Callable[[tuple[int, ...]], Fix | None] | None = drop_rows_fix,
        **values: object,
    ) -> Iterator[Finding]:
        """Yield a finding about the examples at ``indices`` (positions or a mask), if there are any.

        Args:
            template: the message, with ``{rows}`` for their number and other ``values``.
            fix: returns the fix, given the row numbers.
        """
        if rows := self.rows(indices):
            yield Finding(severity, _(template, rows=count(len(rows), "row"), **values), rows, fix(rows) if fix else None)

    def drop_unless_all(self, rows: tuple[int, ...]) -> Fix | None:
        """Return the fix that drops the rows, unless no row would be left."""
        return drop_rows_fix(rows) if len(rows) < len(self.examples) else None

    @cached_property
    def exact_keys(self) -> np.ndarray:
        """(n,) int64 keys; equal for examples with identical texts."""
        return self._keys(lambda texts: texts)

    @cached_property
    def folded_keys(self) -> np.ndarray:
        """(n,) int64 keys; equal for examples whose texts differ only in case, spacing or punctuation."""
        return self._keys(fold_texts)

    def _keys(self, normalize: Callable[[Sequence[str]], Sequence[str]]) -> np.ndarray:
        columns = self.examples.texts
        names: dict[str, int] = {}
        texts = list(dict.fromkeys(text for column in columns for text in column))
        code = {text: names.setdefault(name, len(names)) for text, name in zip(texts, normalize(texts), strict=True)}
        codes = np.array([[code[text] for text in column] for column in columns], dtype=np.int64)
        if not self.is_directed:
            codes.sort(axis=0)
        key: np.ndarray = codes[0]
        for other in codes[1:]:
            key = np.unique(key * len(names) + other, return_inverse=True)[1]
        return key


def fold_text(text: str) -> str:
    """Normalize case, punctuation, character width and spacing."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _NON_WORD.sub(" ", text.casefold()).strip() or text


def fold_texts(texts: Sequence[str]) -> list[str]:
    """Apply :func:`fold_text` to each text, processing ASCII texts in a single pass. Texts never contain NUL, which the readers remove."""
    folded = [text if text.isascii() else fold_text(text) for text in texts]
    places = [place for place, text in enumerate(texts) if text.isascii()]
    joined = "\0".join([texts[place] for place in places]).encode("ascii").translate(_FOLD_ASCII).decode("ascii")
    while "  " in joined:
        joined = joined.replace("  ", " ")
    for place, part in zip(places, joined.split("\0"), strict=False):
        folded[place] = part.strip() or texts[place]
    return folded
