"""The script that travels with the export of a cross-encoder and measures its scores again, with sentence-transformers alone.

The script that travels with the export of a poly-encoder: its scores again, by sentence-transformers and the paper's equations.

The script that travels with an export and measures its scores again, with sentence-transformers alone.
"""

from __future__ import annotations

from pathlib import Path

from ...encoders.storage.backbone import read_json
from ...encoders.storage.card import opens_elsewhere
from ...training.spec import TrainSpec

CROSS_SCRIPT = '''"""Measure this cross-encoder again on its held-out rows: pip install sentence-transformers, then python verify.py."""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sentence_transformers import CrossEncoder
from sklearn.metrics import average_precision_score

TOLERANCE = 0.0001
HERE = Path(__file__).resolve().parent


def measure(metric, scores, targets):
    if metric == "spearman":
        return float(spearmanr(scores, targets).statistic)
    if metric == "average_precision":
        return float(average_precision_score(np.asarray(targets) == 1, scores))
    if metric == "accuracy":
        return float(np.mean(np.argmax(scores, axis=1) == np.asarray(targets)))
    sys.exit(f"this script does not know the metric {metric}")


def main():
    scores = json.loads((HERE / "scores.json").read_text(encoding="utf-8"))["after"]
    scores = scores.get("kept", scores)  # of several trainings: the one whose model this is
    rows = [json.loads(line) for line in (HERE / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    model = CrossEncoder(str(HERE / "model"), device="cpu")
    predicted = np.asarray(model.predict([tuple(row["texts"]) for row in rows]), dtype=np.float64)
    found = measure(scores["metric"], predicted, [row["target"] for row in rows])
    same = abs(found - scores["score"]) <= TOLERANCE
    verdict = "the same" if same else "DIFFERENT"
    print(f"{scores['metric']} on {len(rows)} held-out rows: {found:.4f}, reported {scores['score']:.4f}: {verdict}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
'''


POLY_SCRIPT = '''"""Measure this poly-encoder again on its held-out rows: pip install sentence-transformers, then python verify.py."""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sklearn.metrics import average_precision_score

TOLERANCE = 0.0001
TIE = 1e-6  # scores that differ by no more are the same
HERE = Path(__file__).resolve().parent


def unit(x):
    return x / np.clip(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12, None)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


class Poly:
    """Humeau et al. 2020, section 4.4: m codes attend over a query's tokens, the candidate over what they found."""

    def __init__(self, folder):
        self.model = SentenceTransformer(str(folder), device="cpu")
        self.codes = load_file(folder / "codes.safetensors")["codes"].astype(np.float64)
        self.sharpness = json.loads((folder / "poly.json").read_text(encoding="utf-8"))["sharpness"]
        self.behind = [module for module in self.model if type(module).__name__ == "Dense"]

    def prompt(self, *names):
        prompts = {name: prompt for name, prompt in self.model.prompts.items() if prompt}
        return next((prompts[name] for name in (*names, self.model.default_prompt_name) if name in prompts), "")

    def queries(self, texts):
        found = []
        for tokens in self.model.encode(texts, prompt=self.prompt("query"), output_value="token_embeddings"):
            h = tokens.detach().numpy().astype(np.float64)
            y = torch.tensor(softmax(self.codes @ h.T, 1) @ h, dtype=torch.float32)
            for module in self.behind:
                y = module({"sentence_embedding": y})["sentence_embedding"]
            found.append(unit(y.detach().numpy().astype(np.float64)))
        return found

    def candidates(self, texts):
        prompt = self.prompt("document", "passage", "corpus")
        return unit(np.asarray(self.model.encode(texts, prompt=prompt), dtype=np.float64))

    def score(self, y, candidates):
        cosines = y @ candidates.T
        return (softmax(self.sharpness * cosines, 0) * cosines).sum(axis=0)

    def scores(self, left, right):
        return np.array([self.score(y, c[None])[0] for y, c in zip(self.queries(left), self.candidates(right))])


def plain(text):
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def mrr_at_10(poly, texts, classes):
    """Each distinct first text looks for its second texts, and those of its class, among all distinct second texts."""
    anchors, positives = ([plain(text) for text in column] for column in texts[:2])
    spelt = [{plain(text): text for text in reversed(column)} for column in texts[:2]]
    queries, candidates = list(dict.fromkeys(anchors)), list(dict.fromkeys(positives))
    wanted = {}
    for anchor, positive in zip(anchors, positives):
        wanted.setdefault(anchor, set()).add(candidates.index(positive))
        if positive in anchors and anchor in positives and anchor != positive:
            wanted.setdefault(positive, set()).add(candidates.index(anchor))
    if classes[0] is not None:
        for anchor, mine in zip(anchors, classes):
            wanted[anchor] |= {candidates.index(p) for p, other in zip(positives, classes) if other == mine and p != anchor}
    total, among = 0.0, poly.candidates([spelt[1][text] for text in candidates])
    for query, y in zip(queries, poly.queries([spelt[0][text] for text in queries])):
        scores = poly.score(y, among)
        best = max(scores[list(wanted[query])])
        others = [s for row, s in enumerate(scores) if row not in wanted[query] and candidates[row] != query]
        rank = 1 + sum(s >= best - TIE for s in others)
        total += 1 / rank if rank <= 10 else 0.0
    return total / len(queries)


def measure(metric, poly, texts, targets):
    if metric == "mrr_at_10":
        return mrr_at_10(poly, texts, targets)
    near = poly.scores(texts[0], texts[1])
    if metric == "spearman":
        return float(spearmanr(near, targets).statistic)
    if metric == "average_precision":
        return float(average_precision_score(np.asarray(targets) == 1, near))
    if metric == "accuracy":
        far = np.max([poly.scores(texts[0], column) for column in texts[2:]], axis=0)
        return float(np.mean(near > far))
    sys.exit(f"this script does not know the metric {metric}")


def main():
    scores = json.loads((HERE / "scores.json").read_text(encoding="utf-8"))["after"]
    scores = scores.get("kept", scores)  # of several trainings: the one whose model this is
    rows = [json.loads(line) for line in (HERE / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [list(column) for column in zip(*(row["texts"] for row in rows))]
    found = measure(scores["metric"], Poly(HERE / "model"), texts, [row["target"] for row in rows])
    same = abs(found - scores["score"]) <= TOLERANCE
    verdict = "the same" if same else "DIFFERENT"
    print(f"{scores['metric']} on {len(rows)} held-out rows: {found:.4f}, reported {scores['score']:.4f}: {verdict}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
'''


def script_for(spec: TrainSpec, model: Path) -> str | None:
    """The script that measures a run of ``spec`` again, whose model lies in the folder ``model``.

    None where sentence-transformers cannot open it, as with an MLP head or a GRU, or gives other vectors of words than a poly-encoder
    attends over.
    """
    if spec.architecture == "siamese":
        return SCRIPT if opens_elsewhere(model) else None
    if spec.architecture == "cross":
        return CROSS_SCRIPT if spec.head == "linear" else None
    modules = read_json(model / "modules.json", list)
    return POLY_SCRIPT if str(modules[0].get("type", "")).endswith(".Transformer") else None


SCRIPT = '''"""Measure this model again on its held-out rows: pip install sentence-transformers, then python verify.py."""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

TOLERANCE = 0.0001
TIE = 1e-6  # cosines that differ by no more are the same
HERE = Path(__file__).resolve().parent


def alike(u, v, by):
    """How similar matching rows are by cosine, dot, euclidean or manhattan, larger for more."""
    if by in ("euclidean", "manhattan"):
        return -(np.linalg.norm(u - v, axis=1) if by == "euclidean" else np.abs(u - v).sum(axis=1))
    return (u * v).sum(axis=1) / (1 if by == "dot" else np.clip(np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1), 1e-12, None))


def mrr_at_10(texts, classes, vectors, by="cosine"):
    """Each distinct first text looks for its second texts, and those of its class, among all distinct second texts."""
    anchors, positives = ([plain(text) for text in column] for column in texts[:2])
    place = [{text: row for row, text in reversed(list(enumerate(column)))} for column in (anchors, positives)]
    queries, candidates = list(dict.fromkeys(anchors)), list(dict.fromkeys(positives))
    u, v = (vectors[side][[place[side][text] for text in names]] for side, names in ((0, queries), (1, candidates)))
    wanted = {}
    for anchor, positive in zip(anchors, positives):
        wanted.setdefault(anchor, set()).add(candidates.index(positive))
        if positive in place[0] and anchor in place[1] and anchor != positive:
            wanted.setdefault(positive, set()).add(candidates.index(anchor))
    if classes[0] is not None:
        for anchor, mine in zip(anchors, classes):
            wanted[anchor] |= {candidates.index(p) for p, other in zip(positives, classes) if other == mine and p != anchor}
    total = 0.0
    for query, one in zip(queries, u):
        scores = alike(one[None], v, by)
        best = max(scores[list(wanted[query])])
        others = [s for row, s in enumerate(scores) if row not in wanted[query] and candidates[row] != query]
        rank = 1 + sum(s >= best - TIE for s in others)
        total += 1 / rank if rank <= 10 else 0.0
    return total / len(queries)


def nearest(texts, classes, vectors, known, known_classes, known_vectors):
    """How often the nearest text, among those that say something else, is of the same class."""
    u, v = (x / np.clip(np.linalg.norm(x, axis=1, keepdims=True), 1e-12, None) for x in (vectors, known_vectors))
    right = 0
    for text, mine, scores in zip(texts, classes, u @ v.T):
        best = {True: -np.inf, False: -np.inf}
        for other, theirs, score in zip(known, known_classes, scores):
            if plain(other) != plain(text):
                best[theirs == mine] = max(best[theirs == mine], score)
        right += best[True] > best[False] + TIE
    return right / len(texts)


def plain(text):
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def sorted_by_regression(classes, u, v):
    """Accuracy of a logistic regression on (|u - v|, u * v), cross-validated."""
    u, v = (x / np.clip(np.linalg.norm(x, axis=1, keepdims=True), 1e-12, None) for x in (u, v))
    features, truth = np.concatenate([np.abs(u - v), u * v], axis=1).astype(np.float32), np.asarray(classes).astype(str)
    folds = StratifiedKFold(min(5, max(np.unique(truth, return_counts=True)[1])), shuffle=True, random_state=12)
    right = 0
    for train, test in folds.split(features, truth):
        centre = features[train].mean(axis=0)
        scale = np.linalg.norm(features[train] - centre, axis=1).mean() or 1.0
        model = LogisticRegression(C=10.0, max_iter=1000).fit((features[train] - centre) / scale, truth[train])
        right += (model.predict((features[test] - centre) / scale) == truth[test]).sum()
    return right / len(truth)


def measure(metric, texts, targets, vectors, model):
    if metric == "nearest_neighbour_accuracy":
        known = [json.loads(line) for line in (HERE / "known.jsonl").read_text(encoding="utf-8").splitlines()]
        beside = [row["texts"][0] for row in known]
        found = encoded(model, beside, "symmetric")
        return nearest(texts[0], targets, vectors[0], beside, [row["target"] for row in known], found)
    if metric == "accuracy":
        return sorted_by_regression(targets, vectors[0], vectors[1])
    if metric == "mrr_at_10":
        return mrr_at_10(texts, targets, vectors, model.similarity_fn_name)
    by, _, kind = metric.partition("_")
    if kind == "spearman":
        return float(spearmanr(alike(vectors[0], vectors[1], by), targets).statistic)
    if kind == "average_precision":
        return float(average_precision_score(np.asarray(targets) == 1, alike(vectors[0], vectors[1], by)))
    if kind == "accuracy":
        near = alike(vectors[0], vectors[1], by)
        far = np.max([alike(vectors[0], negative, by) for negative in vectors[2:]], axis=0)
        return float(np.mean(near > far))
    sys.exit(f"this script does not know the metric {metric}")


def encoded(model, texts, role):
    """Vectors of texts with the prompt that the model was trained with for their role."""
    names = {"query": ["query"], "document": ["document", "passage", "corpus"], "symmetric": ["STS", "sts"]}[role]
    prompts = {name: prompt for name, prompt in model.prompts.items() if prompt}
    default = prompts.get(model.default_prompt_name, "")
    found = next((prompts[name] for name in names if name in prompts), None)
    if found is None and role == "symmetric" and not default and "passage" in prompts:
        found = prompts.get("query", "")
    return np.asarray(model.encode(texts, prompt=default if found is None else found), dtype=np.float64)


def main():
    scores = json.loads((HERE / "scores.json").read_text(encoding="utf-8"))["after"]
    scores = scores.get("kept", scores)  # of several trainings: the one whose model this is
    rows = [json.loads(line) for line in (HERE / "held_out.jsonl").read_text(encoding="utf-8").splitlines()]
    model = SentenceTransformer(str(HERE / "model"), device="cpu")
    texts = [list(column) for column in zip(*(row["texts"] for row in rows))]
    asymmetric = scores["metric"] == "mrr_at_10" or len(texts) > 2  # the first text is a query, the others are documents
    roles = ["query" if place == 0 else "document" for place in range(len(texts))] if asymmetric else ["symmetric"] * len(texts)
    vectors = [encoded(model, column, role) for column, role in zip(texts, roles)]
    vectors = [np.where(np.isfinite(one), one, 0) for one in vectors]  # the maximum over the words of a text without a known one
    found = measure(scores["metric"], texts, [row["target"] for row in rows], vectors, model)
    same = abs(found - scores["score"]) <= TOLERANCE
    verdict = "the same" if same else "DIFFERENT"
    print(f"{scores['metric']} on {len(rows)} held-out rows: {found:.4f}, reported {scores['score']:.4f}: {verdict}")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
'''
