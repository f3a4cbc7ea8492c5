"""Sentence-BERT's Table 7: sentences a second on a CPU, and what batches of similar length bring."""

from __future__ import annotations

from .rows import HUB, Row

SECTION = "batching"
_WHY = "2 cores; texts of the STS Benchmark, some 12 words each"

_MINI = f"{_WHY}; MiniLM stands in for BERT base and has a fifth of its weights"


def _speed(
    name: str, title: str, model: str, paper: float, *, smart: bool = True, network: str = "", needs: str = "", why: str = _WHY
) -> Row:
    return Row(
        name, title, SECTION, model=model, paper={"speed": paper}, why=why, sets=None, smart=smart, network=network, needs=needs
    )  # fmt: skip


ROWS = (
    _speed("speed-glove", "Average GloVe", "glove-6B-50d", 6469, network="glove-pretrained"),
    _speed("speed-infersent", "InferSent", "WORK/infersent-12", 137, network="infersent"),
    _speed("speed-use", "Universal Sentence Encoder", "universal-sentence-encoder", 67, network="use"),
    _speed("speed-minilm", "MiniLM, in the order of the texts", "all-MiniLM-L6-v2", 44, smart=False, why=_MINI),
    _speed("speed-minilm-smart", "MiniLM, smart batching", "all-MiniLM-L6-v2", 83, network="minilm-untuned", why=_MINI),
    _speed(
        "speed-sbert",
        "S-BERT base, in the order of the texts",
        "sentence-transformers/bert-base-nli-mean-tokens",
        44,
        smart=False,
        needs=HUB,
    ),
    _speed("speed-sbert-smart", "S-BERT base, smart batching", "sentence-transformers/bert-base-nli-mean-tokens", 83, needs=HUB),
)
