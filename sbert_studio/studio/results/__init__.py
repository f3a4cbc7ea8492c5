"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from .alike import KEEPS, AlikeGroup, Duplicates, Keep
from .changed import CategoryChange, Changes, QueryChange
from .comparing import Agreement, Gap, PairScore, PairScores, Similarity
from .finding import ClusterInfo, Encoded, FileEncoded, MapView, Mined, MinedPair, SearchResult, Suggestions, TextHit
from .judged import Evaluation, LeftOut, SuiteHere
from .sharded import ShardedPair, ShardsEncoded, ShardsMined
from .tuned import Exported, Forecast, ModelCard, RunView

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
