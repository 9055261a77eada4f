"""The threads of PyTorch, which the library's parallel work runs on: two teams would compete for the CPUs while they
wait for work."""

from __future__ import annotations

import torch

from .. import _core


def share_threads() -> None:
    """Called once, at the import."""
    follow_thread_count()
    _core.share_openmp_threads()


def follow_thread_count() -> None:
    """Takes over a change by `torch.set_num_threads`; after it, `fulgurite.set_num_threads` may change it again."""
    _core.follow_thread_count(torch.get_num_threads())
