"""`import fulgurite.thunder as thunder`: Thunder's names for what Fulgurite has."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from .. import _compiled, _core, ops
from .._compiled import last_backward_traces
from .._core import Tensor, Trace
from . import examine

__all__ = ["examine", "jit", "last_backward_traces", "last_traces", "prims"]


def jit(target: Callable[..., Any], **options: Any) -> Any:
    """`fulgurite.jit`, with the forward's names on backward lines as Thunder prints them."""
    return _compiled.jit(target, **{"associate_forward": True, **options})


def last_traces(f: Any) -> list[Trace] | tuple[list[Trace], list[Trace]]:
    """The forward's traces; of a function that was differentiated the pair of the forward's and the backward's."""
    forward, backward = _compiled.last_traces(f), last_backward_traces(f)
    return (forward, backward) if backward else forward


class _Prims(types.ModuleType):
    """Primitives by name: `prims.add(a, b)`, on values of a function that is recorded, and on tensors."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        whole = f"prims.{name}" if _core.has_operator(f"prims.{name}") else name
        operator = ops.operator(whole)

        def primitive(*args: Any, **kwargs: Any) -> Any:
            if "torch" not in sys.modules or any(isinstance(a, Tensor) for a in args):
                return operator(*args, **kwargs)
            from ..torch.direct import unwrap, user_line, wrap

            return wrap(_core.call(whole, unwrap(list(args)), unwrap(kwargs), user_line()))

        return primitive


prims = _Prims("fulgurite.thunder.prims")
