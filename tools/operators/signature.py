"""Reads the signatures of records: "torch.add(Tensor input, Operand other, *, Operand alpha=1) -> Tensor"."""

import re
import sys
from dataclasses import dataclass

from operators.tables import CPP_KEYWORDS, OLDER_ARGUMENTS


def fail(message):
    sys.exit(f"generate_operators.py: {message}")


@dataclass
class Parameter:
    type: str
    optional: bool
    name: str
    default: str | None
    keyword_only: bool

    @property
    def cpp_name(self):
        return self.name + "_" if self.name in CPP_KEYWORDS else self.name

    @property
    def is_older(self):
        return self.name in OLDER_ARGUMENTS and self.type == "bool" and self.optional

    def member(self):
        """The C++ member of an options structure."""
        base = {"Tensor": "Tensor", "int": "Int", "float": "Float", "bool": "bool", "str": "std::string_view"}[
            self.type
        ]
        if self.optional and self.type != "Tensor":
            base = f"std::optional<{base}>"
        return f"{base} {self.cpp_name} = {'{}' if self.default == 'None' else self.cpp_default()};"

    def declared(self, with_default):
        """The C++ parameter."""
        base = {
            "Tensor": "const Tensor&",
            "Operand": "const Operand&",
            "Tensor[]": "const std::vector<Tensor>&",
            "Tensor?[]": "const std::vector<Tensor>&",
            "int": "Int",
            "int[]": "const Dims&",
            "float": "Float",
            "float[]": "const Numbers&",
            "bool": "bool",
            "str": "std::string_view",
            "Padding": "const Padding&",
            "Dtype": "Dtype",
            "Device": "Device",
        }[self.type]
        if self.is_older:
            base = "detail::OlderArgument"
        elif self.optional and self.type in ("int", "float", "bool", "Dtype", "Device"):
            base = f"std::optional<{base}>"
        text = f"{base} {self.cpp_name}"
        if with_default and self.default is not None:
            text += f" = {self.cpp_default()}"
        return text

    def cpp_default(self):
        if self.default == "None":
            # Tensor and Operand are incomplete where the methods are declared.
            return {"Tensor": "detail::no_tensor()", "Operand": "detail::no_operand()"}.get(self.type, "{}")
        if self.type == "Operand":
            if self.default in ("0", "1"):
                return "detail::zero_operand()" if self.default == "0" else "detail::one_operand()"
            fail(f"an Operand's default may be None, 0 or 1, not {self.default}")
        if self.type in ("int[]", "Padding"):
            return "{" + self.default.strip("[]()").rstrip(",") + "}"
        if self.type == "bool":
            return {"True": "true", "False": "false"}[self.default]
        if self.type == "Dtype":
            return f"Dtype::{'boolean' if self.default == 'bool' else self.default}"
        if self.type == "str":
            return '"' + self.default.strip("'\"") + '"'
        if self.type == "Device":
            return '"' + self.default.strip("'\"") + '"'
        return self.default

    def argument(self):
        """The C++ expression of its Argument."""
        if self.optional and self.type in ("int[]", "float[]", "str"):
            return f"{self.cpp_name}.empty() ? Argument() : Argument({self.cpp_name})"
        return f"Argument({self.cpp_name}.value)" if self.is_older else f"Argument({self.cpp_name})"


def split_at_commas(text):
    parts, depth, current = [], 0, ""
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


def parse_signature(text, where):
    match = re.fullmatch(r"([\w.:]+)\((.*)\) *-> *(Tensor\[\]|Tensor|\(.*\))", text)
    if not match:
        fail(f"{where}: cannot read the signature {text!r}")
    parameters, keyword_only = [], False
    for part in split_at_commas(match[2]):
        if part == "*":
            keyword_only = True
            continue
        p = re.fullmatch(
            r"(Tensor\??\[\]|Tensor|Operand|int\[\]|int|float\[\]|float|bool|str|Padding|Dtype|Device|Index\[\])(\??) "
            r"+(\w+)(?: *= *(.*))?",
            part,
        )
        if not p:
            fail(f"{where}: cannot read the parameter {part!r}")
        parameters.append(Parameter(p[1], p[2] == "?", p[3], p[4], keyword_only))
    return match[1], parameters, match[3]
