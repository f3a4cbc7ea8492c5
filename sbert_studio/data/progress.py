"""How long work tells how far it is, and asks whether to go on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total) in whatever unit the work counts; a total of 0 means that it is not known."""

ShouldStop = Callable[[], bool]
"""Asked between steps; the work ends early once it answers true."""
