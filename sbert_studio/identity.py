"""Whose work is done: on whose behalf the Hugging Face Hub is asked (this machine's owner, a visitor who has signed in, or nobody who is
known), and from which address it was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Identity:
    """Who asks.

    Attributes:
        kind: owner (of this machine: local use, the command line), visitor (signed in with Hugging Face) or anonymous.
        token: a visitor's OAuth token; kept in memory only.
    """

    kind: Literal["owner", "visitor", "anonymous"]
    token: str = field(default="", repr=False)

    @property
    def hub_token(self) -> str | bool | None:
        """The ``token`` argument of huggingface_hub: ``None`` sends the token of this machine, where it has one; ``False`` sends none."""
        if self.kind == "owner":
            return None
        return self.token or False


OWNER, ANONYMOUS = Identity("owner"), Identity("anonymous")

_ACTING: ContextVar[Identity | None] = ContextVar("acting", default=None)
_ADDRESS: ContextVar[str] = ContextVar("address", default="")


def signed_in(token: str | None) -> Identity:
    """The identity of a visitor: anonymous where they have not signed in."""
    return Identity("visitor", token) if token else ANONYMOUS


@contextmanager
def acting_as(identity: Identity | None) -> Iterator[None]:
    """Do the work of the ``with``, in this thread and whatever copies its context, on behalf of ``identity``; of nobody in particular
    where it is ``None``."""
    token = _ACTING.set(identity)
    try:
        yield
    finally:
        _ACTING.reset(token)


def acting() -> Identity | None:
    """On whose behalf the caller works; ``None`` where nobody has said so: it is then whoever the catalogue serves."""
    return _ACTING.get()


@contextmanager
def asked_from(address: str) -> Iterator[None]:
    """Do the work of the ``with`` for somebody at ``address``."""
    token = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(token)


def asker_address() -> str:
    """Where the work was asked for; empty where it was asked for on this machine."""
    return _ADDRESS.get()
