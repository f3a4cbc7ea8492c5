"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from .duplicates import KEEPS, AlikeGroup, Duplicates, Keep
from .evaluation import Evaluation, LeftOut, SuiteHere
from .model_diff import CategoryChange, Changes, QueryChange
from .search import (
    ClusterInfo,
    Encoded,
    FileEncoded,
    MapView,
    Mined,
    MinedPair,
    SearchResult,
    ShardedPair,
    ShardsEncoded,
    ShardsMined,
    Suggestions,
    TextHit,
)
from .similarity import Agreement, Gap, PairScore, PairScores, Similarity
from .training import Exported, Forecast, ModelCard, RunView

__all__ = [
    "KEEPS",
    "Agreement",
    "AlikeGroup",
    "CategoryChange",
    "Changes",
    "ClusterInfo",
    "Duplicates",
    "Encoded",
    "Evaluation",
    "Exported",
    "FileEncoded",
    "Forecast",
    "Gap",
    "Keep",
    "LeftOut",
    "MapView",
    "Mined",
    "MinedPair",
    "ModelCard",
    "PairScore",
    "PairScores",
    "QueryChange",
    "RunView",
    "SearchResult",
    "ShardedPair",
    "ShardsEncoded",
    "ShardsMined",
    "Similarity",
    "Suggestions",
    "SuiteHere",
    "TextHit",
]
