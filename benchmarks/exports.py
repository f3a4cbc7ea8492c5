"""Export models to every format, open each with its own runtime and compare it with the original.

    python benchmarks/exports.py [minilm e5 static decoder] [--formats onnx openvino …] [--texts FILE] [--pairs FILE] [--decoder FOLDER]

minilm   all-MiniLM-L6-v2
e5       multilingual-e5-small
static   static embeddings distilled from all-MiniLM-L6-v2 for the words of the texts, then fine-tuned on the pairs
decoder  a language model in FOLDER, such as SmolLM2-135M (``python tests/smollm2.py FOLDER``), fine-tuned on the pairs with LoRA

The texts (support requests) are those that original and export are compared on, 200 of them; the pairs (scored pairs) are the training
data. Both are samples by default. Prints rows of a Markdown table: format, runtime, minimum cosine, share of equal top-10 hits, size, and
sentences per second of the export and of the original (in float32; one pass over the texts, so that differences of a third are noise). A
format that cannot hold the model, or that differs too much, says why instead. The commands go to stderr.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from figures import row
from timing import run_studio

from sbert_studio.models.export import FORMATS

MINILM, E5 = "all-MiniLM-L6-v2", "multilingual-e5-small"
_SAMPLES = Path(__file__).resolve().parents[1] / "assets" / "samples"
_HEADER = ("model", "format", "runtime", "minimum cosine", "equal top-10 hits", "MB", "sentences/s", "of the original")


def tuned_static(options: argparse.Namespace, folder: Path) -> str:
    run_studio("distill", MINILM, "--texts", options.texts, "--name", "words", "--out", folder / "words")
    return _train(folder / "words", options, folder / "static")


def tuned_decoder(options: argparse.Namespace, folder: Path) -> str:
    if options.decoder is None:
        raise SystemExit("error: there is no decoder. hint: add --decoder FOLDER")
    return _train(options.decoder, options, folder / "decoder", "--method", "lora", "--epochs", 1, "--folds", 0)


def _train(base: object, options: argparse.Namespace, out: Path, *more: object) -> str:
    run_studio("train", options.pairs, "--model", base, "--set", "blend=false", *more, "--out", out)
    return str(out)


MODELS: dict[str, Callable[[argparse.Namespace, Path], str]] = {
    "minilm": lambda options, folder: MINILM,
    "e5": lambda options, folder: E5,
    "static": tuned_static,
    "decoder": tuned_decoder,
}


def export(name: str, model: str, format_name: str, texts: Path, folder: Path) -> str:
    """Return the row of one export, or of the reason why there is none."""
    command = [sys.executable, "-m", "sbert_studio", "export", model, "--format", format_name, "--data", str(texts), "--json"]
    command += ["--out", str(folder / f"{name}-{format_name}")]
    print("$", shlex.join(["python", *command[1:]]), file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        return row(name, format_name, f"refused: {(said or [done.stderr.strip()])[-1].removeprefix('error: ')}", *[""] * 5)
    answer = json.loads(done.stdout)
    found = answer["verified"]
    cells = [found["runtime"], f"{found['cosine']:.6f}", f"{found['top10']:.3f}", f"{answer['bytes'] / 1e6:.1f}"]
    cells += [f"{found[key]:,.0f}" for key in ("sentences_per_second", "original_sentences_per_second")]
    return row(name, format_name, *cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)}; default: all but decoder without --decoder")
    parser.add_argument("--formats", nargs="+", default=sorted(FORMATS), choices=sorted(FORMATS), metavar="FORMAT")
    parser.add_argument("--texts", type=Path, default=_SAMPLES / "support_requests.csv", metavar="FILE")
    parser.add_argument("--pairs", type=Path, default=_SAMPLES / "scored_pairs.csv", metavar="FILE")
    parser.add_argument("--decoder", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    names = options.models or [name for name in MODELS if name != "decoder" or options.decoder]
    if unknown := set(names) - set(MODELS):
        parser.error(f"unknown models: {', '.join(sorted(unknown))}; choose from {', '.join(MODELS)}")
    print(row(*_HEADER) + "\n" + row(*("---" for _ in _HEADER)), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            model = MODELS[name](options, Path(folder))
            for format_name in options.formats:
                print(export(name, model, format_name, options.texts, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
