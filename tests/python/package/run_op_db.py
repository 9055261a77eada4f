"""Runs PyTorch's own operator samples (op_db) through `fulgurite.jit` and compares with eager, values and gradients.

usage: run_op_db.py [--write]    It needs expecttest from PyPI. --write: the entries that are not right are written to
unsupported_operators.txt

An entry is right where all its samples are. The committed list may only shrink: an entry of it that is right, or one
that is not right and not in it, is an error.
"""

import pathlib
import sys
import warnings

import fulgurite as fg
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree

LIST = pathlib.Path(__file__).with_name("unsupported_operators.txt")
SAMPLES = 3
RANDOM = (
    "rand",
    "dropout",
    "empty",
    "bernoulli",
    "multinomial",
    "normal",
    "uniform",
    "exponential",
    "geometric",
    "cauchy",
    "rrelu",
)


def differences(found, expected, tolerance):
    """The first difference of two results, or an empty string."""
    ours, theirs = _pytree.tree_leaves(found), _pytree.tree_leaves(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, eager {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, torch.Tensor):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype} {list(a.shape)}, eager {b.dtype} {list(b.shape)}"
        if not torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"values differ by {(a.double() - b.double()).abs().max().item():.1e}"
    return ""


def check_sample(op, sample):
    """Returns what is wrong with one sample, or an empty string."""

    def run(function):
        leaves, spec = _pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        leaves = [
            x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in leaves
        ]
        given, args, kwargs = _pytree.tree_unflatten(leaves, spec)
        out = function(given, *args, **kwargs)
        results = [x for x in _pytree.tree_leaves(out) if isinstance(x, torch.Tensor) and x.requires_grad]
        inputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
        if not results or not inputs or not op.supports_autograd:
            return out, []
        seeds = [torch.ones_like(r) for r in results]
        return out, torch.autograd.grad(results, inputs, seeds, allow_unused=True, materialize_grads=True)

    expected, wanted = run(op.op)
    found, gradients = run(fg.jit(op.op))
    wrong = differences(found, expected, 1e-4)
    return wrong or differences(gradients, wanted, 1e-3)


def check(op):
    """Returns what is wrong with an entry, or an empty string."""
    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd))[:SAMPLES]
    for sample in samples:
        try:
            wrong = check_sample(op, sample)
        except Exception as error:  # noqa: BLE001  whatever comes is a reason
            return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
        if wrong:
            return wrong
    return ""


def main():
    """Compares all entries, and with the list."""
    warnings.simplefilter("ignore")
    reasons, right = {}, 0
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if torch.float32 not in op.supported_dtypes("cpu") or any(word in op.name for word in RANDOM):
            continue
        reason = check(op)
        if reason:
            reasons[name] = reason
        else:
            right += 1
    print(f"{right} entries right, {len(reasons)} not")
    if "--write" in sys.argv:
        LIST.write_text("".join(f"{name}: {reason}\n" for name, reason in sorted(reasons.items())))
        return 0
    known = {line.split(":")[0] for line in LIST.read_text().splitlines()}
    for name in sorted(set(reasons) - known):
        print(f"new: {name}: {reasons[name]}")
    for name in sorted(known - set(reasons)):
        print(f"right now, to be taken off the list: {name}")
    return int(set(reasons) != known)


if __name__ == "__main__":
    sys.exit(main())
