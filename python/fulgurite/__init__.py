"""Fulgurite for Python: traces, automatic differentiation and just-in-time compilation of tensor programs.

Neither PyTorch nor NumPy is needed; tensors of both, and of anything that speaks DLPack, go in and out without a copy.
`fulgurite.jit` compiles functions over `fulgurite.Tensor`, and functions and modules of PyTorch.
"""

from __future__ import annotations

import linecache
import os

from . import _thread_runtime  # noqa: F401  before the extension, which needs what it opens

# isort: split
from . import _core, _tensor, compiled_autograd, examine, ops
from ._compiled import (
    Compiled,
    cache_hits,
    cache_misses,
    compile_stats,
    explain,
    jit,
    last_backward_traces,
    last_prologue_traces,
    last_traces,
    with_transforms,
)
from ._core import (
    BoundSymbol,
    Dtype,
    Error,
    InternalError,
    Tensor,
    TensorProxy,
    Trace,
    Unsupported,
    all_executors,
    autocast,
    default_executors,
    enable_grad,
    graph_break,
    manual_seed,
    no_grad,
    num_threads,
    random_state,
    set_num_threads,
    set_random_state,
)
from ._supported import Report, supported
from ._tensor import asarray, from_dlpack, tensor
from ._transforms import grad, value_and_grad, vjp

__version__: str = _core.version

float64, float32, bfloat16, float16 = Dtype.float64, Dtype.float32, Dtype.bfloat16, Dtype.float16
int64, int32, int16, int8 = Dtype.int64, Dtype.int32, Dtype.int16, Dtype.int8
uint8 = Dtype.uint8
bool_ = getattr(Dtype, "bool")


def _line(file: str, number: int) -> str | None:
    """The text of a line, also of a notebook's cell, which has no file."""
    return linecache.getline(file, number).rstrip("\n") or None


_core.set_internal_folders([os.path.dirname(os.path.abspath(__file__)) + os.sep])
_core.set_line_reader(_line)
_tensor.complete()


def __getattr__(name: str) -> object:
    """`fulgurite.torch` and `fulgurite.thunder` are imported when they are first named: they need PyTorch."""
    if name in ("torch", "thunder"):
        import importlib

        return importlib.import_module(f"fulgurite.{name}")
    raise AttributeError(f"module 'fulgurite' has no attribute {name!r}")


__all__ = [
    "BoundSymbol",
    "Compiled",
    "Dtype",
    "Error",
    "InternalError",
    "Report",
    "Tensor",
    "TensorProxy",
    "Trace",
    "Unsupported",
    "all_executors",
    "asarray",
    "autocast",
    "bfloat16",
    "bool_",
    "cache_hits",
    "cache_misses",
    "compile_stats",
    "compiled_autograd",
    "default_executors",
    "enable_grad",
    "examine",
    "explain",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "grad",
    "graph_break",
    "int16",
    "int32",
    "int64",
    "int8",
    "jit",
    "last_backward_traces",
    "last_prologue_traces",
    "last_traces",
    "manual_seed",
    "no_grad",
    "num_threads",
    "ops",
    "random_state",
    "set_num_threads",
    "set_random_state",
    "supported",
    "tensor",
    "uint8",
    "value_and_grad",
    "vjp",
    "with_transforms",
]
