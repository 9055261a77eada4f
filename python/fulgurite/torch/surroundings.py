"""Python values that a function reads and changes besides its arguments: variables, attributes, lists that they hold.

def forward(self, x):
    self.steps += 1            # read and changed: the program recorded at 0 holds at 0, and sets 1
    return x * self.scale      # read: the program holds as long as `scale` is what it was
"""

from __future__ import annotations

import collections
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree

from .._core import GuardKind, Unsupported
from .direct import Proxy
from .executed_code import ExecutedCode
from .reachable import given_to, holders_of, is_a, is_array, is_foreign, is_iterator, slots_of
from .symbols import Symbol

Guard = tuple[GuardKind, Any, Any, Any]  # (how, holder, key, value)

_ABSENT: Any = object()
_MANY_ITEMS = 1_000  # of longer lists and dictionaries the length alone is looked at
_MANY_HOLDERS = 10_000
_MANY_BYTES = 10_000  # larger arrays of NumPy are not looked at
_ITERATOR = "an iterator, which would give the same values in each call"
_PLAIN = (int, float, str, type(None), torch.dtype)
_SIZED = (dict, list, set, collections.deque)
# A layer's own dictionaries are looked into; they are not exchanged.
_OF_LAYERS = frozenset(vars(torch.nn.Module())) - {"training"}
NAMED = (type, types.ModuleType)  # of these the plain values alone are looked at


def _contents(holder: Any) -> dict[Any, Any]:
    """The values of a holder, by key."""
    if isinstance(holder, types.CellType):
        try:
            return {None: holder.cell_contents}
        except ValueError:  # a variable that has no value yet
            return {}
    if isinstance(holder, NAMED):
        return {k: v for k, v in vars(holder).items() if is_a(v, _PLAIN) and not k.startswith("__")}
    if is_array(holder):
        return {...: holder.tobytes()} if holder.nbytes <= _MANY_BYTES else {}
    if not isinstance(holder, _SIZED):  # an object with __slots__
        return {k: getattr(holder, k) for k in slots_of(holder) if hasattr(holder, k)}
    kind = _kind_of(holder)  # a subclass may make what its own methods give
    if kind.__len__(holder) > _MANY_ITEMS:
        return {}
    if kind is dict:
        return dict(dict.items(holder))
    return {...: set(set.__iter__(holder))} if kind is set else dict(enumerate(kind.__iter__(holder)))


def _kind_of(holder: Any) -> Any:
    return next(kind for kind in _SIZED if isinstance(holder, kind))


def _replace(holder: Any, values: dict[Any, Any], gone: list[Any]) -> None:
    """Changes a holder's contents: of dictionaries, classes and modules by key, of others all of them."""
    if isinstance(holder, types.CellType):
        if values:
            holder.cell_contents = values[None]
        elif gone:
            del holder.cell_contents
    elif is_array(holder):
        holder[...] = sys.modules["numpy"].frombuffer(values[...], dtype=holder.dtype).reshape(holder.shape)
    elif not isinstance(holder, _SIZED):
        for key, value in values.items():
            setattr(holder, key, value)
        for key in gone:
            delattr(holder, key)
    elif isinstance(holder, dict):
        # A subclass may refuse what its own methods are not used for.
        kind: Any = collections.OrderedDict if isinstance(holder, collections.OrderedDict) else dict
        for key, value in values.items():
            kind.__setitem__(holder, key, value)
        for key in gone:
            if key in holder:
                kind.__delitem__(holder, key)
    else:
        holder.clear()
        if isinstance(holder, set):
            holder.update(values.get(..., ()))
        else:
            holder.extend(values.values())


def _among(keys: list[Any], names: frozenset[str] | None) -> list[Any]:
    return keys if names is None else [k for k in keys if k in names]


def _is_by_key(holder: Any) -> bool:
    """Returns True of holders whose contents are exchanged one by one."""
    return isinstance(holder, dict) or not (isinstance(holder, (*_SIZED, types.CellType)) or is_array(holder))


def _iterators(contents: dict[Any, Any]) -> list[Any]:
    return [k for k, v in contents.items() if (k is None or isinstance(k, str)) and is_iterator(v)]


def _how(holder: Any) -> GuardKind:
    if isinstance(holder, types.CellType):
        return GuardKind.CELL
    if isinstance(holder, (list, collections.deque)):
        return GuardKind.ELEMENT
    return GuardKind.ITEM if isinstance(holder, dict) else GuardKind.ATTRIBUTE


def _objects(contents: dict[Any, Any]) -> list[Any]:
    """The values among a holder's contents that may hold others."""
    values = contents.get(..., contents.values())
    if isinstance(values, bytes):
        return []
    return [v for v in values if not is_a(v, (*_PLAIN, torch.Tensor))]


class _Record:
    """A holder, and its contents before."""

    def __init__(self, holder: Any, is_attributes: bool, contents: dict[Any, Any]) -> None:
        self.holder, self.is_attributes, self.before = holder, is_attributes, contents
        self.length = _kind_of(holder).__len__(holder) if isinstance(holder, _SIZED) else 0
        self.names: set[str] | None = None  # of a module's globals, those that functions name

    def now(self) -> dict[Any, Any]:
        """Its contents at present."""
        if self.names is None:
            return _contents(self.holder)
        return {k: self.holder[k] for k in self.names if k in self.holder}

    def named(self, names: frozenset[str] | None) -> dict[Any, Any]:
        """Its contents before, of these names alone if there are some."""
        return self.before if names is None else {k: v for k, v in self.before.items() if k in names}

    def changed(self) -> list[Any]:
        """The keys whose values are others."""
        before, now = self.before, self.now()
        if isinstance(self.holder, set) or is_array(self.holder):
            return [...] if before != now else []
        return [k for k in {**before, **now} if before.get(k, _ABSENT) is not now.get(k, _ABSENT)]


class Effect:
    """A change of a holder that each call repeats. Values may contain results of the call, by their places."""

    def __init__(self, holder: Any, values: dict[Any, Any], gone: list[Any], is_old: Callable[[Any], bool]) -> None:
        self.holder, self.gone = holder, gone
        self.leaves: list[Any]
        self.leaves, self.spec = _pytree.tree_flatten(values, is_leaf=is_old)

    def apply(self, results: list[Any]) -> None:
        """Changes the holder."""
        leaves = [results[x.place] if isinstance(x, Result) else x for x in self.leaves]
        _replace(self.holder, _pytree.tree_unflatten(leaves, self.spec), self.gone)


class Result:
    """Stands in an effect for a result of the call."""

    def __init__(self, place: int) -> None:
        self.place = place


class Surroundings:
    """A scope in which a function is recorded. `roots`: what it reaches is looked at. `stores`: the dictionaries with
    the parameters and buffers, which calls look up anew."""

    def __init__(self, roots: list[Any], stores: list[dict[str, Any]]) -> None:
        self.roots, self.stores = roots, {id(s) for s in stores}
        self.records: dict[int, _Record] = {}
        self.changes: dict[int, list[Any]] = {}  # the keys, by the identity of their holder
        self.iterators: set[str] = set()  # the names of what gives another value each time that it is asked
        self.code = ExecutedCode(self._add_globals)
        self._add(roots)

    def __enter__(self) -> Surroundings:
        if _ITERATOR in self.iterators:
            raise Unsupported(_ITERATOR)
        self.generators = _generator_states()
        self.code.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        self.code.__exit__(*failure)
        if failure[0] is not None:
            self.restore()

    def restore(self) -> None:
        """Undoes the changes."""
        for record, names in self._reached():
            if changed := _among(record.changed(), names):
                by_key = _is_by_key(record.holder)
                values = {k: v for k, v in record.before.items() if not by_key or k in changed}
                _replace(record.holder, values, [k for k in changed if k not in record.before])
        if _generator_states() != self.generators:
            _set_generator_states(self.generators)

    def _reached(self) -> list[tuple[_Record, frozenset[str] | None]]:
        """The holders that the executed code may have read or changed, each with the names of what it may have in it;
        None of all. Other threads may change others."""
        found: list[tuple[_Record, frozenset[str] | None]] = []
        seen: set[int] = set()
        names = self.code.names()
        waiting = list(self.roots)
        for record in [r for r in self.records.values() if r.names is not None]:
            seen.add(id(record.holder))
            found.append((record, None))
            waiting += [v for v in _objects(record.before) if not is_foreign(v)]
        while waiting:
            for holder, _ in holders_of(waiting.pop()):
                record = self.records.get(id(holder))
                if record is not None and id(holder) not in seen:
                    seen.add(id(holder))
                    found.append((record, names if record.is_attributes else None))
                    waiting += _objects(found[-1][0].named(found[-1][1]))
        return found

    def _add(self, values: list[Any]) -> None:
        waiting = list(values)
        while waiting and len(self.records) < _MANY_HOLDERS:
            thing = waiting.pop()
            if any(is_iterator(value) for value in given_to(thing)):
                self.iterators.add(_ITERATOR)
            for holder, is_attributes in holders_of(thing):
                if id(holder) not in self.records:
                    record = self.records[id(holder)] = _Record(holder, is_attributes, _contents(holder))
                    self.iterators.update(_ITERATOR if k is None else k for k in _iterators(record.before))
                    waiting += _objects(record.before)

    def _add_globals(self, names: tuple[str, ...], names_of: dict[str, Any]) -> None:
        """Called before code with these names runs for the first time."""
        record = self.records.get(id(names_of))
        if record is None:
            record = self.records[id(names_of)] = _Record(names_of, False, {})
            record.names = set()
        assert record.names is not None
        new = {name: names_of[name] for name in names if name in names_of and name not in record.names}
        record.names.update(names)
        record.before.update(new)
        self._add([v for v in _objects(new) if not is_foreign(v)])
        if _iterators(new) or self.iterators.intersection(names):
            raise Unsupported(_ITERATOR)

    def effects(self, value_of: Callable[[Any], Any], results: list[Any]) -> list[Effect]:
        """The changes, whose recorded values are added to `results`; the holders have their contents from before
        again."""
        if _generator_states() != self.generators:
            raise Unsupported("numbers of a generator of Python or NumPy, which would be the same in each call")
        found = []
        for record, names in self._reached():
            if keys := _among(record.changed(), names):
                if is_array(record.holder):
                    raise Unsupported("an array of NumPy that the function changes")
                self.changes[id(record.holder)] = keys
                now = record.now()
                by_key = _is_by_key(record.holder)
                values = {k: v for k, v in now.items() if not by_key or k in keys}
                effect = Effect(record.holder, values, [k for k in keys if k not in now], self._is_old)
                effect.leaves = [_stand_in(leaf, value_of, results) for leaf in effect.leaves]
                found.append(effect)
        self.restore()
        return found

    def _is_old(self, value: Any) -> bool:
        """Returns True of a holder that was there before, whose own changes are told apart."""
        return id(value) in self.records

    def guards(self, used: set[int]) -> list[Guard]:
        """A guard for each value that the function may have read. `used`: the identities of the tensors that operators
        were given."""
        reached = self._reached()
        return [guard for record, names in reached for guard in self._of_record(record, record.named(names), used)]

    def _of_record(self, record: _Record, kept: dict[Any, Any], used: set[int]) -> Iterator[Guard]:
        holder = record.holder
        is_store = id(holder) in self.stores
        if isinstance(holder, _SIZED) and record.names is None and not record.is_attributes:
            yield GuardKind.LENGTH, holder, None, record.length
        if isinstance(holder, set):
            if kept and all(is_a(v, _PLAIN) for v in kept[...]):
                yield GuardKind.EQUAL, holder, None, set(kept[...])
            return
        if is_array(holder):
            if kept:
                yield GuardKind.CALL, holder.tobytes, None, kept[...]
            return
        how = _how(holder)
        changed = self.changes.get(id(holder), ())
        for key, value in kept.items():
            if is_a(value, (Proxy, types.ModuleType)) or (is_store and value is not None):
                continue
            if record.is_attributes and key in _OF_LAYERS and is_a(value, dict):
                continue
            if key in changed and isinstance(holder, dict) and not self._is_read(key, value, used):
                if is_a(value, torch.Tensor):
                    yield GuardKind.TYPE_OF_ITEM, holder, key, type(value)
                continue
            yield how, holder, key, value
        if how == GuardKind.ITEM:
            yield from (
                (GuardKind.NO_ITEM, holder, k, None) for k in changed if k not in record.before and self.code.loads(k)
            )

    def _is_read(self, key: Any, value: Any, used: set[int]) -> bool:
        """True if what a name was bound to before the function changed it may have been read."""
        return id(value) in used if is_a(value, torch.Tensor) else self.code.loads(key)


def _stand_in(leaf: Any, value_of: Callable[[Any], Any], results: list[Any]) -> Any:
    """The stand-in for a value in an effect: of a recorded one its place among the results."""
    if is_a(leaf, (Proxy, Symbol)):
        results.append(value_of(leaf))
        return Result(len(results) - 1)
    if _reaches_value(leaf):
        raise Unsupported(f"an object of type {type(leaf).__name__} with tensors, which the function makes and keeps")
    return leaf


def _reaches_value(thing: Any) -> bool:
    waiting, seen = [thing], set()
    for _ in range(_MANY_HOLDERS):
        if not waiting:
            break
        for holder, _ in holders_of(waiting.pop()):
            if id(holder) in seen:
                continue
            seen.add(id(holder))
            contents = _contents(holder)
            if any(is_a(v, (Proxy, Symbol)) for v in contents.values()):
                return True
            waiting += _objects(contents)
    return False


def _generator_states() -> tuple[Any, ...]:
    states: list[Any] = [random.getstate()]
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        states.append((kind, keys.tobytes(), *rest))
    return tuple(states)


def _set_generator_states(states: tuple[Any, ...]) -> None:
    random.setstate(states[0])
    if len(states) > 1:
        numpy = sys.modules["numpy"]
        kind, keys, *rest = states[1]
        numpy.random.set_state((kind, numpy.frombuffer(keys, dtype=numpy.uint32), *rest))


def at_present(guard: Guard) -> Guard:
    """The guard for what Python holds now."""
    how, holder, key, value = guard
    if how == GuardKind.LENGTH:
        return how, holder, key, _kind_of(holder).__len__(holder)
    if how in (GuardKind.CALL, GuardKind.EQUAL):
        return how, holder, key, holder() if how == GuardKind.CALL else set(holder)
    if how == GuardKind.ATTRIBUTE:
        return how, holder, key, getattr(holder, key, None)
    found = _contents(holder).get(key if how != GuardKind.CELL else None)
    return how, holder, key, type(found) if how == GuardKind.TYPE_OF_ITEM else found


def name_of(guard: Guard) -> str:
    """The name of what a guard looks at."""
    how, holder, key, _ = guard
    if how == GuardKind.CELL:
        return "a variable of the closure"
    if how == GuardKind.LENGTH:
        return f"the length of a {type(holder).__name__}"
    return f"an element of a {type(holder).__name__}" if how == GuardKind.ELEMENT else str(key)
