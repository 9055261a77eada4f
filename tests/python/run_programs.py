#!/usr/bin/env python3
"""Runs random programs under PyTorch and compares their results and gradients with the library's.

usage: run_programs.py BUILD_FOLDER [--count N] [--seed N]

BUILD_FOLDER/tests/dump_programs writes the programs in their Python form, with the library's gradients of first and
second order, each computed in three ways. PyTorch's autograd, through the Python form, must give the same to 1e-9 of
the program's largest gradient; results to the same of the largest result; masks, indexes and the numbers of the
generator bit for bit. Ends with `N programs, N agree`."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from run_traces import Wrong, as_list, load_function, load_safetensors
from torch.nn.attention import SDPBackend, sdpa_kernel

WAYS = ("eager", "jit and backward", "grad inside jit")
TOLERANCE = 1e-9


def scale_of(tensors):
    return max(
        [1e-3] + [t.abs().max().item() for t in tensors if t is not None and t.is_floating_point() and t.numel()]
    )


def compare(actual, expected, scale, what):
    """Raises Wrong unless two lists of tensors agree; None stands for zeros."""
    if len(actual) != len(expected):
        raise Wrong(f"{what}: {len(actual)} tensors, PyTorch gives {len(expected)}")
    for i, (a, b) in enumerate(zip(actual, expected)):
        if a is None and b is None:
            continue
        a, b = torch.zeros_like(b) if a is None else a, torch.zeros_like(a) if b is None else b
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Wrong(f"{what} {i}: {a.dtype} {list(a.shape)}, PyTorch gives {b.dtype} {list(b.shape)}")
        if not (torch.allclose(a, b, rtol=0, atol=TOLERANCE * scale) if a.is_floating_point() else torch.equal(a, b)):
            raise Wrong(f"{what} {i}:\n{a}\nPyTorch gives\n{b}")


def torch_gradients(function, inputs, weights, slope_weights):
    """The results, and the gradients of the leaves of first and second order."""
    # A tensor given twice is one argument of the recorded program.
    given = [t.detach().clone().requires_grad_(t.requires_grad) for t in inputs[:6]]
    leaves = [t for t in given if t.requires_grad]
    results = as_list(function(*given))
    roots = [(r, w) for r, w in zip(results, weights) if w is not None]
    if any(not r.requires_grad for r, _ in roots):
        raise Wrong("PyTorch's result does not require a gradient, the library's does")

    first = list(
        torch.autograd.grad([r for r, _ in roots], leaves, [w for _, w in roots], create_graph=True, allow_unused=True)
    )
    total = sum((g * w).sum() for g, w in zip(first, slope_weights) if g is not None)
    second = [None] * len(first)
    if isinstance(total, torch.Tensor) and total.requires_grad:
        second = list(torch.autograd.grad(total, leaves, allow_unused=True))
    return results, first, second


def check(record, tensors):
    def of(key):
        return [None if name is None else tensors[name] for name in record[key]]

    inputs, outputs, weights, slope_weights = of("inputs"), of("outputs"), of("weights"), of("slope weights")
    for i in range(3):
        inputs[i].requires_grad_(record["has gradient"][i])
    function = load_function(record["text"].replace("@torch.no_grad()\n", ""))
    with sdpa_kernel(SDPBackend.MATH):
        results, first, second = torch_gradients(function, inputs, weights, slope_weights)
    # Results behind the function's own are memory that several results share.
    compare(outputs, [r.detach() for r in results[: len(outputs)]], scale_of(outputs), "result")
    for way in WAYS:
        compare(of(way + " 1"), [g if g is None else g.detach() for g in first], scale_of(first), way + ", gradient")
        compare(of(way + " 2"), second, scale_of(first + second), way + ", gradient of the gradients")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        dump = subprocess.run(
            [options.build / "tests" / "dump_programs", folder, str(options.count), str(options.seed)]
        )
        if dump.returncode > 1:
            sys.exit(dump.returncode)
        tensors = load_safetensors(folder / "programs.safetensors")
        records = [json.loads(line) for line in (folder / "programs.jsonl").read_text().splitlines()]
    agree = 0
    for record in records:
        try:
            check(record, tensors)
            agree += 1
        except Exception as error:  # whatever a program throws is a failure of that program
            kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
            print(f"FAILED {record['name']}: {kind}{error}")
    print(f"{options.count} programs, {agree} agree")
    sys.exit(0 if agree == options.count and dump.returncode == 0 else 1)


if __name__ == "__main__":
    main()
