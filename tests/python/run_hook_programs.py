#!/usr/bin/env python3
"""Runs random eager programs with hooks of all kinds under PyTorch and compares every event, in order, with the
library's.

usage: run_hook_programs.py BUILD_FOLDER [--count N] [--seed N] [--compiled]

BUILD_FOLDER/tests/dump_hook_programs draws and runs the programs. An event is a call of a hook or a result, with a
checksum of the tensors it saw, which must agree to 1e-9. With --compiled the library's backwards are captured by
compiled autograd. Ends with `N programs, N agree`."""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

LEAVES = 2


def checksum(t):
    if isinstance(t, (list, tuple)):
        return sum(checksum(x) for x in t)
    if t is None:
        return 0.0
    flat = t.detach().contiguous().flatten()
    return float((flat * torch.arange(1, flat.numel() + 1, dtype=torch.float64)).sum())


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b, a - b

    @staticmethod
    def backward(ctx, of_product, of_difference):
        a, b = ctx.saved_tensors
        return of_product * b + of_difference, of_product * a - of_difference


class WithSigns(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        signs = torch.sign(x)
        ctx.mark_non_differentiable(signs)
        ctx.save_for_backward(signs)
        return x * 2, signs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient, _):
        return gradient * 2 * ctx.saved_tensors[0]


class Partly(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, by):
        ctx.set_materialize_grads(False)
        ctx.by = by
        ctx.save_for_backward(b)
        return a * b, a * by

    @staticmethod
    def backward(ctx, of_product, of_scaled):
        if not ctx.needs_input_grad[0]:
            return None, None, None
        total = None
        if of_product is not None:
            total = of_product * ctx.saved_tensors[0]
        if of_scaled is not None:
            more = of_scaled * ctx.by
            total = more if total is None else total + more
        return total, None, None


class Shrunk(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(0.5)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 0.5


class Program:
    def __init__(self):
        self.values, self.events, self.handles, self.accumulators, self.retains = [], [], [], [], set()
        for i in range(LEAVES + 1):
            start = torch.arange(6, dtype=torch.float64).reshape(2, 3) * (0.25 + 0.125 * i) - 0.5
            self.values.append(start.requires_grad_(i < LEAVES))

    def say(self, what, tensors):
        number = checksum(tensors)
        self.events.append([what, number if math.isfinite(number) else -12345])

    def run(self, steps):
        try:
            for step in steps:
                getattr(self, "do_" + step["do"])(self.values[step["on"]], step)
        except (
            RuntimeError,
            IndexError,
            TypeError,
        ) as error:  # an index behind the last value: the library went on where PyTorch refused
            self.error = str(error)
            self.events.append(["refused", 0])
        for i, value in enumerate(self.values):
            self.say("value", value)
            if i < LEAVES or i in self.retains:
                self.say("gradient", value.grad)

    def other(self, step):
        return self.values[step["other"]]

    def do_scaled(self, x, s):
        self.values.append(x * s["number"])

    def do_sine(self, x, s):
        self.values.append(x.sin())

    def do_exp(self, x, s):
        self.values.append((x * 0.125).exp())

    def do_product(self, x, s):
        self.values.append(x * self.other(s))

    def do_sum(self, x, s):
        self.values.append(x + self.other(s))

    def do_jitted_wave(self, x, s):
        self.values.append(x.sin() * x)

    def do_jitted_subgraphs(self, x, s):
        self.values.append((x * self.other(s)) * 0.5 + x)

    def do_row(self, x, s):
        self.values.append(x.select(0, 1))

    def do_transposed(self, x, s):
        self.values.append(x.transpose(0, -1))

    def do_narrowed(self, x, s):
        self.values.append(x.narrow(0, 0, 2))

    def do_cube(self, x, s):
        self.values.append(Cube.apply(x))

    def do_mix(self, x, s):
        self.values.extend(Mix.apply(x, self.other(s)))

    def do_with_signs(self, x, s):
        self.values.extend(WithSigns.apply(x))

    def do_partly(self, x, s):
        self.values.extend(Partly.apply(x, self.other(s), s["number"]))

    def do_shrunk(self, x, s):
        Shrunk.apply(x)

    def do_add_(self, x, s):
        x.add_(s["number"])

    def do_mul_(self, x, s):
        x.mul_(s["number"])

    def do_mul_value_(self, x, s):
        x.mul_(self.other(s))

    def do_remove(self, x, s):
        self.handles[s["other"]].remove()

    def do_hook(self, x, s):
        def hook(gradient):
            if gradient is None:  # the library calls no hook where there is no gradient
                return None
            self.say(f"hook {s['other']}", gradient)
            return gradient * s["number"] if s["number"] else None

        self.handles.append(x.register_hook(hook))

    def do_retain(self, x, s):
        self.retains.add(s["on"])
        x.retain_grad()

    def before(self, s):
        def hook(gradients):
            self.say(f"before {s['other']}", gradients)
            return tuple(g if g is None else g * s["number"] for g in gradients) if s["number"] else None

        return hook

    def after(self, s, name):
        def hook(of_inputs, of_outputs):
            number = checksum(of_inputs) + 3 * checksum(of_outputs)
            self.events.append([f"{name} {s['other']}", number if math.isfinite(number) else -12345])
            return tuple(g if g is None else g * s["number"] for g in of_inputs) if s["number"] else None

        return hook

    def do_before(self, x, s):
        self.handles.append(x.grad_fn.register_prehook(self.before(s)))

    def do_after(self, x, s):
        self.handles.append(x.grad_fn.register_hook(self.after(s, "after")))

    def accumulator(self, x):
        self.accumulators.append((x * 1).grad_fn.next_functions[0][0])
        return self.accumulators[-1]

    def do_leaf_before(self, x, s):
        self.handles.append(self.accumulator(x).register_prehook(self.before(s)))

    def do_leaf_after(self, x, s):
        self.handles.append(self.accumulator(x).register_hook(self.after(s, "leaf_after")))

    def do_accumulated(self, x, s):
        self.accumulator(x)
        self.handles.append(
            x.register_post_accumulate_grad_hook(lambda leaf: self.say(f"accumulated {s['other']}", leaf.grad))
        )

    def do_backward(self, x, s):
        self.events.append(["begin", 0])
        inputs = [self.values[i] for i in s["inputs"]]
        (x * 0.75).sum().backward(retain_graph=bool(s["other"]), inputs=inputs or None)

    def do_grad(self, x, s):
        self.events.append(["begin", 0])
        inputs = [self.values[i] for i in s["inputs"]]
        for g in torch.autograd.grad((x * 0.75).sum(), inputs, retain_graph=bool(s["other"]), allow_unused=True):
            self.say("no result" if g is None else "result", g)


def difference(ours, theirs, error, steps):
    # The library continues if only scalars were saved, which need not be freed, and if a view that was created before
    # its base required grad is written, which PyTorch takes for a leaf (no program writes one).
    goes_on = error.startswith(
        ("Trying to backward through the graph a second time", "a leaf Variable that requires grad is being used")
    )
    # It does not read a saved tensor that was written if only unused or omitted gradients need it.
    if error.startswith("one of the variables needed for gradient computation has been modified"):
        goes_on = any(step["do"] == "partly" or step.get("inputs") for step in steps)
    is_refused = False
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if goes_on and b[0] == "refused" and a[0] != "refused":
            return None
        if goes_on and is_refused and a[0] == b[0] == "gradient":  # the library was refused too, but farther down
            continue
        is_refused = is_refused or a[0] == b[0] == "refused"
        if a[0] != b[0] or abs(a[1] - b[1]) > 1e-9 * max(1, abs(b[1])):
            return f"event {i} is {a}, PyTorch's {b}"
    return None if len(ours) == len(theirs) else f"{len(ours)} events, PyTorch has {len(theirs)}"


def main():
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--show", action="store_true", help="print the steps of those that differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        how = ["--compiled"] if options.compiled else []
        subprocess.run(
            [options.build / "tests" / "dump_hook_programs", folder, str(options.count), str(options.seed), *how],
            check=True,
        )
        records = [json.loads(line) for line in (folder / "hooks.jsonl").read_text().splitlines()]
    agree = refused = failed = 0
    for record in records:
        program = Program()
        program.error = ""
        program.run(record["steps"])
        refused += bool(program.error)
        if (
            "INTERNAL ASSERT" in program.error
        ):  # a retained gradient of one of a custom function's results, written in place
            failed += 1
            continue
        wrong = difference(record["events"], program.events, program.error, record["steps"])
        agree += wrong is None
        if wrong:
            print(f"FAILED {record['name']}: {wrong}", f"({program.error[:100]})" if program.error else "")
            if options.show:
                print("\n".join("    " + json.dumps(step) for step in record["steps"]))
    print(f"PyTorch refuses {refused} of them, and fails an assertion of its own in {failed}")
    print(f"{options.count} programs, {agree} agree")
    sys.exit(0 if agree + failed == options.count else 1)


if __name__ == "__main__":
    main()
