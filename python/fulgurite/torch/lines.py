"""The lines of the user's Python that calls and errors come from."""

from __future__ import annotations

import sys
from typing import Any

import torch

from .calls import RECORDING, At

_INTERNAL = (torch.__path__[0], __file__.rsplit("/", 2)[0], "<frozen ", "<string>")


def user_line() -> At:
    """The innermost line of Python that is neither ours nor PyTorch's."""
    if RECORDING.lines:
        return RECORDING.lines[-1]
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def line_of(error: BaseException) -> str:
    """The innermost line of the user's Python that an error came from, as reports name it; empty without one."""
    found = ""
    step = error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_INTERNAL):
            found = f" at {step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        step = step.tb_next
    return found
