"""Training through PyTorch's engine: one autograd.Function around a forward and its backward, and one around each
derivative of it.

Tensors that the backward needs go through `save_for_backward`, where PyTorch's version checks, saved-tensor hooks and
checkpoints see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import _core
from .calls import DTYPE
from .identities import Identities
from .threads import follow_thread_count

increment_version = torch.autograd.graph.increment_version
_keeps_graph = torch._C._autograd._get_current_graph_task_keep_graph
_drawn = torch.empty((), dtype=torch.int64)


_core.set_plain_calls(
    torch.is_grad_enabled,
    torch._C._is_any_autocast_enabled,
    torch.get_default_dtype,
    torch.get_num_threads,
    increment_version,
    torch.Tensor,
    torch.nn.Parameter,
)


def seed_from_torch() -> None:
    """Has our generator begin where one number of PyTorch's says: manual_seed, fork_rng and get_rng_state hold for
    our draws."""
    _core.manual_seed(int(_drawn.random_()))


def _follow_settings() -> None:
    """PyTorch's number of threads and default dtype hold for what is recorded and run."""
    follow_thread_count()
    _core.follow_default_dtype(DTYPE[torch.get_default_dtype()])


def run(function: _core.Function, arguments: Any, members: Any) -> list[Any]:
    """A call without gradients."""
    _follow_settings()
    results, written = function.run(arguments, members)
    if written:
        every = [x for x in arguments if isinstance(x, torch.Tensor)] + list(members)
        for place in written:
            increment_version(every[place])
    return results


def train(
    function: _core.Function,
    arguments: list[Any],
    members: list[Any],
    identities_of: Callable[[list[Any]], Identities],
) -> list[Any]:
    """A call whose results have a gradient. `identities_of`: of the recording that gave these results."""
    _follow_settings()
    tensors = [x for x in arguments if isinstance(x, torch.Tensor)] + members
    needs = bytes(t.requires_grad for t in tensors)
    numbers = [None if isinstance(x, torch.Tensor) else x for x in arguments]
    outside: dict[int, _Outside] = {}
    results = list(_Forward.apply(function, numbers, needs, outside, identities_of, *tensors))
    for i, (base, view, has_gradient) in outside.items():
        of = tensors[base] if base < len(tensors) else results[base - len(tensors)]
        results[i] = _view_of(of if has_gradient else of.detach(), view)
    for i in identities_of(results).apart:
        if any(results[i] is t for t in tensors):
            results[i] = results[i].view_as(results[i])
    return results


# A result that is made of another tensor: the place of an argument, or behind these of a result; None, or the view of
# it; true for one with the gradient of that tensor.
_Outside = tuple[int, Any, bool]


def _view_of(base: torch.Tensor, view: torch.Tensor | None) -> torch.Tensor:
    """The tensor over the elements of `view`, as PyTorch's view of `base`, so that writes into one reach the other's
    history; `base` itself without one."""
    if view is None:
        return base
    distance = (view.data_ptr() - base.data_ptr()) // base.element_size()
    return base.as_strided(view.shape, view.stride(), base.storage_offset() + distance)


def _for_hooks(gradient: Any, tensor: torch.Tensor) -> Any:
    """A gradient that does not exist is zeros for hooks, which PyTorch would call with None."""
    if gradient is not None or not (tensor._backward_hooks or tensor._post_accumulate_grad_hooks):
        return gradient
    return torch.zeros_like(tensor)


class _Saved:
    """The saved tensors of a call in their order. Those that only derivatives of the backward read are not saved by
    PyTorch, which would not let them be written before any backward: they are the inputs, running statistics among
    them, and are checked where they are read."""

    def __init__(self, saved: list[Any], later: list[bool]) -> None:
        self.later, self.is_freed = later, False
        self.kept = [(t, t._version) for t, is_later in zip(saved, later) if is_later and t is not None]
        self.is_missing = [t is None for t, is_later in zip(saved, later) if is_later]

    def all(self, saved: tuple[Any, ...], for_derivatives: bool) -> list[Any]:
        """All, or None in the places of those for derivatives. `saved`: the others."""
        if not any(self.later):
            return list(saved)
        if self.is_freed and for_derivatives:
            raise RuntimeError("Trying to backward through the graph a second time, after its tensors were freed")
        of_backward, kept = iter(saved), iter(self.kept)
        missing = iter(self.is_missing)
        out = []
        for is_later in self.later:
            if not is_later:
                out.append(next(of_backward))
            elif next(missing) or not for_derivatives:
                out.append(None)
            else:
                out.append(self._checked(*next(kept)))
        return out

    @staticmethod
    def _checked(tensor: torch.Tensor, version: int) -> torch.Tensor:
        if tensor._version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{tensor.type()} {list(tensor.shape)}] is at version {tensor._version}; expected version {version} "
                "instead. It is needed because of create_graph=True"
            )
        return tensor

    def clear(self) -> None:
        """Lets go of the tensors, as PyTorch does behind a backward that does not keep its graph."""
        self.kept, self.is_freed = [], True


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        function: _core.Function,
        numbers: list[Any],
        needs: bytes,
        outside: dict[int, _Outside],
        identities_of: Callable[[list[Any]], Identities],
        *tensors: Any,
    ) -> Any:
        """`outside` gets the results that are made of other tensors, by place. Arguments that are not written are
        returned as they are."""
        given = iter(tensors)
        arguments = [next(given) if x is None else x for x in numbers]
        results, saved, later, backward, carries, written, views = function.forward(arguments, list(given), needs)
        for place in written:
            increment_version(tensors[place])
        if written:
            ctx.mark_dirty(*[tensors[p] for p in written if any(tensors[p] is r for r in results)])
        for i, r in enumerate(results):  # an argument without its gradient is another tensor
            results[i] = r.detach() if not carries[i] and isinstance(r, torch.Tensor) and r.requires_grad else r
        places = {id(t): i for i, t in enumerate(tensors) if i not in written}
        are_views, apart = (known := identities_of(results)).are_views, known.apart
        for i, r in enumerate(results):
            if id(r) in places and (are_views or i not in apart):
                outside[i] = places[id(r)], None, True
        outside.update((i, (base, results[i], carries[i])) for i, base in views if are_views or not carries[i])
        results = [None if i in outside else r for i, r in enumerate(results)] if outside else results
        ctx.backward_program, ctx.needs = backward, needs
        ctx.inputs = [t for t, n in zip(tensors, needs) if n]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*[s for s, is_later in zip(saved, later) if not is_later])
        ctx.saved = _Saved(saved, later)
        plain = [r for r, c in zip(results, carries) if not c and isinstance(r, torch.Tensor)]
        if plain:
            ctx.mark_non_differentiable(*plain)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        if ctx.backward_program is None:
            return (None,) * (5 + len(ctx.needs))
        saved = ctx.saved.all(ctx.saved_tensors, torch.is_grad_enabled())
        if torch.is_grad_enabled():  # create_graph: the gradients are a function of their own
            found = _Derivative.apply(
                ctx.backward_program, len(cotangents), len(saved), *cotangents, *saved, *ctx.inputs
            )
        else:
            found = ctx.backward_program.run(saved, cotangents)
            if not _keeps_graph():
                ctx.maybe_clear_saved_tensors()
                ctx.saved.clear()
        gradients = iter([_for_hooks(g, t) for g, t in zip(found, ctx.inputs)])
        return (None, None, None, None, None, *[next(gradients) if n else None for n in ctx.needs])


class _Derivative(torch.autograd.Function):
    """A backward that can be differentiated: any order."""

    @staticmethod
    def forward(ctx: Any, program: Any, count: int, saved_count: int, *rest: Any) -> Any:
        cotangents, saved = rest[:count], rest[count : count + saved_count]
        results, again = program.run_with_saved(saved, cotangents)
        ctx.again, ctx.count, ctx.saved_count, ctx.rest = again, count, saved_count, rest
        ctx.set_materialize_grads(False)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        given = ctx.rest[: ctx.count]
        inputs = ctx.rest[ctx.count + ctx.saved_count :]
        present = [g for g in given if g is not None]
        if torch.is_grad_enabled():
            found = _Derivative.apply(ctx.again, len(cotangents), 0, *cotangents, *present, *inputs)
        else:
            found = ctx.again.run((), cotangents)
        of_given = iter(found[: len(present)])
        return (
            None,
            None,
            None,
            *[None if g is None else next(of_given) for g in given],
            *[None] * ctx.saved_count,
            *found[len(present) :],
        )
