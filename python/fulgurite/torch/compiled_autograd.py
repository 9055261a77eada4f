"""PyTorch's compiled autograd with our back end: `fulgurite.compiled_autograd.enable()`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo.compiled_autograd as theirs


@contextlib.contextmanager
def enable_torch(compiler: Callable[..., Any] | None, *, fullgraph: bool, dynamic: bool) -> Iterator[None]:
    """While it lasts, PyTorch's backwards are captured and given to `compiler`, or to torch.compile with our back
    end."""
    if compiler is None:

        def compiler(graph: Any) -> Any:
            return torch.compile(graph, backend="fulgurite", fullgraph=fullgraph, dynamic=dynamic)

    with theirs._enable(compiler, dynamic=dynamic):
        yield
