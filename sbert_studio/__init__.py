"""SBERT Studio: explore texts in a browser and fine-tune sentence embedding models.

:mod:`~sbert_studio.data` reads tables; :mod:`~sbert_studio.models` encodes texts; :mod:`~sbert_studio.explore` searches, clusters and
maps them; :mod:`~sbert_studio.training` fine-tunes models with :mod:`~sbert_studio.losses`; :mod:`~sbert_studio.evaluation` evaluates
them. The page, the command line and the API share :class:`sbert_studio.services.Studio`; notebooks and scripts use
:class:`sbert_studio.notebook.Studio`: ``from sbert_studio import Studio``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .notebook import Studio

__all__ = ["Studio", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Imported on first use, so that the command line starts without the services.
    if name != "Studio":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .notebook import Studio

    return Studio
