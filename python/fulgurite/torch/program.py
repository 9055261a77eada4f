"""One of Dynamo's graphs as PyTorch calls it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from .. import _core
from .._core import Function
from .graph import Walker
from .training import run, seed_from_torch, train


class Program:
    """One of Dynamo's graphs, or a part of one, compiled: what PyTorch calls in its place. `grad`: the gradient mode in
    which it is called. `elsewhere` gives what runs a call whose arguments share memory that is written, for the reason
    it is given; without it such a call is an error."""

    def __init__(self, module: torch.fx.GraphModule, grad: bool, **options: Any) -> None:
        self.walker = Walker(module)
        turns_on = any(n.target is torch._C._set_grad_enabled and n.args[0] for n in self.walker.nodes)
        self.turns_gradients_on = self.walker.begins_without_gradients = turns_on and not grad
        names, is_member = self.walker.names, self.walker.is_member
        self.assemblies: list[Callable[[list[Any]], Any]] = []  # of recordings with results that are not tensors
        self.function = Function(
            self._record,
            [n for n, m in zip(names, is_member) if not m],
            [n for n, m in zip(names, is_member) if m],
            fullgraph=True,
            **options,
        )
        self.argument_places = [i for i, m in enumerate(is_member) if not m]
        self.member_places = [i for i, m in enumerate(is_member) if m]
        self.number_places = {i for i, n in enumerate(self.walker.placeholders) if n in self.walker.numbers}
        self.draws: bool | None = None
        self.last = self  # as compiled functions have it
        self.plain: _core.PlainCall | None = None
        self.elsewhere: Callable[[str], Callable[..., Any]] | None = None

    def __call__(self, *args: Any) -> Any:
        try:
            return self._called(args)
        except _core.SharedMemory as reason:
            if self.elsewhere is None:
                raise
            return self.elsewhere(str(reason))(*args)

    def _called(self, args: tuple[Any, ...]) -> Any:
        if self.plain and (out := self.plain.run(args)) is not NotImplemented:
            return out
        if self.number_places:
            args = tuple(x.item() if i in self.number_places else x for i, x in enumerate(args))
        arguments = [args[i] for i in self.argument_places]
        members = [args[i] for i in self.member_places]
        before = torch.get_rng_state() if self.draws is None else None
        if self.draws is not False:
            seed_from_torch()
        grad = torch.is_grad_enabled() or self.turns_gradients_on
        if grad and any([isinstance(x, torch.Tensor) and x.requires_grad for x in args]):
            with torch.enable_grad() if self.turns_gradients_on else contextlib.nullcontext():
                results = train(self.function, arguments, members, lambda _: self.walker.identities)
        else:
            results = run(self.function, arguments, members)
            results = self.walker.identities.separate(results)
        if self.draws is None:
            self.draws = self.function.draws()
            if not self.draws:
                torch.set_rng_state(before)
                if type(self) is Program and not self.number_places and not self.turns_gradients_on:
                    is_plain = self.walker.is_all_tensors and not self.walker.identities.apart
                    finish = self.walker.structured if is_plain else self._finished
                    self.plain = _core.PlainCall(self.function, finish, self.walker.is_member, None, False)
        return self._assemble(results)

    def _record(self, values: list[Any], members: list[Any]) -> list[Any]:
        """The graph's results; behind them the number of the recording, whose constants are among the results of its
        calls alone."""
        results = self.walker.record(values, members)
        if self.walker.is_all_tensors:
            return results
        self.assemblies.append(self.walker.assembly())
        return [*results, len(self.assemblies) - 1]

    def _finished(self, results: list[Any]) -> Any:
        return self._assemble(self.walker.identities.separate(results))

    def _assemble(self, results: list[Any]) -> Any:
        if self.walker.is_all_tensors:
            return self.walker.structured(results)
        return self.assemblies[int(results[-1])](results)
