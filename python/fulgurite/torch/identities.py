"""Results that are arguments themselves, and those that are other tensors in the memory of an argument."""

from __future__ import annotations

from typing import Any

from .._core import Tensor


class Identities:
    """Identities of the results of a recording's calls."""

    def __init__(self, results: list[Any], given: list[Any], calls_custom_functions: bool) -> None:
        """`given`: the values of the arguments. The gradient of what a custom function returns is its own, also in the
        memory of an argument."""
        self.are_views = not calls_custom_functions
        tensors = [x for x in given if isinstance(x, Tensor)]
        own = {id(x) for x in tensors}
        self.apart = [
            i
            for i, result in enumerate(results)
            if isinstance(result, Tensor)
            and id(result) not in own
            and (calls_custom_functions or any(result.shares_memory(x) for x in tensors))
        ]

    def separate(self, results: list[Any]) -> list[Any]:
        """The results of a call without gradients: what has the memory of an argument is a tensor of its own."""
        for i in self.apart:
            results[i] = results[i].detach()
        return results
