"""`torch.compile(backend="fulgurite")`."""

import fulgurite as fg
import pytest
from test_torch_jit import compare, net


@pytest.fixture
def backend(torch):
    """fulgurite.torch, with its report empty."""
    import fulgurite.torch as backend

    backend.reset()
    return backend


def compiled(torch, **options):
    return lambda module: torch.compile(module, backend="fulgurite", options=options or None)


def test_a_module_trains_as_in_eager(torch, backend):
    assert "fulgurite" in torch.compiler.list_backends()
    compare(torch, net(torch), torch.randn(4, 8), compiled=compiled(torch))
    (program,) = backend.programs()
    assert "test_torch_jit" in str(fg.last_traces(program)[-1]) or "linear" in str(fg.last_traces(program)[0])
    assert fg.last_backward_traces(program) and "nothing fell back" in backend.report()


def test_what_has_no_operator_falls_back(torch, backend, capfd):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            h = torch.nn.functional.gelu(self.a(x)).sin().cos()
            h = torch.linalg.matrix_exp(h @ h.T * 0.01)
            return self.b(h[:, :8].sin().cos().exp() @ torch.ones(h.shape[1], 8))

    module = Model()
    compare(torch, module, torch.randn(8, 8) * 0.01, compiled=compiled(torch), tolerance=1e-4)
    report = backend.report()
    assert "matrix_exp" in report and "test_torch_compile.py:" in report and len(backend.programs()) >= 2
    assert "calls on PyTorch" in capfd.readouterr().err


def test_errors_on_request(torch, backend):
    f = torch.compile(lambda x: torch.linalg.matrix_exp(x), backend="fulgurite", options={"fallback": "error"})
    with pytest.raises(Exception, match="matrix_exp"):
        f(torch.eye(3))
    with pytest.raises(Exception, match="no option 'nonsense'"):
        torch.compile(lambda x: x + 1, backend="fulgurite", options={"nonsense": 1})(torch.ones(2))
    with pytest.raises(Exception, match="fallback='x'"):
        torch.compile(lambda x: x + 1, backend="fulgurite", options={"fallback": "x"})(torch.ones(2))


def test_dynamic_sizes(torch, backend):
    f = torch.compile(net(torch), backend="fulgurite", dynamic=True, options={"cache": "symbolic values"})
    for size in (3, 5, 9):
        assert f(torch.randn(size, 8)).shape == (size, 4)
    assert len(backend.programs()) <= 2


def test_higher_derivatives(torch, backend):
    f = torch.compile(lambda x: (x.sin() * x).sum(), backend="fulgurite")
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    (e,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    (k,) = torch.autograd.grad(e.sum(), x)
    assert torch.allclose(g, e) and torch.allclose(h, k)


def test_hooks_checkpoint_and_no_grad(torch, backend):
    module = net(torch)
    seen = []
    module[0].weight.register_hook(lambda g: seen.append(g.shape))
    module[0].weight.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    torch.compile(module, backend="fulgurite")(torch.randn(2, 8)).sum().backward()
    assert seen == [(16, 8), "accumulated"]
    with torch.no_grad():
        assert not torch.compile(net(torch), backend="fulgurite")(torch.randn(2, 8)).requires_grad

    f = torch.compile(torch.nn.Linear(4, 4), backend="fulgurite")
    x = torch.randn(2, 4, requires_grad=True)
    torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum().backward()
    assert x.grad is not None


def test_numbers_and_none_among_results(torch, backend):
    f = torch.compile(lambda x, n: (x * n, None, n + 1, x.shape[0]), backend="fulgurite")
    out = f(torch.ones(3), 2)
    assert out[0].sum() == 6 and out[1] is None and out[2] == 3 and out[3] == 3


def test_optimizer_step(torch, backend):
    module = net(torch)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2, foreach=False)
    module(torch.randn(2, 8)).sum().backward()
    before = module[0].weight.detach().clone()
    torch.compile(optimizer.step, backend="fulgurite")()
    assert not torch.equal(before, module[0].weight)


def test_inductor_runs_what_falls_back(torch, backend):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):
            h = torch.nn.functional.gelu(self.a(x)).sin().cos()
            h = torch.linalg.matrix_exp(h @ h.T * 0.01)
            return self.b(h.mT.sin().cos().exp() @ torch.ones(h.shape[1], 8))

    compare(torch, Model(), torch.randn(4, 8), compiled=compiled(torch, fallback="inductor"))
    assert "1 of 15 calls on PyTorch (inductor)" in backend.report()


def test_dropout_follows_the_generator_of_pytorch(torch, backend):
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    f = compiled(torch, fallback="error")(module)
    x = torch.randn(16, 8)

    def kept(seed=None):
        if seed is not None:
            torch.manual_seed(seed)
        return f(x) != 0

    first = kept(3)
    assert torch.equal(kept(3), first)
    assert not torch.equal(kept(), first)
    assert 0.2 < first.float().mean().item() < 0.8


def test_buffers_are_written_in_place(torch, backend):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(8)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls.add_(1)
            return self.norm(x)

    torch.manual_seed(0)
    x = torch.randn(16, 8)
    ours, theirs = Model(), Model()
    f, buffer = compiled(torch, fallback="error")(ours), ours.calls
    for _ in range(3):
        torch.testing.assert_close(f(x), theirs(x), rtol=1e-5, atol=1e-6)
    assert ours.calls is buffer
    for name, value in theirs.named_buffers():
        torch.testing.assert_close(dict(ours.named_buffers())[name], value, rtol=1e-5, atol=1e-6)


def test_autocast_computes_products_in_bf16(torch, backend):
    module, x = torch.nn.Linear(8, 8), torch.randn(16, 8)
    f = compiled(torch, fallback="error")(module)
    with torch.autocast("cpu", torch.bfloat16):
        actual, expected = f(x), module(x)
    assert actual.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(actual, expected, rtol=2e-2, atol=2e-2)
    assert f(x).dtype == torch.float32


def test_autocast_accepts_conversions_to_the_dtype_of_a_product(torch, backend):
    a, b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    f = torch.compile(lambda x: b(a(x).softmax(-1).to(a(x).dtype)), backend="fulgurite", options={"fallback": "error"})
    with torch.autocast("cpu", torch.bfloat16):
        assert f(torch.randn(4, 8)).dtype == torch.bfloat16


def test_floats_of_a_dynamic_graph_are_arguments(torch, backend):
    f = torch.compile(lambda x, scale: x * scale + x.shape[0], backend="fulgurite", dynamic=True)
    for size, scale in ((3, 0.5), (4, 0.25), (5, 0.75)):
        x = torch.randn(size)
        assert torch.equal(f(x, scale), x * scale + size)
    assert "nothing fell back" in backend.report()


def test_a_checkpoint_is_recorded_and_its_values_are_recomputed(torch, backend):
    checkpoint = torch.utils.checkpoint.checkpoint

    def f(x, w):
        return checkpoint(lambda y: (y @ w).tanh().sin(), x, use_reentrant=False).sum()

    x, w = torch.randn(8, 8), torch.randn(8, 8)
    expected, actual = (gradient_of(torch, g, x, w) for g in (f, torch.compile(f, backend="fulgurite")))
    torch.testing.assert_close(actual, expected)
    assert "nothing fell back" in backend.report()
    (program,) = backend.programs()
    assert "tanh" in str(fg.last_backward_traces(program)[0])


def gradient_of(torch, function, *inputs):
    """The value of a function and its gradient to each input."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    value = function(*leaves)
    return [value.detach(), *torch.autograd.grad(value, leaves)]


@pytest.mark.parametrize("writes", [False, True])
def test_results_of_parts_on_pytorch_have_gradients_and_may_be_written(torch, backend, writes):
    """A checkpoint is PyTorch's, and its result a tuple: its items are arguments of the part that follows."""

    def function(a):
        v = torch.utils.checkpoint.checkpoint(lambda u: u.tanh() * 2, a, use_reentrant=False)
        w = v * 3 + v * 2 - a
        if writes:
            v.mul_(0.5)
        return (w.cos() + w).sum() + v.sum()

    a = torch.randn(4, 4)
    found = gradient_of(torch, compiled(torch, quiet=True)(function), a)
    torch.testing.assert_close(found, gradient_of(torch, function, a), rtol=1e-5, atol=1e-6)


def test_an_argument_with_a_history_may_be_written(torch, backend):
    """A graph break ends a graph; the next one writes into a result of the first."""

    def function(a):
        v = a * 3
        torch._dynamo.graph_break()
        w = v * 2 + a
        v.t().mul_(0.5)
        return (w.sin() + v * 3).sum()

    a = torch.randn(4, 4)
    found = gradient_of(torch, compiled(torch, quiet=True)(function), a)
    torch.testing.assert_close(found, gradient_of(torch, function, a), rtol=1e-5, atol=1e-6)
    assert "writes into an argument that has a history" in backend.report()


def test_transforms_inside_a_compiled_function_are_compiled(torch):
    import fulgurite.torch as backend

    def f(x):
        return (x * x).sin()

    functions = [
        lambda x: torch.vmap(f)(x) + 1,
        lambda x: torch.func.grad(lambda y: f(y).sum())(x),
        lambda x: torch.func.jvp(f, (x,), (x,))[1],
        lambda x: torch.func.vjp(f, x)[1](x)[0],
    ]
    x = torch.rand(2, 3)
    for function in functions:
        torch._dynamo.reset()
        backend.reset()
        compiled = torch.compile(function, backend="fulgurite")
        assert torch.allclose(compiled(x), function(x), atol=1e-6)
        assert "nothing fell back" in backend.report() and len(backend.programs()) == 1


def test_numbers_among_results_are_those_of_the_call(torch):
    def doubled(x):
        count = 0
        while x.norm() < 100:
            x = x * 2
            count += 1
        return x, count

    compiled = torch.compile(doubled, backend="fulgurite")
    for size in (1.0, 1.0, 30.0, 0.1, 1.0):
        x = torch.full((10,), size)
        assert compiled(x)[1] == doubled(x)[1]


def test_gradient_modes_and_autocast_hold_across_cuts(torch, backend):
    layer = torch.nn.Linear(4, 4)

    def powers(x):
        with torch.no_grad():
            scale = torch.fft.rfft(layer.weight).abs().sum().sin().cos().exp()
        return (layer(x) * scale).sin().cos().exp()

    def mixed(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer(x)
            y = y + torch.fft.rfft(y.float()).abs().sum()
            z = layer(y)
        return y.float().sin().cos().exp() + z + layer(x)

    def opened(x):
        with torch.no_grad():
            with torch.enable_grad():
                y = layer(x).sin()
            z = layer(x).cos()
        return y + z

    def written(x):
        with torch.no_grad():
            kept = torch.empty(2, 4)
            torch.nn.functional.normalize(x, out=kept)
        return layer(kept)

    for f in (powers, mixed, opened, written):
        torch._dynamo.reset()
        g = torch.compile(f, backend="fulgurite", options={"quiet": True})
        x = torch.randn(2, 4)
        for _ in range(2):
            expected, found = f(x), g(x)
            assert expected.dtype == found.dtype and torch.allclose(expected, found, rtol=1e-2), f
            a, b = (torch.autograd.grad(y.sum(), list(layer.parameters())) for y in (expected, found))
            assert all(torch.allclose(p, q, rtol=2e-2, atol=1e-3) for p, q in zip(a, b)), f
            assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    with torch.no_grad():
        for g in (torch.compile(opened, backend="fulgurite"), fg.jit(opened)):
            assert g(x).requires_grad is opened(x).requires_grad
            assert torch.compile(powers, backend="fulgurite")(x).requires_grad is False


def test_encoders_of_pytorch_are_whole(torch, backend):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    compare(torch, torch.nn.TransformerEncoder(layer, 2), torch.randn(2, 5, 8), compiled=compiled(torch))
    assert "nothing fell back" in backend.report()


@pytest.mark.parametrize("way", ["jit", "compile"])
def test_statistics_may_be_written_before_the_backward(torch, backend, way):
    def losses(make):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
        f, x = make(module), torch.randn(5, 4)
        (f(x).sum() + f(x * 2).sigmoid().sum()).backward()
        penalty = torch.autograd.grad(f(y := x.clone().requires_grad_()).sum(), y, create_graph=True)[0].square().sum()
        penalty.backward()
        return [p.grad for p in module.parameters()] + list(module.buffers())

    def make(module):
        return fg.jit(module, fallback="error") if way == "jit" else torch.compile(module, backend="fulgurite")

    for a, b in zip(losses(lambda m: m), losses(make)):
        assert torch.allclose(a, b, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("way", ["jit", "compile"])
def test_inputs_of_derivatives_are_checked_where_they_are_read(torch, backend, way):
    def f(x, w):
        return (x * w).tanh().exp().sum()

    g = fg.jit(f, fallback="error") if way == "jit" else torch.compile(f, backend="fulgurite")
    w = torch.rand(3, requires_grad=True)
    x = torch.rand(3, requires_grad=True)
    out = g(x * 1, w)
    torch.autograd.grad(out, x, create_graph=True, retain_graph=True)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(out, x, create_graph=True)[0].sum().backward()


def test_writes_through_lists_tensors_and_masks_are_recorded(torch, backend):
    def f(x):
        y = torch.zeros(5, 3) + x.sum()
        y[[0, 4]] += 2
        y[y > 1] = 0
        y[torch.tensor([0, 4])] = x[:2]
        y[1:3, [0, 2]] = 7
        y[..., 0] = x.sum()
        return y

    g = torch.compile(f, backend="fulgurite")
    for way in (g, fg.jit(f, fallback="error")):
        x = torch.randn(3, 3, requires_grad=True)
        expected, found = f(x), way(x)
        assert torch.allclose(expected, found)
        (a,), (b,) = (torch.autograd.grad(y.square().sum(), x) for y in (expected, found))
        assert torch.allclose(a, b)
    assert "nothing fell back" in backend.report()
