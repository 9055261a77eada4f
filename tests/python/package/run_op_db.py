"""Runs PyTorch's own operator samples (op_db) through `fulgurite.jit` and compares with eager, values and gradients.

usage: run_op_db.py [--write] [--samples N] [--dtypes float32,int64,...] [--only NAME,...] [--part I/N]

It needs expecttest from PyPI. --samples: so many of each entry and dtype, else all. --write: the entries that are not
right are written to unsupported_operators.txt. --part: one of N runs beside each other, which prints its reasons.

An entry is right where all its samples of all dtypes are. The committed list may only shrink: an entry of it that is
right, or one that is not right and not in it, is an error. A reason that is not a refusal (`Unsupported`) is a fault.
"""

import argparse
import pathlib
import sys
import warnings

import fulgurite as fg
import torch
from torch.testing._internal import common_methods_invocations
from torch.utils import _pytree

# The entries of draws begin at the same number each time, which would hide that they draw.
SEEDED = common_methods_invocations.wrapper_set_seed
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
op_db = common_methods_invocations.op_db
LIST = pathlib.Path(__file__).with_name("unsupported_operators.txt")
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)
TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 5e-3}
# PyTorch's own is exact to this much only in f64: it evaluates an expansion of f32.
INEXACT = {"special.bessel_j0": 1e-6, "special.bessel_j1": 1e-6, "special.bessel_y0": 1e-6, "special.bessel_y1": 1e-6}
# The index may be that of any of equal elements; the place of `dim` among the arguments behind the first.
NAMES_ONE_OF_EQUAL = {"kthvalue": 1, "mode": 0}
# Gradients that are finite where eager's are NaN: of counts that Stirling's approximation leaves out.
FINITE_GRADIENTS = ("nn.functional.poisson_nll_loss",)
UNINITIALISED = ("empty", "resize_")
# Two draws may agree by chance.
DRAWS = ("fractional_max_pool",)


def name_of(op):
    """An entry's name and that of its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def tensors_of(tree):
    """All tensors of a result."""
    return [x for x in _pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def called(op, function, sample, dtype=None, seed=0):
    """The results and gradients of one call; with a dtype the floating tensors are converted to it before."""
    leaves, spec = _pytree.tree_flatten((sample.input, sample.args, sample.kwargs))

    def fresh(x):
        if not isinstance(x, torch.Tensor):
            return dtype if dtype is not None and isinstance(x, torch.dtype) and x.is_floating_point else x
        y = x.detach().clone() if x.layout is torch.strided else x.detach()
        y = y.to(dtype) if dtype is not None and y.is_floating_point() else y
        return y.requires_grad_(x.requires_grad)

    leaves = [fresh(x) for x in leaves]
    given, args, kwargs = _pytree.tree_unflatten(leaves, spec)
    torch.manual_seed(seed)
    if op.gradcheck_wrapper is SEEDED:
        out = function(given, *args, **kwargs)
    else:  # it makes matrices symmetric where it must
        out = op.gradcheck_wrapper(function, given, *args, **kwargs)
    processed = sample.output_process_fn_grad(out)
    results = [x for x in tensors_of(processed) if x.requires_grad]
    inputs = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if not results or not inputs or not op.supports_autograd:
        return processed, []
    seeds = [torch.ones_like(r) for r in results]
    return processed, torch.autograd.grad(results, inputs, seeds, allow_unused=True, materialize_grads=True)


def distance(a, b):
    """The largest difference, where both are finite; infinite where only one is."""
    a, b = a.double(), b.double()
    equal = (a == b) | (a.isnan() & b.isnan())
    return torch.where(equal, 0.0, (a - b).abs()).nan_to_num(nan=float("inf")).max().item() if a.numel() else 0.0


def difference(a, b, tolerance, exact):
    """The fault of one result, or an empty string. `exact` gives eager's in f64, against which both are
    measured where they differ."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {list(a.shape)}, eager {b.dtype} {list(b.shape)}"
    if b.layout is not torch.strided or b.dtype.is_complex:
        return "" if torch.allclose(a.to_dense(), b.to_dense()) else "values differ"
    if torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    if not a.dtype.is_floating_point:
        return f"values differ by {distance(a, b):.1e}"
    reference = exact()
    if reference is not None and reference.shape == a.shape:
        scale = reference.double().nan_to_num(posinf=0.0, neginf=0.0).abs().max().item()
        if distance(a, reference) <= 4 * distance(b, reference) + 4 * torch.finfo(a.dtype).eps * scale:
            return ""
    return f"values differ by {distance(a, b):.1e}"


def differences(found, expected, tolerance, exact):
    """The first difference of two lists of results, or an empty string."""
    ours, theirs = tensors_of(found), tensors_of(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, eager {len(theirs)}"
    numbers = [x for x in _pytree.tree_leaves(expected) if isinstance(x, (bool, int, float))]
    if numbers and [x for x in _pytree.tree_leaves(found) if isinstance(x, (bool, int, float))] != numbers:
        return f"numbers differ from eager's {numbers}"
    wrong = (difference(a, b, tolerance, lambda i=i: exact(i)) for i, (a, b) in enumerate(zip(ours, theirs)))
    return next((w for w in wrong if w), "")


def dim_of(op, sample):
    """The dimension along which an entry of NAMES_ONE_OF_EQUAL works."""
    place = NAMES_ONE_OF_EQUAL[op.name]
    return sample.kwargs.get("dim", sample.args[place] if len(sample.args) > place else -1)


def names_equal(op, sample, found):
    """True where the indices of a result are those of elements that equal its values."""
    values, indices = tensors_of(found)
    dim = dim_of(op, sample)
    if indices.ndim < sample.input.ndim:
        values, indices = values.unsqueeze(dim), indices.unsqueeze(dim)
    return torch.equal(sample.input.gather(dim, indices).nan_to_num(), values.nan_to_num())


def same(a, b):
    """True where two calls of eager gave the same: else the operator draws."""
    return all(x.shape == y.shape and distance(x, y) == 0 for x, y in zip(tensors_of(a), tensors_of(b)))


def check_sample(op, sample):
    """The fault of one sample, or an empty string; None where eager fails."""
    try:
        expected, wanted = called(op, op.op, sample)
        again, _ = called(op, op.op, sample, seed=1)
    except Exception:  # noqa: BLE001  nothing to compare with
        return None
    found, gradients = called(op, fg.jit(op.op, fallback="error"), sample)
    if any(word in op.name for word in UNINITIALISED + DRAWS) or not same(expected, again):
        shapes = [[(x.shape, x.dtype) for x in tensors_of(out)] for out in (found, expected)]
        return "" if shapes[0] == shapes[1] else "other shapes than eager"
    exact = []

    def reference(place, index):
        if not exact:
            try:
                exact.append(called(op, op.op, sample, dtype=torch.float64))
            except Exception:  # noqa: BLE001  then there is none
                exact.append(None)
        of = tensors_of(exact[0][place]) if exact[0] is not None else []
        return of[index] if index < len(of) else None

    given = [x.dtype for x in (*tensors_of(expected), *tensors_of((sample.input, sample.args)))]
    tolerance = max([TOLERANCES.get(d, 0.0) for d in given] + [INEXACT.get(op.name, 0.0)])
    if op.name in NAMES_ONE_OF_EQUAL:
        if not names_equal(op, sample, found):
            return "an index names another value"
        found, expected = found[:1], expected[:1]
        # An equal element has the gradient, wherever it stands.
        gradients, wanted = ([g.sum(dim_of(op, sample)) for g in of] for of in (gradients, wanted))
    if op.name in FINITE_GRADIENTS:
        wanted = [torch.where(theirs.isnan(), ours, theirs) for ours, theirs in zip(gradients, wanted)]
    wrong = differences(found, expected, tolerance, lambda i: reference(0, i))
    return wrong or differences(gradients, wanted, 10 * tolerance, lambda i: reference(1, i))


def check(op, dtypes, count):
    """Returns what is wrong with an entry, or an empty string."""
    ran = False
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=grad))[:count]
        except Exception as error:  # noqa: BLE001  PyTorch's own
            return f"no samples: {type(error).__name__}"
        for sample in samples:
            try:
                wrong = check_sample(op, sample)
            except Exception as error:  # noqa: BLE001  whatever comes is a reason
                wrong = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:150]
            if wrong:
                return f"{wrong} ({str(dtype).removeprefix('torch.')})"
            ran = ran or wrong is not None
    return "" if ran else "eager runs no sample"


def arguments():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--dtypes", default=",".join(str(d).removeprefix("torch.") for d in DTYPES))
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="0/1")
    return parser.parse_args()


def main():
    """Compares all entries, and with the list."""
    warnings.simplefilter("ignore")
    options = arguments()
    dtypes = [getattr(torch, name) for name in options.dtypes.split(",")]
    part, parts = map(int, options.part.split("/"))
    wanted = set(options.only.split(",")) - {""}
    reasons, right = {}, 0
    for op in op_db[part::parts]:
        name = name_of(op)
        if wanted and name not in wanted:
            continue
        reason = check(op, dtypes, options.samples)
        if reason:
            reasons[name] = reason
            if parts > 1 or wanted:
                print(f"{name}: {reason}", flush=True)
        else:
            right += 1
    faults = [name for name, reason in reasons.items() if not reason.startswith(("Unsupported", "eager runs no"))]
    print(f"{right} entries right, {len(reasons)} not, of which {len(faults)} no refusals")
    if options.write:
        LIST.write_text("".join(f"{name}: {reason}\n" for name, reason in sorted(reasons.items())))
        return 0
    if parts > 1 or wanted:
        return 0
    known = {line.split(":")[0] for line in LIST.read_text().splitlines()}
    for name in sorted(set(reasons) - known):
        print(f"new: {name}: {reasons[name]}")
    for name in sorted(known - set(reasons)) if options.samples is None else ():
        print(f"right now, to be taken off the list: {name}")
    return int(not set(reasons) <= known or (options.samples is None and set(reasons) != known))


if __name__ == "__main__":
    sys.exit(main())
