"""The parameters and buffers of a module that is compiled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .. import _core
from .._core import GuardKind
from .surroundings import Guard

_LOCK = threading.RLock()  # held while a module has stand-ins in the place of its members


class Members:
    """The parameters and buffers of a module, looked up anew at each call: replaced ones are seen. Tied ones are
    one."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.slots: list[tuple[dict[str, Any], str]] = []
        self.names: list[str] = []
        self.places: list[tuple[dict[str, Any], str, int]] = []  # of each name, tied ones too
        self.modules = list(module.modules())
        self.stores = [store for part in self.modules for store in (part._parameters, part._buffers)]
        seen: dict[int, int] = {}
        for prefix, part in module.named_modules():
            for store in (part._parameters, part._buffers):
                for key, value in store.items():
                    if value is None:
                        continue
                    if id(value) not in seen:
                        seen[id(value)] = len(self.slots)
                        self.slots.append((store, key))
                        self.names.append(f"{prefix}.{key}" if prefix else key)
                    self.places.append((store, key, seen[id(value)]))

    def tensors(self) -> list[torch.Tensor]:
        """Those of this call. They are waited for while another thread has replaced them."""
        with _LOCK:
            return [store[key] for store, key in self.slots]

    def guards(self) -> list[Guard]:
        """Each of them is still one of its kind, not None."""
        return [(GuardKind.TYPE_OF_ITEM, store, key, type(store[key])) for store, key, _ in self.places]

    @contextmanager
    def replaced(self, stand_ins: list[Any]) -> Iterator[None]:
        """A scope in which the module has these in the places of its parameters and buffers."""
        with _LOCK:
            before = [(store, dict(store)) for store in self.stores]
            for store, key, place in self.places:
                store[key] = stand_ins[place]
            try:
                yield
            finally:
                for store, contents in before:
                    store.clear()
                    store.update(contents)

    def check(self) -> None:
        """Refuses what would be run at the recording only."""
        for part in self.modules:
            if part._backward_hooks or part._backward_pre_hooks:
                raise _core.Error(
                    f"jit: {type(part).__name__} has full backward hooks, which would see the recording instead of "
                    f"each backward; "
                    'use torch.compile(backend="fulgurite"), or hooks on tensors'
                )
