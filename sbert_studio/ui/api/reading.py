"""What a caller of the API says of a file and its columns, as arguments that several endpoints share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...data.choices.column_choices import ColumnChoices, asked_in_words
from ...errors import StudioError
from ...services.training_questions import Unanswered, answers_in_words, typed

Verb = Callable[..., dict[str, Any]]
_SAID = "        said: what the owner says of the file.\n"
_ARGUMENTS = """\
        kind: scored_pairs, labelled_pairs, positive_pairs, triplets, labelled_texts or sentences; empty to find it out, as with those
            that follow.
        columns: the text columns with commas between them, in the order of their parts.
        target: the column of scores, labels or categories.
        group: the column of topics.
        scale: the scores of least and of most alike, such as 0-5, or 5-0.
        order: the labels from least to most alike, with commas between them; none where they have no order.
        encoding: a codec's name, such as utf-8 or gb18030.
        delimiter: what stands between two cells, such as ; or tab.
        header: yes or no: whether the first row names the columns.
"""
_AS_READ = (
    "        as_read: go on with what was read where it is uncertain; otherwise the question and its answers come back as an error.\n"
)


def reads(*, goes_on: bool) -> Callable[[Verb], Verb]:
    """A verb with the arguments of :func:`_asked` in the place of ``said``, and in its docstring, which callers are shown.

    A question that is open comes back as an error, with the answers in words.

    Args:
        goes_on: whether the verb can be told to go on with what was read.
    """

    def wrapped(verb: Verb) -> Verb:
        own = list(inspect.signature(verb).parameters.values())
        shared = list(inspect.signature(_asked).parameters.values())[: None if goes_on else -1]
        place = next(number for number, each in enumerate(own) if each.name == "said")
        later = [each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in own[place + 1 :]]
        signature = inspect.signature(verb).replace(parameters=[*own[:place], *shared, *later])

        @functools.wraps(verb)
        def call(*args: Any, **named: Any) -> dict[str, Any]:
            given = signature.bind(*args, **named).arguments
            said = _asked(**{each.name: given.pop(each.name) for each in shared if each.name in given})
            try:
                return verb(**given, said=said)
            except Unanswered as error:
                raise StudioError(error.message, answers_in_words(error.questions[0]), error.rows) from None

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = (verb.__doc__ or "").replace(_SAID, _ARGUMENTS + _AS_READ * goes_on)
        return call

    return wrapped


def _asked(
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
) -> ColumnChoices:
    said = [value or None for value in (kind, columns, target, group, scale, order)]
    first_row = typed({"header": header})["header"] if header else None
    return asked_in_words(*said, encoding=encoding or None, delimiter=delimiter or None, header=first_row, as_read=bool(as_read))


def sent(path: str | None) -> Path:
    """The file that a caller sent.

    Raises:
        StudioError: there is none.
    """
    if not path:
        raise StudioError("there is no file", "send one")
    return Path(path)
