"""The threads of PyTorch, which the library's parallel work runs on: two teams would compete for the CPUs while they
wait for work."""

from __future__ import annotations

import torch

from .. import _core

_followed = torch.get_num_threads()


def share_threads() -> None:
    """Called once, at the import."""
    _core.set_num_threads(_followed)
    _core.share_openmp_threads()


def follow_thread_count() -> None:
    """Takes over a change by `torch.set_num_threads`; after it, `fulgurite.set_num_threads` may change it again."""
    global _followed
    count = torch.get_num_threads()
    if count != _followed:
        _followed = count
        _core.set_num_threads(count)
