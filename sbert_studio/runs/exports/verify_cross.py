"""The script that travels with the export of a cross-encoder and measures its scores again, with sentence-transformers alone."""

SCRIPT = '''"""Measure this cross-encoder again on its held-out rows: pip install sentence-transformers, then python verify.py."""

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
