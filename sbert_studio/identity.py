"""Identity and address on whose behalf work is done: the owner of this machine, a signed-in visitor, or an anonymous visitor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Identity:
    """Identity used to access the Hugging Face Hub.

    Attributes:
        kind: owner (of this machine: local use, the command line), visitor (signed in with Hugging Face) or anonymous.
        token: the OAuth token of a visitor; kept in memory only.
    """

    kind: Literal["owner", "visitor", "anonymous"]
    token: str = field(default="", repr=False)

    @property
    def hub_token(self) -> str | bool | None:
        """Value for the ``token`` argument of huggingface_hub: ``None`` sends this machine's own token, ``False`` sends none."""
        if self.kind == "owner":
            return None
        return self.token or False


OWNER, ANONYMOUS = Identity("owner"), Identity("anonymous")

_IDENTITY: ContextVar[Identity | None] = ContextVar("identity", default=None)
_ADDRESS: ContextVar[str] = ContextVar("address", default="")


def signed_in(token: str | None) -> Identity:
    """Return the identity of a visitor with an OAuth ``token``; anonymous without a token."""
    return Identity("visitor", token) if token else ANONYMOUS


@contextmanager
def use_identity(identity: Identity | None) -> Iterator[None]:
    """Use ``identity`` for the Hub within the block and in copies of its context; ``None`` means the default."""
    token = _IDENTITY.set(identity)
    try:
        yield
    finally:
        _IDENTITY.reset(token)


def current_identity() -> Identity | None:
    """Return the current identity; ``None`` if none was set."""
    return _IDENTITY.get()


@contextmanager
def use_address(address: str) -> Iterator[None]:
    """Record ``address`` as the origin of the work within the block."""
    token = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(token)


def current_address() -> str:
    """Return the address that the work was requested from; empty for this machine."""
    return _ADDRESS.get()
