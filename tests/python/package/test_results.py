"""Results of compiled calls that are arguments, or share memory with them or with one another."""

import fulgurite as fg
import pytest


@pytest.mark.parametrize("way", ["jit", "compile"])
def test_results_that_share_memory_are_views(torch, way):
    def f(x, w):
        y = x + w * 3
        return y, y.view(-1), y[1], x.t(), y.detach()

    g = fg.jit(f, fallback="error") if way == "jit" else torch.compile(f, backend="fulgurite")

    def gradients(f, write):
        x, w = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0, requires_grad=True)
        results = f(x * 1, w)
        write(*results)
        weights = [r.detach().clone() + i for i, r in enumerate(results)]
        loss = sum((r * k).sum() for r, k in zip(results, weights) if r.requires_grad)
        return [r.detach().clone() for r in results], torch.autograd.grad(loss, (x, w))

    writes = (
        lambda y, flat, row, t, d: flat[2:5].mul_(3),
        lambda y, flat, row, t, d: (row.mul_(2), y[0].zero_()),
        lambda y, flat, row, t, d: t.add_(1),
        lambda y, flat, row, t, d: None,
    )
    for write in writes:
        (expected, wanted), (found, given) = gradients(f, write), gradients(g, write)
        assert all(torch.equal(a, b) for a, b in zip(expected, found))
        assert all(torch.allclose(a, b) for a, b in zip(wanted, given))


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
@pytest.mark.parametrize("way", ["jit", "compile"])
def test_results_that_are_arguments_without_their_gradient(torch, way, shape):
    def f(x):
        return x.detach(), x * 2, x, x.data

    g = fg.jit(f, fallback="error") if way == "jit" else torch.compile(f, backend="fulgurite")
    x = torch.ones(shape, requires_grad=True)
    for grad in (True, False, True, False, False):
        with torch.set_grad_enabled(grad):
            expected, found = f(x), g(x)
        assert [y.requires_grad for y in found] == [y.requires_grad for y in expected]
        assert [y.shape for y in found] == [y.shape for y in expected]
        assert found[2] is x and found[0].data_ptr() == found[3].data_ptr() == x.data_ptr()


def test_an_argument_that_is_returned_is_itself(torch):
    compiled = fg.jit(lambda x, y: (x, y * 2, x))
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        first, product, third = compiled(x, torch.ones(2, requires_grad=True))
        assert first is x and third is x and product.requires_grad


@pytest.fixture(params=["jit", "compile"])
def compiled(torch, request):
    """Compiles a function in one of the two ways."""
    if request.param == "jit":
        return fg.jit
    return lambda f: torch.compile(f, backend="fulgurite")


def test_custom_functions_that_return_their_argument_keep_their_gradient(torch, compiled):
    """A gradient reversal, as the last call of a function."""

    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return -gradient

    class Row(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[0]

        @staticmethod
        def backward(ctx, gradient):
            return torch.stack([gradient * 0.5, gradient * 0.25])

    for function in (Reversed, Row):
        for f in (lambda x: function.apply(x), lambda x: (function.apply(x * 1), x)):  # noqa: B023
            given = []
            for g in (f, compiled(f)):
                x = torch.ones(2, 2, requires_grad=True)
                result = g(x)
                sum(r.sum() for r in (result if isinstance(result, tuple) else (result,))).backward()
                given.append(x.grad)
            assert torch.equal(*given)


def test_what_has_an_arguments_memory_is_that_argument_only_if_it_was_returned(torch, compiled):
    for needs_gradient in (False, True):
        x = torch.ones(2, 3, requires_grad=needs_gradient)
        for f in (lambda x: x.view(2, 3), lambda x: x.detach(), lambda x: x.view_as(x)):
            g = compiled(f)
            for _ in range(3):
                y = g(x)
                assert y is not x and y.data_ptr() == x.data_ptr()
                assert y.requires_grad == f(x).requires_grad
        g = compiled(lambda x: (x, x * 2, x))
        for _ in range(3):
            first, _, last = g(x)
            assert first is x and last is x
    g = compiled(lambda x: (lambda y: (y, y.view(-1), y))(x * 2))
    first, flat, last = g(torch.ones(2, 2))
    assert first is last and flat is not first


def test_results_that_share_memory_have_one_storage_without_gradients(torch, compiled):
    def f(x):
        y = x * 2
        return x.unbind(0), x[1:3], y.narrow(0, 1, 2), y, y[1].unsqueeze(0).expand(4, 3)

    g = compiled(f)
    for _ in range(3):
        x = torch.ones(4, 3)
        rows, middle, part, y, expanded = g(x)
        of_x = {t.untyped_storage().data_ptr() for t in (x, middle, *rows)}
        of_y = {t.untyped_storage().data_ptr() for t in (y, part, expanded)}
        assert len(of_x) == 1 and len(of_y) == 1
        rows[2].mul_(5)
        assert torch.equal(middle[1], torch.full((3,), 5.0)) and torch.equal(x[2], middle[1])


def test_the_largest_memory_is_the_base_of_results(torch, compiled):
    """An expanded result has more elements than the one whose memory it is in."""

    def f(x):
        row = (x * 1).narrow(0, 0, 1)
        return row.unsqueeze(0).expand(2, 1, 2), row

    def gradient(f):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        wide, row = f(x)
        row.mul_(3)
        (wide * torch.arange(4.0).view(2, 1, 2)).sum().backward()
        return x.grad

    assert torch.equal(gradient(f), gradient(compiled(f)))


def test_changes_of_a_history_run_on_pytorch(torch):
    """requires_grad_() and detach_() of tensors that a function makes."""

    def needing(x):
        y = x.clone()
        y.requires_grad_()
        return y * 2, y

    def attribute(x):
        y = x.clone()
        y.requires_grad = True
        return y * 2, y

    def without(x):
        y = x * 2
        y.detach_()
        return y, x + y

    for f, needs_gradient in ((needing, False), (attribute, False), (without, True)):
        x = torch.ones(3, requires_grad=needs_gradient)
        expected, found = f(x), fg.jit(f)(x)
        assert [r.requires_grad for r in found] == [r.requires_grad for r in expected]
        assert all(torch.equal(a, b) for a, b in zip(expected, found))


def test_writes_into_what_a_backward_needs_are_errors(torch, compiled):
    """Also where the backward needs a view of it."""

    def normalized(x, w):
        return torch.nn.functional.batch_norm(x, None, None, w, None, True)

    def projected(x, w):
        return x @ w.unsqueeze(1)

    for f, shape in ((normalized, (8, 5)), (projected, (8, 5))):
        for g in (f, compiled(f)):
            x, w = torch.randn(shape, requires_grad=True), torch.ones(5, requires_grad=True)
            y = g(x, w)
            with torch.no_grad():
                w.mul_(3)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                y.pow(2).sum().backward()
