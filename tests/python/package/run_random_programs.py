"""Random programs of PyTorch (modules, views, writes in place, checkpoints, hooks, several backwards, retained graphs)
through `fulgurite.jit` and `torch.compile(backend="fulgurite")`, compared with eager.

usage: run_random_programs.py [--programs N] [--first SEED] [--show] [--executors NAME...]

`--executors eager` compiles no kernels, which is faster.

Values, gradients after each backward, what is written into arguments and the order of hooks must be those of eager. A
program that differs is printed as Python. Differences by design are compared as docs/python.md says:

- Programs that eager refuses, as after a write into what a backward needs, are counted and not compared.
- Our gradients of inputs that only results without a gradient depend on are zeros, and their hooks run with zeros.
- A program's backward is refused where anything that it needs was written, eager's where its own part of it was.
- A graph is freed as a whole: once eager or we refuse a backward of a freed graph, the rest is not compared.
- Sources do not overlap destinations in part: eager's result of `v.t()[3].add_(v[1])` depends on its kernel's order.
"""

import argparse
import random
import sys
import warnings

import fulgurite as fg
import torch
from torch.utils.checkpoint import checkpoint

SIZE = 4
UNARY = ("sin", "tanh", "sigmoid", "exp", "abs", "square", "relu", "neg", "cumsum0", "softmax1", "sort0", "logsumexp")
BINARY = ("+", "-", "*", "@", "maximum", "where", "/")
WRITES = ("add_", "mul_", "copy_", "setitem", "row", "column", "masked_fill_", "zero_row", "relu_")
OVERWRITTEN = "modified by an inplace operation"
VIEWS = ("t", "flip", "view", "row", "slice", "expand", "narrow", "unbind", "diagonal")


class Writer:
    """Writes one program: a function of four matrices, of which the last two need no gradient."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.names = ["a", "b", "x", "y"]
        self.owned = []  # results that may be written: of operators, of which views are taken
        self.count = 0

    def pick(self):
        return self.random.choice(self.names)

    def emit(self, expression, is_owned=True):
        name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {expression}")
        self.names.append(name)
        if is_owned:
            self.owned.append(name)
        return name

    def unary(self):
        op, x = self.random.choice(UNARY), self.pick()
        forms = {
            "cumsum0": f"{x}.cumsum(0)",
            "softmax1": f"{x}.softmax(1)",
            "sort0": f"{x}.sort(0).values",
            "logsumexp": f"{x}.logsumexp(1, keepdim=True).expand({SIZE}, {SIZE}) * 1.0",
            "exp": f"{x}.clamp(max=2.0).exp()",
        }
        self.emit(forms.get(op, f"{x}.{op}()"))

    def binary(self):
        op, x, y = self.random.choice(BINARY), self.pick(), self.pick()
        forms = {
            "maximum": f"torch.maximum({x}, {y})",
            "where": f"torch.where({x} > 0, {y}, {x} * 0.5)",
            "/": f"{x} / ({y}.square() + 1.0)",
            "@": f"({x} @ {y}) * 0.25",
        }
        self.emit(forms.get(op, f"{x} {op} {y}"))

    def view(self):
        kind, x = self.random.choice(VIEWS), self.pick()
        forms = {
            "t": f"{x}.t()",
            "flip": f"{x}.flip(0)",
            "view": f"{x}.reshape(2, {SIZE * 2}).reshape({SIZE}, {SIZE})",
            "row": f"{x}[{self.random.randrange(SIZE)}].unsqueeze(0) + {self.pick()}",
            "slice": f"torch.cat([{x}[2:], {x}[:2]])",
            "expand": f"{x}[:, :1].expand({SIZE}, {SIZE}).clone()",
            "narrow": f"{x}.narrow(1, 1, 2).repeat(1, 2)",
            "unbind": f"torch.stack({x}.unbind(0)[::-1])",
            "diagonal": f"torch.diag_embed({x}.diagonal()) + {x}",
        }
        self.emit(forms[kind])

    def write(self):
        if not self.owned:
            return self.unary()
        kind, x, y = self.random.choice(WRITES), self.random.choice(self.owned), self.pick()
        i = self.random.randrange(SIZE)
        forms = {
            "add_": f"{x}.add_({y}, alpha=0.5)",
            "mul_": f"{x}.mul_({y} * 0.5)",
            "copy_": f"{x}.copy_({y} * 2.0)",
            "setitem": f"{x}[{i}] = {y}[0] * 3.0",
            "row": f"{x}[{i}].mul_(2.0)",
            "column": f"{x}.t()[{i}].add_({y}[1] * 1.0)",
            "masked_fill_": f"{x}.masked_fill_({y} > 0.5, 0.25)",
            "zero_row": f"{x}[{i}].zero_()",
            "relu_": f"torch.relu_({x})",
        }
        self.lines.append(forms[kind])

    def layer(self):
        kind, x = (
            self.random.choice(("linear", "norm", "checkpoint", "detach", "no_grad", "argument", "item")),
            self.pick(),
        )
        if kind == "linear":
            self.emit(f"first({x})")
        elif kind == "norm":
            self.emit(f"second({x})")
        elif kind == "checkpoint":
            self.emit(f"checkpoint(lambda u, v: first(u).tanh() * v.sin(), {x}, {self.pick()}, use_reentrant=False)")
        elif kind == "detach":
            self.emit(f"{x}.detach() * 1.5")
        elif kind == "no_grad":
            self.lines.append("with torch.no_grad():")
            self.emit(f"{x}.cos()")
            self.lines[-1] = "    " + self.lines[-1]
        elif kind == "argument":
            self.lines.append(f"y.mul_(0.5).add_({self.random.choice(('x', 'y'))})")
        else:
            self.emit(f"{x} * (2.0 if {self.pick()}[0, 0] > 0 else 3.0)")

    def program(self):
        """The text of a function `f`."""
        kinds = [self.unary, self.binary, self.binary, self.view, self.write, self.write, self.layer]
        for _ in range(self.random.randint(3, 12)):
            self.random.choice(kinds)()
        results = [n for n in self.names if n.startswith("v")][-3:] or [self.emit("a + b")]
        total = " + ".join(f"{n}.sum() * {k + 1}" for k, n in enumerate(results))
        body = "\n    ".join([*self.lines, f"return {', '.join(results)}, a.sum() * 0.1 + {total}"])
        return f"def f(a, b, x, y):\n    {body}\n"


def observed(text, compiled, seed):
    """The visible effects of a program: results, gradients, written arguments, hooks, errors."""
    torch.manual_seed(seed)
    scope = {
        "torch": torch,
        "checkpoint": checkpoint,
        "first": torch.nn.Linear(SIZE, SIZE),
        "second": torch.nn.LayerNorm(SIZE),
    }
    exec(text, scope)  # noqa: S102  a program of ours
    leaves = [torch.randn(SIZE, SIZE, requires_grad=i < 2) for i in range(4)]
    parameters = [*scope["first"].parameters(), *scope["second"].parameters()]
    order, seen = [], []
    for i, leaf in enumerate([*leaves[:2], *parameters]):
        leaf.register_hook(lambda g, i=i: order.append(f"hook {i}"))
        leaf.register_post_accumulate_grad_hook(lambda p, i=i: order.append(f"accumulated {i}"))
    try:
        out = compiled(scope["f"])(*leaves)
    except Exception as error:  # noqa: BLE001  errors are compared
        return [("the call", error)]
    for i, result in enumerate(out):
        seen.append((f"result {i}", result.detach().clone()))
        seen.append((f"result {i} needs a gradient", result.requires_grad))
    seen.append(("y", leaves[3].clone()))
    # A hook on a view among the results sees what goes through it outside of the call, as under PyTorch's compilers.
    if out[0].requires_grad and not any(shares_memory(out[0], other) for other in (*leaves, *out[1:])):
        out[0].register_hook(lambda g: order.append("hook of a result"))
    for turn in range(3):
        try:
            (out[-1] if turn != 1 or not out[0].requires_grad else out[0].sum()).backward(retain_graph=turn < 1)
        except Exception as error:  # noqa: BLE001
            return [*seen, (f"backward {turn}", error)]
        for i, leaf in enumerate([*leaves[:2], *parameters]):
            seen.append((f"gradient {i} after backward {turn}", None if leaf.grad is None else leaf.grad.clone()))
        for i in range(2 + len(parameters)):
            mine = tuple(entry.split()[0] for entry in order if entry.endswith(f" {i}"))
            seen.append((f"hooks of {i}, backward {turn}", mine))
        seen.append((f"hooks of a result, backward {turn}", order.count("hook of a result")))
        order.clear()
    return seen


def shares_memory(view, other):
    """True if a tensor begins in the memory of another one."""
    storage = other.untyped_storage()
    return storage.data_ptr() <= view.data_ptr() < storage.data_ptr() + storage.nbytes()


def is_refused(seen):
    """True where eager does not allow the program: there is nothing to compare with."""
    name, value = seen[-1]
    return isinstance(value, Exception) and ("in-place" in str(value) or "inplace" in str(value) or name == "the call")


def entry_differs(expected, found):
    """How one entry differs from eager's, or an empty string."""
    if isinstance(found, torch.Tensor) or isinstance(expected, torch.Tensor):
        like = found if expected is None else expected
        wanted, given = (torch.zeros_like(like) if t is None else t for t in (expected, found))
        if not torch.allclose(wanted, given, rtol=2e-3, atol=2e-3, equal_nan=True):
            return f"differs by {(wanted - given).abs().max().item():.1e}"
        return ""
    if isinstance(found, tuple) and () in (expected, found):  # hooks with zeros
        return ""
    return "" if expected is found or expected == found else f"is {found}, eager {expected}"


def differs(expected, found):
    """The first difference, or an empty string."""
    for (name, wanted), (named, value) in zip(expected, found):
        if isinstance(wanted, Exception) or isinstance(value, Exception):
            both = [str(v) for v in (wanted, value) if isinstance(v, Exception)]
            if all("second time" in text for text in both) or (len(both) == 1 and OVERWRITTEN in both[0]):
                return ""
            return f"{named}: {value!r}, eager {name}: {wanted!r}"
        if difference := entry_differs(wanted, value):
            return f"{name} {difference}"
    return ""


def compilers(executors):
    """The ways of compiling a function."""
    options = {"quiet": True, "executors": executors}
    return {
        "jit": lambda f: fg.jit(f, executors=executors, fallback="error"),
        "compile": lambda f: torch.compile(f, backend="fulgurite", options=options),
    }


def run(first, count, show=False, executors=()):
    """Runs programs; returns how many eager refuses, and how many differ."""
    refused = wrong = 0
    for seed in range(first, first + count):
        text = Writer(seed).program()
        if show:
            print(text)
        expected = observed(text, lambda f: f, seed)
        if is_refused(expected):
            refused += 1
            continue
        for name, compiler in compilers(list(executors)).items():
            difference = differs(expected, observed(text, compiler, seed))
            if difference:
                wrong += 1
                print(f"program {seed}, {name}: {difference}\n{text}", flush=True)
        torch._dynamo.reset()
    return refused, wrong


def main():
    """Runs programs by the options of the command line."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--executors", nargs="*", default=[])
    options = parser.parse_args()
    refused, wrong = run(options.first, options.programs, options.show, options.executors)
    print(f"{options.programs} programs, of which eager refuses {refused}; {wrong} differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
