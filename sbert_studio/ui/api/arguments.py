"""Arguments that several endpoints share: what the caller knows about a file and its columns."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path

from ...data.schema.roles import SchemaOverrides, parse_overrides
from ...errors import StudioError
from ...services.questions import OpenQuestionsError, describe_answers
from ...services.questions import parse_overrides as typed

Verb = Callable[..., dict[str, object]]
_PLACEHOLDER = "        overrides: what is known about the file.\n"
_ARGUMENTS = """\
        kind: scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences; empty to detect it, as for the
            arguments that follow.
        columns: the text columns, separated by commas, in the order of their parts.
        target: the column of scores, labels or categories.
        group: the column of topics.
        scale: scores of the least and the most similar, such as 0-5, or 5-0.
        order: labels from least to most similar, separated by commas; none if they have no order.
        encoding: codec, such as utf-8 or gb18030.
        delimiter: between two cells, such as ; or tab.
        header: yes or no: whether the first row contains the column names.
"""
_AS_READ = "        as_read: accept an uncertain detection; otherwise the question and its answers are returned as an error.\n"


def with_schema_arguments(*, accepts_uncertain: bool) -> Callable[[Verb], Verb]:
    """Replace the parameter ``overrides`` of a function, and in its docstring, by the arguments of :func:`_overrides`.

    An open question is returned as an error with its answers.

    Args:
        accepts_uncertain: whether the function has the argument ``as_read``.
    """

    def wrap(verb: Verb) -> Verb:
        own = list(inspect.signature(verb).parameters.values())
        shared = list(inspect.signature(_overrides).parameters.values())[: None if accepts_uncertain else -1]
        place = next(number for number, each in enumerate(own) if each.name == "overrides")
        later = [each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in own[place + 1 :]]
        signature = inspect.signature(verb).replace(parameters=[*own[:place], *shared, *later])

        @functools.wraps(verb)
        def call(*args: object, **named: object) -> dict[str, object]:
            bound = signature.bind(*args, **named).arguments
            overrides = _overrides(**{each.name: bound.pop(each.name) for each in shared if each.name in bound})
            try:
                return verb(**bound, overrides=overrides)
            except OpenQuestionsError as error:
                raise StudioError(error.message, describe_answers(error.questions[0]), error.rows) from None

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = (verb.__doc__ or "").replace(_PLACEHOLDER, _ARGUMENTS + _AS_READ * accepts_uncertain)
        return call

    return wrap


def _overrides(
    kind: str = "",
    columns: str = "",
    target: str = "",
    group: str = "",
    scale: str = "",
    order: str = "",
    encoding: str = "",
    delimiter: str = "",
    header: str = "",
    as_read: bool = False,
) -> SchemaOverrides:
    values = [value or None for value in (kind, columns, target, group, scale, order)]
    first_row = typed({"header": header})["header"] if header else None
    return parse_overrides(*values, encoding=encoding or None, delimiter=delimiter or None, header=first_row, as_read=bool(as_read))


def require_file(path: str | None) -> Path:
    """Return the file that a caller sent.

    Raises:
        StudioError: there is none.
    """
    if not path:
        raise StudioError("there is no file", "send one")
    return Path(path)
