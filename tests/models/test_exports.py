"""Exports, each opened by its own runtime: what is faithful is kept with its figures, and what is broken is refused every time."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as tokenizer_models

from sbert_studio.errors import StudioError
from sbert_studio.models.export import FORMATS, ExportFormat, export_encoder, verification
from sbert_studio.models.export.verification import Fidelity, Floor, compare
from sbert_studio.models.io.load import load_folder
from sbert_studio.models.io.settings import EncoderConfig
from sbert_studio.models.modules.embeddings import StaticEmbedding
from sbert_studio.models.modules.recurrent import GRU
from sbert_studio.models.sentence_encoder import SentenceEncoder
from sbert_studio.models.similarity import unit
from sbert_studio.models.static.vectors import WordVectors
from sbert_studio.models.word_encoder import WordEncoder, WordNetwork, build_average_encoder

from .families import words
from .tiny import WORDS, tiny_encoder

PROMPTS = {"query": "lost card today ", "document": "the park "}
_random = np.random.default_rng(4)
TEXTS = [" ".join(_random.choice(WORDS, size)) for size in _random.integers(1, 40, 120)]


def form_of(name: str, folder: Path | None = None) -> ExportFormat:
    form = FORMATS[name]()
    if missing := form.missing(folder and folder / "out"):
        pytest.skip(f"not installed: {', '.join(missing)}; {form.install or form.extra}")
    return form


def prompted(kind: str = "bert") -> SentenceEncoder:
    encoder = tiny_encoder(kind)
    encoder.normalizes, encoder.prompts = True, PROMPTS
    encoder.set_max_length(36)  # some of the texts are longer
    return encoder


def cls_pooling(encoder: SentenceEncoder) -> None:
    encoder.set_pooling("cls")


def no_normalization(encoder: SentenceEncoder) -> None:
    encoder.normalizes = False


def lost_prompt(encoder: SentenceEncoder) -> None:
    encoder.prompts = {"document": PROMPTS["document"]}


def zeroed(encoder: SentenceEncoder) -> None:
    with torch.no_grad():
        encoder.backbone.embeddings.emb_layer.weight[3] = 0


def static_encoder() -> WordEncoder:
    backend = Tokenizer(tokenizer_models.WordLevel({word: row for row, word in enumerate(["<unk>", *WORDS])}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    matrix = torch.randn(len(WORDS) + 1, 8, generator=torch.Generator().manual_seed(3))
    return WordEncoder(WordNetwork(StaticEmbedding(backend, matrix)), EncoderConfig("mean", True), name="table")


def broken(form: ExportFormat, fault: Callable[[SentenceEncoder], None]) -> ExportFormat:
    """The format, writing another encoder with the same weights and one fault."""

    class Broken(type(form)):  # type: ignore[misc]
        def write(self, encoder: SentenceEncoder, folder: Path) -> None:
            wrong = prompted(encoder.architecture)
            fault(wrong)
            super().write(wrong, folder)

    return Broken()


@pytest.fixture(autouse=True)
def in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the script of an export in this process, which has loaded most of the libraries, unless a test asks for a process."""

    def run(command: list[str], folder: Path) -> None:
        monkeypatch.setattr(sys, "argv", command[2:])
        try:
            runpy.run_path(str(folder / command[2]), run_name="__main__")
        except Exception as error:
            raise StudioError(f"its runtime cannot open it: {error!r}") from error

    def run_or_start(command: list[str], folder: Path) -> None:
        (run if command[0] == sys.executable else start)(command, folder)

    start = verification._run
    if "process" not in request.keywords:
        monkeypatch.setattr(verification, "_run", run_or_start)


@pytest.mark.parametrize("fault", [cls_pooling, no_normalization, lost_prompt])
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "static"])
def test_a_broken_export_is_refused_and_nothing_is_left(name: str, fault: Callable[[SentenceEncoder], None], tmp_path: Path) -> None:
    if name == "gguf" and fault is no_normalization:
        pytest.skip("llama.cpp always scales vectors to unit length")
    with pytest.raises(StudioError, match=r"was not written: its (vectors differ|tokens differ)"):
        export_encoder(prompted(), broken(form_of(name, tmp_path), fault), tmp_path / "out", TEXTS, "made up", threads=1)
    assert not [*tmp_path.iterdir()]


def test_int8_keeps_sensitive_layers_in_float32_only_where_the_floor_requires_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form, encoder = form_of("onnx-int8"), prompted()
    with torch.no_grad():  # outliers in the inputs of the second layers, as in large models
        for layer in encoder.backbone.encoder.layer:
            layer.intermediate.dense.bias[0] = 60
            layer.output.dense.weight[:, 0] = 0
    monkeypatch.setattr(type(form), "floor", Floor(0.0, 0.0, 0.0, 9.0))
    plain = export_encoder(encoder, form, tmp_path / "plain", TEXTS, "made up", threads=1)
    monkeypatch.setattr(type(form), "floor", Floor(min(plain.verified.cosine + 1e-4, 1.0), 0.0, 0.0, 9.0))
    kept = export_encoder(encoder, form, tmp_path / "kept", TEXTS, "made up", threads=1)
    assert kept.verified.cosine > plain.verified.cosine + 1e-4 and kept.bytes > plain.bytes
    cards = [(folder.path / "README.md").read_text(encoding="utf-8") for folder in (plain, kept)]
    assert ["in float32" in card for card in cards] == [False, True]


def check_folder(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``verify.py`` where nothing of this package can be imported."""
    hide = (
        "import sys, runpy; sys.modules['sbert_studio'] = None; sys.path.insert(0, '.'); runpy.run_path('verify.py', run_name='__main__')"
    )
    return subprocess.run([sys.executable, "-P", "-c", hide], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FORMATS if name != "static"])
def test_an_export_brings_its_figures_and_a_script_that_finds_them_again(name: str, tmp_path: Path) -> None:
    form = form_of(name, tmp_path)
    found = export_encoder(prompted(), form, tmp_path / "out", TEXTS, "made up", threads=1)
    assert found.bytes == sum(path.stat().st_size for path in found.path.rglob("*") if path.is_file())
    verified = found.to_json()["verified"]
    assert verified["cosine"] >= form.floor.cosine and verified["top10"] >= form.floor.top10
    # [CLS], the three words of the longer prompt and [SEP] leave 31 of 36 tokens.
    compared = {text for text in TEXTS if form.truncates or len(text.split()) <= 31}
    assert (verified["texts"], verified["roles"]) == (len(compared), ["plain", "query", "document"])
    card = (found.path / "README.md").read_text(encoding="utf-8")
    assert verified["runtime"] in card and f"{verified['cosine']:.6f}" in card and PROMPTS["query"] in card
    is_python = form.script_file.endswith(".py")
    node = partial(subprocess.run, form.command(), cwd=found.path, capture_output=True, text=True, check=False)
    again = check_folder(found.path) if is_python else node()
    assert again.returncode == 0 and again.stdout.count("the same") == 3, again.stderr
    expected = json.loads((found.path / "verify.json").read_text(encoding="utf-8"))
    settings = json.loads((found.path / "config_sentence_transformers.json").read_text(encoding="utf-8"))
    assert expected["verified"] == verified and not set(expected["texts"]) & set(TEXTS), "no text of the user is in the export"
    settings["prompts"] = {}
    (found.path / "config_sentence_transformers.json").write_text(json.dumps(settings))
    if name in ("onnx", "onnx-int8"):  # int8 changes a vector more than the prompt does
        again = check_folder(found.path)
        assert again.returncode == 1 and "query" in again.stdout and again.stdout.count("DIFFERENT") == 2


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "mpnet", "distilbert", "modernbert", "llama", "qwen2"])
def test_other_networks_are_the_same_in_onnx(kind: str, tmp_path: Path) -> None:
    found = export_encoder(tiny_encoder(kind), form_of("onnx"), tmp_path / "out.zip", TEXTS, "made up", threads=1)
    assert found.verified.cosine > 0.99999 and found.verified.roles == ("plain",) and found.path.is_file()


@pytest.mark.parametrize("weighting", ["plain", "sif"])
@pytest.mark.parametrize("common", [0, 1])
def test_static_embeddings_with_weights_and_projection_are_the_same_in_model2vec(weighting: str, common: int, tmp_path: Path) -> None:
    form = form_of("static")
    matrix = np.random.default_rng(2).standard_normal((len(WORDS) + 2, 8)).astype(np.float32)
    vectors = WordVectors((*WORDS, ".", "u.s"), matrix, np.arange(len(matrix), 0, -1), "table")
    encoder = build_average_encoder(vectors, TEXTS, weighting=weighting, common=common)
    texts = ["The (cat), sat!", "a dog .", "U.S. bank", "unheard of", *TEXTS]
    found = export_encoder(encoder, form, tmp_path / "out", texts, "made up")
    assert found.verified.cosine > 0.99999 and found.verified.length_error < 1e-5
    opened = load_folder(tmp_path / "out")
    left, right = (unit(one.encode(texts)) for one in (encoder, opened))
    assert np.allclose(left, right, atol=1e-5), "sentence-transformers' layout"


def test_a_table_with_a_tokenizer_is_the_same_in_model2vec_and_onnx(tmp_path: Path) -> None:
    encoder = static_encoder()
    for name in ("static", "onnx"):
        found = export_encoder(encoder, form_of(name), tmp_path / name, TEXTS, "made up", threads=1)
        assert found.verified.cosine > 0.99999, name


@pytest.mark.parametrize("fault", [no_normalization, zeroed])
def test_a_broken_table_is_refused(fault: Callable[[SentenceEncoder], None], tmp_path: Path) -> None:
    form = form_of("static")

    class Broken(type(form)):  # type: ignore[misc]
        def write(self, encoder: SentenceEncoder, folder: Path) -> None:
            wrong = static_encoder()
            fault(wrong)
            super().write(wrong, folder)

    with pytest.raises(StudioError, match="vectors differ"):
        export_encoder(static_encoder(), Broken(), tmp_path / "out", TEXTS, "made up")
    assert not [*tmp_path.iterdir()]


def test_a_transformer_and_a_recurrent_network_are_no_static_embeddings(tmp_path: Path) -> None:
    form = form_of("static")
    for encoder, hint in ((prompted(), "distill"), (words(GRU), "sentence-transformers")):
        with pytest.raises(StudioError) as refused:
            export_encoder(encoder, form, tmp_path / "out", TEXTS, "made up")
        assert hint in refused.value.hint


def test_each_pooling_and_a_projection_are_in_the_graph(tmp_path: Path) -> None:
    for pooling in ("cls", "max", "last", "weighted_mean", "mean_sqrt_len"):
        encoder = prompted()
        encoder.configure_output(pooling=pooling, projection=7, activation="tanh")
        found = export_encoder(encoder, form_of("onnx"), tmp_path / pooling, TEXTS[:30], "made up", threads=1)
        assert found.verified.cosine > 0.99999, pooling


def test_a_text_without_tokens_has_no_direction_in_onnx_either(tmp_path: Path) -> None:
    encoder = static_encoder()
    export_encoder(encoder, form_of("onnx"), tmp_path / "out", TEXTS, "made up", threads=1)
    vectors = runpy.run_path(str(tmp_path / "out" / "verify.py"))["load"](1)(["", WORDS[0], " "])
    assert np.allclose(vectors, encoder.encode(["", WORDS[0], " "]), atol=1e-6) and not vectors[0].any() and vectors[1].any()


def test_what_stands_there_already_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    form = FORMATS["sentence-transformers"]()
    with pytest.raises(StudioError, match="exists already"):
        export_encoder(prompted(), form, tmp_path, TEXTS, "made up")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    earlier = tmp_path / "out"
    for _twice in range(2):
        export_encoder(prompted(), form, earlier, TEXTS, "made up")
    (earlier / "thesis").mkdir()
    (tmp_path / "thesis.txt").rename(earlier / "thesis" / "thesis.txt")
    with pytest.raises(StudioError, match=r"thesis/thesis\.txt"):
        export_encoder(prompted(), form, earlier, TEXTS, "made up")
    assert (earlier / "thesis" / "thesis.txt").read_text() == "years of work", "beside an earlier export"
    monkeypatch.setattr(type(form), "packages", ("no_such_package",))
    with pytest.raises(StudioError, match="no_such_package") as refused:
        export_encoder(prompted(), form, tmp_path / "out", TEXTS, "made up")
    assert "sbert-studio[peers]" in refused.value.hint


def test_a_card_that_is_exported_again_says_so_once(tmp_path: Path) -> None:
    form, original = form_of("sentence-transformers"), prompted()
    card = original.card() + "\n## Data\n\nMade up.\n"
    for name in ("first", "second.ZIP"):
        export_encoder(original, form, tmp_path / name, TEXTS, "made up", card=card)
        card = (tmp_path / "first" / "README.md").read_text(encoding="utf-8") + "\n## Later\n\nAdded by hand.\n"
    with zipfile.ZipFile(tmp_path / "second.ZIP") as archive:
        again = archive.read("second/README.md").decode()
    headings = [line for line in again.splitlines() if line.startswith("## ")]
    assert headings.count("## Verified") == headings.count("## Use this export") == 1
    assert headings[-4:] == ["## Data", "## Later", "## Use this export", "## Verified"] and "Added by hand." in again


@pytest.mark.parametrize("name", ["sentence-transformers", "onnx", "openvino", "static"])
def test_truncated_vectors_are_the_same_in_each_format(name: str, tmp_path: Path) -> None:
    encoder = static_encoder() if name == "static" else prompted()
    cut = encoder.with_settings(truncate_dim=5)
    found = export_encoder(cut, form_of(name), tmp_path / "out", TEXTS, "made up", threads=1)
    assert found.verified.cosine > 0.99999 and found.verified.top10 == 1
    vectors = np.asarray(runpy.run_path(str(tmp_path / "out" / "verify.py"))["load"]()(TEXTS[:9]))
    assert vectors.shape == (9, 5) and np.allclose(unit(vectors), unit(encoder.encode(TEXTS[:9])[:, :5]), atol=1e-4)
    assert encoder.encode(TEXTS[:1]).shape[1] > 5, "the encoder itself was changed"


def test_quantized_vectors_are_those_of_the_script_and_are_measured(tmp_path: Path) -> None:
    found = export_encoder(static_encoder(), form_of("static"), tmp_path / "out", TEXTS, "made up", threads=1).verified
    script = runpy.run_path(str(tmp_path / "out" / "verify.py"))
    vectors = static_encoder().encode(TEXTS)
    codes, bits = script["quantized"](vectors, "int8"), script["quantized"](vectors, "binary")
    assert codes.dtype == np.int8 and np.array_equal(codes, verification.quantize(vectors, "int8")) and codes.max() == 127
    assert bits.shape == (len(TEXTS), 1) and np.array_equal(np.unpackbits(bits, axis=1) * 2.0 - 1, verification.quantize(vectors, "binary"))
    assert found.top10_binary < found.top10_int8 <= found.top10 == 1
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"int8 vectors (a quarter of the size) | {100 * found.top10_int8:.1f} %" in card


def test_what_llama_cpp_lacks_is_named() -> None:
    faults: dict[str, Callable[[SentenceEncoder], object]] = {
        "truncate": lambda one: setattr(one, "truncate_dim", 4),
        "projection": lambda one: one.add_projection(3),
        "max pooling": lambda one: one.set_pooling("max"),
        "prompt": lambda one: setattr(one.pooling, "skips_prompt", True),
    }
    for word, fault in faults.items():
        encoder = prompted()
        FORMATS["gguf"]().check(encoder)
        fault(encoder)
        with pytest.raises(StudioError, match=word) as refused:
            FORMATS["gguf"]().check(encoder)
        assert "onnx" in refused.value.hint


def test_a_package_of_node_is_found_above_the_export(tmp_path: Path) -> None:
    form = FORMATS["transformers-js"]()
    assert "@huggingface/transformers" in form.missing(tmp_path / "out")
    (tmp_path / "node_modules" / "@huggingface" / "transformers").mkdir(parents=True)
    assert "@huggingface/transformers" not in form.missing(tmp_path / "deep" / "out.zip")


def _hits(scores: np.ndarray, row: int) -> set[int]:
    return set(sorted((column for column in range(len(scores)) if column != row), key=lambda column: -scores[row, column])[:10])


@pytest.mark.parametrize("measure", ["cosine", "dot", "euclidean"])
def test_the_figures_are_those_of_a_plain_loop(measure: str) -> None:
    random = np.random.default_rng(1)
    left = random.normal(size=(40, 6))
    right = left + 0.3 * random.normal(size=(40, 6))
    cosine, mean, top10, length = compare({"plain": left}, {"plain": right}, measure)
    cosines = [float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)) for a, b in zip(left, right, strict=True)]
    assert (cosine, mean) == pytest.approx((min(cosines), np.mean(cosines)))
    assert length == pytest.approx(max(abs(np.sqrt(b @ b) / np.sqrt(a @ a) - 1) for a, b in zip(left, right, strict=True)))

    def scores(x: np.ndarray) -> np.ndarray:
        scaled = x / np.linalg.norm(x, axis=1, keepdims=True)
        distance = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=2))
        found: dict[str, Any] = {"cosine": scaled @ scaled.T, "dot": x @ x.T, "euclidean": -distance}
        return found[measure]

    same = [len(_hits(scores(left), row) & _hits(scores(right), row)) / 10 for row in range(40)]
    assert top10 == pytest.approx(np.mean(same))


def test_zero_vectors_and_other_widths() -> None:
    rows = np.eye(3)
    rows[0] = 0
    assert compare({"plain": rows}, {"plain": rows}, "cosine") == (1, 1, 1, 0)
    assert compare({"plain": rows}, {"plain": np.eye(3)}, "cosine")[0] == 0, "a vector for a text that had none"
    with pytest.raises(StudioError, match="3"):
        compare({"plain": rows}, {"plain": rows[:, :2]}, "cosine")
    with pytest.raises(StudioError, match="finite"):
        compare({"plain": rows}, {"plain": rows * np.nan}, "cosine")


def test_each_limit_has_its_own_reason() -> None:
    fine = {"cosine": 1.0, "mean_cosine": 1.0, "top10": 1.0, "length_error": 0.0}
    floor = Floor(0.99, 0.995, 0.9, 0.001)
    rest: dict[str, Any] = {
        "top10_int8": 1,
        "top10_binary": 1,
        "texts": 9,
        "source": "",
        "roles": (),
        "runtime": "",
        "sentences_per_second": 1,
        "original_sentences_per_second": 1,
    }
    assert not Fidelity(**fine, **rest).failures(floor)
    for name, worse in (("cosine", 0.98), ("mean_cosine", 0.99), ("top10", 0.8), ("length_error", 0.1), ("cosine", float("nan"))):
        assert len(Fidelity(**{**fine, name: worse}, **rest).failures(floor)) == 1, name


def test_the_folder_for_sentence_transformers_opens_here_too(tmp_path: Path) -> None:
    original = prompted()
    export_encoder(original, form_of("sentence-transformers"), tmp_path / "out", TEXTS, "made up", card=original.card())
    opened = load_folder(tmp_path / "out")
    assert opened.prompts == PROMPTS and np.allclose(opened.encode(TEXTS), original.encode(TEXTS), atol=1e-6)
    assert "library_name: sentence-transformers" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
