"""PyTorch's backwards captured by compiled autograd, on our back end: the sections of its tutorial."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import fulgurite as fg  # noqa: E402
import fulgurite.torch as ft  # noqa: E402

Module = Any


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def gradients(model: Module, loss: Any, captured: bool, **options: Any) -> list[Any]:
    """The gradients of a loss's backward, captured or by the engine."""
    model.zero_grad(set_to_none=True)
    value = loss(model)
    if captured:
        with fg.compiled_autograd.enable(**options):
            value.backward()
    else:
        value.backward()
    return [p.grad.clone() for p in model.parameters()]


def check(model: Module, loss: Any, **options: Any) -> None:
    expected = gradients(model, loss, False)
    for actual, wanted in zip(gradients(model, loss, True, **options), expected):
        torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-6)


def test_a_whole_backward_is_one_program_of_ours() -> None:
    before = ft.report().splitlines()[0]
    model = torch.nn.Linear(10, 10)
    x = torch.randn(10)
    check(model, lambda m: m(x).sum())
    assert ft.report().splitlines()[0] != before


def test_the_compiler_is_given_the_graph_of_the_backward() -> None:
    graphs = []

    def compiler(graph: Any) -> Any:
        graphs.append(graph)
        return torch.compile(graph, backend="fulgurite", options={"fallback": "error"})

    model = torch.nn.Linear(10, 10)
    x = torch.randn(10)
    check(model, lambda m: m(x).sum(), compiler=compiler)
    assert len(graphs) == 1
    assert "AddmmBackward0" in graphs[0].code


def test_a_graph_break_of_the_forward_does_not_break_the_backward() -> None:
    graphs = []

    def compiler(graph: Any) -> Any:
        graphs.append(graph)
        return torch.compile(graph, backend="fulgurite")

    def f(x: Any) -> Any:
        y = torch.sin(x)
        torch._dynamo.graph_break()
        return torch.cos(y)

    compiled = torch.compile(f, backend="fulgurite")
    model = torch.nn.Linear(6, 6)
    x = torch.randn(4, 6)
    check(model, lambda m: compiled(m(x)).sum(), compiler=compiler)
    assert len(graphs) == 1


def test_hooks_of_tensors_and_parameters_run() -> None:
    called = []

    def loss(model: Module) -> Any:
        y = model(torch.ones(3, 5))
        y.register_hook(lambda g: g * 2)
        return (y * y).sum()

    model = torch.nn.Linear(5, 5)
    model.weight.register_post_accumulate_grad_hook(lambda p: called.append(p.grad.sum().item()))
    check(model, loss)
    assert len(called) == 2
    assert called[0] == pytest.approx(called[1], rel=1e-5)


def test_gradients_accumulate() -> None:
    model = torch.nn.Linear(5, 5)
    x = torch.randn(2, 5)

    def twice(captured: bool) -> Any:
        model.zero_grad(set_to_none=True)
        for scale in (1.0, 3.0):
            value = (model(x) * scale).relu().sum()
            if captured:
                with fg.compiled_autograd.enable():
                    value.backward()
            else:
                value.backward()
        return model.weight.grad.clone()

    torch.testing.assert_close(twice(True), twice(False))


def test_a_custom_function_is_in_the_captured_backward() -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 3

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 + x * 0

    model = torch.nn.Linear(4, 4)
    x = torch.randn(2, 4)
    check(model, lambda m: Scale.apply(m(x)).sum())


def test_sizes_that_change_do_not_need_another_capture() -> None:
    graphs = []

    def compiler(graph: Any) -> Any:
        graphs.append(graph)
        return torch.compile(graph, backend="fulgurite", dynamic=True)

    model = torch.nn.Linear(6, 6)
    for rows in (3, 4, 5, 7):
        x = torch.randn(rows, 6)
        check(model, lambda m, x=x: torch.tanh(m(x)).sum(), compiler=compiler)
    assert len(graphs) <= 2


def test_a_small_network_trains() -> None:
    def run(captured: bool) -> list[float]:
        torch.manual_seed(1)
        model = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 3)
        )
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        x, target = torch.randn(12, 8), torch.randint(0, 3, (12,))
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), target)
            if captured:
                with fg.compiled_autograd.enable():
                    loss.backward()
            else:
                loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert run(True) == pytest.approx(run(False), rel=1e-5)
