#!/usr/bin/env python3
"""Compares each operator's parameters with PyTorch's: names, order, kinds, defaults, keyword-only. Needs a Python with
PyTorch.

usage: tools/check schemas [--print]

PyTorch's side is the Python signature of functions written in Python, and ATen's schemas of the others; where PyTorch
has several overloads, one record stands for all of them: it must have every parameter that one of them has, in their
order, accept what each accepts, and be keyword-only where they are. Accepting more is not a difference. Differences
must be those of tools/checks/schema_differences.txt, which gives a reason for each; the tool fails when it finds
others, or when one of these is gone. --print lists what it finds."""

import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from operators.records import read_records  # noqa: E402
from operators.tables import OVERLOADS  # noqa: E402

DIFFERENCES = Path(__file__).resolve().parent / "schema_differences.txt"
MAX_DIFFERENCES = 40

# Parameters of PyTorch that no record has: results are assigned by the caller, there is one layout, memory is pageable
# and row-major, dimensions have no names, creators take requires_grad in their options, PyTorch's own bookkeeping, and
# return_indices, which selects the record with _with_indices.
EVERYWHERE = {
    "out",
    "layout",
    "pin_memory",
    "memory_format",
    "names",
    "requires_grad",
    "_stacklevel",
    "generator",
    "return_indices",
}
# Overloads on Python's own scalars, lists and strings, of named dimensions and of complex numbers.
PYTHON_LISTS = {("aten::sort", "Tensor")}
OTHER_TYPES = re.compile(r"Dimname|complex|\bt\b|Dict|Storage|Stream")
NAMES = {"self": "input"}
# Names of the documentation that differ from those of ATen's schema.
DOCUMENTED_NAMES = {"linalg_vector_norm": {"self": "x"}, "one_hot": {"self": "tensor"}}
# The meaning of None where it stands for a number.
MEANING_OF_NONE = {"correction": 1}
# Records that ATen has by another name.
ATEN_NAMES = {"logsigmoid": "log_sigmoid"}


@dataclass
class Parameter:
    name: str
    kinds: set = field(default_factory=set)
    default: object = inspect.Parameter.empty
    keyword_only: bool = False

    @property
    def required(self):
        return self.default is inspect.Parameter.empty


def kinds_of_type(text):
    """The kinds of values that a type of a schema or an annotation accepts; empty where it does not say."""
    text = text.replace("torch.", "").replace("Optional[", "").replace("typing.", "")
    kinds = set()
    lists = re.search(r"\[\d*\]|List\[|list\[|tuple\[|Sequence|BroadcastingList", text)
    if "Tensor" in text:
        kinds.add(
            "tensors"
            if lists
            and "Tensor[" not in text.split("|")[0].replace("Tensor[]", "Tensor[")
            or re.search(r"Tensor\??\[", text)
            or re.search(r"[Ll]ist\[(Optional\[)?Tensor", text)
            else "tensor"
        )
        return kinds
    if re.search(r"\b(Scalar|number|Number)\b", text):
        kinds.add("number")
    if re.search(r"\b(int|SymInt)\b", text) and "ScalarType" not in text:
        kinds.add("ints" if lists else "int")
    if re.search(r"\bfloat\b", text):
        kinds.add("floats" if lists else "float")
    if re.search(r"\bbool\b", text):
        kinds.add("bool")
    if re.search(r"\bstr\b", text):
        kinds.add("str")
    if re.search(r"\b(ScalarType|dtype)\b", text):
        kinds = {"dtype"}
    if re.search(r"\bDevice\b|\bdevice\b", text):
        kinds = {"device"}
    return kinds


# An integer may be a tensor of one.
OUR_KINDS = {
    "Tensor": {"tensor"},
    "Operand": {"tensor", "number", "int", "float", "bool"},
    "Tensor[]": {"tensors"},
    "Tensor?[]": {"tensors"},
    "int": {"int", "tensor"},
    "int[]": {"int", "ints"},
    "float": {"float", "number", "int"},
    "float[]": {"float", "floats", "number"},
    "bool": {"bool"},
    "str": {"str"},
    "Padding": {"int", "ints", "str"},
    "Dtype": {"dtype"},
    "Device": {"device"},
    "Index[]": {"tensors", "int"},
}


def literal(text):
    if text is None:
        return inspect.Parameter.empty
    try:
        return eval(text, {}, {})  # noqa: S307 - a default of a record: None, True, a number, a list or a quoted string
    except NameError:
        return text


def own_parameters(record):
    return [Parameter(p.name, OUR_KINDS[p.type], literal(p.default), p.keyword_only) for p in record.parameters]


def with_overloads(record, by_name):
    """The parameters of a record and of the other records that its name stands for."""
    out = own_parameters(record)
    for other in OVERLOADS.get(record.name, []) if record.qualified_name.startswith("torch.") else []:
        for p in own_parameters(by_name[other]):
            known = next((q for q in out if q.name == p.name), None)
            if known:
                known.kinds = known.kinds | p.kinds
            else:
                out.append(Parameter(p.name, p.kinds, None if p.required else p.default, p.keyword_only))
    return out


def from_schema(schema):
    out = []
    names = NAMES | DOCUMENTED_NAMES.get(schema.name.removeprefix("aten::"), {})
    for a in schema.arguments:
        default = a.default_value if a.has_default_value() else inspect.Parameter.empty
        out.append(
            Parameter(
                names.get(a.name, a.name), kinds_of_type(str(getattr(a, "real_type", a.type))), default, a.kwarg_only
            )
        )
    return out


def from_python(function):
    out, is_behind_ignored = [], False
    for p in inspect.signature(function).parameters.values():
        is_behind_ignored |= p.name in EVERYWHERE
        annotation = (
            ""
            if p.annotation is p.empty
            else p.annotation
            if isinstance(p.annotation, str)
            else inspect.formatannotation(p.annotation)
        )
        kinds = {"dtype"} if p.name == "dtype" else kinds_of_type(annotation)
        out.append(
            Parameter(NAMES.get(p.name, p.name), kinds, p.default, p.kind is p.KEYWORD_ONLY or is_behind_ignored)
        )
    return out


def schemas():
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        arguments = [str(a.type) for a in schema.arguments]
        if (
            namespace != "aten"
            or any(a.is_out for a in schema.arguments)
            or any(OTHER_TYPES.search(a) for a in arguments)
        ):
            continue
        if "hacked_twin" in schema.overload_name or not any("Tensor" in str(r.type) for r in schema.returns):
            continue
        if (schema.name, schema.overload_name) in PYTHON_LISTS:
            continue
        found.setdefault(name, []).append(schema)
    return found


def overloads(record, all_schemas):
    """PyTorch's signatures of a record."""
    module, _, name = record.qualified_name.rpartition(".")
    owner = {
        "torch": torch,
        "torch.nn.functional": torch.nn.functional,
        "torch.linalg": torch.linalg,
        "torch.special": torch.special,
        "torch.Tensor": torch.Tensor,
    }[module]
    function = (
        getattr(owner, "_" + name, None)
        if module == "torch.nn.functional" and hasattr(owner, name + "_with_indices")
        else None
    )
    function = function or getattr(owner, name, None)
    if inspect.isfunction(function):
        found = [from_python(function)]
        typed = [from_schema(s) for s in all_schemas.get(name, [])]
        for p in found[0]:
            if not p.kinds:
                p.kinds = set().union(*(q.kinds for signature in typed for q in signature if q.name == p.name))
        return found
    prefixes = {"torch.linalg": "linalg_", "torch.special": "special_"}
    name = ATEN_NAMES.get(name, name)
    return [from_schema(s) for s in all_schemas.get(prefixes.get(module, "") + name, [])]


def same_default(ours, theirs):
    if isinstance(theirs, (list, tuple)) and len(set(theirs)) == 1 and not isinstance(ours, (list, tuple)):
        theirs = theirs[0]
    empty = (None, [], (), "")
    if any(ours is e or ours == e for e in empty if not isinstance(ours, bool)) and any(
        theirs is e or theirs == e for e in empty if not isinstance(theirs, (bool, torch.Tensor))
    ):
        return True
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return float(ours) == float(theirs)
    return ours == theirs


def shown(value):
    return "none" if value is inspect.Parameter.empty else repr(value)


def compare(ours, signatures):
    by_name = {p.name: p for p in ours}
    theirs = {}
    for signature in signatures:
        for p in signature:
            if p.name not in EVERYWHERE:
                theirs.setdefault(p.name, []).append(p)
    for name, versions in theirs.items():
        if name not in by_name:
            yield f"lacks {name}"
            continue
        p = by_name[name]
        lacking = set().union(*(v.kinds for v in versions)) - p.kinds
        if lacking:
            yield f"{name} does not accept {' or '.join(sorted(lacking))}"
        is_optional = len(versions) < len(signatures) or any(not v.required for v in versions)
        if p.required and any(not v.required for v in versions):
            yield f"{name} has no default, PyTorch's is {shown(next(v.default for v in versions if not v.required))}"
        if not p.required:
            may_be_absent = len(versions) < len(signatures) and p.default in (None, [], -1, False)
            if not is_optional or not (
                may_be_absent
                or any(
                    same_default(p.default, MEANING_OF_NONE.get(name) if v.default is None else v.default)
                    for v in versions
                    if not v.required
                )
            ):
                yield (
                    f"{name} is {shown(p.default)} by default, PyTorch's is "
                    f"{', '.join(sorted({shown(v.default) for v in versions}))}"
                )
        if all(v.keyword_only != p.keyword_only for v in versions):
            yield f"{name} is {'' if p.keyword_only else 'not '}keyword-only"
    for name in by_name:
        if name not in theirs:
            yield f"has {name}, PyTorch not"
    for signature in signatures:
        names = [p.name for p in signature if p.name in by_name and not p.keyword_only]
        order = [p.name for p in ours if p.name in names and not p.keyword_only]
        if [n for n in names if n in order] != order:
            yield f"order is {', '.join(order)}, PyTorch's is {', '.join(names)}"


def differences():
    all_schemas = schemas()
    checked = 0
    found = []
    records = read_records()
    by_name = {record.qualified_name: record for record in records}
    for record in records:
        if record.qualified_name.startswith("prims.") or not record.typed:
            continue
        signatures = overloads(record, all_schemas)
        checked += 1
        if not signatures:
            found.append(f"{record.qualified_name}: PyTorch has no such operator")
            continue
        found += [
            f"{record.qualified_name}: {text}"
            for text in dict.fromkeys(compare(with_overloads(record, by_name), signatures))
        ]
    return checked, found


def allowed():
    out = {}
    for line in DIFFERENCES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            difference, separator, reason = line.partition(" -- ")
            if not separator or not reason:
                sys.exit(f'{DIFFERENCES.name}: no reason behind " -- ": {line}')
            out[difference] = reason
    return out


def main():
    checked, found = differences()
    if "--print" in sys.argv[1:]:
        print("\n".join(found))
    listed = allowed()
    unlisted = [text for text in found if text not in listed]
    gone = [text for text in listed if text not in found]
    for text in unlisted:
        print(f"not listed in {DIFFERENCES.name}: {text}")
    for text in gone:
        print(f"listed in {DIFFERENCES.name}, and no longer so: {text}")
    if len(listed) > MAX_DIFFERENCES:
        print(f"{DIFFERENCES.name} has {len(listed)} entries, more than {MAX_DIFFERENCES}")
    print(
        f"{checked} operators compared with PyTorch {torch.__version__}: {len(found)} differences, {len(listed)} "
        f"listed with a reason"
    )
    return 1 if unlisted or gone or len(listed) > MAX_DIFFERENCES or checked < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
