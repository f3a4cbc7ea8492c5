"""Encoding beside ONNX Runtime, OpenVINO and model2vec, which run exports of the same models, each in its fastest settings."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from claims import Measured, Ratio, Setting
from timing import Round, compare, import_peer, rate, run_studio

from sbert_studio.data.corpus import find_text_columns
from sbert_studio.data.loading.table import read_table
from sbert_studio.evaluation.encoding import pairwise_measures
from sbert_studio.services.resources import Resources
from sbert_studio.settings import Settings

MODEL = "all-MiniLM-L6-v2"
_SETS = {"stsb": "sentences of STSb", "trec": "questions of TREC", "banking77": "requests of BANKING77"}
_TEXTS, _CALIBRATION, _TRIAL = 1_500, 300, 300  # texts measured, to calibrate int8, and to find the fastest settings
_BATCH_SIZES = (4, 8, 16, 32, 64)
_GOALS = {"float32": 1.3, "int8": 2.5}

Batch = dict[str, np.ndarray]
Runner = Callable[[Sequence[Batch]], list[np.ndarray]]
"""Returns the (texts, d) vectors of each batch."""


@dataclass(frozen=True)
class Runtime:
    """A model in another runtime.

    Attributes:
        runners: by their settings; the fastest is measured.
        size: texts of a batch.
    """

    tokenizer: Any
    runners: Mapping[str, Runner]
    size: int = _BATCH_SIZES[0]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, d) vectors with the first runner, in batches of texts of similar length."""
        (run,) = list(self.runners.values())[:1]
        rows = self.tokenizer.encode_batch(list(texts))
        order = sorted(range(len(rows)), key=lambda place: -len(rows[place].ids))
        vectors = np.concatenate(run([_pad([rows[at] for at in part]) for part in _parts(order, self.size)]))
        found = np.empty_like(vectors)
        found[order] = vectors
        return found

    def tuned(self, texts: Sequence[str]) -> tuple[Runtime, str]:
        """Return the runtime with the runner and batch size that are fastest on these texts, and their description."""
        every = [(name, replace(self, runners={name: run}, size=size)) for name, run in self.runners.items() for size in _BATCH_SIZES]
        for _name, one in every:
            one.encode(texts[:64])
        name, best = max(every, key=lambda item: rate(len(texts), lambda: item[1].encode(texts)))
        return best, f"{name}, {best.size} texts a batch"


def _parts(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (order[start : start + size] for start in range(0, len(order), size))


def _pad(rows: Sequence[Any]) -> Batch:
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)], mask[place, : len(row.ids)] = row.ids, 1
    return {"input_ids": ids, "attention_mask": mask}


def onnx_runners(file: Path, threads: int) -> dict[str, Runner]:
    """Return ONNX Runtime with all threads for one batch, and with a thread for each of several batches."""
    import onnxruntime

    def session(count: int) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = count
        return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    together, alone = session(threads), session(1)

    def one_by_one(batches: Sequence[Batch]) -> list[np.ndarray]:
        return [together.run(["sentence_embedding"], batch)[0] for batch in batches]

    def at_once(batches: Sequence[Batch]) -> list[np.ndarray]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda batch: alone.run(["sentence_embedding"], batch)[0], batches))

    return {"all threads a batch": one_by_one, "one thread a batch": at_once}


def openvino_runners(model: Any) -> dict[str, Runner]:
    """Return OpenVINO with its two performance hints."""
    import openvino

    def runner(hint: str) -> Runner:
        settings = {"PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": "f32"}
        requests = openvino.AsyncInferQueue(openvino.Core().compile_model(model, "CPU", settings))

        def run(batches: Sequence[Batch]) -> list[np.ndarray]:
            found: list[np.ndarray] = [np.empty(0)] * len(batches)
            requests.set_callback(lambda request, place: found.__setitem__(place, request.get_tensor("sentence_embedding").data.copy()))
            for place, batch in enumerate(batches):
                requests.start_async(batch, place)
            requests.wait_all()
            return found

        return run

    return {f"hint {hint}": runner(hint) for hint in ("LATENCY", "THROUGHPUT")}


def quantized(model: Any, batches: Sequence[Batch]) -> Any:
    """Return an OpenVINO model in int8, weights and activations, calibrated on batches by NNCF."""
    import nncf

    return nncf.quantize(model, nncf.Dataset(list(batches)), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(batches))


def exported(setting: Setting) -> dict[str, dict[str, Runtime]]:
    """Return the model in each runtime, by precision and name."""
    import openvino
    from tokenizers import Tokenizer

    folder, threads = setting.scratch / "exports", round(setting.rates["threads"])
    for name in ("onnx", "onnx-int8", "openvino"):
        run_studio("export", MODEL, "--format", name, "--out", folder / name)
    tokenizer = Tokenizer.from_file(str(folder / "onnx" / "tokenizer.json"))
    tokenizer.no_padding()
    model = openvino.Core().read_model(folder / "openvino" / "openvino" / "openvino_model.xml")
    runners = {
        "float32": {"ONNX Runtime": onnx_runners(folder / "onnx/onnx/model.onnx", threads), "OpenVINO": openvino_runners(model)},
        "int8": {"ONNX Runtime": onnx_runners(folder / "onnx-int8/onnx/model_quantized.onnx", threads)},
    }
    if importlib.util.find_spec("nncf") is None:
        print("nncf is not installed, so OpenVINO was not measured in int8", file=sys.stderr)
    else:
        assert setting.data is not None
        rows = tokenizer.encode_batch(_texts(setting.data / "stsb" / "dev.csv", _CALIBRATION))
        runners["int8"]["OpenVINO"] = openvino_runners(quantized(model, [_pad([row]) for row in rows]))
    return {precision: {name: Runtime(tokenizer, found) for name, found in by_name.items()} for precision, by_name in runners.items()}


def _texts(path: Path, count: int) -> list[str]:
    """Return distinct texts of a file, at even distances."""
    table = read_table(path)
    texts = list(dict.fromkeys(text for column in find_text_columns(table) for text in table.column(column) if text.strip()))
    return texts[:: max(1, len(texts) // count)][:count]


def runtimes(setting: Setting) -> Measured:
    """Encode 1,500 texts of three sets beside ONNX Runtime and OpenVINO in float32 and int8, then by static embeddings."""
    if setting.data is None:
        return
    peers = exported(setting)
    with Resources(replace(Settings.from_env(), home=setting.scratch / "runtimes")) as services:
        for key, what in _SETS.items():
            texts = _texts(setting.data / key / "train.csv", _TEXTS)
            exact = services.catalog.load(MODEL, "float32").encode(texts)
            for precision in (one for one in _GOALS if one in setting.rates):
                ours = services.catalog.load(MODEL, precision).encode
                tuned = {name: one.tuned(texts[:_TRIAL]) for name, one in peers[precision].items()}
                others = {name: one.encode for name, (one, _how) in tuned.items()}
                yield from _ratios(
                    f"{key}-{precision}",
                    f"encode {len(texts):,} {what}, {precision}",
                    texts,
                    exact,
                    {"ours": ours, **others},
                    {name: f"; {how}" for name, (_one, how) in tuned.items()},
                    setting.rounds,
                    _GOALS[precision],
                )
        yield from _static(setting, services)


def _ratios(
    key: str,
    what: str,
    texts: list[str],
    exact: np.ndarray,
    encoders: Mapping[str, Callable[[list[str]], np.ndarray]],
    settings: Mapping[str, str],
    rounds: int,
    goal: float | None,
) -> Iterator[Ratio]:
    """Encode by turns, ours first; compare the vectors with the exact ones."""
    vectors: dict[str, np.ndarray] = {}

    def timed(name: str) -> Round:
        encoders[name](texts[:64])
        return lambda _turn: rate(len(texts), lambda: vectors.update({name: encoders[name](texts)}))

    measured = compare(key, "texts/s", {name: timed(name) for name in encoders}, rounds)
    least = {name: float(pairwise_measures(found, exact)["cosine"].min()) for name, found in vectors.items()}
    for peer in list(encoders)[1:]:
        quality = f"least cosine {least['ours']:.4f}, the peer's {least[peer]:.4f}{settings.get(peer, '')}"
        name = f"runtimes-{peer.split()[0].lower()}-{key}"
        yield Ratio(name, what, peer, "texts/s", measured.rounds["ours"], measured.rounds[peer], quality, "", goal)


def _static(setting: Setting, services: Resources) -> Iterator[Ratio]:
    """Encode BANKING77 by static embeddings beside model2vec."""
    assert setting.data is not None
    folder, texts = setting.scratch / "static", _texts(setting.data / "banking77" / "train.csv", 10_000)
    run_studio("distill", MODEL, "--out", folder / "ours")
    run_studio("export", folder / "ours", "--format", "static", "--out", folder / "model2vec")
    theirs = import_peer("model2vec").StaticModel.from_pretrained(folder / "model2vec")
    ours = services.catalog.load(str(folder / "ours")).encode
    what = f"encode {len(texts):,} requests of BANKING77 by static embeddings"
    yield from _ratios("static", what, texts, ours(texts), {"ours": ours, "model2vec": theirs.encode}, {}, setting.rounds, None)
