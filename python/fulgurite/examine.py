"""Questions about traces and about what ran: `examine.get_fusion_symbols(trace)`, `examine.kernel_source(f,
"fusion0")`.

Results for a compiled function are about its last call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._compiled import function_of
from ._core import BoundSymbol, Tensor, Trace


def get_fusion_symbols(trace: Trace) -> list[BoundSymbol]:
    """The fusions among a trace's lines, in order."""
    return _core.get_fusion_symbols(trace)


def fusion_names(f: Any) -> list[str]:
    """The names of the fusions that the last call ran, forward and then backward."""
    return _core.fusion_names(function_of(f))


def fusion_inputs(f: Any, fusion: str) -> list[dict[str, Any]]:
    """The inputs of a fusion as they really were: names, shapes, strides, offsets, dtypes."""
    return _core.fusion_inputs(function_of(f), fusion)


def fusion_report(f: Any, fusion: str) -> str:
    """The memory that a fusion moves and the operations that it computes in one run, and their time."""
    return _core.fusion_report(function_of(f), fusion)


def kernel_source(f: Any, fusion: str) -> str:
    """The C++ text of a fusion's kernel."""
    return _core.kernel_source(function_of(f), fusion)


def repro(f: Any, what: str | slice, *, backward: bool = False, language: str = "python") -> str:
    """A program in one file that runs a fusion, or lines [start, stop) of the trace that ran, alone. Languages:
    "python", "cpp"."""
    function = function_of(f)
    if isinstance(what, str):
        return _core.repro(function, what, language)
    stages = function.last_backward_traces() if backward else function.last_traces()
    start, stop, _ = what.indices(len(stages[-1].bound_symbols) if stages else 0)
    return _core.repro_lines(function, start, stop, backward, language)


def slice_trace(trace: Trace, first: int, last: int) -> Trace:
    """Lines [first, last) of a trace as a trace of their own."""
    return _core.slice(trace, first, last)


def run_slice(
    trace: Trace, first: int, last: int, inputs: Sequence[Tensor], executors: Sequence[str] = ()
) -> list[Tensor]:
    """Runs lines [first, last) on tensors for the slice's inputs."""
    return _core.run_slice(trace, first, last, list(inputs), list(executors))


def memory(trace: Trace) -> dict[str, Any]:
    """The memory that a trace keeps while it runs, in bytes; "text" is the table by lines."""
    return _core.memory(trace)


def html(f: Any, title: str = "") -> str:
    """The explorer's page: every trace of the last call, what passes changed, kernels, memory, and the program's
    lines."""
    return _core.html(function_of(f), title)


def write_html(f: Any, path: str, title: str = "") -> None:
    """The same, written to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(html(f, title))


def bisect(trace: Trace, inputs: Sequence[Tensor], executors: Sequence[str]) -> str | None:
    """The first line whose results on `executors` are not the eager ones, as text; None where all agree."""
    return _core.bisect(trace, list(inputs), list(executors))


def find_broken_pass(f: Any) -> str | None:
    """The first pass after which the last call's program gives something else, as text; None where all agree."""
    return _core.find_broken_pass(function_of(f))
