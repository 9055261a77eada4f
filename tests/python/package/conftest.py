"""Tests of the installed package; those of PyTorch are skipped where there is none."""

import pytest


@pytest.fixture
def torch():
    """PyTorch, with a fixed seed and nothing compiled."""
    module = pytest.importorskip("torch")
    module.manual_seed(0)
    module._dynamo.reset()
    return module
