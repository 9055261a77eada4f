"""A report of everything in a function that is supported or not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from . import _core


@dataclasses.dataclass
class Report:
    """The operators that a function called, and what stands in its way. `str()` is for reading."""

    all: bool
    operators: list[tuple[str, int, str, str, int]]  #: name, calls, executor, file, line
    problems: list[tuple[str, str, str, int]]  #: what, what to do instead, file, line
    text: str

    def __str__(self) -> str:
        return self.text


def supported(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Runs `f` eagerly and lists every operator with the library that runs it, and every call that fails, with its
    Python line.

    A function of PyTorch is recorded instead: what the report names would be run by PyTorch.
    """
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and (
        isinstance(f, torch.nn.Module) or any(isinstance(x, torch.Tensor) for x in [*args, *kwargs.values()])
    ):
        from .torch.support_report import report_of

        return report_of(f, args, kwargs)
    failure: list[BaseException] = []

    def body() -> None:
        try:
            f(*args, **kwargs)
        except _core.Error:
            raise
        except Exception as error:  # of the function itself
            failure.append(error)

    report = Report(*_core.supported(body))
    if failure:
        raise failure[0]
    return report
