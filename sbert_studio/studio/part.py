"""A part of the studio: some of its verbs, over the services that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter

    from ..encoders.catalog import Catalog
    from ..runs.runner import Runner
    from ..runs.store import RunStore
    from ..settings import Settings
    from ..workspace import Workspace
    from .services import Services


class Part:
    """What every part has at hand; each service is made when it is first asked for.

    Args:
        services: shared by all parts of one studio.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    @property
    def settings(self) -> Settings:
        """What the environment says."""
        return self._services.settings

    @property
    def workspace(self) -> Workspace:
        """The home folder."""
        return self._services.workspace

    @property
    def catalog(self) -> Catalog:
        """Names → encoders."""
        return self._services.catalog

    @property
    def multilingual(self) -> str:
        """Return the multilingual model that needs no download, which warnings name first; empty where there is none."""
        from .languages import multilingual_at_hand

        return multilingual_at_hand(self.catalog, self.settings)

    def usual_model(self, found: Counter[str]) -> str:
        """Return the model that is used where none is chosen, for texts in the languages that were ``found``."""
        from .languages import usual_model

        return usual_model(self.catalog, self.settings, found)

    @property
    def store(self) -> RunStore:
        """The memory of runs."""
        return self._services.store

    @property
    def runner(self) -> Runner:
        """The thread that trains in the background."""
        return self._services.runner
