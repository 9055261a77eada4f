import fulgurite as fg
import pytest


def mlp(x, w1, w2):
    hidden = fg.ops.gelu(x @ w1)
    return hidden @ w2


def arguments():
    fg.manual_seed(0)
    return fg.ops.randn(4, 8), fg.ops.randn(8, 16, requires_grad=True), fg.ops.randn(16, 2, requires_grad=True)


def test_a_function_is_compiled_once_and_differentiated():
    x, w1, w2 = arguments()
    f = fg.jit(mlp)
    out = f(x, w1, w2)
    expected = mlp(x, w1, w2)
    assert (out - expected).abs().max().item() < 1e-5
    out.sum().backward()
    found = w1.grad
    w1.grad = None
    expected.sum().backward()
    assert (found - w1.grad).abs().max().item() < 1e-4
    f(x, w1, w2)
    assert fg.cache_misses(f) == 1 and fg.cache_hits(f) == 1
    assert "test_jit.py" in fg.explain(f) or "compile" in fg.explain(f)


def test_traces_show_python_lines():
    f = fg.jit(mlp)
    f(*arguments())
    trace = fg.last_traces(f)[-1]
    assert "test_jit.py:6: hidden = fg.ops.gelu(x @ w1)" in str(trace)
    assert "t_x" in str(trace) or "x" in [a.name for a in trace.args]
    symbol = fg.last_traces(f)[0].bound_symbols[0]
    assert symbol.source == (__file__, 6) and symbol.outputs[0].shape == (4, 16) and symbol.name == "matmul"
    assert "torch.matmul(" in repr(symbol)
    assert fg.last_backward_traces(f)
    assert "auto" in trace.cpp()


def test_structures_and_constants():
    @fg.jit
    def f(pair, options, scale, *, shift=0):
        a, b = pair
        return {"sum": a + b * scale + shift, "name": options["name"], "parts": [a, (b,)]}

    one, two = fg.tensor([1.0]), fg.tensor([2.0])
    out = f((one, two), {"name": "x"}, 3, shift=1)
    assert out["sum"].tolist() == [8.0] and out["name"] == "x" and out["parts"][1][0].tolist() == [2.0]
    assert f((one, two), {"name": "y"}, 3)["name"] == "y"
    assert f((one, two), {"name": "x"}, 3.5)["sum"].tolist() == [8.0]
    with pytest.raises(fg.Error, match="neither a tensor nor a constant"):
        f((one, two), {"name": set()}, 3)


def test_reading_elements_breaks_the_graph():
    @fg.jit
    def f(x):
        if x.sum().item() > 0:
            return x * 2
        return x - 1

    assert f(fg.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert f(fg.tensor([-1.0, -2.0])).tolist() == [-2.0, -3.0]
    assert f(fg.tensor([3.0, 2.0])).tolist() == [6.0, 4.0]
    with pytest.raises(fg.Error, match="test_jit.py"):
        fg.jit(f.__wrapped__, fullgraph=True)(fg.tensor([1.0]))


def test_symbolic_sizes_compile_once():
    f = fg.jit(lambda x, n: (x * n).sum(dim=0), cache="symbolic values")
    for size in (3, 5, 8):
        x = fg.ops.ones(size, 2)
        assert f(x, size).tolist() == [float(size * size)] * 2
    assert len(fg.last_traces(f)) > 0


def test_exceptions_of_the_function_pass():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fg.jit(f)(fg.tensor([1.0]))
    with pytest.raises(TypeError):
        fg.jit(mlp, nonsense=1)
    with pytest.raises(fg.Error):
        fg.jit(mlp, executors=["nonsense"])(*arguments())
    with pytest.raises(ValueError, match="cache 'x'"):
        fg.jit(mlp, cache="x")(*arguments())
    with pytest.raises(fg.Error, match="not called yet"):
        fg.last_traces(fg.jit(mlp))


def test_transforms_of_traces():
    seen = []

    def note(trace):
        seen.append(len(trace.bound_symbols))
        return trace

    f = fg.with_transforms(fg.jit(mlp), [note])
    f(*arguments())
    assert seen


def test_gradients_as_functions():
    x = fg.tensor([1.0, 2.0, 3.0])
    assert fg.grad(lambda x: (x * x * x).sum())(x).tolist() == [3.0, 12.0, 27.0]
    assert fg.grad(lambda x: fg.grad(lambda y: (y * y * y).sum())(x).sum())(x).tolist() == [6.0, 12.0, 18.0]
    value, (dx, dy) = fg.value_and_grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x + 1)
    assert value.item() == 20.0 and dx.tolist() == [2.0, 3.0, 4.0] and dy.tolist() == [1.0, 2.0, 3.0]
    out, back = fg.vjp(lambda d: d["a"] * 2, {"a": x})
    assert out.tolist() == [2.0, 4.0, 6.0] and back(x)[0]["a"].tolist() == [2.0, 4.0, 6.0]
    assert fg.jit(fg.grad(lambda x: (x * x).sum()))(x).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(fg.Error, match="one element"):
        fg.grad(lambda x: x * 2)(x)
    with pytest.raises(fg.Error, match="argument 3"):
        fg.grad(lambda x: x.sum(), argnums=3)(x)


def test_examine():
    f = fg.jit(lambda x: fg.ops.exp(x) * 2 + 1)
    f(fg.ops.ones(64, 64))
    names = fg.examine.fusion_names(f)
    assert len(names) == 1 and fg.examine.get_fusion_symbols(fg.last_traces(f)[-1])[0].is_fusion
    assert "for" in fg.examine.kernel_source(f, names[0])
    assert fg.examine.fusion_inputs(f, names[0])[0]["shape"] == (64, 64)
    assert "import torch" in fg.examine.repro(f, names[0]) and "#include" in fg.examine.repro(
        f, names[0], language="cpp"
    )
    assert fg.examine.memory(fg.last_traces(f)[-1])["peak_bytes"] > 0
    assert "<html" in fg.examine.html(f).lower()
    with pytest.raises(fg.Error):
        fg.examine.kernel_source(f, "fusion99")


def test_supported_reports_all_at_once():
    def f(x):
        return fg.ops.exp(x) + fg.ops.operator("prims.sin")(x) if False else fg._core.call("no_such", [fg.ops.exp(x)])

    report = fg.supported(f, fg.tensor([1.0]))
    assert not report.all and any("no_such" in what for what, *_ in report.problems)
    assert any(name == "torch.exp" for name, *_ in report.operators)


def test_threads():
    import threading

    f = fg.jit(mlp)
    expected = mlp(*arguments())
    x, w1, w2 = arguments()
    wrong = []

    def work():
        for _ in range(20):
            if (f(x, w1, w2) - expected).abs().max().item() > 1e-5:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_random_numbers_follow_the_seed():
    f = fg.jit(lambda x: x + fg.ops.rand_like(x))
    x = fg.ops.zeros(4)
    fg.manual_seed(3)
    first = f(x).tolist()
    assert f(x).tolist() != first
    fg.manual_seed(3)
    assert f(x).tolist() == first
