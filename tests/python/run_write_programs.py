#!/usr/bin/env python3
"""Runs random programs that write in place under PyTorch and compares what they leave behind with the library's.

usage: run_write_programs.py BUILD_FOLDER [--count N] [--seed N]

BUILD_FOLDER/tests/dump_write_programs draws the programs, as lists of steps, and runs them eagerly, jitted, jitted in
pieces, and differentiated by value_and_grad, which is jitted too. PyTorch runs the same steps in eager mode. Results,
the buffers after the run and the gradients of the leaves must be the same, to 1e-9 of the largest number. Where PyTorch
refuses to differentiate a program, gradients are not compared; where the library does, PyTorch must, too. Ends with `N
programs, N agree`."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
from run_traces import Wrong, load_safetensors

TOLERANCE = 1e-9
LEAVES, ARGUMENTS = 2, 4
VIEWS = {
    "none": lambda x, own: own,
    "same": lambda x, own: x,
    "row": lambda x, own: x[1],
    "rows": lambda x, own: x[0:2],
    "column": lambda x, own: x.select(1, 2),
    "transposed": lambda x, own: x.transpose(0, 1),
}
MAKES = {
    "transpose": lambda x, y, n, c: x.transpose(*n),
    "select": lambda x, y, n, c: x.select(*n),
    "narrow": lambda x, y, n, c: x.narrow(*n),
    "slice": lambda x, y, n, c: torch.ops.aten.slice(x, n[0], n[1], None, n[2]),
    "unsqueeze": lambda x, y, n, c: x.unsqueeze(n[0]),
    "squeeze": lambda x, y, n, c: x.squeeze(),
    "diagonal": lambda x, y, n, c: x.diagonal(),
    "expand": lambda x, y, n, c: x.expand(n[0], *x.shape),
    "same": lambda x, y, n, c: x,
    "scaled": lambda x, y, n, c: x * c + 0.25,
    "sine": lambda x, y, n, c: x.sin(),
    "product": lambda x, y, n, c: x * y,
    "clone": lambda x, y, n, c: x.clone(),
}


def apart(x, y):
    """y, or a copy where the two overlap, which PyTorch refuses."""
    overlap = x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    return y.clone() if overlap else y


WRITES = {
    "add_": lambda x, y, c: x.add_(c),
    "mul_": lambda x, y, c: x.mul_(c),
    "fill_": lambda x, y, c: x.fill_(c),
    "zero_": lambda x, y, c: x.zero_(),
    "sin_": lambda x, y, c: x.sin_(),
    "add_square_": lambda x, y, c: x.add_(x * x * 0.125),
    "copy_": lambda x, y, c: x.copy_(apart(x, y)),
    "mul_value_": lambda x, y, c: x.mul_(apart(x, y)),
    "masked_fill_": lambda x, y, c: x.masked_fill_(x > c, c),
}


def run(program, given, with_gradients):
    """The outcome of the program in PyTorch: results, buffers, gradients."""
    values = [t.clone() for t in given]
    values[3] = VIEWS[program["sharing"]](values[2], values[3])
    for leaf in values[:LEAVES]:
        leaf.requires_grad_(with_gradients)
    arguments = values[:ARGUMENTS]
    for step in program["steps"]:
        x, y = values[step["on"]], values[step["other"]]
        if step["kind"].endswith("_"):
            WRITES[step["kind"]](x, y, step["number"])
        else:
            values.append(MAKES[step["kind"]](x, y, step["numbers"], step["number"]))
    results = [values[i] * 1.0 for i in program["results"]] + [leaf.sum() for leaf in values[:LEAVES]]
    gradients = []
    if with_gradients:
        loss = sum((r.sin() * (i + 1) + r * r * 0.25).sum() for i, r in enumerate(results))
        loss.backward()
        gradients = [leaf.grad for leaf in values[:LEAVES]]
    return [[t.detach() for t in results], [t.detach() for t in arguments[LEAVES:]], gradients]


def compare(actual, expected, what):
    if len(actual) != len(expected):
        raise Wrong(f"{what}: {len(actual)} tensors, PyTorch gives {len(expected)}")
    for i, (a, b) in enumerate(zip(actual, expected)):
        a, b = torch.zeros_like(b) if a is None else a, torch.zeros_like(a) if b is None else b
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Wrong(f"{what} {i}: {a.dtype} {list(a.shape)}, PyTorch gives {b.dtype} {list(b.shape)}")
        scale = max(1.0, b.abs().max().item()) if b.numel() else 1.0
        if not torch.allclose(a, b, rtol=0, atol=TOLERANCE * scale, equal_nan=True):
            raise Wrong(f"{what} {i}:\n{a}\nPyTorch gives\n{b}")


def check(record, tensors, refusals):
    def of(names):
        return [None if name is None else tensors[name] for name in names]

    given = of(record["arguments"])
    try:
        expected = run(record["program"], given, True)
    except RuntimeError as error:
        refusals["PyTorch: " + str(error).split(":")[0][:60]] += 1
        expected = run(record["program"], given, False)
        expected[2] = None
    for way, found in record["ways"].items():
        if found["refused"]:
            # A subgraph has one backward: unneeded values that it saved must not be overwritten either.
            is_saved_by_subgraph = (
                way.startswith("jit in pieces") and "needed for backward was changed" in found["refused"]
            )
            if expected[2] is not None and not is_saved_by_subgraph:
                raise Wrong(f"{way}: refused: {found['refused']}")
            refusals[way] += 1
            continue
        for what, numbers in zip(("results", "buffers", "gradients"), expected):
            if numbers is not None:
                compare(of(found[what]), numbers, f"{way}, {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        subprocess.run(
            [options.build / "tests" / "dump_write_programs", folder, str(options.count), str(options.seed)], check=True
        )
        tensors = load_safetensors(folder / "programs.safetensors")
        records = [json.loads(line) for line in (folder / "programs.jsonl").read_text().splitlines()]
    agree = 0
    refusals = collections.Counter()
    for record in records:
        try:
            check(record, tensors, refusals)
            agree += 1
        except Exception as error:  # whatever a program throws is a failure of that program
            kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
            print(f"FAILED {record['name']}: {kind}{error}")
    for who, count in sorted(refusals.items()):
        print(f"refused to differentiate: {who}: {count}")
    print(f"{options.count} programs, {agree} agree")
    sys.exit(0 if agree == options.count else 1)


if __name__ == "__main__":
    main()
