"""Tensors that PyTorch's own implementations make, as values of the trace: so that draws into them are recorded."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _core
from .._core import Unsupported
from .calls import RECORDING
from .lines import user_line

_CREATORS = frozenset(["empty", "rand", "randn", "randint", "randperm", "normal"])


class OutsideWrite(Unsupported):
    """A call that writes, or draws numbers, into a tensor that is not a value of the trace."""


class RecordedCreation(TorchDispatchMode):
    """A scope in which empty and random tensors are values of the trace."""

    def __enter__(self) -> Any:
        self.outer, RECORDING.records_creation = RECORDING.records_creation, True
        return super().__enter__()

    def __exit__(self, *failure: Any) -> None:
        RECORDING.records_creation = self.outer
        super().__exit__(*failure)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from . import aten, direct

        kwargs = kwargs or {}
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        if func.overloadpacket.__name__ in _CREATORS and not tensors:
            try:
                return direct.wrap(aten.run(func, direct.unwrap(list(args)), direct.unwrap(kwargs), user_line()))
            except _core.Error:
                pass
        return func(*args, **kwargs)
