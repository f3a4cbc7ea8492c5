"""The app of the browser tests: the real one, with two additions.

The random models in the folder PACKAGES are bundled models, under their own names. And a search for "hold FILE" waits until FILE
exists, so that a test has a search under way for as long as it wants, on a machine of any speed.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from pathlib import Path
from typing import Any

from waiting import wait_until

from sbert_studio.cli import main
from sbert_studio.models.io.bundled import BUNDLED, Bundled
from sbert_studio.progress import checkpoint
from sbert_studio.services.search import SearchService

from .tiny import MODEL_NAME, MULTILINGUAL_NAME, PACKAGE

HOLD = "hold "
BEGUN = ".begun"  # added to the name of the file that tells the test that its search is under way
_AT_MOST = 120  # seconds


def hold_searches() -> None:
    """Have a search for "hold FILE" wait until FILE exists or the search is cancelled."""
    search = SearchService.search

    @functools.wraps(search)
    def hold(explore: SearchService, corpus: Any, query: str, *args: Any, **named: Any) -> Any:
        if query.startswith(HOLD):
            file = Path(query.removeprefix(HOLD))
            file.with_name(file.name + BEGUN).touch()
            wait_until(lambda: checkpoint() or file.exists(), _AT_MOST)
        return search(explore, corpus, query, *args, **named)

    SearchService.search = hold  # type: ignore[method-assign]


def bundle_the_small_models(packages: str) -> None:
    """List the models that :func:`~tests.browser.tiny.write_package` wrote among the bundled ones, the usual one first."""
    sys.path.insert(0, packages)
    small = {}
    for name in (MODEL_NAME, MULTILINGUAL_NAME):
        weights = Path(packages) / PACKAGE / name / "model.safetensors"
        small[name] = Bundled(PACKAGE, name, hashlib.sha256(weights.read_bytes()).hexdigest(), f"tests/{name}")
    others = dict(BUNDLED)
    BUNDLED.clear()
    BUNDLED.update({MODEL_NAME: small[MODEL_NAME], **others, MULTILINGUAL_NAME: small[MULTILINGUAL_NAME]})


def serve(packages: str, port: int) -> None:
    """Run ``sbert-studio app`` until a signal ends it."""
    bundle_the_small_models(packages)
    hold_searches()
    main(["app", "--port", str(port)])
