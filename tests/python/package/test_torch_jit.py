"""`fulgurite.jit` of PyTorch's functions and modules, traced directly."""

import copy
import threading

import fulgurite as fg
import pytest


def net(torch):
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))


def compare(torch, module, *inputs, compiled=None, tolerance=1e-5):
    """Results, gradients and buffers of a module as eager's."""
    reference = copy.deepcopy(module)
    f = compiled(module) if compiled else fg.jit(module)
    out, expected = f(*inputs), reference(*inputs)
    assert torch.allclose(out, expected, atol=tolerance), (out - expected).abs().max()
    out.square().mean().backward()
    expected.square().mean().backward()
    for p, q in zip(module.parameters(), reference.parameters(), strict=True):
        assert p.grad is not None and torch.allclose(p.grad, q.grad, atol=tolerance)
    for b, c in zip(module.buffers(), reference.buffers(), strict=True):
        assert torch.allclose(b, c, atol=tolerance)
    return f


def test_a_module_trains_as_in_eager(torch):
    f = compare(torch, net(torch), torch.randn(4, 8))
    trace = str(fg.last_traces(f)[-1])
    assert "weight" in trace and fg.last_backward_traces(f)
    assert any(symbol.name.endswith("gelu") for symbol in fg.last_traces(f)[0].bound_symbols)


def test_training_lowers_the_loss_as_eager(torch):
    module = net(torch)
    reference = copy.deepcopy(module)
    x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
    losses = []
    for model in (fg.jit(module), reference):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        steps = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            steps.append(loss.item())
        losses.append(steps)
    assert losses[0][-1] < losses[0][0] and losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_batch_norm_writes_its_statistics(torch):
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    compare(torch, module, torch.randn(2, 3, 8, 8))
    module.eval()
    x = torch.randn(2, 3, 8, 8)
    assert torch.allclose(fg.jit(module)(x), module(x), atol=1e-5)


def test_lines_of_the_program_are_in_traces(torch):
    def f(x):
        y = torch.sin(x)
        return y * 2

    compiled = fg.jit(f)
    compiled(torch.ones(3))
    assert "test_torch_jit.py" in str(fg.last_traces(compiled)[-1]) and "y = torch.sin(x)" in str(
        fg.last_traces(compiled)[-1]
    )


def test_data_dependent_python_breaks_the_graph(torch):
    def f(x, w):
        h = x * w
        if h.sum() > 0:
            return h * 2
        return h - 1

    compiled = fg.jit(f)
    for sign in (1.0, -1.0, 1.0):
        x, w = torch.ones(3) * sign, torch.ones(3, requires_grad=True)
        v = w.detach().clone().requires_grad_()
        out, expected = compiled(x, w), f(x, v)
        assert torch.equal(out, expected)
        out.sum().backward()
        expected.sum().backward()
        assert torch.equal(w.grad, v.grad)


def test_second_derivatives(torch):
    f = fg.jit(lambda x: (x.sin() * x).sum())
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    (g2,) = torch.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    (h2,) = torch.autograd.grad(g2.sum(), x)
    assert torch.allclose(g, g2) and torch.allclose(h, h2)


def test_a_write_between_forward_and_backward_is_noticed(torch):
    f = fg.jit(lambda x, w: (x * w).exp())
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    out = f(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_backward_twice(torch):
    f = fg.jit(lambda w: (w * w).sum())
    w = torch.ones(3, requires_grad=True)
    out = f(w)
    out.backward(retain_graph=True)
    out.backward()
    assert torch.equal(w.grad, torch.full((3,), 4.0))
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_writes_into_arguments(torch):
    def f(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(3)
    version = x._version
    assert torch.equal(fg.jit(f)(x), torch.full((3,), 2.0)) and torch.equal(x, torch.ones(3)) and x._version > version

    for write in (
        torch.Tensor.zero_,
        torch.zero_,
        lambda x: x.fill_(3),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.mul_(2),
    ):
        x, y = torch.arange(3.0), torch.arange(3.0)
        assert torch.equal(fg.jit(write)(x), write(y)) and torch.equal(x, y)

    def g(a, b):
        a.add_(1)
        return b * 2

    base = torch.zeros(6)
    with pytest.raises(fg.Error, match="writes into t_a, which shares memory with t_b"):
        fg.jit(g, fallback="error")(base[:4], base[2:])
    assert torch.equal(base, torch.zeros(6))
    for way in (fg.jit(g), torch.compile(g, backend="fulgurite")):  # PyTorch runs such a call
        part = torch.zeros(6)
        assert torch.equal(way(part[:4], part[2:]), torch.tensor([2.0, 2.0, 0.0, 0.0]))
        assert torch.equal(part, torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))
        assert torch.equal(way(torch.zeros(4), torch.ones(4)), torch.full((4,), 2.0))
        count = len(fg.torch.report().splitlines())
        way(part[:4], part[2:])
        assert len(fg.torch.report().splitlines()) == count
    assert torch.equal(fg.jit(lambda a, b: a * 2 + b)(base[:4], base[2:]), torch.zeros(4))


def test_dropout_follows_pytorchs_seed(torch):
    f = fg.jit(torch.nn.Dropout(0.5))
    x = torch.ones(100)
    torch.manual_seed(1)
    first = f(x)
    assert not torch.equal(f(x), first)
    torch.manual_seed(1)
    assert torch.equal(f(x), first)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    fg.jit(lambda x: x + 1)(x)
    assert torch.equal(before, torch.get_rng_state())


def test_dtypes_autocast_and_strides(torch):
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        x = torch.randn(4, 8).to(dtype)
        assert fg.jit(lambda x: x * 2 + 1)(x).dtype == dtype
    x = torch.randn(8, 4).t()
    assert torch.allclose(fg.jit(lambda x: x.exp())(x), x.exp())
    linear = torch.nn.Linear(8, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert fg.jit(linear)(torch.randn(2, 8)).dtype == torch.bfloat16


def test_what_is_not_ours_is_named(torch):
    with pytest.raises(fg.Unsupported, match="complex"):
        fg.jit(lambda x: x * 2, fallback="error")(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(fg.Unsupported, match="meta"):
        fg.jit(lambda x: x * 2, fallback="error")(torch.ones(2, device="meta"))
    with pytest.raises(fg.Unsupported):
        fg.jit(lambda x: x * 2, fallback="error")(torch.eye(2).to_sparse())
    with pytest.raises(KeyError):
        fg.jit(lambda x: {}[x.shape])(torch.ones(2))


def test_supported_names_what_pytorch_runs(torch):
    report = fg.supported(lambda x: torch.linalg.lu_factor(x)[0] * 2, torch.eye(3))
    assert not report.all or "lu_factor" in report.text


def test_a_step_with_the_loss_inside(torch):
    module = net(torch)
    y = torch.randint(0, 4, (4,))
    loss = fg.jit(lambda x, y: torch.nn.functional.cross_entropy(module(x), y))
    assert torch.allclose(
        loss(torch.ones(4, 8), y), torch.nn.functional.cross_entropy(module(torch.ones(4, 8)), y), atol=1e-5
    )


def test_memory_is_flat(torch):
    import gc
    import weakref

    f = fg.jit(net(torch))
    x = torch.randn(4, 8)
    out = f(x)
    alive = weakref.ref(out)
    out.sum().backward()
    del out
    gc.collect()
    assert alive() is None


def test_windows_by_as_strided(torch):
    def windows(x):
        return x.as_strided((3, 2), (1, 1)).square().sum(1)

    x = torch.randn(4, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    out, expected = fg.jit(windows)(x), windows(y)
    assert torch.allclose(out, expected)
    out.sum().backward()
    expected.sum().backward()
    assert torch.allclose(x.grad, y.grad)
    with pytest.raises(fg.Unsupported, match="as_strided with a storage_offset"):
        fg.jit(lambda x: x.as_strided((2,), (1,), 1), fallback="error")(y)
    with pytest.raises(fg.Unsupported, match="as_strided of several dimensions"):
        fg.jit(lambda x: x.as_strided((2,), (1,)), fallback="error")(torch.ones(2, 2))


def test_losses_and_pools_of_single_samples(torch):
    x, target = torch.randn(5), torch.tensor([3, 0, -1, 1, 2])
    loss = torch.nn.MultiLabelMarginLoss(reduction="none")
    assert torch.allclose(fg.jit(loss)(x, target), loss(x, target))
    assert fg.jit(loss)(x, target).shape == ()
    volume, samples = torch.randn(2, 5, 5, 5), torch.rand(3, 2, 3)  # of which those of one volume are read
    pool = torch.nn.FractionalMaxPool3d(2, output_size=3, _random_samples=samples)
    assert torch.equal(fg.jit(pool)(volume), pool(volume))


def custom_functions(torch):
    """Functions of tensors x and y, with backwards that their forwards do not have."""

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x, None)
            ctx.scale = scale
            return x.round() * scale

        @staticmethod
        def backward(ctx, g):
            x, none = ctx.saved_tensors
            assert none is None and ctx.needs_input_grad == (True, False)
            return g * ctx.scale + x, None

    class Pair(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y, x.argmax()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            x, y = ctx.saved_tensors
            return g * y * 2, g * x * 3

    def of_one(x, y):
        return (Rounded.apply(x * 1.5, 2.0) * y).sum()

    def of_two(x, y):
        product, place = Pair.apply(x.sin(), y)
        return product.square().sum() + place

    return of_one, of_two


@pytest.mark.parametrize("way", ["jit", "compile"])
@pytest.mark.parametrize("which", [0, 1])
def test_custom_functions_have_their_own_backward(torch, way, which):
    import fulgurite.torch

    f = custom_functions(torch)[which]
    fulgurite.torch.reset()
    g = fg.jit(f) if way == "jit" else torch.compile(f, backend="fulgurite")
    x, y = torch.tensor([0.3, 1.7, -0.6]), torch.tensor([1.0, -2.0, 3.0])
    for _ in range(2):
        leaves = [[t.clone().requires_grad_() for t in (x, y)] for _ in range(2)]
        values = [h(*given) for h, given in zip((g, f), leaves)]
        torch.testing.assert_close(values[0], values[1])
        found, expected = (torch.autograd.grad(v, given) for v, given in zip(values, leaves))
        torch.testing.assert_close(found, expected)
    assert "nothing fell back" in fulgurite.torch.report()


def test_custom_functions_of_other_threads_are_pytorchs(torch):
    of_one, _ = custom_functions(torch)
    apply, found = torch.autograd.Function.apply, []

    def elsewhere():
        x = torch.ones(2, requires_grad=True)
        of_one(x, torch.ones(2)).backward()
        found.append(x.grad)

    def f(x):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return x + 1

    assert torch.equal(fg.jit(f)(torch.zeros(2)), torch.ones(2))
    assert torch.equal(found[0], torch.tensor([5.25, 5.25])) and torch.autograd.Function.apply == apply


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_are_recorded(torch, reentrant):
    def f(x, w):
        return torch.utils.checkpoint.checkpoint(lambda y: (y @ w).tanh().sin(), x, use_reentrant=reentrant).sum()

    leaves = [[torch.full((3, 3), 0.1 * n, requires_grad=True) for n in (1, 2)] for _ in range(2)]
    values = [g(*given) for g, given in zip((fg.jit(f), f), leaves)]
    # A reentrant checkpoint of eager needs backward().
    for value in values:
        value.backward()
    torch.testing.assert_close([x.grad for x in leaves[0]], [x.grad for x in leaves[1]])


def test_a_second_derivative_of_a_function_that_has_one_is_an_error(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = torch.tensor([2.0], requires_grad=True)
    f = fg.jit(lambda x: Cube.apply(x * 1).sum())
    (gradient,) = torch.autograd.grad(f(x), x, create_graph=True)
    assert gradient.item() == 12
    with pytest.raises(RuntimeError, match="once_differentiable|differentiate"):
        torch.autograd.grad(gradient, x)


def test_recurrent_layers(torch):
    def step(layer, x):
        out, state = layer(x)
        states = state if isinstance(state, tuple) else (state,)
        return out.sin().sum() + sum(s.cos().sum() for s in states)

    options = [{}, {"num_layers": 2, "bidirectional": True, "batch_first": True}, {"bias": False}]
    cases = [(kind, o) for kind in ("LSTM", "GRU", "RNN") for o in options]
    cases += [("LSTM", {"proj_size": 3, "num_layers": 2}), ("RNN", {"nonlinearity": "relu"})]
    for kind, more in cases:
        layer = getattr(torch.nn, kind)(3, 4, **more)
        compiled = fg.jit(layer, fallback="error")
        for x in (torch.randn(5, 2, 3), torch.randn(5, 3)):
            expected = torch.autograd.grad(step(layer, x), list(layer.parameters()))
            found = torch.autograd.grad(step(compiled, x), list(layer.parameters()))
            assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(expected, found)), (kind, more)
    layer = torch.nn.LSTM(3, 4, 2, dropout=1.0)  # drops everything between the layers
    out, _ = fg.jit(layer, fallback="error")(torch.randn(5, 2, 3))
    assert torch.allclose(out, layer(torch.zeros(5, 2, 3))[0])


def test_lists_arrays_and_texts_of_elements_end_a_subgraph(torch):
    weight = torch.randn(4, 4, requires_grad=True)

    def f(x, sizes):
        parts = (x @ weight).split(sizes.tolist())
        scale = float(numpy.mean(sizes.numpy())) + float(numpy.asarray(sizes)[0]) + len(f"{sizes[0] / 4:.2f}")
        return torch.cat([part.sum(0, keepdim=True) * k for k, part in enumerate(parts, 1)]) * scale

    numpy, compiled = pytest.importorskip("numpy"), fg.jit(f, fallback="error")
    for sizes in ([2, 3], [1, 4], [2, 3], [2, 2, 1]):
        x, sizes = torch.randn(5, 4, requires_grad=True), torch.tensor(sizes)
        expected, found = f(x, sizes), compiled(x, sizes)
        assert torch.allclose(expected, found, atol=1e-5)
        gradients = [torch.autograd.grad(y.sin().sum(), (x, weight)) for y in (expected, found)]
        assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(*gradients))
    with pytest.raises(RuntimeError, match="numpy"):
        fg.jit(lambda x: x.numpy())(torch.ones(2, requires_grad=True))
