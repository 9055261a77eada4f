"""Calls of functions that `fulgurite.jit` compiled: threads, constants, modes, and tensors that are not arguments."""

import gc
import subprocess
import sys
import weakref

import fulgurite as fg
import numpy as np
import pytest


def run_apart(code):
    """The output of a program in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_parallel_work_runs_on_the_threads_of_pytorch(torch):
    counts = run_apart(
        """
import os, torch, fulgurite
torch.set_num_threads(2)
x = torch.rand(1000, 1000)
threads = lambda: len(os.listdir("/proc/self/task"))
x.exp().sum()
before = threads()
f = fulgurite.jit(lambda x: x.exp().sum())
value = f(x)
print(before, threads(), torch.allclose(value, x.exp().sum()), fulgurite.num_threads())
torch.set_num_threads(1)
print(torch.equal(f(x), value), fulgurite.num_threads())
fulgurite.set_num_threads(2)
print(torch.equal(f(x), value), fulgurite.num_threads())
"""
    )
    assert counts[0] == counts[1] and counts[2:] == ["True", "2", "True", "1", "True", "2"]


def test_a_child_of_fork_computes(torch):
    printed = run_apart(
        """
import os, torch, fulgurite
torch.set_num_threads(2)
x = torch.rand(1000, 1000)
f = fulgurite.jit(lambda x: (x.exp() * 2).sum())
value = f(x)
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(f(x), value) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.equal(f(x), value))
"""
    )
    assert printed == ["0", "True"]


def test_constants_that_compare_equal_are_told_apart(torch):
    x = torch.ones(2)
    times = fg.jit(lambda x, c: x * c)
    for zero in (0.0, -0.0):
        assert torch.equal(torch.signbit(times(x, zero)), torch.signbit(x * zero))
        assert torch.equal(torch.signbit(times(x, c=zero)), torch.signbit(x * zero))
    own = fg.jit(lambda x, c: x * c)
    for zero in (0.0, -0.0):
        assert np.signbit(own(fg.from_dlpack(x), zero).numpy()).all() == np.signbit(zero)
    typed = fg.jit(lambda x, c: x + {bool: 1, int: 2, float: 3}[type(c)])
    assert [typed(x, c)[0].item() for c in (True, 1, 1.0)] == [2, 3, 4]
    for _ in range(3):
        assert times(x, float("nan")).isnan().all()
    assert len(times.torch_calls.state.flat) == 5  # two zeros, by place and by name, and one NaN


def test_calls_without_gradients_follow_the_modes(torch):
    weight = torch.nn.Parameter(torch.rand(8, 8))

    def f(x, w):
        return x @ w, torch.is_grad_enabled()

    compiled, x = fg.jit(f), torch.rand(4, 8)
    for _ in range(3):
        with torch.no_grad():
            out, is_enabled = compiled(x, weight)
            assert torch.equal(out, x @ weight) and not out.requires_grad and not is_enabled
        out, is_enabled = compiled(x, weight)
        assert out.requires_grad and is_enabled
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            assert compiled(x, weight)[0].dtype == torch.bfloat16
        assert torch.equal(compiled(x, weight.detach())[0], x @ weight.detach())
        assert torch.equal(compiled(x[:2], weight.detach())[0], x[:2] @ weight.detach())


def test_writes_of_a_call_without_gradients_are_counted(torch):
    def f(x, y):
        x.mul_(2)
        return x, x + y

    compiled, x, y = fg.jit(f), torch.ones(4), torch.ones(4)
    for k in range(1, 4):
        before = x._version
        out, added = compiled(x, y)
        assert out is x and x._version == before + 1
        assert torch.equal(x, torch.full((4,), 2.0**k)) and torch.equal(added, x + y)


def test_tensors_that_cannot_be_read_are_named(torch):
    from torch._subclasses import FakeTensorMode

    f, z = fg.jit(lambda x: x + 1, fallback="error"), torch.complex(torch.ones(3), torch.arange(3.0))
    negative = z.conj().imag
    assert torch.equal(f(negative.resolve_neg()), negative + 1)
    with pytest.raises(TypeError, match="the negative of its memory.*resolve_neg"):
        f(negative)
    with FakeTensorMode():
        fake = torch.empty(3)
    with pytest.raises(TypeError, match="no memory: it is a fake one"):
        fg.from_dlpack(fake)
    with pytest.raises(RuntimeError, match="subclass|no memory"):
        fg.jit(lambda x: x + 1, fallback="error")(fake)
    emptied = torch.ones(3)
    emptied.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match="storage was resized to nothing"):
        f(emptied)


def test_tensors_of_the_closure_are_read_in_each_call(torch):
    scale, mask = torch.tensor(2.0), torch.ones(3, 3).tril()

    def f(x):
        weight = (mask.T * 2 + torch.ones(3, 3).triu().T).sum()
        return x * (scale * 2).exp() + weight * len(mask.tolist())

    compiled, x = fg.jit(f), torch.ones(2)
    for value in (2.0, 3.0, 0.5):
        scale.fill_(value)
        mask.fill_(value)
        assert torch.allclose(compiled(x), f(x))
    assert fg.cache_misses(compiled) == 1

    def counting(x):
        scale.add_(1)
        return x * scale

    with pytest.raises(
        fg.Unsupported, match="a write by add_ into a tensor that is neither an argument nor of the module"
    ):
        fg.jit(counting, fallback="error")(x)
    assert scale.item() == 0.5
    assert torch.equal(fg.jit(counting)(x), x * 1.5) and scale.item() == 1.5


def test_names_bound_to_other_tensors_are_seen(torch):
    class Shifted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.shift, self.kept = torch.tensor(1.0), {"factor": torch.tensor(2.0)}
            self.last = torch.tensor(0.0)

        def forward(self, x):
            self.last = x * self.kept["factor"]
            return self.last + self.shift

    scale, x = torch.tensor(2.0), torch.ones(2)
    compiled = fg.jit(lambda x: x * scale)
    module = Shifted()
    shifted = fg.jit(module)
    assert torch.equal(compiled(x), x * 2) and torch.equal(shifted(x), x * 2 + 1)
    scale, module.shift = torch.tensor(5.0), torch.tensor(4.0)
    assert torch.equal(compiled(x), x * 5) and torch.equal(shifted(x), x * 2 + 4)
    module.kept["factor"] = torch.tensor(3.0)
    recorded = shifted(x)
    entry = shifted.last
    assert torch.equal(recorded, x * 3 + 4) and torch.equal(shifted(x), recorded) and shifted.last is entry
    with pytest.warns(UserWarning, match="shift changed 8 times.*as a buffer"):
        for step in range(8):
            module.shift = torch.tensor(float(step))
            assert torch.equal(shifted(x), x * 3 + step)


def test_transforms_of_pytorch_see_its_own_operators(torch):
    from torch.autograd import forward_ad

    def f(x):
        return (x * x).sin()

    compiled, x, t = fg.jit(f), torch.rand(3), torch.ones(3)
    for _ in range(3):
        compiled(x)
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(compiled(forward_ad.make_dual(x, t)))
    assert torch.allclose(dual.tangent, (x * x).cos() * 2 * x)
    assert torch.allclose(torch.vmap(compiled)(torch.stack([x, t])), f(torch.stack([x, t])))
    assert torch.allclose(torch.func.grad(lambda x: compiled(x).sum())(x), (x * x).cos() * 2 * x)
    assert torch.allclose(torch.func.jvp(compiled, (x,), (t,))[1], (x * x).cos() * 2 * x)
    assert torch.allclose(
        torch.func.hessian(lambda x: compiled(x).sum())(x), torch.func.hessian(lambda x: f(x).sum())(x)
    )


def test_the_default_dtype_is_that_of_the_call(torch):
    f = fg.jit(lambda x: x + torch.ones(2))
    x = torch.ones(2, dtype=torch.float32)
    try:
        for dtype in (torch.float32, torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            for _ in range(3):
                with torch.no_grad():
                    assert f(x).dtype == dtype
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("way", ["jit", "compile", "plain"])
def test_compiled_functions_are_freed_with_what_they_hold(torch, way):
    def make():
        module = torch.nn.Linear(3, 3)
        x = torch.ones(2, 3)
        if way == "jit":
            compiled = fg.jit(module, fallback="error")
        elif way == "plain":
            compiled = fg.jit(lambda x: x @ module.weight.detach().T, fallback="error")
        else:
            compiled = torch.compile(module, backend="fulgurite")
        for _ in range(3):
            compiled(x)
        module.compiled = [compiled]
        return weakref.ref(module)

    kept = [make() for _ in range(3)]
    torch._dynamo.reset()
    gc.collect()
    assert [ref() for ref in kept] == [None] * 3
