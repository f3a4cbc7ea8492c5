"""Studio: one object with every verb, in parts."""

from __future__ import annotations

from ..settings import Settings
from .base import Services
from .benching import Benching
from .data import Reading
from .evaluation import Evaluating
from .fine_tune import Settling, Tuning
from .hub_upload import Pushing
from .model_diff import Changing
from .shards import Scaling
from .static_embeddings import Fitting


class Studio(Services):
    """Every verb, over one set of services. Making it loads no model, opens no database and imports nothing heavy.

    Verbs may be called from several threads at once. Each raises :class:`~sbert_studio.errors.StudioError` for what a
    user can mend. ``model`` is a bundled name, a run id, a folder or a hub id; ``None`` stands for the default model.

    Attributes:
        read: files → tables, corpora, diagnoses.
        explore: texts → numbers and pictures.
        words: texts, or an encoder → word vectors.
        tune: plans → runs → models.
        settle: what is decided about a run after its training.
        judge: models → scores.
        scale: Parquet in shards → vectors, pairs, scores and hits.
        hub: models → the Hugging Face Hub.
        bench: work → how much faster than a peer.
    """

    def __init__(self, settings: Settings | None = None, *, allow_folders: bool | None = None) -> None:
        super().__init__(settings, allow_folders=allow_folders)
        self.read = Reading(self)
        self.explore = Changing(self, self.read)
        self.words = Fitting(self, self.read)
        self.tune = Tuning(self, self.read)
        self.settle = Settling(self, self.tune)
        self.judge = Evaluating(self, self.read)
        self.scale = Scaling(self, self.read)
        self.hub = Pushing(self)
        self.bench = Benching(self, self.read)
