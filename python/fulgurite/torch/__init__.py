"""Fulgurite under PyTorch: `torch.compile(model, backend="fulgurite")`, and what `fulgurite.jit` needs for PyTorch's
code.

torch.compile(model, backend="fulgurite", options={"fallback": "eager"})     # or "inductor", "error"
print(fulgurite.torch.report())                                              # what fell back, why and where
"""

from __future__ import annotations

import torch

from .. import _core

if not _core.set_peer(torch.Tensor):
    raise ImportError(
        f"fulgurite.torch needs a PyTorch with DLPack's exchange table (2.10 or newer); this is {torch.__version__}"
    )
_core.set_internal_folders([__file__.rsplit("/", 2)[0] + "/", torch.__path__[0] + "/"])

from .backend import Program, backend, programs, report, reset, set_as_default  # noqa: E402
from .threads import share_threads  # noqa: E402

share_threads()

__all__ = ["Program", "backend", "programs", "report", "reset", "set_as_default"]
