"""Comparison of an export, encoded by its own runtime in a child process, with the encoder it was made from."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ...errors import StudioError
from ...i18n import _
from ...progress import Progress, checkpoint
from ...serialization import JsonResult, doc
from ..similarity import similarity

if TYPE_CHECKING:
    from ..prompts import Role
    from ..sentence_encoder import SentenceEncoder

MOST_TEXTS = 200
"""Number of texts compared."""

_HITS = 10
_TIE = 1e-6  # scores that differ by no more are equal
_ROLES: tuple[Role, ...] = ("plain", "query", "document")
_SHIPPED_TEXTS = 20
_TINY = 1e-12
_POLL_SECONDS, _MOST_SECONDS = 0.2, 1800


@dataclass(frozen=True)
class Floor:
    """Limits that an export must meet; see :class:`Fidelity`."""

    cosine: float
    mean_cosine: float
    top10: float
    length_error: float = 1e-3


@dataclass(frozen=True)
class Fidelity(JsonResult):
    """Agreement of an export's vectors with those of the original model."""

    cosine: Annotated[float, doc("minimum cosine between the two vectors of a text, over all texts and prompts")]
    mean_cosine: Annotated[float, doc("mean cosine between the two vectors of a text")]
    top10: Annotated[float, doc("share of the ten nearest texts that are equal, when each text searches the others")]
    top10_int8: Annotated[float, doc("the same with the export's vectors quantized to int8")]
    top10_binary: Annotated[float, doc("the same with one bit per component")]
    length_error: Annotated[float, doc("largest relative difference between the lengths of the two vectors")]
    texts: Annotated[int, doc("number of texts compared")]
    source: Annotated[str, doc("where the texts are from")]
    roles: Annotated[tuple[str, ...], doc("prompts compared: plain, query, document")]
    runtime: Annotated[str, doc("program that computed the export's vectors, with its version")]
    sentences_per_second: Annotated[float, doc("speed of the export in its runtime, on this machine")]
    original_sentences_per_second: Annotated[float, doc("speed of the original model in SBERT Studio in float32")]

    def failures(self, floor: Floor) -> list[str]:
        """Return a phrase for every limit that is not met."""
        found = []
        for label, value, limit in (
            (_("minimum cosine"), self.cosine, floor.cosine),
            (_("mean cosine"), self.mean_cosine, floor.mean_cosine),
            (_("share of equal top-10 hits"), self.top10, floor.top10),
        ):
            if not value >= limit:
                found.append(_("{label} {value}, at least {limit} required", label=label, value=f"{value:.4f}", limit=f"{limit:g}"))
        if not self.length_error <= floor.length_error:
            percent, allowed = f"{100 * self.length_error:.2g} %", f"{100 * floor.length_error:.2g} %"
            found.append(_("lengths of vectors differ by {percent}, at most {allowed} allowed", percent=percent, allowed=allowed))
        return found


def verified_roles(encoder: SentenceEncoder) -> tuple[Role, ...]:
    """Return the roles whose prompts differ: ``plain``, and ``query`` and ``document`` if the model has prompts."""
    prompts = {encoder.prompt_for_role(role) for role in _ROLES}
    return _ROLES if len(prompts) > 1 or encoder.prompts else _ROLES[:1]


def fitting(encoder: SentenceEncoder, texts: Sequence[str]) -> list[str]:
    """Return the texts that the encoder reads whole, with each prompt."""
    counts = [encoder.for_role(role).tokens.count_tokens(texts) for role in verified_roles(encoder)]
    return [text for text, *lengths in zip(texts, *counts, strict=True) if max(lengths) <= encoder.max_length]


def encode_roles(encoder: SentenceEncoder, texts: Sequence[str], progress: Progress | None = None) -> tuple[dict[str, np.ndarray], float]:
    """Return the encoder's vectors of the texts by role, and its speed in sentences per second."""
    encoder.encode(texts[:4])
    started, roles, n = time.perf_counter(), verified_roles(encoder), len(texts)
    vectors: dict[str, np.ndarray] = {}
    for role in roles:
        vectors[role] = encoder.for_role(role).encode(texts, progress=_part_of(progress, len(vectors) * n, len(roles) * n))
    return vectors, len(vectors) * n / max(1e-9, time.perf_counter() - started)


def _part_of(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _total: progress(before + done, total)


def compare(
    original: Mapping[str, np.ndarray], exported: Mapping[str, np.ndarray], similarity_name: str
) -> tuple[float, float, float, float]:
    """Compare two models' vectors (n, d) of the same distinct texts by role.

    Returns:
        Minimum cosine, mean cosine, share of equal top-10 hits, and largest relative difference of lengths.
    """
    cosines, errors = [], []
    for role, vectors in original.items():
        other = exported[role]
        if vectors.shape != other.shape:
            raise StudioError(
                _("its vectors have {found} components instead of {wanted}", found=other.shape[1], wanted=vectors.shape[1]),
                "choose another format",
            )
        if not np.isfinite(other).all():
            raise StudioError("its vectors contain numbers that are not finite", "choose another format")
        left, right = vectors.astype(np.float64), other.astype(np.float64)
        lengths = np.linalg.norm(left, axis=1), np.linalg.norm(right, axis=1)
        is_zero = lengths[0] == 0
        product = np.where(is_zero, 1.0, lengths[0] * lengths[1])
        cosines.append(np.where(is_zero, (lengths[1] == 0).astype(float), (left * right).sum(axis=1) / np.where(product > 0, product, 1)))
        errors.append(np.abs(lengths[1] - lengths[0]) / np.where(is_zero, 1, lengths[0]))
    together, hits = np.concatenate(cosines), compare_hits(original, exported, similarity_name, similarity_name)
    return float(together.min()), float(together.mean()), hits, float(np.concatenate(errors).max())


def compare_hits(original: Mapping[str, np.ndarray], exported: Mapping[str, np.ndarray], original_name: str, exported_name: str) -> float:
    """Return the share of equal top-10 hits, when each text as a query searches the others as documents.

    Args:
        original, exported: vectors (n, d) of the same texts by role.
        original_name, exported_name: similarities by which they are compared.
    """
    query, document = (next(name for name in (role, "plain") if name in original) for role in ("query", "document"))
    return _equal_hits(
        similarity(original[query], original[document], original_name), similarity(exported[query], exported[document], exported_name)
    )


def quantize(vectors: np.ndarray, precision: str) -> np.ndarray:
    """Quantize (n, d) vectors as ``quantized`` in the scripts of exports does, but to numbers that similarities can compare.

    Args:
        precision: ``int8``, each vector scaled so that its largest component is 127, or ``binary``, one bit per component: 1 or -1 here.
    """
    if precision == "binary":
        return np.where(vectors > 0, 1, -1).astype(np.float32)
    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), _TINY)
    return np.asarray(np.rint(vectors / largest * 127), np.float32)


def _equal_hits(original: np.ndarray, exported: np.ndarray) -> float:
    """Return the share of each row's best columns, other than itself, that are equal; ties in the original are interchangeable."""
    rows = len(original)
    count = min(_HITS, rows - 1)
    if count < 1:
        return 1.0
    original, exported = (np.where(np.eye(rows, dtype=bool), -np.inf, scores) for scores in (original, exported))
    best = np.argpartition(-exported, count - 1, axis=1)[:, :count]
    lowest = -np.partition(-original, count - 1, axis=1)[:, count - 1 : count]
    return float((np.take_along_axis(original, best, axis=1) >= lowest - _TIE).mean())


def verify(
    encoder: SentenceEncoder,
    folder: Path,
    command: Sequence[str],
    texts: Sequence[str],
    source: str,
    original_threads: int,
    begin: Callable[[str, str], Progress | None],
) -> Fidelity:
    """Encode texts with the export in ``folder``, by its own ``verify`` script, and compare the vectors with the encoder's.

    Args:
        command: the command that runs the script.
        source: where the texts are from.
        original_threads: threads of the runtime.
        begin: called with the title and unit of each phase; returns its progress callback, if any.

    Raises:
        StudioError: the runtime failed, or the vectors cannot be compared.
    """
    texts = list(dict.fromkeys(text for text in texts if text.strip()))[:MOST_TEXTS]
    if not texts:
        raise StudioError("there are no texts to verify the export with", "choose a file with texts")
    original, speed = encode_roles(encoder, texts, begin("encoding with the original model", "texts"))
    begin("encoding with the export, in its own runtime", "")
    with tempfile.TemporaryDirectory() as scratch:
        request, answer = Path(scratch) / "request.json", Path(scratch) / "answer.json"
        request.write_text(json.dumps({"texts": texts, "roles": list(original), "threads": original_threads}), encoding="utf-8")
        _run([*command, "--encode", str(request), str(answer)], folder)
        told = json.loads(answer.read_text(encoding="utf-8"))
    _require_equal_tokens(encoder, texts, told.get("tokens", {}))
    exported = {role: decode_vectors(told["vectors"][role]) for role in original}
    cosine, mean, top10, length_error = compare(original, exported, encoder.similarity_name)
    int8, binary = (
        compare_hits(original, {role: quantize(rows, precision) for role, rows in exported.items()}, encoder.similarity_name, "cosine")
        for precision in ("int8", "binary")
    )
    rate = len(original) * len(texts) / max(1e-9, float(told["seconds"]))
    return Fidelity(cosine, mean, top10, int8, binary, length_error, len(texts), source, tuple(original), told["runtime"], rate, speed)


def _require_equal_tokens(encoder: SentenceEncoder, texts: Sequence[str], exported: Mapping[Role, list[list[int]]]) -> None:
    """Raise a StudioError if the export's tokens differ: a lost prompt may change a vector less than int8 does."""
    for role, rows in exported.items():
        for text, tokens, found in zip(texts, _tokens(encoder, texts, role), rows, strict=True):
            if tokens != found:
                raise StudioError(
                    _("its tokens differ for the text “{text}” with the prompt {role}", text=text[:60], role=role), "choose another format"
                )


def _tokens(encoder: SentenceEncoder, texts: Sequence[str], role: Role) -> list[list[int]]:
    """Return the token ids of texts, as an export's tokenizer counts them."""
    offset = 1 if encoder.kind == "words" else 0  # row 0 of a table is padding, and token i is row i + 1
    return [[token - offset for token in row] for row in encoder.for_role(role).tokenize(texts)]


def _run(command: Sequence[str], folder: Path) -> None:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, close_fds=True)
        try:
            end = time.monotonic() + _MOST_SECONDS
            while process.poll() is None:
                checkpoint()
                if time.monotonic() > end:
                    raise StudioError("the runtime took longer than half an hour", "use shorter texts, or another format")
                time.sleep(_POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode:
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines() or [f"exit code {process.returncode}"]
            reason = next((line for line in reversed(lines) if "Error" in line), lines[-1])
            raise StudioError(_("its runtime cannot open it: {reason}", reason=reason[:300]), "choose another format")


def shipped_check(
    encoder: SentenceEncoder, fidelity: Fidelity, floor: Floor, header: Mapping[str, Any], *, truncates: bool
) -> dict[str, Any]:
    """Return the content of ``verify.json``: the figures, and the original vectors and tokens of sample texts, which are not the user's."""
    from ...data.samples import sample_lines

    lines = list(dict.fromkeys(sample_lines()))
    lines = lines if truncates else fitting(encoder, lines)
    texts = lines[:: max(1, len(lines) // _SHIPPED_TEXTS)][:_SHIPPED_TEXTS]
    vectors = {role: encode_vectors(rows) for role, rows in encode_roles(encoder, texts)[0].items()}
    tokens = {role: _tokens(encoder, texts, role) for role in verified_roles(encoder)}
    return {**header, "floor": asdict(floor), "verified": fidelity.to_json(), "texts": texts, "tokens": tokens, "vectors": vectors}


def encode_vectors(vectors: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON: its shape, and float32 in little-endian order in base64."""
    return {"shape": list(vectors.shape), "float32": base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii")}


def decode_vectors(value: Mapping[str, Any]) -> np.ndarray:
    """Return the array that :func:`encode_vectors` wrote."""
    return np.frombuffer(base64.b64decode(value["float32"]), "<f4").reshape(value["shape"])
