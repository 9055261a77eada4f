import gc
import weakref

import fulgurite as fg
import pytest


def test_tensors_are_made_of_lists():
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.shape == (2, 2) and x.dtype == fg.float32 and x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert fg.tensor([1, 2]).dtype == fg.int64
    assert fg.tensor([True, False]).dtype == fg.bool_
    assert fg.tensor([1, 2], dtype="float64").tolist() == [1.0, 2.0]
    assert fg.tensor(2.5).item() == 2.5
    with pytest.raises(ValueError, match="not of one length"):
        fg.tensor([[1, 2], [3]])


def test_operators_and_indexing():
    x = fg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x + 1).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert (2 - x).tolist() == [[1.0, 0.0], [-1.0, -2.0]]
    assert (x @ x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert (x > 2).tolist() == [[False, False], [True, True]]
    assert x[0, 1].item() == 2.0 and x[:, 1].tolist() == [2.0, 4.0] and x[..., None].shape == (2, 2, 1)
    assert x[x > 2].tolist() == [3.0, 4.0]
    assert (
        x.T.tolist() == [[1.0, 3.0], [2.0, 4.0]]
        and len(x) == 2
        and [row.tolist() for row in x] == [[1.0, 2.0], [3.0, 4.0]]
    )
    x[0] = 9
    x[1, 0] += 1
    assert x.tolist() == [[9.0, 9.0], [4.0, 4.0]]
    assert fg.ops.ones(2).copy_(fg.tensor([3, 4])).tolist() == [3.0, 4.0] and fg.ops.copy_(x, x) is x
    x += 1
    assert x.sum().item() == 30.0
    assert x.view(4).shape == (4,) and x.reshape(1, 4).shape == (1, 4) and x.softmax(dim=-1).shape == (2, 2)
    assert x.long().dtype == fg.int64 and x.to(fg.float64).dtype == fg.float64
    assert "[10" in repr(x) or "10" in repr(x)


def test_gradients_accumulate():
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad = None
    assert x.grad is None
    with fg.no_grad():
        assert not (x * 2).requires_grad


def test_numpy_shares_memory():
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    x = fg.from_dlpack(array)
    array[0, 0] = 7
    assert x[0, 0].item() == 7.0
    back = x.numpy()
    back[1, 2] = 9
    assert array[1, 2] == 9
    assert fg.from_dlpack(array.T).shape == (3, 2) and numpy.asarray(x * 2).sum() == 2 * array.sum()
    for dtype in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"):
        original = numpy.ones((2, 2), dtype=dtype)
        assert (fg.from_dlpack(original).numpy() == original).all()
    assert fg.from_dlpack(numpy.zeros((0, 3), dtype=numpy.float32)).shape == (0, 3)
    frozen = numpy.ones(3)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        fg.from_dlpack(frozen)
    assert fg.asarray(frozen).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(fg.Error, match="bfloat16"):
        x.to("bfloat16").numpy()


def test_memory_is_let_go():
    numpy = pytest.importorskip("numpy")

    class Array(numpy.ndarray):
        pass

    array = numpy.ones(4, dtype=numpy.float32).view(Array)
    alive = weakref.ref(array)
    x = fg.from_dlpack(array)
    del array
    gc.collect()
    assert alive() is not None or x.tolist() == [1.0] * 4
    del x
    gc.collect()
    assert alive() is None


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="__dlpack__"):
        fg.from_dlpack("text")
    with pytest.raises(fg.Error, match="CPU"):
        fg.tensor([1.0]).to("cuda")
    with pytest.raises(AttributeError, match="no such operator"):
        getattr(fg.tensor([1.0]), "nonsense")
    capsule = fg.tensor([1.0]).__dlpack__()
    fg.from_dlpack(capsule)
    with pytest.raises(TypeError, match="used before"):
        fg.from_dlpack(capsule)


def test_errors_name_the_operator_and_the_line():
    with pytest.raises(fg.Error) as caught:
        fg.ops.matmul(fg.tensor([[1.0]]), fg.tensor([[1.0], [2.0]]))
    file, line = caught.value.source
    assert (
        file == __file__
        and line > 0
        and "matmul" in str(caught.value)
        and f"test_tensor.py:{line}" in str(caught.value)
    )
    assert isinstance(caught.value, RuntimeError)


def test_operators_have_signatures_and_documentation():
    import inspect

    assert list(inspect.signature(fg.ops.softmax).parameters)[:2] == ["input", "dim"]
    assert "torch.nn.functional.gelu(Tensor input" in fg.ops.gelu.__doc__
    assert len(fg.ops.names()) > 300 and "softmax" in dir(fg.ops)
    assert fg.ops.zeros(2, 3).shape == (2, 3) and fg.ops.ones([2], requires_grad=True).requires_grad
    with pytest.raises(AttributeError, match="there is no operator"):
        getattr(fg.ops, "nonsense")


def test_every_operator_can_be_described():
    for name in fg.ops.names():
        if not name.split(".")[-1].startswith("__"):
            assert fg.ops.operator(name).__doc__


def test_a_negated_view_of_pytorch_is_refused(torch):
    with pytest.raises(TypeError, match="the negative of its memory.*resolve_neg"):
        fg.from_dlpack(torch._neg_view(torch.ones(2)))


def test_writes_through_every_kind_of_index():
    np = pytest.importorskip("numpy")
    numpy = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    places = [0, -1, (1, 2), slice(1, 3), (..., 0), (None, 1), [0, 2], ([0, 2], [1, 1]), (slice(1, 3), [0, 2])]
    places += [(0, [1, 2]), ([1, 2], slice(None), 0), [[0, 1], [2, 3]], (..., [1])]
    for place in places:
        for value in (7, 2.5):
            expected, found = numpy.copy(), fg.tensor(numpy.tolist(), dtype=fg.float32)
            # NumPy takes a list of lists for several dimensions where it is not a tuple; PyTorch does not.
            expected[np.array(place) if isinstance(place, list) else place] = value
            found[place] = value
            assert np.array_equal(found.numpy(), expected), place
    mask = numpy % 3 == 0
    for chosen, value in ((mask, 1.5), (mask[:, 0, 0], 4), (mask, np.arange(8, dtype=np.float32))):
        expected, found = numpy.copy(), fg.tensor(numpy.tolist(), dtype=fg.float32)
        expected[chosen] = value
        found[fg.tensor(chosen.tolist())] = fg.tensor(value.tolist()) if isinstance(value, np.ndarray) else value
        assert np.array_equal(found.numpy(), expected)
    x, v = fg.tensor([1.0, 2.0, 3.0], requires_grad=True), fg.tensor([10.0, 20.0], requires_grad=True)
    y = x * 2
    y[[0, 2]] = v
    (y * y).sum().backward()
    assert x.grad.tolist() == [0, 16, 0] and v.grad.tolist() == [20, 40]
