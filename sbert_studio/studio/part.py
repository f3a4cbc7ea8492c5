"""A part of the studio: some of its verbs, over the services that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..encoders.catalog import Catalog
    from ..runs.records.store import Store
    from ..runs.running.runner import Runner
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
    def store(self) -> Store:
        """The memory of runs."""
        return self._services.store

    @property
    def runner(self) -> Runner:
        """The thread that trains in the background."""
        return self._services.runner
