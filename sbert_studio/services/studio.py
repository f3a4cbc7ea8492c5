"""Studio: the facade used by the page, the command line and the API."""

from __future__ import annotations

from ..settings import Settings
from .data import DataService
from .distillation import DistillationService
from .evaluation import EvaluationService
from .exports import ExportService
from .fine_tune import FineTuneService
from .kept_work import KeptWorkService
from .labels import LabelService
from .language_model import LanguageModelService
from .languages import LanguageService
from .leaderboard import Leaderboard
from .map import MapService
from .model_diff import ModelDiffService
from .models import ModelService
from .pairs import PairService
from .planning import TrainingPlanner
from .recommendation import RecommendationService
from .resources import Resources
from .retrieval import RetrievalService
from .search import SearchService
from .shards import ShardService
from .similarity import SimilarityService
from .static_embeddings import StaticEmbeddingService


class Studio(Resources):
    """All services with one set of shared resources. Creating it loads no models and reads no runs.

    Methods may be called from several threads. Each raises :class:`~sbert_studio.errors.StudioError` for problems the user can
    fix. ``model`` is a bundled name, run id, folder or hub id; ``None`` means the default model.

    Attributes:
        data: read, check, fix and convert files.
        documents: read documents and cut them into passages.
        languages: languages of texts and models.
        language_models: language models behind OpenAI-compatible endpoints.
        similarity: compare and encode texts, explain scores, suggest pairs to label.
        search: semantic, lexical and hybrid search, paraphrase mining, near-duplicates.
        map: 2-D and 3-D maps of a corpus.
        model_diff: differences between two models on a corpus.
        pairs: make training pairs from documents, and hard negatives.
        models: list models, upload them to the Hugging Face Hub.
        kept_work: keep a signed-in visitor's work in a private data set of their account.
        exports: export models for other runtimes, verified.
        static_embeddings: train and distill static embedding models.
        planner: plan training runs and estimate their cost.
        fine_tune: train, follow, stop, resume and export runs.
        labels: find suspicious labels of a file or a run.
        distillation: distill encoders and cross-encoders into smaller models.
        evaluation: evaluate and compare models.
        leaderboard: stored evaluation scores.
        retrieval: evaluate models on queries, documents and graded relevance.
        recommendation: recommend a model to start from.
        shards: large corpora as folders of Parquet shards.
    """

    def __init__(self, settings: Settings | None = None, *, allow_folders: bool | None = None) -> None:
        super().__init__(settings, allow_folders=allow_folders)
        self.languages = LanguageService(self)
        self.language_models = LanguageModelService(self)
        self.data = DataService(self, self.languages)
        self.documents = self.data.documents
        self.similarity = SimilarityService(self, self.data, self.languages)
        self.search = SearchService(self, self.languages)
        self.map = MapService(self, self.search)
        self.model_diff = ModelDiffService(self, self.search)
        self.pairs = PairService(self, self.data, self.languages)
        self.models = ModelService(self)
        self.kept_work = KeptWorkService(self)
        self.exports = ExportService(self, self.data)
        self.leaderboard = Leaderboard(self)
        self.retrieval = RetrievalService(self, self.data, self.languages, self.leaderboard)
        self.static_embeddings = StaticEmbeddingService(self, self.data)
        self.planner = TrainingPlanner(self, self.data)
        self.fine_tune = FineTuneService(self, self.data, self.planner, self.retrieval)
        self.labels = LabelService(self, self.data)
        self.distillation = DistillationService(self, self.static_embeddings, self.fine_tune, self.planner)
        self.evaluation = EvaluationService(self, self.data, self.leaderboard)
        self.recommendation = RecommendationService(self, self.data, self.models, self.evaluation, self.retrieval)
        self.shards = ShardService(self, self.data)
