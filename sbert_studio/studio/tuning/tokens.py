"""What a caller of the API is given for its run: who holds a run's token may stop it.

A token is a keyed digest of the run's id, so that nothing has to be kept: it holds after a restart, and only this home can make it.
"""

from __future__ import annotations

import hashlib
import hmac

from ...workspace import Workspace

_LENGTH = 40


def token_of(workspace: Workspace, run_id: str) -> str:
    """The token of a run: 40 hex digits that nobody guesses."""
    return _digest(workspace, f"run {run_id}")[:_LENGTH]


def is_token_of(workspace: Workspace, run_id: str, token: object) -> bool:
    """Whether ``token`` is the run's; the time that this takes tells nothing of it."""
    return isinstance(token, str) and hmac.compare_digest(token_of(workspace, run_id).encode(), token.encode("utf-8", "replace"))


def name_of_caller(workspace: Workspace, address: str) -> str:
    """Whose runs a caller's are on a shared page: a name made from its address, which nobody reads back from it."""
    return f"api-{_digest(workspace, f'address {address}')[:16]}"


def _digest(workspace: Workspace, words: str) -> str:
    return hmac.new(workspace.secret(), words.encode(), hashlib.sha256).hexdigest()
