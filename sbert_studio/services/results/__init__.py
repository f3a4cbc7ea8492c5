"""Results of the services: frozen data for the page, converted to plain JSON data by ``to_json``."""

from .evaluation import AvailableSuite, CategoryChange, EvaluationResult, ModelDiff, QueryChange, SkippedFile
from .retrieval import MissedDocument, RetrievalResult, RetrievalScores
from .search import (
    Duplicates,
    EncodedFile,
    EncodedShards,
    EncodedTexts,
    MapView,
    MinedPair,
    MinedPairs,
    MinedShards,
    PairSuggestions,
    SearchResult,
    ShardPair,
    TextHit,
    TopicInfo,
)
from .similarity import Agreement, PairScore, PairScores, RankGap, Similarity
from .training import ExportedFile, ModelSummary, RunView, TrainingForecast

__all__ = [
    "Agreement",
    "AvailableSuite",
    "CategoryChange",
    "Duplicates",
    "EncodedFile",
    "EncodedShards",
    "EncodedTexts",
    "EvaluationResult",
    "ExportedFile",
    "MapView",
    "MinedPair",
    "MinedPairs",
    "MinedShards",
    "MissedDocument",
    "ModelDiff",
    "ModelSummary",
    "PairScore",
    "PairScores",
    "PairSuggestions",
    "QueryChange",
    "RankGap",
    "RetrievalResult",
    "RetrievalScores",
    "RunView",
    "SearchResult",
    "ShardPair",
    "Similarity",
    "SkippedFile",
    "TextHit",
    "TopicInfo",
    "TrainingForecast",
]
