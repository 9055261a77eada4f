"""How a call of PyTorch becomes a call of one of our operators: what all tables share."""

from __future__ import annotations

import builtins
import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from .. import _core
from .._core import Dtype, Tensor, Unsupported

At = tuple[str, int]
Handler = Callable[[list[Any], dict[str, Any], At], Any]

BOOL: Dtype = getattr(Dtype, "bool")
DTYPE: dict[torch.dtype, Dtype] = {
    torch.float64: Dtype.float64,
    torch.float32: Dtype.float32,
    torch.bfloat16: Dtype.bfloat16,
    torch.float16: Dtype.float16,
    torch.int64: Dtype.int64,
    torch.int32: Dtype.int32,
    torch.int16: Dtype.int16,
    torch.int8: Dtype.int8,
    torch.uint8: Dtype.uint8,
    torch.bool: BOOL,
}
TORCH_DTYPE = {ours: theirs for theirs, ours in DTYPE.items()}
FLOATING = {Dtype.float64, Dtype.float32, Dtype.bfloat16, Dtype.float16}
# Keywords for the layout and memory of a result, which our operators decide themselves.
DROPPED = {
    "device",
    "layout",
    "pin_memory",
    "memory_format",
    "non_blocking",
    "copy",
    "_stacklevel",
    "names",
}

FUNCTIONS: dict[Any, Handler] = {}
METHODS: dict[str, Handler] = {}


def function(*keys: Any) -> Callable[[Handler], Handler]:
    """Says how these callables are recorded."""

    def add(handler: Handler) -> Handler:
        for key in keys:
            FUNCTIONS[key] = handler
        return handler

    return add


def method(*names: str) -> Callable[[Handler], Handler]:
    """Says how these methods of tensors are recorded."""

    def add(handler: Handler) -> Handler:
        for name in names:
            METHODS[name] = handler
        return handler

    return add


class Recording(threading.local):
    """The recordings in progress, of this thread: each one inside the one before."""

    def __init__(self) -> None:
        self.depth = 0
        self.captures: dict[int, Tensor] = {}  # the inputs that stand for tensors from outside, by these' identity
        self.used: set[int] = set()  # the identities of the tensors from outside that operators were given
        self.met: dict[int, Any] = {}  # tensors from outside that need a gradient, and are not inputs yet
        self.before_read: Callable[[], None] | None = None  # called where a recorded subgraph ends and is run
        self.records_creation = False  # in PyTorch's own implementations, which draw numbers
        self.calls_custom_functions = False  # functions with a backward of their own, of which results may be views
        self.lines: list[At] = []  # of the graph's node that is recorded, where a graph is

    @contextlib.contextmanager
    def of(self, captures: dict[int, Tensor], before_read: Callable[[], None]) -> Iterator[set[int]]:
        """A scope with a recording; gives the set of what its operators use."""
        outer = self.captures, self.used, self.met, self.before_read, self.calls_custom_functions
        self.captures, self.used, self.met, self.before_read = captures, set(), {}, before_read
        self.depth += 1
        self.calls_custom_functions = False
        try:
            yield self.used
        finally:
            self.depth -= 1
            self.captures, self.used, self.met, self.before_read, self.calls_custom_functions = outer


RECORDING = Recording()


def about_to_read() -> None:
    """Says that elements are read next."""
    if RECORDING.before_read is not None:
        RECORDING.before_read()


def reading(f: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that reads elements."""

    @functools.wraps(f)
    def read(*args: Any, **kwargs: Any) -> Any:
        about_to_read()
        return f(*args, **kwargs)

    return read


def call(op: str, args: Iterable[Any], kwargs: dict[str, Any], at: At) -> Any:
    """One of our operators, recorded for the line `at`."""
    try:
        return _core.call(op, args, kwargs, at)
    except TypeError as reason:  # an argument that no operator takes, as a complex number
        raise Unsupported(f"{op}: {reason}") from None


def write(x: Tensor, value: Any, at: At) -> Tensor:
    """Writes `value` over all of `x`."""
    _core.set_item(x, ..., value, at)
    return x


def has_tensor(values: Iterable[Any]) -> bool:
    """Returns True if one of our tensors is among these values."""
    for value in values:
        if isinstance(value, Tensor):
            return True
        if isinstance(value, (tuple, list)) and has_tensor(value):
            return True
    return False


_known: dict[str, bool] = {}
_parameters: dict[str, list[str]] = {}


def known(name: str) -> bool:
    """Returns True if there is an operator of this name, or one of which it is the in-place form."""
    found = _known.get(name)
    if found is None:
        found = _known[name] = _core.has_operator(name)
    return found


def parameters(name: str) -> list[str]:
    """The names of an operator's parameters."""
    found = _parameters.get(name)
    if found is None:
        base = name if known(name) else name[:-1]
        found = _parameters[name] = [p[0] for p in _core.parameters(base)]
    return found


def by_name(name: str, args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Signatures agree with PyTorch's but for keywords about layouts, and a few older spellings."""
    if not kwargs:
        return call(name, args, {}, at)
    if kwargs.get("out") is not None:
        raise Unsupported(f"{name}: out=")
    wanted = parameters(name)
    kept: dict[str, Any] = {}
    for key, value in kwargs.items():
        if key in DROPPED or key in ("out", "generator") or (key == "requires_grad" and not value):
            continue
        if key == "inplace" and key not in wanted:
            if value:
                return call(name + "_", args, {}, at)
            continue
        if key == "axis" and "dim" in wanted:
            key = "dim"
        elif key == "self":
            key = "input"
        if value is None and key not in wanted:
            continue
        kept[key] = value
    return call(name, args, kept, at)


def check_generator(kwargs: dict[str, Any]) -> None:
    """Refuses draws of a generator of their own."""
    if kwargs.get("generator") not in (None, torch.default_generator):
        raise Unsupported("numbers of a generator of its own, which would be the same in each call")


def our_dtype(dtype: Any) -> Dtype:
    """One of PyTorch's dtypes as ours; Unsupported where there is none."""
    if isinstance(dtype, Dtype):
        return dtype
    if dtype not in DTYPE:
        raise Unsupported(f"dtype {dtype}")
    return DTYPE[dtype]


def check_device(device: Any) -> None:
    """Refuses a device other than the CPU."""
    if device is not None and torch.device(device).type != "cpu":
        raise Unsupported(f"device {device}")


def convert(x: Tensor, dtype: Any, at: At) -> Tensor:
    """`x` in another dtype."""
    wanted = our_dtype(dtype)
    return x if x.dtype == wanted else call("prims.convert_element_type", [x, wanted], {}, at)


def with_zero_gradient(value: Tensor, source: Any, at: At) -> Tensor:
    """`value`, as a function of `source` whose derivative is zero: PyTorch's result has a gradient function."""
    if not isinstance(source, Tensor) or not source.requires_grad:
        return value
    everywhere = call("ones_like", [source], {"dtype": BOOL}, at)
    zero = call("masked_fill", [source, everywhere, 0], {}, at)
    if list(zero.shape) != list(value.shape):
        zero = call("sum", [zero], {}, at)
    return call("add", [value, convert(zero, value.dtype, at)], {}, at)


def copied(x: Tensor, value: Any, at: At) -> Tensor:
    """Writes `value` over all of `x`, which goes on to need a gradient if it did before."""
    if isinstance(value, Tensor) and x.requires_grad and not value.requires_grad:
        value = with_zero_gradient(call("expand", [convert(value, x.dtype, at), list(x.shape)], {}, at), x, at)
    return write(x, value, at)


def _spellings(target: Any) -> list[str]:
    name = builtins.getattr(target, "__name__", None)
    if name is None:
        return []
    module = builtins.getattr(target, "__module__", None) or ""
    out = []
    if "functional" in module or module.endswith("_nn"):
        out.append("nn.functional." + name)
    if "linalg" in module or name.startswith("linalg_"):
        out.append("linalg." + name.removeprefix("linalg_"))
    if name.startswith("special_"):
        out.append("special." + name[8:])
    return [*out, name, "nn.functional." + name]


_FROM_LAYERS = ("torch.nn.functional.", "torch.linalg.")


def takes_arguments_of(name: str, overload: Any) -> bool:
    """Returns True if our operator has the parameters of an overload of ATen in its order; `torch.svd` is not
    `torch.linalg.svd`."""
    ours = parameters(name)
    theirs = [a.name for a in overload._schema.arguments if not a.kwarg_only]
    return all(t == o or (i == 0 and t in ("self", "input")) for i, (t, o) in enumerate(zip(theirs, ours)))


def agrees(name: str, target: Any) -> bool:
    """Returns True if an operator of ours is a function of PyTorch of the same name. Those of layers and of linear
    algebra are often not: their parameters are compared."""
    base = name if known(name) else name[:-1]
    module = builtins.getattr(target, "__module__", None) or ""
    if "functional" in module or "linalg" in module or not _core.signature(base).startswith(_FROM_LAYERS):
        return True
    if isinstance(target, torch._ops.OpOverload):
        return takes_arguments_of(base, target)
    packet = builtins.getattr(torch.ops.aten, builtins.getattr(target, "__name__", ""), None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return True
    return any(takes_arguments_of(base, builtins.getattr(packet, o)) for o in packet.overloads())


_resolved: dict[Any, str] = {}


def resolve(target: Any) -> str | None:
    """The name of the operator that a function of PyTorch is, if there is one."""
    found = _resolved.get(target)
    if found is not None:
        return found
    for name in _spellings(target):
        is_known = known(name) or (name.endswith("_") and not name.endswith("__") and known(name[:-1]))
        if is_known and agrees(name, target):
            _resolved[target] = name
            return name
    return None


def whole_name(target: Any) -> str:
    """The name of a function in a report."""
    return f"{builtins.getattr(target, '__module__', '') or 'torch'}.{builtins.getattr(target, '__name__', target)}"


def function_call(target: Any, args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Records a call of a function; Unsupported where there is no operator for it."""
    check_generator(kwargs)
    if isinstance(kwargs.get("out"), Tensor):
        return _into(kwargs["out"], target, args, {k: v for k, v in kwargs.items() if k != "out"}, at)
    handler = FUNCTIONS.get(target)
    if handler is not None:
        return handler(args, kwargs, at)
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        from . import aten

        return aten.run(target, args, kwargs, at)
    op = resolve(target)
    if op is not None:
        return by_name(op, args, kwargs, at)
    module = builtins.getattr(target, "__module__", "")
    if (
        module in ("math", "_operator", "builtins", "torch")
        and not has_tensor(args)
        and not has_tensor(kwargs.values())
    ):
        return target(*args, **kwargs)
    raise Unsupported(f"{whole_name(target)} (no operator)")


def _into(out: Tensor, target: Any, args: list[Any], kwargs: dict[str, Any], at: At) -> Tensor:
    """A call that writes its result into a tensor."""
    given = [*args, *kwargs.values()]
    if _core.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in given):
        raise Unsupported("out= with arguments that need a gradient")
    result = function_call(target, args, kwargs, at)
    if not isinstance(result, Tensor) or list(result.shape) != list(out.shape) or result.dtype != out.dtype:
        raise Unsupported("out= of a tensor of another size or dtype")
    return write(out, result, at)


def method_call(name: str, args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
    """Records a call of a method of a tensor."""
    check_generator(kwargs)
    handler = METHODS.get(name)
    if handler is not None:
        return handler(args, kwargs, at)
    base = name[:-1] if name.endswith("_") and not name.startswith("_") else name
    for prefix in ("", "nn.functional."):
        if known(prefix + base):
            return by_name(prefix + name, args, kwargs, at)
    raise Unsupported(f"torch.Tensor.{name} (no operator)")


class Scopes:
    """Gradient modes and autocast that a graph's nodes enter and leave; what is still open when it ends is closed."""

    def __init__(self) -> None:
        self.open: list[Any] = []

    def enter(self, scope: Any) -> str:
        scope.__enter__()
        self.open.append(scope)
        return "scope"

    def leave(self) -> None:
        if self.open:
            self.open.pop().__exit__(None, None, None)

    def close(self, down_to: int = 0) -> None:
        while len(self.open) > down_to:
            self.leave()


SCOPES = Scopes()


@function(torch._C._set_grad_enabled)
def set_grad_enabled(args: list[Any], kwargs: dict[str, Any], at: At) -> None:
    """A gradient mode from here on."""
    SCOPES.enter(_core.enable_grad() if args[0] else _core.no_grad())


@function(torch.amp.autocast_mode._enter_autocast)
def enter_autocast(args: list[Any], kwargs: dict[str, Any], at: At) -> str:
    """Autocast until its exit."""
    _, dtype, enabled = ([*args, None, None, None])[:3]
    return SCOPES.enter(_core.autocast(our_dtype(dtype or torch.bfloat16) if enabled else None))


@function(torch.amp.autocast_mode._exit_autocast)
def exit_autocast(args: list[Any], kwargs: dict[str, Any], at: At) -> None:
    """The end of the innermost scope."""
    SCOPES.leave()
