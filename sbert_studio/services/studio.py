"""Studio: one object with every verb, in parts."""

from __future__ import annotations

from ..settings import Settings
from .data import DataService
from .evaluation import EvaluationService
from .fine_tune import FineTuneService, _OldSettling
from .model_diff import ModelDiffService
from .models import ModelService
from .resources import Resources
from .shards import ShardService
from .static_embeddings import StaticEmbeddingService


class Studio(Resources):
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
    """

    def __init__(self, settings: Settings | None = None, *, allow_folders: bool | None = None) -> None:
        super().__init__(settings, allow_folders=allow_folders)
        self.read = DataService(self)
        self.explore = ModelDiffService(self, self.read)
        self.words = StaticEmbeddingService(self, self.read)
        self.tune = FineTuneService(self, self.read)
        self.settle = _OldSettling(self, self.tune)
        self.judge = EvaluationService(self, self.read)
        self.scale = ShardService(self, self.read)
        self.hub = ModelService(self)
