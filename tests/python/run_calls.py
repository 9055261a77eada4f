#!/usr/bin/env python3
"""Repeats random calls of operators under PyTorch: it must give the library's results.

usage: run_calls.py BUILD_FOLDER [--count N] [--seed N] [--only OP]

BUILD_FOLDER/tests/random_calls draws the calls and writes those down that give results. Floating results are compared relative to the
largest of a call's finite ones. Ends with `N calls, N differ, N are refused by PyTorch`; fails when any differs.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

from run_traces import flat, load_function, load_safetensors

TOLERANCES = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


def difference(actual, expected):
    if len(actual) != len(expected):
        return f"{len(expected)} results, PyTorch gives {len(actual)}"
    finite = [b[torch.isfinite(b)].abs().max().item() for b in expected if b.is_floating_point() and torch.isfinite(b).any()]
    largest = max([1e-30, *finite])
    for a, b in zip(actual, expected):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{b.dtype} {list(b.shape)}, PyTorch gives {a.dtype} {list(a.shape)}"
        if not b.is_floating_point():
            close = torch.equal(a, b)
        else:
            close = torch.allclose(a.double(), b.double(), rtol=1e-5, atol=TOLERANCES[b.dtype] * largest, equal_nan=True)
        if not close:
            return f"{b.flatten()[:12].tolist()}, PyTorch gives {a.flatten()[:12].tolist()}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", default="2000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.backends.mkldnn.enabled = False
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        command = [arguments.build / "tests" / "random_calls", "--count", arguments.count, "--seed", arguments.seed, "--write", folder]
        if arguments.only:
            command += ["--only", arguments.only]
        subprocess.run(command, check=True)
        tensors = load_safetensors(folder / "tensors.safetensors")
        records = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    differ, refused = 0, collections.Counter()
    for record in records:
        inputs = [tensors[name].clone() for name in record["inputs"]]
        try:
            results = flat(load_function(record["forward"])(*inputs))
        except Exception as error:  # PyTorch takes less in places
            refused[f"{record['name'].split('(')[0]}: {str(error).splitlines()[0][:120]}"] += 1
            continue
        found = difference(results, [tensors[name] for name in record["outputs"]])
        if found:
            differ += 1
            print(f"DIFFERS {record['name']}: {found}")
    for text, count in sorted(refused.items()):
        print(f"refused {count}: {text}")
    print(f"{len(records)} calls, {differ} differ, {sum(refused.values())} are refused by PyTorch")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
