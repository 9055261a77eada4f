"""Reads all records, and lists the functions and methods that they have."""

import re
from dataclasses import replace

from operators.record import Operator
from operators.signature import fail, parse_signature
from operators.tables import ALIASES, IN_BOTH_NAMESPACES, NOT_METHODS, OVERLOADS
from operators.text import ROOT


def has_trait(body, trait):
    return re.search(rf"\.{trait}\s*=\s*true", body) is not None


def joined_literals(text):
    """The value of adjacent C++ string literals."""
    return "".join(
        bytes(part, "utf-8").decode("unicode_escape").encode("latin-1").decode("utf-8")
        for part in re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    )


def read_records():
    literals = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    operators = []
    for path in sorted((ROOT / "src/ops").rglob("*.cpp"), key=lambda path: path.name):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(
            r"^(?:extern |constinit |inline )*const Symbol (\w+)\s*\{(.*?)^\};", text, re.M | re.S
        ):
            variable, body = match[1], match[2]
            signature = re.search(r"\.signature\s*=\s*" + literals, body)
            if not signature:
                fail(f"{path.name}: {variable} has no .signature")
            documentation = re.search(r"\.documentation\s*=\s*" + literals, body)
            spelled = joined_literals(signature[1])
            name, parameters, results = parse_signature(spelled, f"{path.name}: {variable}")
            operators.append(
                Operator(
                    variable,
                    spelled,
                    joined_literals(documentation[1]) if documentation else "",
                    name,
                    parameters,
                    results,
                    re.search(r"\.decompose\s*=", body) is None,
                    has_trait(body, "pointwise"),
                    has_trait(body, "structural"),
                    has_trait(body, "in_place"),
                    has_trait(body, "has_in_place_form"),
                    re.search(r"\.scalar\s*=", body) is not None,
                    path.name,
                    family=path.parent.name,
                )
            )
    seen = {}
    for operator in operators:
        if operator.qualified_name in seen:
            fail(f"{operator.qualified_name} is declared by {seen[operator.qualified_name]} and {operator.variable}")
        seen[operator.qualified_name] = operator.variable
    return operators


def with_aliases(operators):
    """The records, and after them each again under its other names."""
    by_name = {o.qualified_name: o for o in operators}
    out = list(operators)
    for alias, name in ALIASES.items():
        record = by_name["torch." + name]
        if "torch." + alias in by_name:
            fail(f"torch.{alias} is an alias and a record")
        out.append(replace(record, alias="torch." + alias, primitive=False))
    return out


def tensor_members():
    text = (ROOT / "include/fulgurite/tensor.h").read_text(encoding="utf-8")
    body = re.search(r"^class Tensor : .*?^\};", text, re.M | re.S)[0]
    return set(re.findall(r"(?<!:)\b(\w+)\(", body))  # not Limits::max() in a body


def method_operators(operators):
    own, methods = tensor_members(), {}
    order = {"torch": 0, "torch.Tensor": 0, "torch.nn.functional": 1, "torch.special": 2, "torch.linalg": 2}
    candidates = [
        o
        for o in operators
        if o.typed
        and o.takes_tensor_first
        and not o.creator
        and o.namespace != "prims"
        and o.name not in NOT_METHODS
        and not o.alias.startswith(("torch.special.", "torch.linalg.", "torch.nn."))
    ]
    for operator in sorted(candidates, key=lambda o: order[(o.alias or o.qualified_name).rpartition(".")[0]]):
        if operator.name not in own:
            methods.setdefault(operator.name, operator)
    return [methods[name] for name in sorted(methods)]


def overloaded(operators):
    """(name, record) of every overload."""
    by_name = {o.qualified_name: o for o in operators if not o.alias}
    return [(name, by_name[other]) for name, others in OVERLOADS.items() for other in others if other in by_name]


def namespaces_in_order(operators):
    groups = {"": [], "nn": [], "linalg": [], "special": [], "prims": []}
    for operator in sorted(operators, key=lambda o: o.name):
        if operator.typed:
            groups[operator.namespace].append(operator)
    return groups


def aliases(groups):
    """Using-declarations: namespace → what it takes from elsewhere."""
    names = {space: {o.name for o in group} for space, group in groups.items()}
    result = {"": [], "nn": [], "prims": []}
    for name in IN_BOTH_NAMESPACES:
        for here, there, prefix in (("", "nn", "nn::"), ("nn", "", "fulgurite::")):
            if name not in names[here] and name in names[there]:
                result[here].append(prefix + name)
                in_place = [o for o in groups[there] if o.name == name and o.has_in_place_form]
                if in_place:
                    result[here].append(f"{prefix}{name}_")
    taken = set(names["prims"])
    for space in ("", "nn", "linalg", "special"):
        for operator in groups[space]:
            if operator.primitive and operator.name not in taken:
                taken.add(operator.name)
                result["prims"].append("::".join(filter(None, ["fulgurite", space, operator.name])))
    return result
