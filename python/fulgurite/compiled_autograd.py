"""The whole backward of a run, captured into one program.

`enable()` has every backward of Fulgurite's own tensors in its scope captured. With a compiler, or where PyTorch is
loaded and the backward is PyTorch's, its compiled autograd is used with our back end.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import _core


@contextlib.contextmanager
def enable(
    compiler: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool = True
) -> Iterator[None]:
    """While it lasts, backwards of this thread are captured: those of Fulgurite, and those of PyTorch if it is loaded.

    `compiler` is given each of PyTorch's backward graphs, as `torch._dynamo.compiled_autograd.enable` gave them;
    without one they are compiled by `torch.compile(backend="fulgurite")`.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_core.compiled_autograd(fullgraph, dynamic))
        if "torch" in sys.modules or compiler is not None:
            from .torch.compiled_autograd import enable_torch

            stack.enter_context(enable_torch(compiler, fullgraph=fullgraph, dynamic=dynamic))
        yield
