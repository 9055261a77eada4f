"""One compiled function of PyTorch's callers: for one structure of arguments, their constants and PyTorch's modes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from .. import _core
from .._compiled import TENSOR, Compiled, Hole
from .._core import Unsupported
from . import custom_functions, direct, history
from .calls import DTYPE, RECORDING
from .containers import Opened, assembled, results_of
from .direct import Proxy, Recorder, import_plain, unwrap
from .identities import Identities
from .reachable import tensors_with_gradient
from .structures import structure_of
from .surroundings import Effect, Surroundings
from .symbols import Symbol
from .training import run, seed_from_torch, train

if TYPE_CHECKING:
    from .call_cache import State


def autocast_dtype() -> torch.dtype | None:
    """The dtype of PyTorch's autocast on the CPU, if it is on."""
    if torch._C._is_any_autocast_enabled() and torch.is_autocast_enabled("cpu"):
        return torch.get_autocast_dtype("cpu")
    return None


_MANY_RECORDINGS = 20  # for tensors that a function meets: each finds those of one more branch


class Recorded:
    """The structure of the results of a recording's calls, and the changes that each call makes besides."""

    def __init__(
        self, spec: Any, stands: list[Any], after: list[Opened], effects: list[Effect], identities: Identities
    ) -> None:
        self.structured, self.stands, self.after, self.effects = structure_of(spec), stands, after, effects
        self.identities = identities
        self.is_plain = all(stand is None for stand in stands) and not effects

    def finish(self, results: list[Any], containers: list[Any]) -> Any:
        """A call's result, of the function's; the containers among its arguments are changed."""
        if self.is_plain and not containers:
            return self.structured(results)
        out = self.structured(assembled(self.stands, self.after if containers else [], results, containers))
        for effect in self.effects:
            effect.apply(results)
        return out

    def plain(self) -> Callable[[list[Any]], Any]:
        """The same for calls without containers, and whose arguments do not need a gradient."""
        if self.is_plain and not self.identities.apart:
            return self.structured
        return lambda results: self.finish(self.identities.separate(results), [])


class Entry:
    """A compiled function for one structure of arguments, their constants and PyTorch's modes."""

    def __init__(
        self, owner: Compiled, state: State, spec: Any, constants: list[Any], arguments: list[torch.Tensor]
    ) -> None:
        self.owner, self.state, self.spec, self.constants = owner, state, spec, constants
        self.recorded: list[Recorded] = []
        self.plain_results: list[Callable[[list[Any]], Any]] = []  # for calls without containers
        self.fallen: dict[str, Any] = {}
        self.grad = torch.is_grad_enabled()
        self.draws: bool | None = None
        self.failure: BaseException | None = None  # of the latest recording
        self.on_torch = ""  # why PyTorch runs the calls, if it does
        self.refusal = refusal_of(arguments)
        names = state.members.names if state.members else []
        autocast = autocast_dtype()
        more = {} if autocast is None else {"autocast": DTYPE[autocast]}
        self.captured: list[torch.Tensor] = []
        self.given: list[torch.Tensor] = []  # the arguments and parameters of the call
        self.has_read = self.may_have_written = False
        self._make = lambda: owner.make_function(
            self.record, self._names(), [*names, *(f"captured_{i}" for i in range(len(self.captured)))], **more
        )
        self.function = self._make()

    def must_not_repeat(self) -> bool:
        """Returns True if a recording that failed has run a part of the function, which wrote into tensors."""
        return self.has_read and self.may_have_written

    def _names(self) -> list[str]:
        args, kwargs = _pytree.tree_unflatten(range(self.spec.num_leaves), self.spec)
        given = self.owner.options["argument_names"] or self.owner.parameter_names
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
        """Runs PyTorch's code on proxies; the last result says which recording the results are of."""
        own = len(members) - len(self.captured)
        captures = {id(t): m for t, m in zip(self.captured, members[own:])}
        self.has_read, self.failure = False, None
        try:
            with RECORDING.of(captures, self._before_read) as used:
                try:
                    return self._recorded(values, members[:own], used)
                except Exception:
                    _raise_met()
                    raise
        except Exception as error:
            self.failure = error
            raise

    def _recorded(self, values: list[Any], members: list[Any], used: set[int]) -> list[Any]:
        state = self.state
        if state.members:
            state.members.check()
        containers, args, kwargs = self._arguments(values)
        roots = [self.owner.target, *(c for c in self.constants if not isinstance(c, (Hole, Opened)))]
        recorder = Recorder(self.grad)
        stand_ins = [Proxy(m) for m in members]
        inside = state.members.replaced(stand_ins) if state.members else contextlib.nullcontext()
        with inside, Surroundings(roots, state.members.stores if state.members else []) as surroundings:
            given = _pytree.tree_flatten((args, kwargs))
            try:
                out = self._run(recorder, args, kwargs)
            finally:
                self.may_have_written = recorder.may_have_written
            _raise_met()
            self.fallen.update(recorder.fallen)
            _check_arguments(given, _pytree.tree_flatten((args, kwargs)))
            leaves, spec = _pytree.tree_flatten(out)
            stands, after, results = results_of(leaves, containers, _value_of)
            effects = surroundings.effects(_value_of, results)
        if recorder.makes_leaves:
            history.check_results(results)
        state.add_guards(surroundings.guards(used) + (state.members.guards() if state.members else []))
        identities = Identities(results, [*values, *members], RECORDING.calls_custom_functions)
        self.recorded.append(Recorded(spec, stands, after, effects, identities))
        self.plain_results.append(self.recorded[-1].plain())
        return [*results, len(self.recorded) - 1]

    def _arguments(self, values: list[Any]) -> tuple[list[Any], Any, Any]:
        """(the containers among the arguments, the arguments)."""
        proxies = [Proxy(v) for v in values]
        for proxy, tensor in zip(proxies, self.given):
            proxy._is_argument = True
            if attributes := vars(tensor):
                proxy._attributes = frozenset(attributes)
        given = iter(proxies)
        containers: list[Any] = []
        leaves: list[Any] = []
        for constant in self.constants:
            if isinstance(constant, Opened):
                containers.append(constant.closed(given))
                leaves.append(containers[-1])
            else:
                leaves.append(next(given) if constant is TENSOR else constant)
        return containers, *_pytree.tree_unflatten(leaves, self.spec)

    def _before_read(self) -> None:
        """Before a first piece runs, which could not be run again, tensors that later ones may reach become inputs."""
        if self.has_read:
            return
        _raise_met()
        known = {id(t) for t in (*self.captured, *self.given)}
        reached = tensors_with_gradient(self.owner.target) if torch.is_grad_enabled() else []
        if new := [t for t in reached if id(t) not in known]:
            raise direct.Met(*new)
        self.has_read = True

    def _run(self, recorder: Recorder, args: Any, kwargs: Any) -> Any:
        was_autocast = torch.is_autocast_enabled("cpu")
        quiet: Any = torch.autocast("cpu", enabled=False) if was_autocast else contextlib.nullcontext()
        grad = torch.set_grad_enabled(self.grad)  # PyTorch's code sees the mode of the call
        with torch.compiler._compile_session_context(), recorder, quiet, grad, custom_functions.recorded():
            return self.owner.target(*args, **kwargs)

    def __call__(
        self, arguments: list[torch.Tensor], members: list[torch.Tensor], grad: bool, containers: list[Any]
    ) -> Any:
        if self.refusal is not None:
            self.failure = self.refusal
            raise self.refusal
        for _ in range(_MANY_RECORDINGS):
            try:
                self.given = arguments + members
                return self._called(arguments, members + self.captured, grad, containers)
            except direct.Met as met:
                if self.must_not_repeat():  # what was written before would be written again
                    raise _core.Error(
                        "jit: a tensor that needs a gradient, and is neither an argument nor of the module, is first "
                        "met after elements were read and tensors were written; make it an argument"
                    ) from None
                self.captured += met.tensors
                self.function = self._make()
            finally:
                self.given = []
        self.failure = Unsupported("jit: the function makes tensors that need a gradient from none of its inputs")
        raise self.failure

    def _identities_of(self, results: list[Any]) -> Identities:
        return self.recorded[int(results[-1])].identities

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
        try:
            if grad and any([t.requires_grad for t in arguments] + [t.requires_grad for t in members]):
                *results, which = train(self.function, arguments, members, self._identities_of)
            else:
                *results, which = run(self.function, arguments, members)
                results = self.recorded[int(which)].identities.separate(results)
            if self.draws is None:
                self.draws = self.function.draws()
        finally:
            if not self.draws and before is not None:  # what draws nothing leaves PyTorch's generator alone
                torch.set_rng_state(before)
        return self.recorded[int(which)].finish(results, containers)


def _check_arguments(before: tuple[list[Any], Any], after: tuple[list[Any], Any]) -> None:
    if before[1] != after[1] or any(a is not b for a, b in zip(before[0], after[0])):
        raise Unsupported("the function changes a list or a dictionary that it is given")


def _raise_met() -> None:
    if RECORDING.met:
        raise direct.Met(*RECORDING.met.values()) from None


def _value_of(x: Any) -> Any:
    """The recorded value of a tensor or of a size; None of anything else."""
    if isinstance(x, (Proxy, Symbol)):
        return unwrap(x)
    return import_plain(x) if isinstance(x, torch.Tensor) else None


def refusal_of(arguments: list[torch.Tensor]) -> Unsupported | None:
    """The reason why these arguments cannot be read; None if they can."""
    for argument in arguments:
        try:
            import_plain(argument)
        except Unsupported as reason:
            return Unsupported(f"jit: {reason}")
        if argument.is_neg():
            return Unsupported("jit: a tensor that is the negative of its memory; call resolve_neg()")
    return None
