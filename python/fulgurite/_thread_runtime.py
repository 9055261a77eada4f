"""libgomp, the thread runtime that the extension shares with PyTorch: the process's own, the system's, PyTorch's, or at
last the package's copy."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator


def _copies() -> Iterator[str]:
    """Files to open where the system has none: PyTorch's first, which it would open later under the same name."""
    torch = importlib.util.find_spec("torch")
    for folder in torch.submodule_search_locations or [] if torch else []:
        yield os.path.join(folder, "lib", "libgomp.so.1")
    yield os.path.join(os.path.dirname(__file__), "lib", "libgomp", "libgomp.so.1")


def open_copy() -> None:
    """Opens a copy of libgomp; the extension, which asks for it by its name, finds it opened."""
    import ctypes

    for path in _copies():
        if os.path.exists(path):
            ctypes.CDLL(path)
            return


try:
    from . import _core  # noqa: F401
except ImportError as missing:
    if "libgomp" not in str(missing):
        raise
    open_copy()
