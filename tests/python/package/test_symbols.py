"""Sizes that are symbols (`cache="symbolic values"`) in PyTorch's code, and draws that depend on no argument."""

import math

import fulgurite as fg
import pytest

# Name: (a function of x [1, 1] and c [2, n, 4], how many programs three lengths need).
FUNCTIONS = {
    "added": (lambda torch, x, c: x + c.shape[-2], 1),
    "positions behind a cache": (lambda torch, x, c: torch.arange(x.shape[1]) + c.shape[-2], 1),
    "a range of positions": (lambda torch, x, c: torch.arange(c.shape[-2], c.shape[-2] + 1), 1),
    "view": (lambda torch, x, c: c.view(c.shape[0], c.shape[1] * 2, -1), 1),
    "a part of the shape": (lambda torch, x, c: c.reshape(*c.shape[:-1], 2, 2).sum(-1), 1),
    "size()": (lambda torch, x, c: c.reshape(c.size(0), c.size(1), c.size(-1)) + c.size()[1], 1),
    "size(dim=)": (lambda torch, x, c: x * c.size(dim=1), 1),
    "expand": (lambda torch, x, c: x.expand(c.shape[1], c.shape[0]) * c.shape[1], 1),
    "zeros": (lambda torch, x, c: torch.zeros(c.shape[1], 3) + c.size(1), 1),
    "slices": (lambda torch, x, c: c[:, : c.shape[1] - 1] - c[:, 1:] + c[:, -(c.shape[1] // 2) :].sum(), 1),
    "a mask": (lambda torch, x, c: torch.ones(c.shape[1], c.shape[1]).tril() / c.numel(), 1),
    "pad": (lambda torch, x, c: torch.nn.functional.pad(c, (0, 0, 0, 10 - c.shape[1])), 1),
    "strides": (lambda torch, x, c: x * c.stride(0) + c.stride()[1], 1),
    "tensor()": (lambda torch, x, c: torch.tensor([[c.shape[1]], [1]]), 1),
    "tensor() with floats": (lambda torch, x, c: torch.tensor([c.shape[1], 2.5]), 1),
    "a returned size": (lambda torch, x, c: c.shape[1], 1),
    "a comparison": (lambda torch, x, c: x if c.shape[1] > 5 else x * 2, 2),
    "max": (lambda torch, x, c: x * max(c.shape[1], 6), 2),
    "a loop": (lambda torch, x, c: sum(c[:, i] * i for i in range(c.shape[1])), 3),
    "len": (lambda torch, x, c: x * len(c[0]), 3),
    "int": (lambda torch, x, c: x + int(c.shape[-2]), 3),
    "math": (lambda torch, x, c: c / math.sqrt(c.shape[1]), 3),
    "a key": (lambda torch, x, c: x * {5: 2, 6: 3}.get(c.shape[1], 1), 3),
    "text": (lambda torch, x, c: x * len(f"{c.shape[1] - 4:d}" * c.shape[1]), 3),
    "powers": (lambda torch, x, c: x * 2 ** c.shape[1] + c.shape[1] ** 2, 3),
    "quotients": (lambda torch, x, c: x * (1 / c.shape[1]) + 7 // c.shape[1] + 7 % c.shape[1] - -c.shape[1] / 2, 3),
    "PyTorch's own code": (lambda torch, x, c: torch.nn.functional.adaptive_avg_pool1d(c, 2) * c.shape[1], 1),
    "a constant of the size": (lambda torch, x, c: torch.triu_indices(c.shape[1], 3), 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sizes_of_pytorchs_code_are_symbols(torch, name):
    function, programs = FUNCTIONS[name]
    compiled = fg.jit(lambda x, c: function(torch, x, c), cache="symbolic values")
    for length in (5, 6, 9, 5):
        x, c = torch.ones(1, 1), torch.rand(2, length, 4)
        found, expected = compiled(x, c), function(torch, x, c)
        assert type(found) is type(expected)
        if isinstance(expected, torch.Tensor):
            assert found.dtype == expected.dtype and torch.allclose(found, expected)
        else:
            assert found == expected
    assert fg.cache_misses(compiled) <= programs


def test_a_growing_cache_is_compiled_once(torch):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_embd=32, n_head=2, vocab_size=97, n_positions=64)
    model = transformers.GPT2LMHeadModel(config).eval()
    compiled = fg.jit(model, cache="symbolic values")
    with torch.no_grad():
        ours, theirs = (f(input_ids=torch.arange(7)[None], use_cache=True) for f in (compiled, model))
        for step in range(12):
            token = torch.tensor([[(11 * step) % 97]])
            ours, theirs = (
                f(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
                for f, out in ((compiled, ours), (model, theirs))
            )
            assert torch.allclose(ours.logits, theirs.logits, atol=1e-5), step
        assert ours.past_key_values.get_seq_length() == 19
    assert fg.cache_misses(compiled) <= 2


@pytest.mark.parametrize(
    "draw",
    [
        lambda torch, x: x + torch.randint(0, 1000, (2,)),
        lambda torch, x: x + torch.randint(1000, size=(2,)),
        lambda torch, x: x + torch.randperm(50)[:2],
        lambda torch, x: x + torch.normal(0.0, 1.0, (2,)),
        lambda torch, x: x + torch.rand(()).item(),
        lambda torch, x: x + torch.nn.init.trunc_normal_(torch.empty(2)),
    ],
)
def test_draws_are_new_in_each_call(torch, draw):
    compiled, x = fg.jit(lambda x: draw(torch, x)), torch.ones(2)
    assert not torch.equal(compiled(x), compiled(x))
    torch.manual_seed(3)
    first = compiled(x)
    torch.manual_seed(3)
    assert torch.equal(compiled(x), first)


def test_distributions_of_draws_without_arguments(torch):
    torch.manual_seed(0)
    whole = fg.jit(lambda: torch.randint(3, 8, (20000,)))()
    assert whole.dtype == torch.int64 and sorted(whole.unique().tolist()) == [3, 4, 5, 6, 7]
    assert abs(whole.double().mean().item() - 5) < 0.05
    permutation = fg.jit(lambda: torch.randperm(100))()
    assert permutation.dtype == torch.int64 and sorted(permutation.tolist()) == list(range(100))
    normal = fg.jit(lambda: torch.normal(2.0, 3.0, (20000,)))()
    assert abs(normal.mean().item() - 2) < 0.1 and abs(normal.std().item() - 3) < 0.1
    means = torch.arange(3.0)
    each = fg.jit(lambda m: torch.normal(m.expand(20000, 3), 0.5))(means)
    assert torch.allclose(each.mean(0), means, atol=0.05)


def test_draws_that_cannot_be_recorded_are_refused(torch):
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(fg.Error, match="generator of its own|the same in each call"):
        fg.jit(lambda x: x + torch.randint(9, (2,), generator=generator), fallback="error")(torch.ones(2))
    fallen = fg.jit(lambda x: x + torch.randint(9, (2,), generator=generator))
    assert torch.equal(fallen(torch.ones(2)), 1 + torch.randint(9, (2,), generator=torch.Generator().manual_seed(0)))
    window = fg.jit(lambda x: x + torch.hann_window(2))  # a constant
    assert torch.equal(window(torch.ones(2)), 1 + torch.hann_window(2))
