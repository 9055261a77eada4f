"""`fulgurite.jit` of PyTorch code, traced directly: no Dynamo, no FX.

Functions of `torch` arrive at a function mode and are recorded as our operators of the same name. What we have no
operator for runs as
PyTorch's own implementation and arrives, decomposed, at `__torch_dispatch__`. Where Python asks for elements, the
piece recorded so
far ends, is run, and the function goes on.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch._C._functorch import peek_interpreter_stack
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from .. import _core
from .._core import Tensor, Unsupported
from . import aten, calls, errors, functions
from . import creation as _creation  # noqa: F401  it fills the tables, as do those below
from . import rules_data as _data  # noqa: F401
from . import rules_draws as _draws  # noqa: F401
from . import rules_images as _images  # noqa: F401
from . import rules_layers as _layers  # noqa: F401
from . import rules_linalg as _linalg  # noqa: F401
from . import rules_numbers as _numbers  # noqa: F401
from . import rules_recurrent as _recurrent  # noqa: F401
from .calls import DTYPE, RECORDING, TORCH_DTYPE, function_call, method_call
from .element_reads import ELEMENTS, LISTS
from .history import CHANGES, change_history
from .lines import user_line
from .recorded_creation import OutsideWrite, RecordedCreation
from .symbols import Symbol, fix_sizes, metadata, with_values

_make = torch.Tensor._make_wrapper_subclass


class Proxy(torch.Tensor):
    """Stands for a value of the trace while PyTorch's code runs."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    _fg: Tensor
    _is_argument = False

    @staticmethod
    def __new__(cls: type[Proxy], value: Tensor) -> Proxy:
        sizes = [s if isinstance(s, int) else s.hint() for s in value.shape]
        made = _make(cls, sizes, dtype=TORCH_DTYPE[value.dtype], device="cpu", requires_grad=False)
        made._fg = value
        return made

    def __getattr__(self, name: str) -> Any:
        """Called for what a tensor does not have."""
        if name in self.__dict__.get("_attributes", ()):
            raise Unsupported(f"the attribute {name}, which a tensor among the arguments was given")
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<a value of the function being recorded: {TORCH_DTYPE[self._fg.dtype]} {list(self.shape)}>"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_mutable = aten.is_mutable(func)
        if is_mutable and not isinstance(kwargs.get("out", args[0] if args else None), Proxy):
            raise OutsideWrite(f"{func}: a write into a tensor that PyTorch's implementation makes")
        try:
            out = aten.run(func, unwrap(list(args)), unwrap(dict(kwargs)), user_line())
            return args[0] if is_mutable else wrap(out)
        except _core.Error:  # no operator, or none that takes these arguments
            if is_mutable:  # a decomposition would give the value and not write it
                raise
            rule = decompositions().get(func)  # PyTorch's, into operators that we may have
            with RecordedCreation() if RECORDING.records_creation else contextlib.nullcontext():
                out = func.decompose(*args, **kwargs) if rule is None else rule(*args, **kwargs)
            if out is NotImplemented:
                raise
            return out


def unwrap(tree: Any) -> Any:
    """Values of the trace in the place of proxies, tensors of ours in the place of PyTorch's."""
    if isinstance(tree, Proxy):
        return tree._fg
    if isinstance(tree, torch.Tensor):
        if RECORDING.depth:
            RECORDING.used.add(id(tree))
        return captured(tree) if tree.requires_grad and RECORDING.depth else import_plain(tree)
    if isinstance(tree, (list, tuple)):
        return [unwrap(x) for x in tree] if type(tree) is not tuple else tuple(unwrap(x) for x in tree)
    if isinstance(tree, dict):
        return {k: unwrap(v) for k, v in tree.items()}
    if isinstance(tree, Symbol):
        return tree._fg
    if isinstance(tree, slice):
        return slice(unwrap(tree.start), unwrap(tree.stop), unwrap(tree.step))
    return tree


class Met(BaseException):
    """Raised after a recording that met tensors that need a gradient and are not arguments: they become inputs of a
    new one."""

    def __init__(self, *tensors: torch.Tensor) -> None:
        super().__init__()
        self.tensors = tensors


def captured(tensor: torch.Tensor) -> Tensor:
    """The value that stands for such a tensor."""
    found = RECORDING.captures.get(id(tensor))
    if found is None:
        found = import_plain(tensor)
        RECORDING.met[id(tensor)] = tensor
    return found


def import_plain(tensor: torch.Tensor) -> Tensor:
    """A tensor of PyTorch's that we can read; Unsupported says what it is where we cannot."""
    if tensor.device.type != "cpu":
        raise Unsupported(f"a tensor on the device {tensor.device}: fulgurite runs on the CPU")
    if tensor.layout is not torch.strided or tensor.dtype not in DTYPE:
        raise Unsupported(f"a tensor of dtype {tensor.dtype} and layout {tensor.layout}")
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise Unsupported(f"a tensor of the subclass {type(tensor).__name__}")
    try:
        return _core.from_dlpack(tensor.detach().resolve_neg())
    except RuntimeError:
        raise Unsupported("a tensor without memory: one of a transform of torch.func, or of another tracer") from None


def wrap(tree: Any) -> Any:
    """Proxies in the place of values of the trace."""
    if isinstance(tree, Tensor):
        return Proxy(tree)
    if isinstance(tree, (list, tuple)):
        return tuple(wrap(x) for x in tree)
    if isinstance(tree, _core.Dtype):
        return TORCH_DTYPE[tree]
    return tree


def named(name: str, out: Any) -> Any:
    """The results of a function of PyTorch, as the tuple with names that it returns where it has one."""
    wrapped = wrap(out)
    kind = getattr(torch.return_types, name, None) if isinstance(wrapped, tuple) else None
    if kind is None or not 0 < kind.n_sequence_fields == len(wrapped):
        return wrapped
    return kind(wrapped)


_table: dict[Any, Any] | None = None


def decompositions() -> dict[Any, Any]:
    """PyTorch's table of decompositions."""
    global _table
    if _table is None:
        import torch._decomp
        import torch._refs

        _table = dict(torch._decomp.decomposition_table)
    return _table


_METADATA = frozenset(
    """shape dtype device ndim requires_grad is_leaf layout is_cuda is_sparse is_quantized is_meta names itemsize
    grad_fn _base is_nested is_mkldnn is_xla is_mps is_cpu is_xpu grad _version output_nr nbytes is_vulkan is_ipu
    is_maia is_mtia""".split()
)
_METADATA_METHODS = frozenset(
    """size dim numel nelement is_floating_point is_complex __len__ __hash__ stride is_contiguous get_device
    element_size storage_offset data_ptr __format__ __repr__ is_inference is_shared untyped_storage""".split()
)
_CREATORS = {
    torch.zeros,
    torch.ones,
    torch.empty,
    torch.full,
    torch.arange,
    torch.tensor,
    torch.rand,
    torch.randn,
    torch.eye,
    torch.linspace,
    torch.scalar_tensor,
    torch.as_tensor,
    torch.randint,
    torch.randperm,
    torch.normal,
}
_WRITES = frozenset(
    """__setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__
    __imatmul__ batch_norm instance_norm""".split()
)
# Methods whose results are not tensors.
_READS = frozenset([*ELEMENTS, "tolist", "numpy", "equal", "allclose", "is_set_to"])
_VIEWS = frozenset(["T", "mT", "H", "mH", "real"])  # attributes that are other tensors with the gradient of theirs
_kinds: dict[Any, tuple[str, str]] = {}


def _kind_of(func: Any) -> tuple[str, str]:
    found = _kinds.get(func)
    if found is None:
        name = getattr(func, "__name__", "")
        if name in ("__get__", "__set__"):
            found = (name.strip("_"), getattr(getattr(func, "__self__", None), "__name__", ""))
        elif isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            found = ("aten", "")
        elif getattr(func, "__objclass__", None) is not None or getattr(torch.Tensor, name, None) is func:
            found = ("method", name)
        else:
            found = ("function", name)
        _kinds[func] = found
    return found


def _any_proxy(tree: Any) -> bool:
    for x in tree:
        if isinstance(x, Proxy):
            return True
        if isinstance(x, (list, tuple)) and _any_proxy(x):
            return True
        if isinstance(x, slice) and (isinstance(x.start, Proxy) or isinstance(x.stop, Proxy)):
            return True
    return False


def _may_write(name: str, func: Any, kwargs: Any) -> bool:
    """Returns True if a call writes into a tensor, or into the statistics of a layer."""
    in_place = name.endswith("_") and not name.endswith("__")
    written = in_place or name in _WRITES or kwargs.get("out") is not None or kwargs.get("inplace", False)
    return written or (isinstance(func, torch._ops.OpOverload) and aten.is_mutable(func))


def _stand_in(x: Any) -> Any:
    """A proxy in the place of a tensor from outside whose gradient is recorded: PyTorch's parts of an operator would
    make others of it, which nothing is known of."""
    is_outside = isinstance(x, torch.Tensor) and not isinstance(x, Proxy) and x.requires_grad and RECORDING.depth
    return wrap(unwrap(x)) if is_outside else x


class Recorder(TorchFunctionMode):
    """Records what PyTorch's functions are called for; `fallen` has the names that went to PyTorch's own
    implementation."""

    def __init__(self, grad: bool = True) -> None:
        """`grad`: the gradient mode of the call."""
        super().__init__()
        self.grad = grad
        self.fallen: dict[str, calls.At] = {}
        self.grad_modes: list[Any] = []
        self.may_have_written = self.makes_leaves = False
        self.made: dict[int, torch.Tensor] = {}  # by PyTorch, while the function is recorded

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if peek_interpreter_stack() is not None:  # a transform's tensors: its parts come to __torch_dispatch__
            return func(*args, **kwargs)
        kind, name = _kind_of(func)
        self.may_have_written = self.may_have_written or _may_write(name, func, kwargs)
        if func is torch._C._set_grad_enabled:
            self._set_grad_mode(bool(args[0]))
            return func(*args, **kwargs)
        if kind == "get" and name == "requires_grad" and isinstance(args[0], Proxy):
            return args[0]._fg.requires_grad
        if name == "__format__" and isinstance(args[0], Proxy) and args[0].ndim == 0:
            return format(args[0].item(), args[1])
        if (kind == "get" and name in _METADATA) or (kind == "method" and name in _METADATA_METHODS):
            return self._metadata(name, func, args, kwargs)
        if not (func in _CREATORS or _any_proxy(args) or (kwargs and _any_proxy(kwargs.values()))):
            return self._without_arguments(kind, name, func, with_values(args), with_values(kwargs))
        if name in CHANGES:
            self.makes_leaves = change_history(name, args, kwargs) or self.makes_leaves
            return args[0]
        if kind == "set":
            raise Unsupported(f"an assignment to Tensor.{name} while a function is recorded")
        out = kwargs.get("out")
        if isinstance(out, torch.Tensor) and (not isinstance(out, Proxy) or out._is_argument):  # it may share memory
            raise Unsupported(f"{name}: out= of a tensor that the function does not make, and is not of the module")
        if name in errors.CHECKED:
            errors.check(func, args, kwargs)
        try:
            return self._record(kind, name, func, args, kwargs)
        except _core.Error as reason:
            return self._as_torch(func, args, kwargs, reason)

    def _without_arguments(self, kind: str, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """A call of none of the function's arguments. It is recorded if it reads a tensor from outside, whose elements
        may be others at the next call."""
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        is_outside = any(id(x) not in self.made for x in tensors)
        if is_outside and _may_write(name, func, kwargs):
            raise Unsupported(
                f"a write by {name} into a tensor that is neither an argument nor of the module while a function is "
                "recorded; make it one of these"
            )
        if is_outside and (kind != "get" or name in _VIEWS) and name not in _READS:
            try:
                return self._record(kind, name, func, args, kwargs)
            except _core.Error as error:
                reason = error
            if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
                return self._as_torch(func, args, kwargs, reason)
        out = self._constant(func, args, kwargs)
        if not is_outside:
            self.made.update((id(x), x) for x in tree_leaves(out) if isinstance(x, torch.Tensor))
        return out

    @staticmethod
    def _constant(func: Any, args: Any, kwargs: Any) -> Any:
        """A call that depends on no argument of the recorded function: PyTorch runs it once, while it is recorded."""
        refusal = f"the numbers that {calls.whole_name(func)} draws would be the same in each call"
        if kwargs.get("generator") is not None:
            raise OutsideWrite(refusal)
        before = torch.get_rng_state()
        out = func(*args, **kwargs)
        if not torch.equal(before, torch.get_rng_state()):
            torch.set_rng_state(before)
            raise OutsideWrite(refusal)
        return out

    @staticmethod
    def _metadata(name: str, func: Any, args: Any, kwargs: Any) -> Any:
        if args and isinstance(args[0], Proxy):
            found = metadata(args[0]._fg, name, args[1:] or tuple(kwargs.values()))
            if found is not NotImplemented:
                return found
        return func(*with_values(args), **with_values(kwargs))

    def _as_torch(self, func: Any, args: Any, kwargs: Any, reason: _core.Error) -> Any:
        """PyTorch's own implementation: what it is made of comes to __torch_dispatch__."""
        args, kwargs = tree_map(_stand_in, with_values((args, kwargs)))
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, Proxy):
                fix_sizes(value._fg)
        try:
            with torch.no_grad():
                try:
                    out = self._constant(func, args, kwargs)
                except OutsideWrite:  # with a value of the trace in the place of what PyTorch makes
                    with RecordedCreation():
                        out = self._constant(func, args, kwargs)
        except _core.Error as error:
            error = Unsupported(str(error)) if isinstance(error, OutsideWrite) else error
            given = error if isinstance(reason, Unsupported) else reason
            raise errors.like_eager(given, func, args, kwargs) from None
        except Exception as error:
            theirs = errors.eager_error(func, args, kwargs)
            if theirs is None or type(theirs) is type(error):
                raise
            raise theirs from None
        self.fallen.setdefault(str(reason), user_line())
        return out

    def _record(self, kind: str, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        at = user_line()
        if kind == "get":
            return wrap(functions.attribute(unwrap(args[0]), name, at))
        a, k = unwrap(list(args)), unwrap(kwargs)
        if kind == "method" and name in ELEMENTS:
            calls.about_to_read()
            return ELEMENTS[name](a[0].item(at))
        if kind == "method" and name in LISTS and not (name == "numpy" and a[0].requires_grad):
            calls.about_to_read()
            return LISTS[name](a[0], *a[1:])
        if kind == "method":
            out = method_call(name, a, k, at)
            if name.endswith("_") and not name.endswith("__") and isinstance(args[0], Proxy):
                return args[0]
            return args[0] if out is a[0] and isinstance(args[0], Proxy) else named(name, out)
        if kind == "aten":
            return wrap(aten.run(func, a, k, at))
        out = function_call(func, a, k, at)
        if isinstance(kwargs.get("out"), Proxy):
            return kwargs["out"]
        is_first = bool(args) and isinstance(args[0], Proxy) and out is a[0]
        return args[0] if is_first else named(name, out)

    def _set_grad_mode(self, on: bool) -> None:
        if on and not self.grad:
            raise Unsupported("gradients that are turned on inside of a call without gradients")
        scope = _core.enable_grad() if on else _core.no_grad()
        scope.__enter__()
        self.grad_modes.append(scope)

    def __exit__(self, *failure: Any) -> Any:
        while self.grad_modes:
            self.grad_modes.pop().__exit__(None, None, None)
        return super().__exit__(*failure)
