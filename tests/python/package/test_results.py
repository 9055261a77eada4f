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
