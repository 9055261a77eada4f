#!/usr/bin/env python3
"""Repeats random calls of operators under PyTorch: it must give the library's results.

usage: run_calls.py BUILD_FOLDER [--count N] [--seed N] [--only OP]

BUILD_FOLDER/tests/random_calls draws the calls and writes those down that give results. Floating results are compared
relative to the largest of a call's finite ones, in the least exact dtype of the call. Ends with `N calls, N differ, N
are refused by PyTorch, N are excused`; fails when any differs."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch
from run_traces import flat, load_function, load_safetensors

TOLERANCES = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
# Numbers smaller than these lose digits where they are the difference of larger ones.
LEAST = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 0.1, torch.float16: 0.1}

# Results of operators that multiply infinities by zero weights, or sum them, depend on the order of steps.
SUMS = re.compile(
    r"conv|interpolate|grid_sample|attention|norm|var|std|mean|sum|linalg|qr|svd|eigh|cholesky|solve|einsum|matmul|"
    r"linear|bmm|addm|bilinear|dist|cov|"
    r"similarity|pool|loss|entropy|kl_div"
)
EXCUSED = [
    (r"torch\.(any|all)\(.*\[\]", "an empty list of dimensions means all of them, as in the other reductions"),
    (
        r"torch\.(eq|ne|lt|le|gt|ge|remainder|fmod|div|floor_divide)\((u8|i8|i16|i32)",
        "PyTorch wraps a number that the dtype cannot hold",
    ),
    (r"_loss\(.*u8\[", "PyTorch wraps differences of unsigned numbers"),
    (r"functional\.pad\(.*-\d.*'circular'", "PyTorch reads memory that it has not written"),
    (r"torch\.(sub|add)\(.*alpha=-?9223372036854775", "PyTorch negates the smallest integer"),
    (r"1e\+300", "PyTorch converts a number that the dtype cannot hold"),
    (r"(normalize|cosine_similarity)\(.*f16", "PyTorch rounds eps to zero"),
    (r"max_pool\dd_with_indices\(.*dilation=", "a window that lies in the padding alone has no place"),
    (r"vector_norm\(.*nan", "there is no norm whose order is not a number"),
    (r"scaled_dot_product_attention\(.*[\[ ]0[,\]]", "PyTorch does not broadcast empty batches"),
    (r"pixel_unshuffle\(.*[\[ ]0[,\]]", "PyTorch leaves empty images as they are"),
    (r"hinge_embedding_loss\(i\d", "PyTorch rounds the margin of integers"),
    (r"attention(_backward)?\(.*\binf\b", "products with infinities depend on the order of the steps"),
    (
        r"torch\.(addmm|addmv|addbmm|baddbmm)_?\(.*alpha=-?inf",
        "PyTorch multiplies a factor by an infinite alpha before the products are added up",
    ),
    (r"torch\.addmv\(\w+\[\], \w+\[0,", "PyTorch does not broadcast a 0-d input where there are no rows"),
    (r"bessel_j0\(", "PyTorch's values above 5 are off by up to 4e-7, against scipy"),
    (
        r"prims\.scaled_dot_product_attention_backward\(",
        "the forward's sums of rows are an argument, which PyTorch's spelling computes again",
    ),
    (r"polygamma", "PyTorch has no value at infinity, or where a factorial overflows"),
]
# PyTorch's Bessel functions of infinite and very large numbers are not numbers, or wrong.
BESSEL = re.compile(r"bessel_|torch\.i0\(|special\.i[01]e?\(")
# Any index of equal elements will do.
ANY_PLACE = re.compile(r"torch\.(kthvalue|median|nanmedian|mode)\(")
# PyTorch's losses of different dtypes have the dtype of one argument or the other.
ANY_DTYPE = re.compile(r"loss|entropy")


def compared(name, inputs, actual, expected):
    """The pairs of results that must be equal."""
    pairs = list(zip(actual, expected))
    if ANY_PLACE.match(name):
        pairs = pairs[:1]
    if ANY_DTYPE.search(name) and len({t.dtype for t in inputs}) > 1:
        pairs = [(a.to(b.dtype), b) for a, b in pairs]
    if BESSEL.search(name):
        large = ~(inputs[0].double().abs() < 1e15)
        pairs = [(torch.where(large, 0, a), torch.where(large, 0, b)) for a, b in pairs if a.shape == b.shape]
    if name.startswith("torch.linalg.eigh(") and len(pairs) == 2 and pairs[1][0].shape == pairs[1][1].shape:
        values, (a, b) = pairs  # a vector's sign is not determined
        pairs = [values, (a, b * torch.sign((a * b).sum(-2, keepdim=True)))]
    if SUMS.search(name) and any(t.is_floating_point() and not (t.double().abs() < 1e15).all() for t in inputs):
        pairs = [
            (
                torch.where(torch.isfinite(a) & torch.isfinite(b), a, 0),
                torch.where(torch.isfinite(a) & torch.isfinite(b), b, 0),
            )
            if b.is_floating_point() and a.shape == b.shape
            else (a, b)
            for a, b in pairs
        ]
    return pairs


def difference(name, inputs, actual, expected):
    if len(actual) != len(expected):
        return f"{len(expected)} results, PyTorch gives {len(actual)}"
    pairs = compared(name, inputs, actual, expected)
    floating = [t.dtype for t in (*inputs, *expected) if t.dtype in TOLERANCES]
    tolerance = max((TOLERANCES[dtype] for dtype in floating), default=0)
    least = max((LEAST[dtype] for dtype in floating), default=0)
    finite = [
        b[torch.isfinite(b)].abs().max().item() for _, b in pairs if b.is_floating_point() and torch.isfinite(b).any()
    ]
    largest = max([least, *finite])
    for a, b in pairs:
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{b.dtype} {list(b.shape)}, PyTorch gives {a.dtype} {list(a.shape)}"
        if not b.is_floating_point():
            close = torch.equal(a, b)
        else:
            close = torch.allclose(a.double(), b.double(), rtol=1e-5, atol=tolerance * largest, equal_nan=True)
        if not close:
            return f"{b.flatten()[:12].tolist()}, PyTorch gives {a.flatten()[:12].tolist()}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", default="50000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.backends.mkldnn.enabled = False
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        command = [
            arguments.build / "tests" / "random_calls",
            "--count",
            arguments.count,
            "--seed",
            arguments.seed,
            "--write",
            folder,
        ]
        if arguments.only:
            command += ["--only", arguments.only]
        subprocess.run(command, check=True)
        tensors = load_safetensors(folder / "calls.safetensors")
        records = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    differ, refused, excused = 0, collections.Counter(), collections.Counter()
    for record in records:
        inputs = [tensors[name].clone() for name in record["inputs"]]
        try:
            results = flat(load_function(record["forward"])(*inputs))
        except Exception as error:  # PyTorch takes less in places
            refused[f"{record['name'].split('(')[0]}: {str(error).splitlines()[0][:120]}"] += 1
            continue
        found = difference(
            record["name"],
            [tensors[name] for name in record["inputs"]],
            results,
            [tensors[name] for name in record["outputs"]],
        )
        reason = next((why for pattern, why in EXCUSED if re.search(pattern, record["name"])), None)
        if found and reason:
            excused[reason] += 1
        elif found:
            differ += 1
            print(f"DIFFERS {record['name']}: {found}")
    for text, count in sorted(refused.items()):
        print(f"refused {count}: {text}")
    for text, count in sorted(excused.items()):
        print(f"excused {count}: {text}")
    print(
        f"{len(records)} calls, {differ} differ, {sum(refused.values())} are refused by PyTorch, "
        f"{sum(excused.values())} are excused"
    )
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
