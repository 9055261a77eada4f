"""The back end of `torch.compile`: what we can record is ours, the rest falls back, and a report says what, why and
where."""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.passes.split_module import split_module

from .. import _core
from .._core import Unsupported
from .calls import DTYPE
from .graph import source_of, unsupported_nodes
from .program import Program

_FALLBACKS = ("eager", "inductor", "error")
_OPTIONS = {"fallback", "executors", "cache", "associate_forward", "memory_budget", "min_part", "quiet"}
_IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "imatmul")
_programs: list[weakref.ref[Program]] = []  # in order; PyTorch owns them
_cuts: list[str] = []


def backend(
    module: torch.fx.GraphModule, example_inputs: list[Any], options: dict[str, Any] | None = None, **more: Any
) -> Callable[..., Any]:
    """The function that `torch.compile(m, backend="fulgurite", options={...})` calls with each graph.

    Options: fallback ("eager", "inductor" or "error"), for operators that Fulgurite lacks; executors, cache,
    associate_forward, memory_budget as of
    `fulgurite.jit`; min_part: the least number of calls that a part of a cut graph has; quiet: no line on stderr for
    a cut.
    """
    given = {**(options or {}), **more.pop("options", {}), **more}
    unknown = set(given) - _OPTIONS
    if unknown:
        known = ", ".join(sorted(_OPTIONS))
        raise _core.Error(f"torch.compile: the back end fulgurite has no option {sorted(unknown)[0]!r}; it has {known}")
    fallback = given.pop("fallback", "eager")
    if fallback not in _FALLBACKS:
        raise _core.Error(f"torch.compile: fallback={fallback!r}; there are {', '.join(_FALLBACKS)}")
    min_part, quiet = given.pop("min_part", 3), given.pop("quiet", False)
    if torch.is_autocast_enabled("cpu"):
        given["autocast"] = DTYPE[torch.get_autocast_dtype("cpu")]
    if any(isinstance(x, (list, tuple, dict)) for x in example_inputs):  # compiled autograd's graphs take a list
        return _flattened(module, example_inputs, {**given, "fallback": fallback, "min_part": min_part, "quiet": quiet})
    if _has_transforms(module.graph):
        return _lowered(module, example_inputs, {**given, "fallback": fallback, "min_part": min_part, "quiet": quiet})
    try:
        reasons = unsupported_nodes(module, given.get("autocast"))
    except (Unsupported, _core.Error) as reason:
        return _all_elsewhere(module, str(reason), fallback, quiet)
    if not reasons and (writer := _writes_into_history(module)) is not None:
        return _all_elsewhere(module, _reason_of_write(writer), fallback, quiet)
    if not reasons:
        return _program(module, torch.is_grad_enabled(), given, fallback, quiet)
    return _cut(module, reasons, fallback, min_part, quiet, given)


def _program(module: torch.fx.GraphModule, grad: bool, options: dict[str, Any], fallback: str, quiet: bool) -> Program:
    program = Program(module, grad, **options)
    if fallback != "error":
        # Once for a reason: a later call neither compiles it again nor adds a line to the report.
        program.elsewhere = functools.cache(lambda reason: _all_elsewhere(module, reason, fallback, quiet))
    _programs.append(weakref.ref(program))
    return program


def _flattened(module: torch.fx.GraphModule, example_inputs: list[Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Compiles a graph whose arguments contain lists, as compiled autograd's do: their items become arguments."""
    graph = torch.fx.Graph()
    items: dict[torch.fx.Node, list[torch.fx.Node]] = {}
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    examples: list[Any] = []
    placeholders = iter(example_inputs)
    for node in module.graph.nodes:
        example = next(placeholders) if node.op == "placeholder" else None
        if isinstance(example, (list, tuple)):
            used = {use.args[1]: use for use in node.users if use.target is operator.getitem}
            if len(used) != len(node.users) or not all(isinstance(k, int) for k in used):
                return _all_elsewhere(module, f"the list {node.name} is used as a whole", options["fallback"], False)
            items[node] = [graph.placeholder(f"{node.name}_{k}") for k in range(len(example))]
            for k, value in enumerate(example):
                # Unused items have no description of their own; what is given describes them.
                items[node][k].meta = dict(used[k].meta) if k in used else {"example_value": value}
            examples += example
        elif node.target is operator.getitem and node.args[0] in items:
            copies[node] = items[node.args[0]][node.args[1]]
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
            if node.op == "placeholder":
                examples.append(example)
    flat = torch.fx.GraphModule(module, graph)
    compiled = _lowered(flat, examples, options) if _has_backward_nodes(graph) else backend(flat, examples, options)

    def call(*args: Any) -> Any:
        values: list[Any] = []
        for arg in args:
            if isinstance(arg, list):
                values += arg
                arg.clear()  # compiled autograd gives its tensors away
            elif isinstance(arg, tuple):
                values += arg
            else:
                values.append(arg)
        return compiled(*values)

    return call


def _has_backward_nodes(graph: torch.fx.Graph) -> bool:
    """True of the graphs of compiled autograd, whose calls are nodes of PyTorch's engine, such as AddmmBackward0."""
    return any("compiled_autograd" in getattr(n.target, "__module__", "") for n in graph.nodes if callable(n.target))


def _has_transforms(graph: torch.fx.Graph) -> bool:
    """Returns True for graphs with transforms of torch.func or dual numbers, which AOTAutograd carries out."""
    modules = [str(getattr(n.target, "__module__", "")) for n in graph.nodes if n.op == "call_function"]
    return any("functorch" in name or "forward_ad" in name for name in modules)


def _lowered(module: torch.fx.GraphModule, example_inputs: list[Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Lowers a graph to ATen's operators by AOTAutograd, whose graph is compiled."""
    from torch._dynamo.backends.common import aot_autograd

    def compile_aten(lowered: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        return backend(lowered, examples, options)

    return aot_autograd(fw_compiler=compile_aten)(module, example_inputs)


def announce(text: str, quiet: bool) -> None:
    """Adds a line to the report; on stderr too, unless `quiet`."""
    _cuts.append(text)
    if not quiet:
        print("fulgurite: " + text.splitlines()[0], file=sys.stderr)


def _elsewhere(module: torch.nn.Module, fallback: str) -> Callable[..., Any]:
    return torch.compile(module, backend="inductor") if fallback == "inductor" else module


def _all_elsewhere(module: torch.fx.GraphModule, reason: str, fallback: str, quiet: bool) -> Callable[..., Any]:
    if fallback == "error":
        raise Unsupported(f"torch.compile: a graph cannot be recorded: {reason}")
    announce(f"a graph runs on PyTorch ({fallback}): {reason}", quiet)
    return _elsewhere(module, fallback)


def _described(reasons: dict[torch.fx.Node, str]) -> list[str]:
    out: dict[str, int] = {}
    for node, reason in reasons.items():
        file, line = source_of(node)
        text = f"{reason} at {file}:{line}" if file else reason
        out[text] = out.get(text, 0) + 1
    return [text if count == 1 else f"{text} ({count} times)" for text, count in out.items()]


def _cut(
    module: torch.fx.GraphModule,
    reasons: dict[torch.fx.Node, str],
    fallback: str,
    min_part: int,
    quiet: bool,
    options: dict[str, Any],
) -> Callable[..., Any]:
    _add_autocast_regions(module.graph.nodes, reasons)
    described = _described(reasons)
    if fallback == "error":
        raise Unsupported("torch.compile: these calls have no operator:\n  " + "\n  ".join(described))
    calls = [n for n in module.graph.nodes if n.op in ("call_function", "call_method")]
    announce(f"{len(reasons)} of {len(calls)} calls on PyTorch ({fallback}): " + "\n  ".join(described), quiet)
    places, is_ours = _parts(calls, reasons, min_part)
    if not any(is_ours):
        return _elsewhere(module, fallback)
    modes = _gradient_modes(module.graph.nodes, places)
    split = split_module(module, module, lambda node: places.get(node, 0), keep_original_order=True)
    for name, part in list(split.named_children()):
        if not name.startswith("submod_"):
            continue
        place = int(name.removeprefix("submod_"))
        ours = is_ours[place]
        if ours and (writer := _writes_into_history(part)) is not None:
            ours = False
            announce(f"a part runs on PyTorch ({fallback}): {_reason_of_write(writer)}", quiet)
        compiled = (
            _program(part, modes.get(place, torch.is_grad_enabled()), options, fallback, quiet)
            if ours
            else _elsewhere(part, fallback)
        )
        if compiled is not part or place in modes:
            setattr(split, name, _Callable(compiled, modes.get(place)))
    return split if not modes else _keeping_gradient_mode(split)


def _add_autocast_regions(nodes: Any, reasons: dict[torch.fx.Node, str]) -> None:
    """Regions under autocast that are cut run on PyTorch as a whole: entering and leaving stay in one part."""
    open_regions: list[list[torch.fx.Node]] = []
    for node in nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        if node.target is torch.amp.autocast_mode._enter_autocast:
            open_regions.append([])
        for region in open_regions:
            region.append(node)
        if node.target is torch.amp.autocast_mode._exit_autocast and open_regions:
            region = open_regions.pop()
            if any(inner in reasons for inner in region):
                for inner in region:
                    reasons.setdefault(inner, "in a region of autocast that is cut")


def _gradient_modes(nodes: Any, places: dict[torch.fx.Node, int]) -> dict[int, bool]:
    """The gradient modes at the beginning of the parts behind one that sets it: a part of ours records the mode, and
    leaves PyTorch's as it is."""
    modes: dict[int, bool] = {}
    seen: set[int] = set()
    mode: bool | None = None
    for node in nodes:
        if node not in places:
            continue
        if places[node] not in seen:
            seen.add(places[node])
            if mode is not None:
                modes[places[node]] = mode
        if node.target is torch._C._set_grad_enabled:
            mode = bool(node.args[0])
    return modes


def _keeping_gradient_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with PyTorch's gradient mode afterwards as it was before."""

    def call(*args: Any) -> Any:
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            return function(*args)

    return call


def _writes_into_history(module: torch.fx.GraphModule) -> torch.fx.Node | None:
    """The first write in place into the memory of an argument that has a history, as a graph has after a break or a
    cut: the argument's other uses must see the write's gradient, which only PyTorch's engine can tell them."""
    nodes = list(module.graph.nodes)
    examples = [n.meta.get("example_value") for n in nodes if n.op == "placeholder"]
    storages = {_storage(x) for x in examples if isinstance(x, torch.Tensor) and x.requires_grad and not x.is_leaf}
    if not storages:
        return None
    for node in nodes:
        if _writes(node):
            written = node.kwargs.get("out", node.args[0] if node.args else None)
            example = written.meta.get("example_value") if isinstance(written, torch.fx.Node) else None
            if not isinstance(example, torch.Tensor) or _storage(example) in storages:
                return node
    return None


def _reason_of_write(node: torch.fx.Node) -> str:
    file, line = source_of(node)
    return f"{node.name} writes into an argument that has a history, at {file}:{line}"


def _storage(tensor: torch.Tensor) -> int:
    """The identity of a tensor's memory; views share it."""
    return tensor.untyped_storage()._cdata


def _writes(node: torch.fx.Node) -> bool:
    """True for a call that writes in place."""
    if node.op == "call_method":
        name = str(node.target)
    elif node.op == "call_function":
        name = getattr(node.target, "__name__", "")
    else:
        return False
    in_place = name.endswith("_") and not name.endswith("__")
    return in_place or name in ("setitem", "__setitem__", *_IN_PLACE) or "out" in node.kwargs


class _Callable(torch.nn.Module):
    """A part as the module that the split graph calls; `mode`: the gradient mode at its beginning, if it is not the
    caller's."""

    def __init__(self, function: Callable[..., Any], mode: bool | None) -> None:
        super().__init__()
        self.function, self.mode = [function], mode  # in a list, so that it is not registered

    def forward(self, *args: Any) -> Any:
        if self.mode is None:
            return self.function[0](*args)
        with torch.set_grad_enabled(self.mode):
            return self.function[0](*args)


def _parts(
    calls: list[torch.fx.Node], reasons: dict[torch.fx.Node, str], min_part: int
) -> tuple[dict[torch.fx.Node, int], list[bool]]:
    """Runs of calls, ours and not, in order; short ones of ours join their neighbours."""
    runs: list[tuple[bool, list[torch.fx.Node]]] = []
    for node in calls:
        ours = node not in reasons
        if not runs or runs[-1][0] != ours:
            runs.append((ours, []))
        runs[-1][1].append(node)
    joined: list[tuple[bool, list[torch.fx.Node]]] = []
    for ours, nodes in runs:
        ours = ours and len(nodes) >= min_part
        if joined and joined[-1][0] == ours:
            joined[-1][1].extend(nodes)
        else:
            joined.append((ours, list(nodes)))
    places = {node: i for i, (_, nodes) in enumerate(joined) for node in nodes}
    for node in calls:
        # The items of a tuple leave its part one by one: a part's arguments are tensors, whose gradients are known.
        if node.target is operator.getitem and isinstance(node.args[0].meta.get("example_value"), (tuple, list)):
            places[node] = places.get(node.args[0], places[node])
    return places, [ours for ours, _ in joined]


def set_as_default() -> None:
    """A bare `@torch.compile` uses our back end from here on."""
    torch.compiler.set_default_backend("fulgurite")


def programs() -> list[Program]:
    """The compiled functions that PyTorch still has, in order: for `fulgurite.last_traces` and `fulgurite.examine`."""
    return [program for ref in _programs if (program := ref()) is not None]


def report() -> str:
    """The operators that ran on PyTorch instead, why and where, of every graph since the process began, or reset()."""
    lines = [f"{len(_programs)} programs compiled"]
    return "\n".join(lines + (_cuts or ["nothing fell back"]))


def reset() -> None:
    """Forgets the programs and the report; torch._dynamo.reset() forgets what PyTorch keeps."""
    _programs.clear()
    _cuts.clear()
