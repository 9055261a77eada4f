#!/usr/bin/env python3
"""Compares metrics with scikit-learn's, of random predictions with ties and classes that do not occur.

usage: compare_metrics.py RUN_METRICS [--count N] [--seed N]. Ends with 77 where a package is missing.
"""

import argparse
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors.numpy
    from sklearn import metrics
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-6


def drawn(chance):
    """The tensors of one comparison."""
    n, classes = int(chance.integers(4, 400)), int(chance.integers(3, 9))
    dtype = chance.choice([numpy.float32, numpy.float64])
    occurring = int(chance.integers(1, classes + 1))
    target = chance.normal(size=(n, 2)).astype(dtype)
    is_positive = chance.integers(0, 2, n)
    is_positive[:2] = 0, 1
    # Ties need few different values.
    binary = (numpy.round(chance.normal(size=n) * 3 + is_positive) / 3).astype(dtype)
    return {
        "scores": chance.normal(size=(n, classes)).astype(dtype),
        "classes": chance.integers(0, occurring, n),
        "binary_scores": binary,
        "is_positive": is_positive,
        "predicted": target + chance.normal(size=(n, 2)).astype(dtype) * dtype(0.5),
        "target": target,
    }


def expected(t):
    """The numbers of scikit-learn by the names that the program prints."""
    scores, classes = t["scores"], t["classes"]
    labels, guessed = range(scores.shape[1]), scores.argmax(1)
    each = metrics.precision_recall_fscore_support(classes, guessed, labels=labels, zero_division=0)
    macro = metrics.precision_recall_fscore_support(classes, guessed, average="macro", zero_division=0)
    share = metrics.accuracy_score(classes, guessed)
    predicted, target = (t[name].astype(numpy.float64) for name in ("predicted", "target"))
    out = {
        "confusion_matrix": metrics.confusion_matrix(classes, guessed, labels=labels).flatten(),
        "accuracy": [share, share],
        "precision": each[0],
        "recall": each[1],
        "f1": each[2],
        "macro": macro[:3],
        "micro": metrics.precision_recall_fscore_support(classes, guessed, average="micro", zero_division=0)[:3],
        "functions": [*macro[:2], share],
        "binary": metrics.precision_recall_fscore_support(
            classes % 2, guessed % 2, average="binary", pos_label=1, zero_division=0
        )[:3],
        "jaccard": metrics.jaccard_score(classes, guessed, labels=labels, average=None, zero_division=0),
        "roc_auc": [metrics.roc_auc_score(t["is_positive"], t["binary_scores"])],
        "mean_squared_error": [metrics.mean_squared_error(target, predicted)],
        "mean_absolute_error": [metrics.mean_absolute_error(target, predicted)],
        "r2_score": [metrics.r2_score(target[:, 0], predicted[:, 0])],
    }
    for k in (1, 2, 3):
        best = numpy.argsort(-scores, axis=1, kind="stable")[:, :k]
        out[f"top_{k}"] = [(best == classes[:, None]).any(1).mean()]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = numpy.random.default_rng(options.seed)
    compared, failed, largest = 0, 0, 0.0
    for i in range(options.count):
        tensors = drawn(chance)
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            safetensors.numpy.save_file(tensors, file.name)
            run = subprocess.run([options.program, file.name], capture_output=True, text=True, check=True)
        found = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in run.stdout.splitlines()}
        for name, wanted in expected(tensors).items():
            got, wanted = numpy.array(found.get(name, [])), numpy.array(wanted, dtype=numpy.float64)
            apart = abs(got - wanted).max() if got.shape == wanted.shape else float("inf")
            compared, largest = compared + 1, max(largest, apart)
            if not apart <= TOLERANCE:
                print(f"set {i}: {name}: {got} instead of {wanted}")
                failed += 1
    print(f"{compared} metrics of {options.count} sets, {failed} wrong, at most {largest:.1e} apart")
    return int(failed > 0 or compared == 0)


if __name__ == "__main__":
    sys.exit(main())
