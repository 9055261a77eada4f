"""Functions and modules of PyTorch behind `fulgurite.jit`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.utils import _pytree

from .. import _core
from .._compiled import TENSOR, Compiled, Hole, _hashable
from .._core import Unsupported
from .._supported import Report
from . import custom_functions, direct
from .calls import BEFORE_READS, DTYPE
from .containers import Opened, assembled, is_container, results_of
from .direct import Proxy, Recorder, import_plain, unwrap
from .reachable import Bindings, tensors_with_gradient
from .structures import flat_arguments, structure_of
from .symbols import Symbol
from .training import run, seed_from_torch, train

_MANY_CHANGES = 8


class Members:
    """The parameters and buffers of a module, looked up anew at each call: replaced ones are seen. Tied ones are
    one."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.slots: list[tuple[dict[str, Any], str]] = []
        self.names: list[str] = []
        self.places: dict[str, int] = {}
        self.modules = [m for _, m in module.named_modules()]
        seen: dict[int, int] = {}
        for prefix, part in module.named_modules():
            for store in (part._parameters, part._buffers):
                for key, value in store.items():
                    if value is None:
                        continue
                    name = f"{prefix}.{key}" if prefix else key
                    if id(value) not in seen:
                        seen[id(value)] = len(self.slots)
                        self.slots.append((store, key))
                        self.names.append(name)
                    self.places[name] = seen[id(value)]

    def tensors(self) -> list[torch.Tensor]:
        """Those of this call."""
        return [store[key] for store, key in self.slots]

    def modes(self) -> tuple[bool, ...]:
        """The modules that are in training mode."""
        return tuple([m.training for m in self.modules])

    def check(self) -> None:
        """Refuses what would be run at the recording only."""
        for part in self.modules:
            if part._backward_hooks or part._backward_pre_hooks:
                raise _core.Error(
                    f"jit: {type(part).__name__} has full backward hooks, which would see the recording instead of "
                    f"each backward; "
                    'use torch.compile(backend="fulgurite"), or hooks on tensors'
                )


def _autocast_dtype() -> torch.dtype | None:
    """The dtype of PyTorch's autocast on the CPU, if it is on."""
    if torch._C._is_any_autocast_enabled() and torch.is_autocast_enabled("cpu"):
        return torch.get_autocast_dtype("cpu")
    return None


class CallCache:
    """Compiled functions by the structure of the arguments that PyTorch's callers pass, and their constants."""

    def __init__(self, owner: Compiled) -> None:
        self.owner = owner
        self.entries: dict[Any, Entry] = {}
        self.flat: dict[Any, Entry] = {}  # of calls with plain tensors and constants alone
        self.plain: dict[int, tuple[_core.PlainCall, Entry]] = {}  # of the latest call with so many tensors alone
        self.members = Members(owner.target) if isinstance(owner.target, torch.nn.Module) else None
        self.bindings: Bindings | None = None  # from the first recording on
        self.changes = 0

    def __call__(self, args: Any, kwargs: Any) -> Any:
        # Inside a compilation it becomes part of what is recorded; transforms need PyTorch's own operators.
        if torch.compiler.is_compiling() or forward_ad._current_level >= 0 or peek_interpreter_stack() is not None:
            return self.owner.target(*args, **kwargs)
        if self.bindings and self.bindings.parts and (name := self.bindings.find_changed()):
            self._start_anew(name)
        if not kwargs and (fast := self.plain.get(len(args))):
            try:
                out = fast[0].run(args)
            except direct.Met:  # what it met becomes an argument below
                self.plain.pop(len(args), None)
                out = NotImplemented
            if out is not NotImplemented:
                self.owner.last = fast[1]
                return out
        found = flat_arguments(args, kwargs)
        if found is None:
            return self._call_nested(args, kwargs)
        constants, arguments = found
        members, grad = self.members, torch.is_grad_enabled()
        modes = (grad, _autocast_dtype(), torch.get_default_dtype())
        key = (*constants, *modes, members.modes() if members else None)
        entry = self.flat.get(key)
        if entry is None:
            entry = self.flat[key] = self._find(args, kwargs)[0]
        self.owner.last = entry
        if not kwargs and not members and len(arguments) == len(args) and (fast := entry.plain_call(grad)):
            self.plain[len(args)] = fast, entry
        return entry(arguments, members.tensors() if members else [], grad, [])

    def _start_anew(self, name: str) -> None:
        """Forgets the programs, which have the tensors that names were bound to before."""
        self.entries, self.flat, self.plain, self.bindings = {}, {}, {}, None
        self.changes += 1
        if self.changes == _MANY_CHANGES:
            warnings.warn(
                f"fulgurite.jit: {name} was bound to another tensor {self.changes} times, and the function recorded "
                "anew each time; give the tensor as an argument, as a buffer, or write into it",
                stacklevel=4,
            )

    def _call_nested(self, args: Any, kwargs: Any) -> Any:
        entry, arguments, containers = self._find(args, kwargs)
        if entry is None:
            return self.owner.target(*args, **kwargs)
        self.owner.last = entry
        members = self.members.tensors() if self.members else []
        return entry(arguments, members, torch.is_grad_enabled(), containers)

    def _find(self, args: Any, kwargs: Any) -> tuple[Entry | None, list[torch.Tensor], list[Any]]:
        """(the entry of the arguments' structure and of PyTorch's modes, the tensors, the containers). No entry where
        the call becomes part of what is recorded."""
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        if any(isinstance(x, Proxy) for x in leaves):
            return None, [], []
        arguments: list[torch.Tensor] = []
        constants: list[Any] = []
        containers: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                arguments.append(leaf)
                constants.append(TENSOR)
            elif is_container(leaf):
                opened = Opened(leaf)
                arguments += opened.tensors
                containers.append(leaf)
                constants.append(opened.without_tensors())
            else:
                constants.append(leaf)
        autocast = _autocast_dtype()
        key = (
            spec,
            tuple([_hashable(c) for c in constants]),
            tuple([type(c) for c in constants]),
            torch.is_grad_enabled(),
            autocast,
            torch.get_default_dtype(),
            self.members.modes() if self.members else None,
        )
        entry = self.entries.get(key)
        if entry is None:
            self.bindings = self.bindings or Bindings(self.owner.target)
            entry = self.entries[key] = Entry(self, spec, constants, arguments, autocast)
        return entry, arguments, containers


class Entry:
    """A compiled function for one structure of arguments, their constants and PyTorch's modes."""

    def __init__(
        self, cache: CallCache, spec: Any, constants: list[Any], arguments: list[torch.Tensor], autocast: Any
    ) -> None:
        self.cache, self.spec, self.constants = cache, spec, constants
        self.results: list[tuple[Callable[[list[Any]], Any], list[Any], list[Opened]]] = []
        self.plain_results: list[Callable[[list[Any]], Any]] = []  # for calls without containers
        self.fallen: dict[str, Any] = {}
        self.grad = torch.is_grad_enabled()
        self.draws: bool | None = None
        for argument in arguments:
            _check(argument)
        names = cache.members.names if cache.members else []
        if cache.members:
            cache.members.check()
        more = {} if autocast is None else {"autocast": DTYPE[autocast]}
        self.captured: list[torch.Tensor] = []
        self.given: list[torch.Tensor] = []  # the arguments and parameters of the call
        self.has_read = self.may_have_written = False
        self._make = lambda: cache.owner.make_function(
            self.record, self._names(), [*names, *(f"captured_{i}" for i in range(len(self.captured)))], **more
        )
        self.function = self._make()

    def _names(self) -> list[str]:
        args, kwargs = _pytree.tree_unflatten(range(self.spec.num_leaves), self.spec)
        given = self.cache.owner.options["argument_names"] or self.cache.owner.parameter_names
        named = {given[i] if i < len(given) else str(i): part for i, part in enumerate(args)} | kwargs
        names: dict[int, str] = {}
        for path, leaf in _pytree.tree_flatten_with_path(named)[0]:
            names[leaf] = ".".join(str(getattr(p, "key", getattr(p, "idx", getattr(p, "name", p)))) for p in path)
        out: list[str] = []
        for i, constant in enumerate(self.constants):
            name = names.get(i, str(i))
            if isinstance(constant, Hole):
                out.append(name)
            elif isinstance(constant, Opened):
                out += [f"{name}.{k}" for k in range(constant.count)]
        return out

    def record(self, values: list[Any], members: list[Any]) -> list[Any]:
        """Runs PyTorch's code on proxies; the last result says which structure the results had."""
        own = len(members) - len(self.captured)
        direct._captures.append({id(t): m for t, m in zip(self.captured, members[own:])})
        try:
            return self._recorded(values, members[:own])
        finally:
            direct._captures.pop()

    def _recorded(self, values: list[Any], members: list[Any]) -> list[Any]:
        given = iter([Proxy(v) for v in values])
        containers: list[Any] = []
        leaves: list[Any] = []
        for constant in self.constants:
            if isinstance(constant, Opened):
                containers.append(constant.closed(given))
                leaves.append(containers[-1])
            else:
                leaves.append(next(given) if constant is TENSOR else constant)
        args, kwargs = _pytree.tree_unflatten(leaves, self.spec)
        recorder = Recorder()
        self.has_read = False
        BEFORE_READS.append(self._before_read)
        try:
            out = self._run(recorder, args, kwargs, [Proxy(m) for m in members])
        finally:
            BEFORE_READS.pop()
            self.may_have_written = recorder.may_have_written
        self.fallen.update(recorder.fallen)
        leaves, spec = _pytree.tree_flatten(out)
        stands, after, results = results_of(leaves, containers, _value_of)
        structured = structure_of(spec)
        self.results.append((structured, stands, after))
        is_plain = all(stand is None for stand in stands)
        self.plain_results.append(structured if is_plain else lambda x: structured(assembled(stands, [], x, [])))
        return [*results, len(self.results) - 1]

    def _before_read(self) -> None:
        """Before a first piece runs, which could not be run again, tensors that later ones may reach become inputs."""
        if self.has_read:
            return
        known = {id(t) for t in (*self.captured, *self.given)}
        reached = tensors_with_gradient(self.cache.owner.target) if torch.is_grad_enabled() else []
        if new := [t for t in reached if id(t) not in known]:
            raise direct.Met(*new)
        self.has_read = True

    def _run(self, recorder: Recorder, args: Any, kwargs: Any, members: list[Proxy]) -> Any:
        was_autocast = torch.is_autocast_enabled("cpu")
        quiet: Any = torch.autocast("cpu", enabled=False) if was_autocast else contextlib.nullcontext()
        grad = torch.set_grad_enabled(self.grad)  # PyTorch's code sees the mode of the call
        with torch.compiler._compile_session_context(), recorder, quiet, grad, custom_functions.recorded():
            if self.cache.members is None:
                return self.cache.owner.target(*args, **kwargs)
            given = {name: members[place] for name, place in self.cache.members.places.items()}
            return torch.func.functional_call(self.cache.owner.target, given, args, kwargs, tie_weights=False)

    def __call__(
        self, arguments: list[torch.Tensor], members: list[torch.Tensor], grad: bool, containers: list[Any]
    ) -> Any:
        while True:
            try:
                self.given = arguments + members
                return self._called(arguments, members + self.captured, grad, containers)
            except direct.Met as met:
                if self.has_read and self.may_have_written:  # what was written before would be written again
                    raise _core.Error(
                        "jit: a tensor that needs a gradient, and is neither an argument nor of the module, is first "
                        "met after elements were read and tensors were written; make it an argument"
                    ) from None
                self.captured += met.tensors
                self.function = self._make()
            finally:
                self.given = []

    def plain_call(self, grad: bool) -> _core.PlainCall | None:
        """Calls without gradients of an entry that has nothing but tensors, once it is known."""
        if self.draws is not False or self.captured:
            return None
        return _core.PlainCall(self.function, self.plain_results, [], grad, True)

    def _called(
        self, arguments: list[torch.Tensor], members: list[torch.Tensor], grad: bool, containers: list[Any]
    ) -> Any:
        before = torch.get_rng_state() if self.draws is None else None
        if self.draws is not False:
            seed_from_torch()
        if grad and any([t.requires_grad for t in arguments] + [t.requires_grad for t in members]):
            *results, which = train(self.function, arguments, members)
        else:
            *results, which = run(self.function, arguments, members)
        if self.draws is None:
            self.draws = self.function.draws()
            if not self.draws:  # a function that draws nothing leaves PyTorch's generator alone
                torch.set_rng_state(before)
        if not containers:
            return self.plain_results[int(which)](results)
        structured, stands, after = self.results[int(which)]
        return structured(assembled(stands, after, results, containers))


def _value_of(x: Any) -> Any:
    """The recorded value of a tensor or of a size; None of anything else."""
    if isinstance(x, (Proxy, Symbol)):
        return unwrap(x)
    return import_plain(x) if isinstance(x, torch.Tensor) else None


def _check(argument: torch.Tensor) -> None:
    try:
        import_plain(argument)
    except Unsupported as reason:
        raise Unsupported(f"jit: {reason}") from None


def report_of(f: Callable[..., Any], args: Any, kwargs: Any) -> Report:
    """Records a function of PyTorch, and says what of it went to PyTorch's own implementation."""
    compiled = Compiled(
        f.target if isinstance(f, Compiled) else f,
        {
            "cache": "constant values",
            "executors": [],
            "transforms": [],
            "fullgraph": False,
            "autocast": None,
            "memory_budget": None,
            "associate_forward": False,
            "argument_names": [],
        },
    )
    problems = []
    try:
        compiled(*args, **kwargs)
    except _core.Error as error:
        file, line = error.source or ("", 0)
        problems.append((str(error), "", file, line))
    entry = compiled.last
    fallen = entry.fallen if entry is not None else {}
    lines = [f"{what}: run by PyTorch's own implementation, at {file}:{line}" for what, (file, line) in fallen.items()]
    lines += [what for what, *_ in problems]
    operators = []
    if entry is not None and not problems:
        traces = entry.function.last_traces()
        for line in traces[0].bound_symbols if traces else []:
            file, number = line.source or ("", 0)
            operators.append((line.name, 1, "", file, number))
    return Report(
        not problems,
        operators,
        problems + [(w, "", *at) for w, at in fallen.items()],
        "\n".join(lines) or "everything is supported",
    )
