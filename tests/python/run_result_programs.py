#!/usr/bin/env python3
"""Runs random programs whose results share memory under PyTorch and compares what they leave behind with the library's.

usage: run_result_programs.py BUILD_FOLDER [--count N] [--seed N] [--ways WAY,WAY]

BUILD_FOLDER/tests/dump_result_programs draws the programs: a function whose results are views of its arguments and of
each other, and what is done with both after the call, writes in place too. It runs them eagerly, jitted (default,
executor, fuser, symbolic: --ways names them), in pieces and with the backward captured. PyTorch runs the same steps in
eager mode. All values at the end and the gradients of the leaves must be the same, to 1e-9 of the largest number. Where
PyTorch refuses to differentiate a program, gradients are not compared; where the library does, PyTorch must, too. Ends
with `N programs, N agree`."""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from run_traces import Wrong, load_safetensors
from run_write_programs import MAKES, WRITES, compare

VIEWS = {
    "none": lambda x, own: own,
    "row": lambda x, own: x[1],
    "rows": lambda x, own: x[0:2],
    "transposed": lambda x, own: x.transpose(0, 1),
}
# The library's operators return contiguous tensors, whatever the order of their operands' elements.
OPERATORS = {
    kind: (lambda make: lambda *step: make(*step).contiguous())(MAKES[kind])
    for kind in ("scaled", "sine", "product", "clone")
}
MAKES = {**MAKES, **OPERATORS, "flat": lambda x, y, n, c: x.reshape(-1), "detach": lambda x, y, n, c: x.detach()}


def do(steps, values):
    for step in steps:
        x, y = values[step["on"]], values[step["other"]]
        if step["kind"].endswith("_"):
            WRITES[step["kind"]](x, y, step["number"])
        else:
            values.append(MAKES[step["kind"]](x, y, step["numbers"], step["number"]))


def run(program, given, with_gradients):
    """The outcome of the program in PyTorch: values and gradients."""
    leaves = [t.clone().requires_grad_(with_gradients) for t in given]
    arguments = [leaves[0], leaves[1] * 1.5, leaves[2] + 0.25, leaves[0].detach() * 0.5]
    arguments[2] = VIEWS[program["sharing"]](arguments[1], arguments[2])
    values = list(arguments)
    do(program["inside"], values)
    values = arguments + [values[i] for i in program["results"]]
    do(program["after"], values)
    gradients = []
    if with_gradients:
        sum((v.sin() * (i + 1) + v * 0.25).sum() for i, v in enumerate(values)).backward()
        gradients = [leaf.grad for leaf in leaves]
    return [v.detach() for v in values], gradients


def check(record, tensors, refusals):
    def of(names):
        return [None if name is None else tensors[name] for name in names]

    given = of(record["leaves"])
    try:
        values, gradients = run(record["program"], given, True)
    except RuntimeError as error:
        refusals["PyTorch: " + str(error).split(":")[0][:60]] += 1
        values, gradients = run(record["program"], given, False)[0], None
    for way, found in record["ways"].items():
        if found["refused"]:
            # A subgraph has one backward: unneeded values that it saved must not be overwritten either.
            is_saved_by_subgraph = way.startswith("pieces") and "needed for backward was changed" in found["refused"]
            if gradients is not None and not is_saved_by_subgraph:
                raise Wrong(f"{way}: refused: {found['refused']}")
            refusals[way] += 1
            continue
        compare(of(found["values"]), values, f"{way}, values")
        if gradients is not None:
            compare(
                [g if g is not None else torch.zeros_like(t) for g, t in zip(of(found["gradients"]), given)],
                gradients,
                f"{way}, gradients",
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ways", help="default, executor, fuser, symbolic, pieces, captured; without it all but fuser")
    options = parser.parse_args()
    environment = {**os.environ, **({"RESULT_WAYS": options.ways} if options.ways else {})}
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        dump = options.build / "tests" / "dump_result_programs"
        subprocess.run([dump, folder, str(options.count), str(options.seed)], check=True, env=environment)
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
            print(f"FAILED {record['name']}: {kind}{error}\n  {json.dumps(record['program'])}")
    for who, count in sorted(refusals.items()):
        print(f"refused to differentiate: {who}: {count}")
    print(f"{options.count} programs, {agree} agree")
    sys.exit(0 if agree == options.count else 1)


if __name__ == "__main__":
    main()
