"""The app of the browser tests: the real one, except that a search for "hold FILE" waits until FILE exists.

So a test has a search under way for as long as it wants, on a machine of any speed. Started by ``python -m tests.browser.serve app``.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from waiting import wait_until

from sbert_studio.cli import main
from sbert_studio.data.progress import checkpoint
from sbert_studio.studio.exploring import Exploring

HOLD = "hold "
BEGUN = ".begun"  # added to the name of the file that tells the test that its search is under way
_AT_MOST = 120  # seconds


def hold_searches() -> None:
    """Have a search for "hold FILE" wait until FILE exists or the search is cancelled."""
    search = Exploring.search

    @functools.wraps(search)
    def hold(explore: Exploring, corpus: Any, query: str, *args: Any, **named: Any) -> Any:
        if query.startswith(HOLD):
            file = Path(query.removeprefix(HOLD))
            file.with_name(file.name + BEGUN).touch()
            wait_until(lambda: checkpoint() or file.exists(), _AT_MOST)
        return search(explore, corpus, query, *args, **named)

    Exploring.search = hold  # type: ignore[method-assign]


if __name__ == "__main__":
    hold_searches()
    main()
