#!/usr/bin/env python3
"""Compares operators with PyTorch at the edges of numbers: values, and gradients for cotangents of ones.

usage: run_edges.py BUILD_FOLDER [--only OP] [--all]

BUILD_FOLDER/tests/dump_edges calls every differentiable pointwise operator, and what goes along a dimension, with
zeros, infinities, NaN, the smallest and the largest numbers of each floating dtype. NaN, infinities and zeros must be
PyTorch's; other numbers must be near, or below the smallest normal number in both. EXCUSED lists by operator what
differs on purpose, and why. --all shows every difference. Ends with `N calls, N differ, N are refused by PyTorch, N are
excused`; fails when any differs."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch
from run_traces import flat, load_function, load_safetensors

NEAR = {torch.float64: 1e-9, torch.float32: 3e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}

# Differences of these are measured against 1, which their results are near: subtractions cancel.
ABSOLUTE = re.compile(r"softmax|sinc|tanh|gelu|logit|std|var|normalize|i0e|i1e|erfcx")


def is_edge(dtype, *numbers):
    """Not finite, or of a size whose square leaves the dtype's range."""
    kind = torch.finfo(dtype)
    return any(x != x or abs(x) > kind.max**0.5 or 0 < abs(x) < kind.tiny**0.5 for x in numbers)


def narrow(dtype, *numbers):
    return dtype in (torch.bfloat16, torch.float16)


def not_a_number(dtype, *numbers):
    return any(x != x for x in numbers)


def always(*_):
    return True


# The call, what differs (values or gradients), at which dtype and values of the inputs, and the reason.
EXCUSED = [
    (r"remainder|fmod", ".*", is_edge, "PyTorch's quotient overflows, where the remainder is exact"),
    (
        r"i0|i0e|i1|i1e|bessel_..|modified_bessel_..|erfcx",
        ".*",
        lambda dtype, x: x == 0 or abs(x) > 500 or is_edge(dtype, x),
        "PyTorch's functions are not numbers at infinity, and lose the phase of large arguments",
    ),
    (
        r"scaled_modified_bessel_..",
        ".*",
        lambda dtype, x: x == 0 or abs(x) > 80 or is_edge(dtype, x),
        "the Python form overflows",
    ),
    (r"copysign", "gradient 0", is_edge, "PyTorch divides the result by the input; the slope of an infinity is 1"),
    (
        r"clamp",
        "gradient .*",
        not_a_number,
        "between bounds that cross, NaN has PyTorch's gradient in one of its kernels",
    ),
    (
        r"hardtanh|relu6|hardshrink|softshrink|hardsigmoid|hardswish|celu|elu|selu",
        "gradient 0",
        not_a_number,
        "the gradient at NaN differs among PyTorch's own kernels",
    ),
    (r"hardsigmoid", ".*", always, "PyTorch divides by 6 in another order"),
    (r"gelu|erf|tanh", "value|gradient 0", is_edge, "PyTorch multiplies an infinity by 0, or a subnormal is rounded"),
    (r"addcmul", ".*", is_edge, "PyTorch fuses the product and the sum, or multiplies by value first"),
    (r"addcdiv", ".*", is_edge, "PyTorch multiplies by value first, and squares the divisor in the gradient"),
    (
        r"pow",
        ".*",
        lambda dtype, x: dtype == torch.float16 and x == -torch.inf,
        "PyTorch's square root of -inf in f16 is inf",
    ),
    (
        r"lgamma|digamma|polygamma",
        ".*",
        lambda dtype, x: x <= 0 or x in (1, 2) or is_edge(dtype, x),
        "at poles, and where digits cancel",
    ),
    (
        r"sinc",
        "gradient 0",
        lambda dtype, x: abs(x) < 0.01 or is_edge(dtype, x),
        "the sine of a large angle, and digits that cancel near 0",
    ),
    (r"logit", "gradient 0", not_a_number, "the gradient at NaN differs among PyTorch's own kernels"),
    (
        r"poisson_nll_loss|kl_div|hinge_embedding_loss|binary_cross_entropy_with_logits",
        ".*",
        narrow,
        "PyTorch rounds every step to 16 bits, and eps to 0",
    ),
    (
        r"poisson_nll_loss",
        "gradient 1",
        lambda dtype, x, target: target <= 1 or is_edge(dtype, x, target),
        "PyTorch multiplies the slope of Stirling's term, which is not used there, by 0",
    ),
    (
        r"binary_cross_entropy_with_logits|gaussian_nll_loss|kl_div|huber_loss|smooth_l1_loss",
        ".*",
        is_edge,
        "infinities meet in another order",
    ),
    (r"logcumsumexp", "gradient 0", is_edge, "PyTorch loses the shares of equal sums that are large"),
    (
        r"cumprod|prod|cumsum|sum|mean|std|var|normalize|vector_norm|softmax|log_softmax|logsumexp",
        ".*",
        is_edge,
        "infinities meet in another order, or squares leave f32, in which PyTorch adds in f64",
    ),
    (
        r"vector_norm|normalize|cumprod|cumsum|var|std|softmax|log_softmax",
        ".*",
        narrow,
        "PyTorch rounds what is between, or adds in f64",
    ),
]


def places(name, actual, expected):
    """The elements at which two tensors differ."""
    dtype = expected.dtype
    if not dtype.is_floating_point:
        return actual != expected
    a, b = actual.double(), expected.double()
    small = torch.finfo(dtype).tiny
    near = (a - b).abs() <= NEAR[dtype] * (b.abs().clamp(1) if ABSOLUTE.search(name) else b.abs())
    near |= (a.abs() <= 2 * small) & (b.abs() <= 2 * small)
    same = (a == b) | (a.isnan() & b.isnan())
    return ~(near | same)


def excuse(record, dtype, what, numbers):
    for operator, kind, where, why in EXCUSED:
        if re.search(rf"\.({operator})$", record["name"]) and re.fullmatch(kind, what) and where(dtype, *numbers):
            return why
    return None


def of_inputs(inputs, index):
    """The numbers that the element of a result, or of a gradient, was made of."""
    if len(inputs) == 1 and inputs[0].dim() == 2:
        return inputs[0][index[0]].tolist()
    return [t[index[0]].item() for t in inputs]


def check(record, tensors, show_all, excused):
    def of(key):
        return [None if name is None else tensors[name] for name in record[key]]

    inputs = [t.clone().requires_grad_() for t in of("inputs")]
    function = load_function(record["forward"].replace("@torch.no_grad()\n", ""))
    results = [r for r in flat(function(*inputs))]
    roots = [r for r in results if r.requires_grad]
    expected = [None] * len(inputs)
    if roots:
        expected = torch.autograd.grad(roots, inputs, [torch.ones_like(r) for r in roots], allow_unused=True)
    pairs = [("value", a, b) for a, b in zip(of("outputs"), results)]
    pairs += [(f"gradient {i}", a, b) for i, (a, b) in enumerate(zip(of("gradients"), expected))]
    found = []
    for what, a, b in pairs:
        if a is None and b is None:
            continue
        a, b = torch.zeros_like(b) if a is None else a, torch.zeros_like(a) if b is None else b.detach()
        if a.dtype != b.dtype or a.shape != b.shape:
            found.append(f"{what} is {a.dtype} {list(a.shape)}, PyTorch's {b.dtype} {list(b.shape)}")
            continue
        for index in places(record["name"], a, b).nonzero().tolist():
            numbers = of_inputs([t.detach() for t in inputs], index) if index else []
            why = excuse(record, inputs[0].dtype, what, numbers)
            if why:
                excused[why] = excused.get(why, 0) + 1
                continue
            at = tuple(index)
            found.append(f"{what} at {numbers}{index[1:] or ''}: {a[at].item():.6g}, PyTorch {b[at].item():.6g}")
    if found:
        shown = found if show_all else found[:6]
        print(f"DIFFERS {record['call']} of {record['dtype']} in {len(found)}")
        for line in shown:
            print("   ", line)
    return not found


def call_text(record):
    """The call, with the arguments that are not tensors."""
    line = [line for line in record["forward"].splitlines() if "torch." in line and "=" in line or "return" in line]
    return line[0].split("#")[0].strip() if line else record["name"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        command = [arguments.build / "tests" / "dump_edges", folder]
        subprocess.run(command + (["--only", arguments.only] if arguments.only else []), check=True)
        tensors = load_safetensors(folder / "edges.safetensors")
        records = [json.loads(line) for line in (folder / "edges.jsonl").read_text().splitlines()]
    differ, refused, excused = 0, {}, {}
    for record in records:
        record["call"] = call_text(record)
        try:
            differ += not check(record, tensors, arguments.all, excused)
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:  # PyTorch takes less in places
            text = f"{record['call']} of {record['dtype']}: {str(error).splitlines()[0][:100]}"
            refused[text] = refused.get(text, 0) + 1
    for text in sorted(refused):
        print(f"refused {text}")
    for text, count in sorted(excused.items()):
        print(f"excused {count}: {text}")
    print(
        f"{len(records)} calls, {differ} differ, {len(refused)} are refused by PyTorch, {sum(excused.values())} "
        f"places are excused"
    )
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
