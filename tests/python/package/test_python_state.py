"""Python values that functions of PyTorch read and change besides their arguments, under `fulgurite.jit`."""

import argparse
import collections
import dataclasses
import itertools
import random
import threading

import fulgurite as fg
import numpy as np
import pytest

factor = 1.0


class Settings:
    offset = 0.5


def agree(torch, f, compiled, calls, twin=None):
    """Compares calls one by one; `twin` is what eager mode calls if `f` keeps something."""
    for args in calls:
        expected, found = (twin or f)(*args), compiled(*args)
        assert torch.allclose(expected, found), (args, expected, found)


def test_numbers_that_are_read_are_followed(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.flags, self.sizes = 2.0, {"shift": 1}, [3, 4]
            self.options = argparse.Namespace(power=2)

        def forward(self, x):
            y = x**self.options.power * self.scale + self.flags["shift"] + self.sizes[0]
            return y * factor + Settings.offset

    global factor
    model, x = Model(), torch.rand(3)
    compiled = fg.jit(model, fallback="error")
    agree(torch, model, compiled, [(x,), (x,)])
    first = compiled.last
    changes = [
        lambda: setattr(model, "scale", 3.0),
        lambda: model.flags.update(shift=5),
        lambda: model.sizes.__setitem__(0, 7),
        lambda: setattr(model.options, "power", 3),
        lambda: globals().update(factor=4.0),
        lambda: setattr(Settings, "offset", 1.5),
    ]
    for change in changes:
        change()
        agree(torch, model, compiled, [(x,), (x,)])
    factor, Settings.offset, model.scale, model.flags["shift"], model.sizes[0], model.options.power = 1, 0.5, 2, 1, 3, 2
    agree(torch, model, compiled, [(x,)])
    factor, model.scale = 1.0, 2.0
    agree(torch, model, compiled, [(x,)])
    assert compiled.last is first  # programs are kept


def test_numbers_that_are_not_read_do_not_matter(torch):
    class Trainer:
        def __init__(self):
            self.scale, self.epoch, self.log = 2.0, 0, []

        def loss(self, x):
            return (x * self.scale).sum()

    trainer = Trainer()
    compiled = fg.jit(trainer.loss)
    for epoch in range(20):
        trainer.epoch = epoch
        trainer.log.append(compiled(torch.ones(3)).item())
    assert trainer.log == [6.0] * 20 and compiled.torch_calls.changes == 0


def test_what_a_function_changes_is_changed_in_each_call(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.layer, self.calls, self.latest, self.shape = torch.nn.Linear(4, 4), 0, None, None

        def forward(self, x):
            self.calls = (self.calls + 1) % 3
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
            self.latest = {"input": x * 1, "sizes": [len(x)]}
            self.shape = x.shape
            return self.layer(x) * self.calls + self.mean

    torch.manual_seed(0)
    model, twin = Model(), Model()
    twin.load_state_dict(model.state_dict())
    compiled = fg.jit(model, fallback="error")
    for step in range(12):
        x = torch.randn(2 + step % 2, 4)
        agree(torch, model, compiled, [(x,)], twin)
        assert model.calls == twin.calls and model.shape == twin.shape and torch.allclose(model.mean, twin.mean)
        assert torch.equal(model.latest["input"], x) and model.latest["sizes"] == [len(x)]
    assert type(model.mean) is type(model.latest["input"]) is torch.Tensor
    assert [name for name, _ in model.named_buffers()] == ["mean"]


def test_lists_and_variables_that_a_function_changes(torch):
    kept, count = [], 0

    def f(x):
        nonlocal count
        count += 1
        kept.append(x.sum())
        return sum(kept) * count

    def twin(x):
        twin.count += 1
        twin.kept.append(x.sum())
        return sum(twin.kept) * twin.count

    twin.kept, twin.count = [], 0
    with pytest.warns(UserWarning, match="changed 8 times"):
        agree(torch, f, fg.jit(f), [(torch.full((2,), float(i)),) for i in range(12)], twin)
    assert count == 12 and torch.equal(torch.stack(kept), torch.stack(twin.kept))

    def adds(x, found):
        found.append(x * 2)
        return x

    found = []
    x = torch.ones(2)
    fg.jit(adds)(x, found)
    assert len(found) == 1 and torch.equal(found[0], x * 2)


def test_layers_and_hooks_that_are_exchanged_are_seen(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.ReLU())
    model.eval()
    compiled, x = fg.jit(model, fallback="error"), torch.randn(2, 3)
    agree(torch, model, compiled, [(x,), (x,)])
    model[2] = torch.nn.Tanh()
    agree(torch, model, compiled, [(x,)])
    handle = model[0].register_forward_hook(lambda module, inputs, out: out * 2)
    agree(torch, model, compiled, [(x,)])
    handle.remove()
    model[0].bias = None
    agree(torch, model, compiled, [(x,)])
    model[0].bias = torch.nn.Parameter(torch.ones(3))
    agree(torch, model, compiled, [(x,)])
    model.train()
    assert (compiled(torch.ones(50, 3)) == 0).any()
    model.eval()
    agree(torch, model, compiled, [(x,)])


def test_numbers_drawn_by_python_are_drawn_in_each_call(torch):
    for draw in (random.random, np.random.rand, lambda: random.Random(3).random() + random.uniform(0, 1)):
        compiled = fg.jit(lambda x, draw=draw: x * draw())
        random.seed(1), np.random.seed(1)
        found = [compiled(torch.ones(())).item() for _ in range(3)]
        random.seed(1), np.random.seed(1)
        assert found == pytest.approx([float(draw()) for _ in range(3)])


def test_a_failed_recording_changes_nothing(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.seen = 0, []

        def forward(self, x):
            self.calls += 1
            self.seen.append(x * 2)
            return torch.fft.rfft(x).abs()

    model = Model()
    with pytest.raises(fg.Unsupported):
        fg.jit(model, fallback="error")(torch.ones(4))
    assert model.calls == 0 and model.seen == []
    fg.jit(model)(torch.ones(4))
    assert model.calls == 1 and torch.equal(model.seen[0], torch.full((4,), 2.0))


@dataclasses.dataclass
class Batch:
    values: object
    times: int


def test_data_classes_are_arguments(torch):
    compiled = fg.jit(lambda batch: batch.values * batch.times, fallback="error")
    for times in (2, 3, 2):
        batch = Batch(torch.rand(3, requires_grad=True), times)
        out = compiled(batch)
        out.sum().backward()
        assert torch.equal(out, batch.values * times) and torch.all(batch.values.grad == times)


def test_objects_that_count_are_followed(torch):
    class Slotted:
        __slots__ = ("times",)

        def __init__(self):
            self.times = 1

    def counters():
        slotted, queue, seen = Slotted(), collections.deque([1, 2, 3], maxlen=3), set()

        def of_slots(x):
            slotted.times += 1
            return x * slotted.times

        def of_queue(x):
            queue.append(queue[-1] + 1)
            return x * queue[0]

        def of_set(x):
            seen.add(len(seen))
            return x * len(seen)

        def of_function(x):
            of_function.times = getattr(of_function, "times", 0) + 1
            return x * of_function.times

        return of_slots, of_queue, of_set, of_function

    for f, twin in zip(counters(), counters()):
        agree(torch, f, fg.jit(f), [(torch.ones(2),)] * 4, twin)


def test_iterators_give_the_next_value_in_each_call(torch):
    def generator():
        yield from range(1, 9)

    for make in (generator, lambda: iter([1, 2, 3, 4]), lambda: itertools.count(1)):
        values = make()
        compiled = fg.jit(lambda x, values=values: x * next(values))
        assert [compiled(torch.ones(())).item() for _ in range(3)] == [1, 2, 3]


def test_holders_of_a_kind_of_their_own_stay_as_they_are(torch):
    class Makers(collections.OrderedDict):
        def __getitem__(self, name):
            return super().__getitem__(name)()

        def __len__(self):
            return 7

    class Halves(list):
        def __iter__(self):
            return (x / 2 for x in super().__iter__())

    makers, halves = Makers(relu=torch.nn.ReLU), Halves([2.0, 4.0])
    compiled, x = fg.jit(lambda x: makers["relu"](x) * sum(halves), fallback="error"), torch.randn(3)
    for _ in range(2):
        assert torch.equal(compiled(x), x.relu() * 3)
    assert dict.__getitem__(makers, "relu") is torch.nn.ReLU
    halves[0] = 6.0
    assert torch.equal(compiled(x), x.relu() * 5)


def test_imports_inside_a_function_are_not_its_changes(torch, tmp_path, monkeypatch):
    (tmp_path / "made_for_this_test.py").write_text("counts = []\ndef f(x):\n    return x * 2\ncounts.append(f(1))\n")
    monkeypatch.syspath_prepend(tmp_path)

    def imports(x):
        from made_for_this_test import f

        return f(x)

    compiled = fg.jit(imports, fallback="error")
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert not compiled.last.recorded[-1].effects


def test_threads_call_a_module_while_it_is_recorded(torch):
    module = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(20)])
    for _ in range(5):
        compiled, found, barrier = fg.jit(module, fallback="error"), {}, threading.Barrier(8)

        def work(k, compiled=compiled, found=found, barrier=barrier):
            barrier.wait()
            for size in (1 + k % 3, 4):
                found[k, size] = compiled(torch.ones(size, 4))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16
        for (_, size), out in found.items():
            assert torch.allclose(out, module(torch.ones(size, 4)), atol=1e-6)
        assert all(type(p) is torch.nn.Parameter for p in module.parameters())


def test_arrays_of_numpy_are_followed(torch):
    weights = np.ones(2, dtype=np.float32)

    def scaled(x):
        return x * torch.from_numpy(weights) * float(weights[0])

    def counting(x):
        weights[0] += 1
        return x * float(weights[0])

    compiled, x = fg.jit(scaled, fallback="error"), torch.rand(2)
    for k in range(3):
        weights[k % 2] += k
        agree(torch, scaled, compiled, [(x,), (x,), (x,)])
    assert compiled.torch_calls.changes == 2
    weights[0] = 0
    counted = fg.jit(counting)
    for k in range(3):
        assert torch.allclose(counted(x), x * (k + 1)) and weights[0] == k + 1


def test_objects_that_cannot_be_looked_at_are_passed_over(torch):
    class Shy:
        __slots__ = ()

        def __getattr__(self, name):
            raise RuntimeError(f"no {name} here")

        @property
        def __class__(self):
            raise RuntimeError("outside of its context")

    shy, scale = Shy(), [2.0]
    compiled, x = fg.jit(lambda x: x * scale[0] if shy is not None else x, fallback="error"), torch.ones(2)
    assert torch.equal(compiled(x), x * 2)
    scale[0] = 3.0
    assert torch.equal(compiled(x), x * 3)
