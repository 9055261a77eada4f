#!/usr/bin/env python3
"""Runs every stage of many traces, in their Python form, under PyTorch and compares with the library's numbers.

usage: run_traces.py BUILD_FOLDER

BUILD_FOLDER/tests/dump_traces writes the programs: a call of every operator, the example models, a training step. For
each of them every stage of the forward must give the library's results; every stage of the backward, run on what the
last forward saved, its gradients; and PyTorch's own autograd through the recorded forward the same gradients. Draws
agree because the printed generator is the library's. What `fulgurite trace MODEL --python --backward` prints is run
too, and a prologue accepts what it should and nothing else."""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import torch

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
SEED = 7  # case_seed in tests/support/cases/operator_cases.h


class Wrong(Exception):
    """Numbers differ."""


def load_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, start = json.loads(data[8 : 8 + length]), 8 + length
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        else:
            tensors[name] = torch.frombuffer(bytearray(data[start + begin : start + end]), dtype=dtype).reshape(
                entry["shape"]
            )
    return tensors


def load_function(text):
    """The function that a Python form defines last, and a fresh generator for it."""
    namespace = {}
    exec(compile(text, "<trace>", "exec"), namespace)
    namespace["random_seed"], namespace["random_offset"] = SEED, 0
    name = [line for line in text.splitlines() if line.startswith("def ")][-1][4:].split("(")[0]
    return namespace[name]


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def flat(result):
    out = []
    for item in as_list(result):
        out += flat(item) if isinstance(item, (tuple, list)) else [item]
    return out


class Program:
    def __init__(self, record, tensors):
        self.record = record
        self.name, self.exact = record["name"], record["exact"]

        def of(key):
            return [None if name is None else tensors[name] for name in record[key]]

        self.inputs, self.outputs, self.after = of("inputs"), of("outputs"), of("after")
        self.cotangents, self.gradients = of("cotangents"), of("gradients")

    def compare(self, actual, expected, what):
        if len(actual) != len(expected):
            raise Wrong(f"{what}: {len(actual)} results, expected {len(expected)}")
        finite = [
            b[torch.isfinite(b)].abs().max().item()
            for b in expected
            if b is not None and b.dtype.is_floating_point and torch.isfinite(b).any()
        ]
        largest = max([1e-30, *finite])  # of all: what one of several gradients cancels to is as inexact as the others
        for i, (a, b) in enumerate(zip(actual, expected)):
            if b is None:
                continue
            if a is None:
                a = torch.zeros_like(b)
            if a.dtype != b.dtype or a.shape != b.shape:
                raise Wrong(
                    f"{what} {i}: PyTorch gives {a.dtype} {list(a.shape)}, the library {b.dtype} {list(b.shape)}"
                )
            if self.exact or not b.dtype.is_floating_point:
                close = torch.equal(a, b)
            else:
                tolerance = self.record["tolerance"] if b.dtype in (torch.float32, torch.float64) else 1e-2
                close = torch.allclose(a.double(), b.double(), rtol=0, atol=tolerance * largest, equal_nan=True)
            if not close:
                raise Wrong(f"{what} {i}: PyTorch gives\n{a}\nthe library\n{b}")

    def fresh_inputs(self):
        return [t.clone() for t in self.inputs]

    def compare_made(self, actual, what):
        """Compares the results that a program makes, in order. Results that are views of an argument or of another
        result are made after it; the recorded stage, which has all results, is compared whole."""
        if len(actual) == len(self.outputs):
            return self.compare(actual, self.outputs, what)
        place = 0
        for i, result in enumerate(actual):
            while not self.agrees(result, place):
                place += 1
                if place >= len(self.outputs):
                    raise Wrong(
                        f"{what} {i}: PyTorch gives\n{result}\nwhich is none of the library's results that are left"
                    )
            place += 1

    def agrees(self, result, place):
        try:
            self.compare([result], self.outputs[place : place + 1], "")
        except Wrong:
            return False
        return True

    def run_forward(self, text, what, is_recorded):
        """Gives what was saved for the backward, where this stage saves anything."""
        inputs = self.fresh_inputs()
        result, saved = load_function(text)(*inputs), None
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], dict):
            result, saved = result
        if isinstance(result, dict):
            results = result.get("flat_output", result.get("fw_flat_out"))
        else:
            results = result
        if is_recorded:
            # Results behind the function's own are memory that several results share.
            self.compare(flat(results)[: len(self.outputs)], self.outputs, f"{what}, result")
        else:
            self.compare_made(flat(results), f"{what}, result")
        self.compare(inputs, self.after, f"{what}, input afterwards")
        return saved

    def run_backward(self, text, saved, what):
        collections = [list(collection) for collection in saved]
        gradients = load_function(text)(collections, list(self.cotangents))
        self.compare(as_list(gradients), self.gradients, f"{what}, gradient")

    def run_autograd(self, text):
        inputs = self.fresh_inputs()
        wanted = [i for i, g in enumerate(self.gradients) if g is not None]
        for i in wanted:
            inputs[i].requires_grad_()
        try:
            results = flat(load_function(text.replace("@torch.no_grad()\n", ""))(*inputs))
            roots = [(r, c) for r, c in zip(results, self.cotangents) if c is not None and r.requires_grad]
            if len(roots) < sum(c is not None for c in self.cotangents):
                raise Wrong("PyTorch's result does not require a gradient, the library's does")
            gradients = torch.autograd.grad(
                [r for r, _ in roots], [inputs[i] for i in wanted], [c for _, c in roots], allow_unused=True
            )
        except RuntimeError as error:
            # An operator, or one of its arguments, without a gradient in PyTorch.
            if "is not implemented" in str(error) or "is not differentiable with respect to" in str(error):
                return
            raise
        self.compare(list(gradients), [self.gradients[i] for i in wanted], "PyTorch's autograd, gradient")

    def run(self):
        saved = None
        for i, text in enumerate(self.record["forward"]):
            saved = self.run_forward(text, f"forward stage {i}", i == 0) or saved
        for i, text in enumerate(self.record["backward"]):
            self.run_backward(text, saved, f"backward stage {i}")
        if self.record["backward"]:
            self.run_autograd(self.record["forward"][0])


def argument_types(text):
    """The types in the comments below the last function's first line, in the order of its arguments."""
    body = text[text.rindex("@torch.no_grad()") :]
    arguments = re.search(r"def \w+\((.*)\):", body)[1].split(", ")
    return [re.search(rf"  # {name}: \"(.*)\"", body)[1] for name in arguments]


def make_argument(type_text):
    dtype, sizes = re.fullmatch(r"cpu (\w+)\[(.*)\]", type_text).groups()
    shape = [int(size) for size in sizes.split(", ")] if sizes else []
    return torch.randint(0, 65, shape) if dtype == "i64" else 0.1 * torch.randn(shape)


def check_printed_model(build, model):
    """The printed forward and backward against PyTorch's autograd."""
    command = [build / "fulgurite", "trace", model, "--python", "--backward"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Without the check that the printed program makes of itself.
    forward, backward = [
        "# Constructed" + text.split("# Inputs of small elements")[0] for text in printed.split("# Constructed")[1:]
    ]
    torch.manual_seed(1)
    inputs = [make_argument(type_text) for type_text in argument_types(forward)]
    result, saved = load_function(forward)(*inputs)
    cotangent = torch.randn_like(result["output"])
    gradients = load_function(backward)([list(collection) for collection in saved], [cotangent])
    leaves = [t.clone().requires_grad_() if t.is_floating_point() else t for t in inputs]
    output = load_function(forward.replace("@torch.no_grad()\n", ""))(*leaves)[0]["output"]
    wanted = [i for i, gradient in enumerate(gradients) if gradient is not None]
    expected = torch.autograd.grad(output, [leaves[i] for i in wanted], cotangent)
    for i, b in zip(wanted, expected):
        if not torch.allclose(gradients[i], b, rtol=0, atol=1e-5 * b.abs().max().item()):
            raise Wrong(f"the gradient of argument {i} is\n{gradients[i]}\nby PyTorch's autograd\n{b}")


def check_prologue(build):
    command = [build / "fulgurite", "trace", "mlp", "--python", "--stage", "prologue.1"]
    prologue = load_function(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def layer(outs, ins):
        return {
            "weight": torch.zeros(outs, ins, requires_grad=True),
            "bias": torch.zeros(outs, requires_grad=True),
        }

    model, modes = (
        {"first": layer(256, 64), "second": layer(64, 256)},
        {"grad_enabled": True, "default_dtype": torch.float32, "autocast": None},
    )
    tensors = prologue(torch.zeros(16, 64), model, modes)
    if [tuple(t.shape) for t in tensors] != [(16, 64), (256, 64), (256,), (64, 256), (64,)]:
        raise Wrong(f"the prologue gives {[t.shape for t in tensors]}")
    for x in (torch.zeros(16, 65), torch.zeros(16, 64, dtype=torch.float64), torch.zeros(16, 64, requires_grad=True)):
        try:
            prologue(x, model, modes)
        except AssertionError:
            continue
        raise Wrong(f"the prologue accepts {x.dtype} {list(x.shape)}")


def main():
    torch.backends.mkldnn.enabled = False  # its convolutions refuse some sizes that PyTorch's own take
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[2])
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        subprocess.run([build / "tests" / "dump_traces", folder], check=True)
        tensors = load_safetensors(folder / "tensors.safetensors")
        records = [json.loads(line) for line in (folder / "traces.jsonl").read_text().splitlines()]
    checks = [(record["name"], Program(record, tensors).run) for record in records]
    for model in ("linear", "mlp", "gpt"):
        checks.append((f"fulgurite trace {model}", lambda model=model: check_printed_model(build, model)))
    checks.append(("the prologue of fulgurite trace mlp", lambda: check_prologue(build)))
    passed = failed = 0
    for name, check in checks:
        try:
            check()
            passed += 1
        except Exception as error:  # whatever a trace throws is a failure of that trace
            failed += 1
            kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
            print(f"FAILED {name}: {kind}{error}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
