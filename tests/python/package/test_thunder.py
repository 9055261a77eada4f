"""Sessions of Thunder's users with one line changed: `import fulgurite.thunder as thunder`."""

import re

import fulgurite as fg
import fulgurite.thunder as thunder


def test_backward_lines_name_the_forward(torch):
    model = torch.nn.Linear(100, 10, bias=False)
    x = torch.randn(10, 100)
    fn = thunder.jit(model)
    out = fn(x)
    assert out.shape == (10, 10)
    fwd_trace, bwd_trace = thunder.last_traces(fn)
    forward, backward = fwd_trace[-1].python(), bwd_trace[-1].python()
    assert "def augmented_forward_fn(t_input, t_weight):" in forward
    assert "t0 = torch.nn.functional.linear(t_input, t_weight, None)" in forward
    assert "return {'output': t0, 'flat_args': [t_input, t_weight], 'flat_output': (t0,)}, ((t_input,), ())" in forward
    calls = [line for line in backward.splitlines() if re.match(r"  t\d+ = torch\.", line)]
    assert [re.search(r"torch\.(\w+)", line).group(1) for line in calls] == ["reshape", "permute", "reshape", "matmul"]
    assert all(line.endswith('forward: t0: "torch.nn.functional.linear"') for line in calls)
    out.sum().backward()
    torch.testing.assert_close(model.weight.grad, x.sum(0).expand(10, 100))


def test_fusions_and_their_inputs_are_in_the_trace(torch):
    import fulgurite.thunder.examine

    @thunder.jit
    def func(x):
        t1 = thunder.prims.var(x, (0, 1), correction=1)
        t2 = thunder.prims.add(t1, t1)
        return t2

    x = torch.randn(512, 512)
    torch.testing.assert_close(func(x), 2 * x.var(), rtol=1e-5, atol=0)
    trace = thunder.last_traces(func)[-1]
    text = str(trace)
    assert text.startswith("# Constructed by Delete Last Used (took 0 milliseconds)\nimport torch\n")
    assert '# x: "cpu f32[512, 512]"' in text.replace("t_x", "x")
    (fusion,) = fulgurite.thunder.examine.get_fusion_symbols(trace)
    assert str(fusion).splitlines() == [
        "[t1] = fusion0(t_x)",
        '  # t0 = prims.var(t_x, (0, 1), correction=1.0)  # t0: "cpu f32[]"',
        '  # t1 = prims.add(t0, t0)  # t1: "cpu f32[]"',
    ]
    fusions = [bsym for bsym in trace.bound_symbols if bsym.name.startswith("fusion")]
    assert [str(f) for f in fusions] == [str(fusion)]
    (argument,) = fusions[0].args
    assert tuple(argument.shape) == (512, 512)
    assert str(argument.dtype).split(".")[-1] in ("float32", "f32")


def test_primitives_compute_on_tensors_of_ours(torch):
    a = fg.from_dlpack(torch.tensor([1.0, 2.0]))
    assert torch.from_dlpack(thunder.prims.add(a, a)).tolist() == [2.0, 4.0]
