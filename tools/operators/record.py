"""An operator, as its record in src/ops declares it."""

from dataclasses import dataclass, field

from operators.signature import fail
from operators.tables import CPP_KEYWORDS, MAX_SEPARATE_SIZES, NAMESPACES, NOT_METHODS, SEPARATE_SIZES
from operators.text import wrap


@dataclass
class Operator:
    variable: str
    text: str
    documentation: str
    qualified_name: str
    parameters: list
    results: str
    primitive: bool
    pointwise: bool
    structural: bool
    in_place: bool
    has_in_place_trait: bool
    has_formula: bool
    file: str = ""
    alias: str = ""  # another name of a record, qualified
    family: str = ""  # the folder of its record
    namespace: str = field(init=False)
    name: str = field(init=False)

    def __post_init__(self):
        module, _, self.name = (self.alias or self.qualified_name).rpartition(".")
        if module not in NAMESPACES:
            fail(f"{self.file}: no namespace for {self.qualified_name}")
        self.namespace = NAMESPACES[module]

    @property
    def typed(self):
        return (
            not self.structural and self.name not in CPP_KEYWORDS and all(p.type != "Index[]" for p in self.parameters)
        )

    @property
    def creator(self):
        p = self.parameters
        return (
            len(p) >= 2
            and (p[-2].type, p[-2].name, p[-2].optional, p[-2].keyword_only) == ("Dtype", "dtype", True, True)
            and (p[-1].type, p[-1].name) == ("Device", "device")
        )

    @property
    def takes_tensor_first(self):
        return (
            bool(self.parameters)
            and self.parameters[0].type in ("Tensor", "Operand")
            and not self.parameters[0].optional
        )

    @property
    def has_in_place_form(self):
        return (
            (self.pointwise or self.has_in_place_trait)
            and self.name not in NOT_METHODS
            and self.takes_tensor_first
            and self.typed
            and self.results == "Tensor"
            and self.namespace != "prims"
        )

    def cpp_result(self):
        if self.results == "Tensor":
            return "Tensor"
        if self.results == "Tensor[]":
            return "std::vector<Tensor>"
        count = self.results.count("Tensor")
        return "void" if count == 0 else "std::tuple<" + ", ".join(["Tensor"] * count) + ">"

    def typed_parameters(self):
        return self.parameters[:-2] if self.creator else self.parameters

    def parameter_list(self, with_defaults, first=0):
        parts = [p.declared(with_defaults) for p in self.typed_parameters()[first:]]
        if self.creator:
            parts.append("const TensorOptions& options" + (" = {}" if with_defaults else ""))
        parts.append("SourceLocation at" + (" = SourceLocation::here()" if with_defaults else ""))
        return ", ".join(parts)

    def in_place_parameter_list(self, with_defaults, first=0):
        parts = [p.declared(with_defaults) for p in self.parameters[1:]]
        if first == 0:
            parts.insert(0, f"const Tensor& {self.parameters[0].cpp_name}")
        parts.append("SourceLocation at" + (" = SourceLocation::here()" if with_defaults else ""))
        return ", ".join(parts)

    def shorter_lists(self):
        """Parameter lists that leave out trailing defaulted parameters before the options: arange(5, {.dtype = …})."""
        if not self.creator:
            return []
        typed, lists = self.typed_parameters(), []
        while typed and typed[-1].default is not None:
            typed = typed[:-1]
            given = [p.declared(False) for p in typed]
            defaults = [p.cpp_default() for p in self.typed_parameters()[len(typed) :]]
            lists.append((given, [p.cpp_name for p in typed] + defaults))
        return lists

    @property
    def takes_separate_sizes(self):
        """x.view(3, 2) beside x.view({3, 2})."""
        return self.name in SEPARATE_SIZES and self.namespace == ""

    def separate_sizes(self):
        """(C++ parameters, their names) for every number of separate sizes that has an overload."""
        names = [f"size{i}" for i in range(MAX_SEPARATE_SIZES)]
        return [([f"Int {name}" for name in names[:n]], names[:n]) for n in range(2, MAX_SEPARATE_SIZES + 1)]

    @property
    def has_options(self):
        return any(p.is_older for p in self.parameters) and not self.alias

    def options_structure(self):
        """The structure of a loss's optional arguments without the older ones, and the overload that accepts it."""
        required = [p for p in self.parameters if p.default is None]
        members = [p for p in self.parameters if p.default is not None and not p.is_older]
        structure = "".join(part.capitalize() for part in self.name.split("_")) + "Options"
        out = [
            f"/// The optional arguments of {self.name} by name; members are given in this order.",
            f"struct {structure} {{",
            "  detail::NamedMembers named_members = detail::NamedMembers();",
            *(f"  {p.member()}" for p in members),
            "};",
        ]
        parameters = ", ".join(
            [p.declared(False) for p in required]
            + [f"const {structure}& options", "SourceLocation at = SourceLocation::here()"]
        )
        passed = ", ".join(
            p.cpp_name if p.default is None else "{}" if p.is_older else f"options.{p.cpp_name}"
            for p in self.parameters
        )
        # A template, so that `{}` stays the next positional argument.
        out += [
            "template <int = 0>",
            wrap("", f"Tensor {self.name}({parameters}) {{", "    "),
            wrap("  ", f"return {self.name}({passed}, at);", "      "),
            "}",
        ]
        return out

    def qualified_cpp(self, suffix=""):
        return "::".join(filter(None, ["fulgurite", self.namespace, self.name + suffix]))
