"""Studio: one object with every verb."""

from __future__ import annotations

from .evaluating import Evaluating
from .exploring import Exploring
from .fitting import Fitting
from .reading import Reading
from .settling import Settling


class Studio(Exploring, Fitting, Settling, Evaluating, Reading):
    """Every verb, over one set of services. Making it loads no model, opens no database and imports nothing heavy.

    Verbs may be called from several threads at once. Each raises :class:`~sbert_studio.errors.StudioError` for what a
    user can mend. ``model`` is a bundled name, a run id, a folder or a hub id; ``None`` stands for the default model.
    """
