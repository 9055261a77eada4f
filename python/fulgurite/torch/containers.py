"""Caches of transformers, and data classes: objects with tensors that calls take, change and return."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree

from .symbols import Symbol

_MODULES = frozenset(["transformers.cache_utils"])


def is_container(x: Any) -> bool:
    """True for an object whose tensors are arguments and results of a compiled function."""
    kind = type(x)
    if isinstance(x, type) or not hasattr(x, "__dict__"):
        return False
    return kind.__module__ in _MODULES or (dataclasses.is_dataclass(x) and kind not in _pytree.SUPPORTED_NODES)


class Opened:
    """A container without its tensors. Two are equal if their other parts are."""

    def __init__(self, container: Any) -> None:
        self.tensors: list[torch.Tensor] = []  # of the container
        self._parts = self._opened(container)
        self.count = len(self.tensors)

    def _opened(self, x: Any) -> tuple[Any, ...]:
        if isinstance(x, torch.Tensor):
            self.tensors.append(x)
            return ("tensor",)
        if isinstance(x, (list, tuple)):
            return (type(x), tuple([self._opened(item) for item in x]))
        if isinstance(x, dict):
            return (dict, tuple([(key, self._opened(item)) for key, item in x.items()]))
        if is_container(x):
            return ("object", type(x), tuple([(name, self._opened(item)) for name, item in vars(x).items()]))
        return ("constant", int(x) if isinstance(x, Symbol) else x)

    def without_tensors(self) -> Opened:
        """The same, which keeps no tensors alive."""
        self.tensors = []
        return self

    def closed(self, tensors: Iterator[Any]) -> Any:
        """A container like this one with these tensors."""
        return self._closed(self._parts, tensors)

    def _closed(self, parts: tuple[Any, ...], tensors: Iterator[Any]) -> Any:
        kind = parts[0]
        if kind == "tensor":
            return next(tensors)
        if kind == "constant":
            return parts[1]
        if kind == "object":
            made = parts[1].__new__(parts[1])
            made.__dict__.update((name, self._closed(part, tensors)) for name, part in parts[2])
            return made
        if kind is dict:
            return {key: self._closed(part, tensors) for key, part in parts[1]}
        return kind([self._closed(part, tensors) for part in parts[1]])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opened) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


class Argument:
    """Stands among results for a container that was an argument."""

    def __init__(self, place: int) -> None:
        self.place = place


class Earlier:
    """Stands among results for one that is an earlier one too."""

    def __init__(self, place: int) -> None:
        self.place = place


def replace_parts(container: Any, other: Any) -> Any:
    """Gives a container the parts of another one, as the call that it was given to changed it."""
    container.__dict__.clear()
    container.__dict__.update(other.__dict__)
    return container


def results_of(
    leaves: list[Any], containers: list[Any], value_of: Callable[[Any], Any]
) -> tuple[list[Any], list[Opened], list[Any]]:
    """(what stands for each result, the containers of the arguments after the call, the values of all). `value_of`
    gives the recorded value of a tensor, and None of anything else."""
    values: list[Any] = []

    def opened(container: Any) -> Opened:
        found = Opened(container)
        values.extend([value_of(x) for x in found.tensors])
        return found.without_tensors()

    stands: list[Any] = []
    places: dict[int, int] = {}
    for place_among_results, leaf in enumerate(leaves):
        value = value_of(leaf)
        if value is not None and id(leaf) in places:
            stands.append(Earlier(places[id(leaf)]))
        elif value is not None:
            places[id(leaf)] = place_among_results
            values.append(value)
            stands.append(None)
        elif is_container(leaf):
            place = next((i for i, c in enumerate(containers) if c is leaf), None)
            stands.append(opened(leaf) if place is None else Argument(place))
        else:
            stands.append((leaf,))
    return stands, [opened(c) for c in containers], values


def assembled(stands: list[Any], after: list[Opened], results: list[Any], containers: list[Any]) -> list[Any]:
    """The results of a call, whose containers are changed."""
    given = iter(results)
    out = []
    for stand in stands:
        if stand is None:
            out.append(next(given))
        elif isinstance(stand, Opened):
            out.append(stand.closed(given))
        elif isinstance(stand, Argument):
            out.append(containers[stand.place])
        elif isinstance(stand, Earlier):
            out.append(out[stand.place])
        else:
            out.append(stand[0])
    for container, opened in zip(containers, after):
        replace_parts(container, opened.closed(given))
    return out
