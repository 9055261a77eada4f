"""Runs PyTorch's own samples of layers (module_db) through `fulgurite.jit` and compares with eager: results, gradients
of inputs and parameters, and buffers.

usage: run_module_db.py [--only NAME,...] [--samples N]

It needs expecttest from PyPI. Lazy layers are called once in eager before, which makes their parameters. A layer is
right where all its samples are, in f32 and f64, in training and evaluation. Those that are refused are listed with the
reason; one that differs is an error.
"""

import argparse
import copy
import sys
import warnings

import fulgurite as fg
import torch
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree

TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-4}


def tensors_of(tree):
    """All tensors of a result."""
    return [x for x in _pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def copied(tree):
    """The arguments with leaves of their own."""

    def fresh(x):
        return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x

    return _pytree.tree_map(fresh, tree)


def called(function, module, given):
    """Results, gradients and buffers of one call."""
    args, kwargs = copied((given.args, given.kwargs))
    torch.manual_seed(0)
    out = function(*args, **kwargs)
    results = [x for x in tensors_of(out) if x.requires_grad]
    leaves = [x for x in tensors_of((args, kwargs)) if x.requires_grad]
    leaves += [p for p in module.parameters() if p.requires_grad]
    gradients = []
    if results and leaves:
        seeds = [torch.ones_like(r) for r in results]
        gradients = torch.autograd.grad(results, leaves, seeds, allow_unused=True, materialize_grads=True)
    return {"results": tensors_of(out), "gradients": list(gradients), "buffers": list(module.buffers())}


def differences(found, expected, tolerance):
    """The first difference, or an empty string."""
    for kind, wanted in expected.items():
        if len(found[kind]) != len(wanted):
            return f"{len(found[kind])} {kind}, eager {len(wanted)}"
        for i, (a, b) in enumerate(zip(found[kind], wanted)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return f"{kind} {i}: {a.dtype} {list(a.shape)}, eager {b.dtype} {list(b.shape)}"
            if not torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
                return f"{kind} {i} differ by {(a.double() - b.double()).abs().max().item():.1e}"
    return ""


def check_sample(info, sample, dtype, training):
    """The fault of one sample, or an empty string; None where eager fails."""
    made = sample.constructor_input
    torch.manual_seed(1)
    module = info.module_cls(*made.args, **made.kwargs, dtype=dtype) if takes_dtype(info, made, dtype) else None
    if module is None:
        module = info.module_cls(*made.args, **made.kwargs).to(dtype)
    module.train(training)
    try:
        if "Lazy" in info.name:  # eager makes the parameters
            module(*sample.forward_input.args, **sample.forward_input.kwargs)
        reference = copy.deepcopy(module)
        expected = called(reference, reference, sample.forward_input)
    except Exception:  # noqa: BLE001  nothing to compare with
        return None
    found = called(fg.jit(module, fallback="error"), module, sample.forward_input)
    return differences(found, expected, TOLERANCES[dtype])


def takes_dtype(info, made, dtype):
    """True where a constructor has a dtype."""
    try:
        info.module_cls(*made.args, **made.kwargs, dtype=dtype)
    except TypeError:
        return False
    return "dtype" not in made.kwargs


def check(info, count):
    """The fault of a layer, or an empty string, and the number of samples."""
    ran = 0
    for dtype in TOLERANCES:
        for training in (True, False):
            torch.manual_seed(0)
            samples = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
            for sample in [s for s in samples if s.forward_input is not None][:count]:
                try:
                    wrong = check_sample(info, sample, dtype, training)
                except Exception as error:  # noqa: BLE001  whatever comes is a reason
                    wrong = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:150]
                if wrong:
                    mode = "training" if training else "evaluation"
                    return f"{wrong} ({str(dtype).removeprefix('torch.')}, {mode}, {sample.desc})", ran
                ran += wrong is not None
    return ("" if ran else "eager runs no sample"), ran


def main():
    """Compares all layers."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    wanted = set(options.only.split(",")) - {""}
    right, samples, refused, faults = 0, 0, 0, 0
    for info in module_db:
        if wanted and info.name not in wanted:
            continue
        reason, ran = check(info, options.samples)
        samples += ran
        right += not reason
        if reason:
            is_refusal = reason.startswith(("Unsupported", "eager runs no"))
            refused, faults = refused + is_refusal, faults + (not is_refusal)
            print(f"{info.name}: {reason}", flush=True)
    print(f"{right} layers right in {samples} samples, {refused} refused, {faults} wrong")
    return int(faults > 0 or right == 0)


if __name__ == "__main__":
    sys.exit(main())
