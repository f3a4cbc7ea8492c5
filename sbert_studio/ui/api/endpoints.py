"""A verb as an endpoint: its arguments as they come over the wire, and its errors in words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import gradio as gr

from ...errors import StudioError, is_text
from ...progress import StoppedError
from ..pieces.handlers import noted
from ..visitors.streams import ABANDONED
from ..visitors.visits import VISITS

_LARGEST = 1 << 53  # above it, not every whole number can be sent


def answering(verb: Callable[..., dict[str, Any]], endpoint: str, first: Any) -> Callable[..., Any]:
    """The verb without its first argument, which is ``first``, under the endpoint's name (MCP shows it), its errors in words."""
    signature = inspect.signature(verb)
    taken = list(signature.parameters.values())[1:]

    def call(*args: Any) -> Any:
        try:
            with VISITS.work():
                return verb(first, *(_taken(each, value) for each, value in zip(taken, args, strict=False)))
        except StoppedError:
            raise gr.Error(ABANDONED, print_exception=False) from None
        except StudioError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception as error:
            known = noted(error, verb.__name__) or "something went wrong on the server's side; it has been logged"
            raise gr.Error(str(known), print_exception=False) from None

    functools.update_wrapper(call, verb)
    call.__name__ = endpoint
    call.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]
    del call.__wrapped__  # type: ignore[attr-defined]
    return call


def _taken(parameter: inspect.Parameter, value: Any) -> Any:
    """An argument as the verb's signature says it: nothing is an empty text, and a number is one that can be counted to.

    Raises:
        StudioError: it is no such number, or a text with half a character in it.
    """
    if isinstance(value, str) and not is_text(value):
        raise StudioError(f"{parameter.name} holds half of a character (a lone surrogate)", "send whole characters, in UTF-8")
    if parameter.annotation == "str":
        return "" if value is None else value
    if parameter.annotation == "float" and not (isinstance(value, int | float) and abs(value) <= _LARGEST):
        raise StudioError(f"{parameter.name} is no number of use here", "give a whole number, such as 2")
    return value
