"""The Hugging Face Hub answered, but did not send what was asked for: why, by the status of its answer."""

from __future__ import annotations

_TOO_MANY = 429
_SERVER = 500  # from this status on the fault is the Hub's


def hub_status(error: BaseException) -> int:
    """Return the HTTP status of the answer that an error, or one that led to it, holds; 0 where there was no answer."""
    known: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in known:
        if status := int(getattr(getattr(following, "response", None), "status_code", 0) or 0):
            return status
        known.append(following)
        following = following.__cause__ or following.__context__
    return 0


def hub_trouble(status: int) -> tuple[str, str] | None:
    """Return what is wrong at the Hub, and what to do, where an answer of ``status`` says so; ``None`` of any other."""
    if status == _TOO_MANY:
        return "the Hugging Face Hub gets too many requests from here", "try again in a few minutes"
    if status >= _SERVER:
        return f"the Hugging Face Hub has a problem of its own (status {status})", "try again later"
    return None
