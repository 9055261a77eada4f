"""`thunder.examine`: the functions of `fulgurite.examine`."""

from __future__ import annotations

from ..examine import *  # noqa: F403
