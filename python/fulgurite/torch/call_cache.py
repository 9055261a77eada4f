"""Functions and modules of PyTorch behind `fulgurite.jit`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.autograd import forward_ad
from torch.utils import _pytree

from .. import _core
from .._compiled import TENSOR, Compiled, _hashable
from . import direct
from .backend import announce
from .containers import Opened, is_container
from .direct import Proxy
from .entry import Entry, autocast_dtype, refusal_of
from .lines import line_of
from .members import Members
from .structures import flat_arguments
from .surroundings import Guard, at_present, name_of

_MANY_CHANGES = 8  # so many programs are kept for what Python held, and then one more for what stays


class State:
    """The programs for what Python held besides the arguments when they were recorded."""

    def __init__(self, target: Any) -> None:
        self.guards: list[Guard] = []
        self.entries: dict[Any, Entry] = {}
        self.flat: dict[Any, Entry] = {}  # of calls with plain tensors and constants alone
        self.plain: dict[int, tuple[_core.PlainCall, Entry]] = {}  # of the latest call with so many tensors alone
        self.members = Members(target) if isinstance(target, torch.nn.Module) else None

    def add_guards(self, guards: list[Guard]) -> None:
        """Those of another recording."""
        known = {(how, id(holder), key) for how, holder, key, _ in self.guards}
        self.guards += [g for g in guards if (g[0], id(g[1]), g[2]) not in known]


class CallCache:
    """Compiled functions by the structure of the arguments that PyTorch's callers pass, and their constants."""

    def __init__(self, owner: Compiled) -> None:
        self.owner = owner
        self.state = State(owner.target)
        self.others: list[State] = []
        self.changes = 0
        self.announced: set[str] = set()
        self.waited: list[Guard] = []  # what has not changed for `waits` calls
        self.waits = 0

    def __call__(self, args: Any, kwargs: Any) -> Any:
        # Inside a compilation it becomes part of what is recorded; transforms need PyTorch's own operators.
        if torch.compiler.is_compiling() or forward_ad._current_level >= 0 or peek_interpreter_stack() is not None:
            return self.owner.target(*args, **kwargs)
        state = None if direct.RECORDING.depth else self._state_of_now()
        if state is None:
            return self.owner.target(*args, **kwargs)
        if not kwargs and (fast := state.plain.get(len(args))):
            try:
                out = fast[0].run(args)
            except direct.Met:  # what it met becomes an argument below
                state.plain.pop(len(args), None)
                out = NotImplemented
            except Exception as error:
                state.plain.pop(len(args), None)
                return self._after(fast[1], error, args, kwargs, list(args))
            if out is not NotImplemented:
                self.owner.last = fast[1]
                return out
        found = flat_arguments(args, kwargs)
        if found is None:
            return self._call_nested(args, kwargs)
        constants, arguments = found
        members, grad = state.members, torch.is_grad_enabled()
        key = (*constants, grad, autocast_dtype(), torch.get_default_dtype())
        entry = state.flat.get(key)
        if entry is None:
            entry, *_ = self._find(args, kwargs)
            assert entry is not None  # plain tensors and constants are never stand-ins
            state.flat[key] = entry
        if entry.on_torch:
            return self.owner.target(*args, **kwargs)
        self.owner.last = entry
        if not kwargs and not members and len(arguments) == len(args) and (fast_call := entry.plain_call(grad)):
            state.plain[len(args)] = fast_call, entry
        return self._call(entry, args, kwargs, arguments, [])

    def _state_of_now(self) -> State | None:
        """The programs for what Python holds now; None where it changed so often that PyTorch runs this call."""
        guards = self.state.guards
        place = _core.first_changed(guards) if guards else -1
        if place < 0:
            return self.state
        for other in self.others:
            if _core.first_changed(other.guards) < 0:
                self.others.remove(other)
                return self._use(other)
        if self.changes >= _MANY_CHANGES and not self._has_waited():
            return None
        self.changes += 1
        if self.changes == _MANY_CHANGES:
            warnings.warn(
                f"fulgurite.jit: {name_of(guards[place])} changed {self.changes} times, and the function was recorded "
                "anew each time; PyTorch runs it until that stays the same for a while. Give it as an argument, or a "
                "tensor as a buffer that is written into",
                stacklevel=4,
            )
        return self._use(State(self.owner.target))

    def _use(self, state: State) -> State:
        self.others = [self.state, *self.others][: _MANY_CHANGES - 1]
        self.state = state
        return state

    def _has_waited(self) -> bool:
        """Returns True if what the programs depend on has stayed the same for as many calls as it changed."""
        if not self.waited or _core.first_changed(self.waited) >= 0:
            self.waited, self.waits = [at_present(guard) for guard in self.state.guards], 0
            return False
        self.waits += 1
        return self.waits >= self.changes

    def _call(self, entry: Entry, args: Any, kwargs: Any, arguments: list[torch.Tensor], containers: list[Any]) -> Any:
        members = entry.state.members
        try:
            return entry(arguments, members.tensors() if members else [], torch.is_grad_enabled(), containers)
        except Exception as error:
            return self._after(entry, error, args, kwargs, arguments)

    def _after(self, entry: Entry, error: Exception, args: Any, kwargs: Any, arguments: list[torch.Tensor]) -> Any:
        """The result of a call that failed: PyTorch's, if recording it failed, or its tensors cannot be read."""
        failed_to_record, entry.failure = entry.failure is not None, None
        is_of_call = isinstance(error, _core.SharedMemory)
        is_of_entry = failed_to_record and not is_of_call
        may_run = self.owner.may_fall_back() and not ((failed_to_record or is_of_call) and entry.must_not_repeat())
        if not may_run or not (failed_to_record or is_of_call or refusal_of(arguments)):
            raise error
        return self._fallen(entry, error, is_of_entry, args, kwargs)

    def _fallen(self, entry: Entry, error: Exception, is_of_entry: bool, args: Any, kwargs: Any) -> Any:
        """The result of PyTorch's own run, where a function could not be recorded. What is wrong in PyTorch too is the
        caller's error."""
        try:
            out = self.owner.target(*args, **kwargs)
        except Exception as theirs:
            if isinstance(error, type(theirs)):
                raise error from None
            raise theirs from None
        reason = (str(error) or type(error).__name__).splitlines()[0] + line_of(error)
        entry.on_torch = reason if is_of_entry else ""
        self._announce(reason)
        return out

    def _announce(self, reason: str) -> None:
        if reason not in self.announced:
            self.announced.add(reason)
            announce(f"{self.owner!r} runs on PyTorch: {reason}", False)

    def _call_nested(self, args: Any, kwargs: Any) -> Any:
        try:
            entry, arguments, containers = self._find(args, kwargs)
        except _core.Error as reason:  # a constant that cannot be compared
            if not self.owner.may_fall_back():
                raise
            self._announce(str(reason))
            return self.owner.target(*args, **kwargs)
        if entry is None or entry.on_torch:
            return self.owner.target(*args, **kwargs)
        self.owner.last = entry
        return self._call(entry, args, kwargs, arguments, containers)

    def _find(self, args: Any, kwargs: Any) -> tuple[Entry | None, list[torch.Tensor], list[Any]]:
        """(the entry of the arguments' structure and of PyTorch's modes, the tensors, the containers). No entry where
        the call becomes part of what is recorded, or cannot be."""
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
        key = (
            spec,
            tuple([_hashable(c) for c in constants]),
            tuple([type(c) for c in constants]),
            torch.is_grad_enabled(),
            autocast_dtype(),
            torch.get_default_dtype(),
        )
        entries = self.state.entries
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = Entry(self.owner, self.state, spec, constants, arguments)
        return entry, arguments, containers
