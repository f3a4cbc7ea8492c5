"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from .duplicates import KEEPS, DuplicateGroup, Duplicates, Keep
from .evaluation import AvailableSuite, EvaluationResult, SkippedFile
from .model_diff import CategoryChange, ModelDiff, QueryChange
from .search import (
    ClusterInfo,
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
)
from .similarity import Agreement, PairScore, PairScores, RankGap, Similarity
from .training import ExportedFile, ModelSummary, RunView, TrainingForecast

__all__ = [
    "KEEPS",
    "Agreement",
    "DuplicateGroup",
    "CategoryChange",
    "ModelDiff",
    "ClusterInfo",
    "Duplicates",
    "EncodedTexts",
    "EvaluationResult",
    "ExportedFile",
    "EncodedFile",
    "TrainingForecast",
    "RankGap",
    "Keep",
    "SkippedFile",
    "MapView",
    "MinedPairs",
    "MinedPair",
    "ModelSummary",
    "PairScore",
    "PairScores",
    "QueryChange",
    "RunView",
    "SearchResult",
    "ShardPair",
    "EncodedShards",
    "MinedShards",
    "Similarity",
    "PairSuggestions",
    "AvailableSuite",
    "TextHit",
]
