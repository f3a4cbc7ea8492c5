"""The script that travels with the export of a poly-encoder: its scores again, by sentence-transformers and the paper's equations."""

SCRIPT = '''"""Measure this poly-encoder again on its held-out rows: pip install sentence-transformers, then python verify.py."""

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
