"""Dynamo's graphs, recorded with our operators: before AOTAutograd, with our differentiation."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree

from .. import _core
from .._core import Tensor, Unsupported
from . import direct, functions  # noqa: F401  the table of functions is filled by its import
from .calls import RECORDING, SCOPES, At, function_call, method_call, our_dtype, whole_name
from .identities import Identities
from .structures import structure_of
from .symbols import Symbol, symbol_of

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_FUNCTIONS = frozenset(
    [None, "torch", "torch.functional", "torch.nn.functional", "torch._VF"]
    + [f"torch._C._{name}" for name in ("nn", "linalg", "special", "fft")]
)
_PART = re.compile(r"\['([^']+)'\]|\.([A-Za-z]\w*)|\[(\d+)\]")


def source_of(node: torch.fx.Node) -> At:
    """The innermost line of Python that a node comes from."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    return (found[-1][0], int(found[-1][1])) if found else ("", 0)


def _tidy(name: str) -> str:
    """L['self']._modules['h']._modules['0']._parameters['weight'] -> h.0.weight"""
    parts = ["".join(p) for p in _PART.findall(name)]
    return ".".join(p for p in parts if p not in ("self", "_modules", "_parameters", "_buffers")) or "x"


def _source_name(node: torch.fx.Node) -> str:
    source = getattr(node, "_dynamo_source", None)
    if source is None:
        return ""
    return source.name if isinstance(source.name, str) else source.name()


def example_of(node: torch.fx.Node) -> Any:
    """Dynamo's example of a node's result."""
    return node.meta.get("example_value", node.meta.get("val"))


def is_read_as_number(node: torch.fx.Node) -> bool:
    """True for an argument that stands for a float of Python: Dynamo passes a tensor of one element, and reads it."""
    example = example_of(node)
    is_scalar = isinstance(example, torch.Tensor) and example.ndim == 0 and example.dtype == torch.float64
    reads = [use.op == "call_method" and use.target == "item" for use in node.users]
    return is_scalar and not example.requires_grad and bool(reads) and all(reads)


def runs_as_torch(graph: torch.fx.Graph) -> bool:
    """Returns True if a graph has layers of functorch, whose functions must run as PyTorch's code on proxies."""
    marks = ("functorch", "_saved_tensors_hooks", "_autograd_grad")
    names = [f"{getattr(n.target, '__module__', '')} {n.target}" for n in graph.nodes if n.op == "call_function"]
    return any(mark in name for mark in marks for name in names)


def _may_decompose(node: torch.fx.Node) -> bool:
    """Returns True of PyTorch's functions of tensors; a graph may also call hooks, and what accumulates gradients."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target.namespace == "aten" and not target._schema.is_mutable
    return node.op == "call_method" or getattr(target, "__module__", None) in _FUNCTIONS


def _stand_in_for(x: Any) -> Any:
    if isinstance(x, Tensor):
        return direct.Proxy(x)
    return symbol_of(x) if isinstance(x, _core.Int) else x


class Walker:
    """Records a graph. `on_failure` may give a result for a node that we have no operator for."""

    def __init__(
        self, module: torch.fx.GraphModule, on_failure: Callable[[torch.fx.Node, Exception], Any] | None = None
    ) -> None:
        self.module, self.on_failure = module, on_failure
        self.nodes = list(module.graph.nodes)
        self.placeholders = [n for n in self.nodes if n.op == "placeholder"]
        self.is_member: list[bool] = []
        self.names: list[str] = []
        taken: set[str] = set()
        for node in self.placeholders:
            source = _source_name(node)
            is_parameter = (
                isinstance(example_of(node), torch.nn.Parameter) or "_parameters" in source or "_buffers" in source
            )
            self.is_member.append(is_parameter and not isinstance(example_of(node), (int, float, torch.SymInt)))
            name = _tidy(source) if source else node.name
            while name in taken:
                name += "_"
            taken.add(name)
            self.names.append(name)
        self.numbers = {n for n in self.placeholders if is_read_as_number(n)}
        self.as_torch = runs_as_torch(module.graph)
        self.structured: Callable[[list[Any]], Any] = list
        self.holes: list[Any] = []
        self.is_value: list[bool] = []
        self.is_all_tensors = True
        self.begins_without_gradients = False
        self.calls_custom_functions = _calls_custom_functions(module)
        self.identities = Identities([], [], False)

    def record(self, values: list[Any], members: list[Any]) -> list[Any]:
        """The body of the compiled function."""
        try:
            if self.begins_without_gradients:
                SCOPES.enter(_core.no_grad())
            return self._record(iter(values), iter(members))
        finally:
            SCOPES.close()

    def _record(self, values: Any, members: Any) -> list[Any]:
        env: dict[torch.fx.Node, Any] = {}
        stands: Any = direct.wrap if self.as_torch else lambda x: x
        inputs = iter([next(members) if m else next(values) for m in self.is_member])
        for node in self.nodes:
            if node.op == "placeholder":
                env[node] = stands(next(inputs))
            elif node.op == "output":
                given = [_value(env[n]) for n in self.placeholders]
                return self._results(torch.fx.node.map_arg(node.args[0], lambda a: env[a]), given)
            elif node.op == "get_attr":
                env[node] = self._attribute(node.target)
            elif node.target == "item" and node.args[0] in self.numbers and not isinstance(env[node.args[0]], Tensor):
                env[node] = env[node.args[0]]
            else:
                args = torch.fx.node.map_arg(node.args, lambda a: env[a])
                kwargs = torch.fx.node.map_arg(node.kwargs, lambda a: env[a])
                env[node] = self._call(node, args, kwargs)
        raise AssertionError("a graph without an output")

    def _call(self, node: torch.fx.Node, args: Any, kwargs: Any) -> Any:
        try:
            if self.as_torch:
                return self._call_as_torch(node, args, kwargs)
            at = source_of(node)
            if node.target is torch.ops.higher_order.tag_activation_checkpoint:
                return self._checkpointed(*args)
            if node.target is torch.ops.higher_order.autograd_function_apply:
                return self._custom_function(at, *args, **kwargs)
            try:
                if node.op != "call_method":
                    return function_call(node.target, list(args), dict(kwargs), at)
                out = method_call(node.target, list(args), dict(kwargs), at)
                is_in_place = node.target.endswith("_") and not node.target.endswith("__")
                return args[0] if is_in_place and isinstance(out, Tensor) else out
            except Unsupported as reason:
                return self._decomposed(node, args, kwargs, reason)
        except (Unsupported, _core.Error, TypeError, ValueError, NotImplementedError) as reason:
            if self.on_failure is None:
                raise
            return self.on_failure(node, reason)

    @staticmethod
    def _checkpointed(module: torch.fx.GraphModule, *args: Any) -> Any:
        """The results of a checkpoint's graph, whose values are computed again when the backward needs them."""
        walker, kept = Walker(module), []

        def tensors() -> list[Tensor]:
            kept[:] = walker.record_inside(args)
            return [x for x in kept if isinstance(x, Tensor)]

        made = iter(_core.recomputed(tensors))
        return walker.result_of([next(made) if isinstance(x, Tensor) else x for x in kept])

    @staticmethod
    def _custom_function(
        at: At, forward: Any, backward: Any, *args: Any, non_differentiable_idx: Any = (), **_: Any
    ) -> Any:
        """The results of a torch.autograd.Function, whose backward is a graph too."""
        results: list[Any] = []
        saved: list[Any] = []

        def run_forward(core: Any, tensors: list[Tensor | None]) -> list[Tensor]:
            walker = Walker(forward)
            flat = walker.record_inside([a if t is None else t for t, a in zip(tensors, args)])
            out, kept = walker.result_of(flat)
            results[:], saved[:] = out, kept
            core.save_for_backward([x for x in kept if isinstance(x, Tensor)])
            core.mark_non_differentiable([out[i] for i in non_differentiable_idx])
            return [x for x in out if isinstance(x, Tensor)]

        def run_backward(core: Any, gradients: list[Tensor | None]) -> list[Tensor | None]:
            given, kept = iter(gradients), iter(core.saved_tensors())
            each = [next(given) if isinstance(x, Tensor) else None for x in results]
            walker = Walker(backward)
            flat = walker.record_inside([*each, *(next(kept) if isinstance(x, Tensor) else x for x in saved)])
            found = list(walker.result_of(flat))
            tensors = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
            if len(found) not in (len(args), len(tensors)):
                raise Unsupported("autograd_function_apply: a backward with another number of gradients")
            places = tensors if len(found) == len(tensors) else range(len(args))
            of_place = dict(zip(places, found))
            return [of_place.get(i) if isinstance(a, Tensor) else None for i, a in enumerate(args)]

        inputs = [a if isinstance(a, Tensor) else None for a in args]
        made = iter(_core.custom_function("custom_function", inputs, run_forward, run_backward, at))
        return tuple(next(made) if isinstance(x, Tensor) else x for x in results)

    def record_inside(self, values: Any) -> list[Any]:
        """Records the graph as a part of another one, with its arguments' values."""
        self.is_member = [False] * len(self.placeholders)
        depth = len(SCOPES.open)
        try:
            return self._record(iter(values), iter(()))
        finally:
            SCOPES.close(depth)

    def assembly(self) -> Callable[[list[Any]], Any]:
        """The function from the values of the latest recording to the graph's result."""
        if self.is_all_tensors:
            return self.structured
        structured, places = self.structured, list(zip(self.is_value, self.holes))

        def assemble(values: list[Any]) -> Any:
            given = iter(values)
            return structured([next(given) if is_value else hole for is_value, hole in places])

        return assemble

    def result_of(self, values: list[Any]) -> Any:
        """The graph's result, with its values in their places."""
        return self.assembly()(values)

    @classmethod
    def _decomposed(cls, node: torch.fx.Node, args: Any, kwargs: Any, reason: Unsupported) -> Any:
        """The result of PyTorch's own implementation of a call that has no operator, of which parts have."""
        if not _may_decompose(node):
            raise reason
        args, kwargs = _pytree.tree_map(_stand_in_for, (args, kwargs))
        try:
            out = cls._call_as_torch(node, args, kwargs)
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
            raise reason from None
        return _pytree.tree_map(lambda x: direct.unwrap(x) if isinstance(x, (torch.Tensor, Symbol)) else x, out)

    @staticmethod
    def _call_as_torch(node: torch.fx.Node, args: Any, kwargs: Any) -> Any:
        RECORDING.lines.append(source_of(node))
        try:
            with direct.Recorder():
                return (
                    node.target(*args, **kwargs)
                    if node.op == "call_function"
                    else getattr(args[0], node.target)(*args[1:], **kwargs)
                )
        finally:
            RECORDING.lines.pop()

    def _attribute(self, target: str) -> Any:
        value: Any = self.module
        for part in target.split("."):
            value = getattr(value, part)
        return direct.import_plain(value) if isinstance(value, torch.Tensor) and not self.as_torch else value

    def _results(self, out: Any, given: list[Any]) -> list[Any]:
        leaves, spec = _pytree.tree_flatten(out)
        self.structured = structure_of(spec)
        leaves = [_value(x) for x in leaves]
        is_value = [isinstance(x, (Tensor, _core.Int, _core.Float)) for x in leaves]
        self.holes = [None if v else x for v, x in zip(is_value, leaves)]
        self.is_value, self.is_all_tensors = is_value, all(isinstance(x, Tensor) for x in leaves)
        values = [x for x, v in zip(leaves, is_value) if v]
        self.identities = Identities(values, given, self.calls_custom_functions)
        return values


def _value(x: Any) -> Any:
    return x._fg if isinstance(x, direct.Proxy) else x


def _calls_custom_functions(module: torch.fx.GraphModule) -> bool:
    graphs = [m.graph for m in module.modules() if isinstance(m, torch.fx.GraphModule)]
    return any(n.target is torch.ops.higher_order.autograd_function_apply for g in graphs for n in g.nodes)


def hint_of(number: Any) -> Any:
    """The value of a symbolic number in the example; asking the number itself would add a guard."""
    hint = number.node.hint if isinstance(number, (torch.SymInt, torch.SymFloat)) else number
    return number if hint is None else hint


def stand_in(example: Any) -> Any:
    """A tensor of ours, of any elements, that is like one of Dynamo's examples; lists of them likewise."""
    if isinstance(example, torch.Tensor):
        if example.device.type != "cpu":
            raise Unsupported(f"a tensor on the device {example.device}")
        sizes = [int(hint_of(s)) for s in example.shape]
        return _core.call("empty", [sizes], {"dtype": our_dtype(example.dtype)}, ("", 0))
    if isinstance(example, (list, tuple)):
        return tuple(stand_in(x) for x in example)
    if isinstance(example, (torch.SymInt, torch.SymFloat)):
        return int(hint_of(example)) if isinstance(example, torch.SymInt) else float(hint_of(example))
    return example


def unsupported_nodes(module: torch.fx.GraphModule, autocast: _core.Dtype | None = None) -> dict[torch.fx.Node, str]:
    """All nodes that we cannot record, each with the reason: from one recording, in which they get Dynamo's results."""
    reasons: dict[torch.fx.Node, str] = {}

    def note(node: torch.fx.Node, reason: Exception) -> Any:
        name = node.target if isinstance(node.target, str) else whole_name(node.target)
        text = str(reason).split("\n  at ")[0]
        reasons[node] = text if name.split(".")[-1] in text else f"{name}: {text}"
        try:
            return stand_in(example_of(node))
        except (Unsupported, TypeError, RuntimeError):
            return None

    walker = Walker(module, note)
    inputs = []
    for node in walker.placeholders:
        try:
            if node in walker.numbers:
                inputs.append(stand_in(example_of(next(iter(node.users)))))
                continue
            inputs.append(stand_in(example_of(node)))
        except Unsupported as reason:
            raise Unsupported(f"the argument {node.name}: {reason}") from None
    arguments = [x for x, m in zip(inputs, walker.is_member) if not m]
    members = [x for x, m in zip(inputs, walker.is_member) if m]

    def body(*given: Any) -> list[Any]:
        if autocast is None:
            return walker.record(*given)
        with _core.autocast(autocast):
            return walker.record(*given)

    _core.record(body, arguments, members)
    return reasons
