"""The report of what is recorded of a function of PyTorch: for `fulgurite.supported`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._compiled import Compiled
from .._supported import Report


def report_of(f: Callable[..., Any], args: Any, kwargs: Any) -> Report:
    """Records a function of PyTorch, and says what of it went to PyTorch's own implementation."""
    compiled = Compiled(
        f.target if isinstance(f, Compiled) else f,
        {
            "cache": "constant values",
            "executors": [],
            "transforms": [],
            "fullgraph": False,
            "autocast": None,
            "memory_budget": None,
            "associate_forward": False,
            "argument_names": [],
            "fallback": "error",
        },
    )
    problems = []
    try:
        compiled(*args, **kwargs)
    except _core.Error as error:
        file, line = error.source or ("", 0)
        problems.append((str(error), "", file, line))
    entry = compiled.last
    fallen = entry.fallen if entry is not None else {}
    lines = [f"{what}: run by PyTorch's own implementation, at {file}:{line}" for what, (file, line) in fallen.items()]
    lines += [what for what, *_ in problems]
    operators = []
    if entry is not None and not problems:
        traces = entry.function.last_traces()
        for line in traces[0].bound_symbols if traces else []:
            file, number = line.source or ("", 0)
            operators.append((line.name, 1, "", file, number))
    return Report(
        not problems,
        operators,
        problems + [(w, "", *at) for w, at in fallen.items()],
        "\n".join(lines) or "everything is supported",
    )
