"""Functions that PyTorch runs as a whole, or part by part while they are recorded, under `fulgurite.jit`."""

import fulgurite as fg
import pytest
from test_python_state import agree


def test_what_cannot_be_recorded_is_run_by_pytorch(torch, capfd):
    import fulgurite.torch as backend

    def spectrum(x):
        return torch.fft.rfft(x).abs()

    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x**3).sum(), x)[0]

    def hooked(x):
        y = x.requires_grad_() * 2
        y.register_hook(lambda gradient: gradient * 3)
        return y.sum()

    x = torch.rand(4)
    for f in (spectrum, slope, hooked):
        compiled = fg.jit(f)
        agree(torch, f, compiled, [(x.clone(),), (x.clone(),)])
        assert capfd.readouterr().err.count(f"<fulgurite.jit of {f.__name__}> runs on PyTorch: ") == 1
        with pytest.raises((fg.Error, RuntimeError)):
            fg.jit(f, fallback="error")(x.clone())
    line = spectrum.__code__.co_firstlineno + 1
    assert f"spectrum> runs on PyTorch: aten._fft_r2c.default at {__file__}:{line}" in backend.report()
    with pytest.raises(RuntimeError, match="shape"):  # an error of the function is one
        fg.jit(lambda x: x.view(7))(x)
    with pytest.raises(ValueError, match="mine"):
        fg.jit(lambda x: (_ for _ in ()).throw(ValueError("mine")))(x)
    with pytest.raises(fg.Error, match="there are eager, error"):
        fg.jit(spectrum, fallback="inductor")


def test_draws_of_a_generator_of_its_own_are_pytorchs(torch):
    first, second = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    compiled = fg.jit(lambda x: x + torch.rand(2, generator=first) + torch.bernoulli(x, generator=first))
    for _ in range(3):
        expected = torch.rand(2, generator=second) + torch.bernoulli(torch.ones(2), generator=second) + 1
        assert torch.equal(compiled(torch.ones(2)), expected)


def test_views_of_tensors_that_need_a_gradient_and_are_not_arguments(torch):
    weight, attention = torch.randn(3, 3, requires_grad=True), torch.nn.MultiheadAttention(4, 2, batch_first=True)
    for f, x, inputs in (
        (lambda x: x @ weight.T + weight[0], torch.randn(2, 3), [weight]),
        (lambda x: attention(x, x, x)[0], torch.randn(2, 5, 4), list(attention.parameters())),
    ):
        compiled = fg.jit(f, fallback="error")
        expected = torch.autograd.grad(f(x).square().sum(), inputs)
        for _ in range(2):
            for a, b in zip(torch.autograd.grad(compiled(x).square().sum(), inputs), expected):
                assert torch.allclose(a, b, atol=1e-6)


def test_writes_into_what_pytorch_makes_are_not_lost(torch):
    x = torch.rand(3)
    compiled = fg.jit(lambda x: torch.complex(x, x).abs())
    for _ in range(2):
        assert torch.allclose(compiled(x), x * 2**0.5)
    marked = torch.rand(3)
    marked.times = 3
    assert torch.equal(fg.jit(lambda x: x * getattr(x, "times", 1))(marked), marked * 3)
    assert fg.jit(lambda x, size: x.expand(size), fallback="error")(x, torch.Size([2, 3])).shape == (2, 3)


def test_transforms_of_pytorch_are_recorded(torch):
    weight = torch.randn(4, 4, requires_grad=True)
    x = torch.randn(3, 4, requires_grad=True)
    functions = (
        lambda x: torch.vmap(lambda row: row.sin() * row.sum())(x),
        lambda x: torch.func.grad(lambda v: (v**3).sum())(x) @ weight,
        lambda x: torch.vmap(lambda q: torch.vmap(lambda k: q >= k)(torch.arange(4)))(torch.arange(4)) * x.sum(),
    )
    for f in functions:
        compiled = fg.jit(f, fallback="error")
        for _ in range(2):
            expected, found = f(x), compiled(x)
            assert torch.allclose(expected, found, atol=1e-6)
            (a,), (b,) = (torch.autograd.grad(y.cos().sum(), x) for y in (expected, found))
            assert torch.allclose(a, b, atol=1e-5)
