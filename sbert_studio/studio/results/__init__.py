"""What the verbs return: frozen data that a page can draw and ``to_json`` can send."""

from .comparing import Agreement, PairScore, PairScores, Similarity
from .finding import ClusterInfo, Encoded, MapView, Mined, MinedPair, SearchResult, TextHit
from .judged import Evaluation, LeftOut, SuiteHere
from .tuned import Exported, Forecast, ModelCard, RunView

__all__ = [
    "Agreement",
    "ClusterInfo",
    "Encoded",
    "Evaluation",
    "Exported",
    "Forecast",
    "LeftOut",
    "MapView",
    "Mined",
    "MinedPair",
    "ModelCard",
    "PairScore",
    "PairScores",
    "RunView",
    "SearchResult",
    "Similarity",
    "SuiteHere",
    "TextHit",
]
