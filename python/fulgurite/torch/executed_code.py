"""The code that runs while a function is recorded: which names it reads."""

from __future__ import annotations

import dis
import sys
import sysconfig
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

_OWN = __file__.rsplit("/", 2)[0]
_TORCH = torch.__path__[0]
_LAYERS = f"{_TORCH}/nn/modules/"
_STANDARD = sysconfig.get_path("stdlib")
_PACKAGES = ("/site-packages/", "/dist-packages/")

_names: weakref.WeakKeyDictionary[types.CodeType, frozenset[str]] = weakref.WeakKeyDictionary()


def _is_users(file: str) -> bool:
    """Returns True of files that are neither PyTorch's, ours nor of Python's library."""
    if file.startswith((_TORCH, _OWN, "<frozen ")):
        return False
    return not file.startswith(_STANDARD) or any(folder in file for folder in _PACKAGES)


def _names_of(code: types.CodeType) -> frozenset[str]:
    found = _names.get(code)
    if found is None:
        texts = [c for c in code.co_consts if isinstance(c, str) and c.isidentifier()]
        found = _names[code] = frozenset([*code.co_names, *code.co_freevars, *code.co_cellvars, *texts])
    return found


class ExecutedCode:
    """A scope that sees which functions run, but for those of PyTorch outside of its layers and those of imports.
    `on_globals` is called with the names of each and its globals, before it runs for the first time."""

    def __init__(self, on_globals: Callable[[tuple[str, ...], dict[str, Any]], None]) -> None:
        self.on_globals = on_globals
        self.seen: dict[int, types.CodeType] = {}
        self.codes: list[types.CodeType] = []
        self.is_known = False
        self.imports = 0  # that are in progress: what runs in them is not of the function

    def __enter__(self) -> None:
        self.is_known = sys.getprofile() is None  # a profiler that is there stays
        if self.is_known:
            sys.setprofile(self._see)

    def __exit__(self, *failure: Any) -> None:
        if self.is_known:
            sys.setprofile(None)

    def _see(self, frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
            self.imports += {"call": 1, "return": -1}.get(event, 0)
        if event != "call" or self.imports or id(code) in self.seen:
            return
        self.seen[id(code)] = code
        if _is_users(code.co_filename):
            self.codes.append(code)
            self.on_globals(code.co_names, frame.f_globals)
        elif code.co_filename.startswith(_LAYERS):
            self.codes.append(code)

    def names(self) -> frozenset[str] | None:
        """All names in the code; None where they are not known."""
        return frozenset().union(*[_names_of(code) for code in self.codes]) if self.is_known else None

    def loads(self, name: str) -> bool:
        """Returns True if some of the code reads the name, or has it as a text."""
        return not self.is_known or any(_loads(code, name) for code in self.codes if name in _names_of(code))


def _loads(code: types.CodeType, name: str) -> bool:
    return any(
        i.argval == name and (i.opname.startswith("LOAD_") or i.opname == "IMPORT_NAME")
        for i in dis.get_instructions(code)
    )
