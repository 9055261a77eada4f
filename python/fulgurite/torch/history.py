"""Changes of the history of tensors that a recorded function makes: `requires_grad_()` and `detach_()`."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, Unsupported
from .calls import FLOATING

CHANGES = frozenset(["requires_grad_", "detach_", "requires_grad"])


def change_history(name: str, args: Any, kwargs: Any) -> bool:
    """Returns True if a tensor without a history becomes one that needs a gradient, as checkpoints make of their
    arguments: only results show it."""
    wanted = name != "detach_" and bool(kwargs.get("requires_grad", args[1] if len(args) > 1 else True))
    if wanted == args[0]._fg.requires_grad:
        return False
    if not wanted or args[0]._is_argument:
        what = "detach_()" if name == "detach_" else f"requires_grad_({wanted})"
        raise Unsupported(f"{what} of a tensor inside of a compiled function")
    return True


def check_results(results: list[Any]) -> None:
    """Refuses results that may need the gradient of a tensor that became one with a gradient."""
    if any(isinstance(r, Tensor) and r.dtype in FLOATING and not r.requires_grad for r in results):
        raise Unsupported("requires_grad_(True) of a tensor inside of a compiled function")
