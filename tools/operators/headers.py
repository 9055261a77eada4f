"""The headers: functions, methods and declarations of records."""

from operators.records import aliases, namespaces_in_order, overloaded
from operators.tables import HAND_WRITTEN
from operators.text import BANNER, documented, wrap


def operators_header(operators):
    groups = namespaces_in_order(operators)
    extra = aliases(groups)
    out = [
        BANNER,
        "#pragma once",
        "#include <fulgurite/detail/requirements.h>",
        "",
        "#include <optional>",
        "#include <string_view>",
        "#include <tuple>",
        "#include <vector>",
        "",
        "#include <fulgurite/detail/given.h>",
        "#include <fulgurite/tensor.h>",
        "",
        "#include <fulgurite/detail/hide_macros.h>",
        "",
        "#pragma GCC visibility push(default)",
        "namespace fulgurite {",
    ]
    for space, group in groups.items():
        if not group and not extra.get(space):
            continue
        out.append("")
        if space:
            out += [f"namespace {space} {{", ""]
        for operator in group:
            out.append(documented(operator))
            out.append(wrap("", f"{operator.cpp_result()} {operator.name}({operator.parameter_list(True)});", "    "))
            if operator.has_options:
                out += operator.options_structure()
            for given, _ in operator.shorter_lists():
                parameters = ", ".join(
                    given + ["const TensorOptions& options", "SourceLocation at = SourceLocation::here()"]
                )
                out.append(wrap("", f"Tensor {operator.name}({parameters});", "    "))
            if operator.takes_separate_sizes:
                for sizes, _ in operator.separate_sizes():
                    parameters = ", ".join(
                        [operator.parameters[0].declared(False)]
                        + sizes
                        + ["SourceLocation at = SourceLocation::here()"]
                    )
                    out.append(wrap("", f"Tensor {operator.name}({parameters});", "    "))
            if operator.has_in_place_form:
                out.append(wrap("", f"Tensor {operator.name}_({operator.in_place_parameter_list(True)});", "    "))
        if not space:
            for name, other in overloaded(operators):
                out.append(documented(other))
                out.append(wrap("", f"{other.cpp_result()} {name}({other.parameter_list(True)});", "    "))
                if other.has_in_place_trait:
                    out.append(wrap("", f"Tensor {name}_({other.in_place_parameter_list(True)});", "    "))
            for comment, name, declared, _ in HAND_WRITTEN:
                parameters = ", ".join(
                    filter(None, ["const Tensor& input", declared, "SourceLocation at = SourceLocation::here()"])
                )
                out += [f"/// {comment}", f"Tensor {name}({parameters});"]
        for alias in extra.get(space, []):
            if space:
                out.append(f"using {alias};")
        if space:
            out += ["", f"}}  // namespace {space}"]
    out += (
        [""]
        + [f"using {alias};" for alias in extra[""]]
        + [
            "",
            "}  // namespace fulgurite",
            "#pragma GCC visibility pop",
            "",
            "#include <fulgurite/detail/restore_macros.h>",
        ]
    )
    return "\n".join(out) + "\n"


def methods_header(operators, methods):
    out = [
        BANNER,
        "#pragma once",
        "#include <fulgurite/detail/requirements.h>",
        "",
        "#include <optional>",
        "#include <string_view>",
        "#include <tuple>",
        "#include <vector>",
        "",
        "#include <fulgurite/dtype.h>",
        "#include <fulgurite/shape.h>",
        "#include <fulgurite/source_location.h>",
        "",
        "#include <fulgurite/detail/hide_macros.h>",
        "",
        "#pragma GCC visibility push(default)",
        "namespace fulgurite {",
        "",
        "class Tensor;",
        "class Operand;",
        "",
        "namespace detail {",
        "// Default arguments of types that are incomplete here.",
        "const Tensor& no_tensor();",
        "const Operand& no_operand();",
        "const Operand& zero_operand();",
        "const Operand& one_operand();",
        "",
        "/// An older argument of a loss: a bool or none, and nothing that C++ converts to a bool, as the text of a "
        "reduction.",
        "struct OlderArgument {",
        "  std::optional<bool> value;",
        "  OlderArgument() = default;",
        "  OlderArgument(std::nullopt_t) {}",
        "  OlderArgument(std::optional<bool> value) : value(value) {}",
        "  template <std::same_as<bool> T>",
        "  OlderArgument(T value) : value(value) {}",
        "};",
        "}  // namespace detail",
        "",
        "/// The operators whose first argument is a tensor, as its methods; operators.h documents them.",
        "struct TensorMethods {",
    ]
    for operator in methods:
        out.append(
            wrap("  ", f"{operator.cpp_result()} {operator.name}({operator.parameter_list(True, 1)}) const;", "      ")
        )
        if operator.takes_separate_sizes:
            for sizes, _ in operator.separate_sizes():
                parameters = ", ".join(sizes + ["SourceLocation at = SourceLocation::here()"])
                out.append(wrap("  ", f"Tensor {operator.name}({parameters}) const;", "      "))
        if operator.has_in_place_form:
            out.append(
                wrap("  ", f"Tensor {operator.name}_({operator.in_place_parameter_list(True, 1)}) const;", "      ")
            )
    for name, other in overloaded(operators):
        out.append(wrap("  ", f"{other.cpp_result()} {name}({other.parameter_list(True, 1)}) const;", "      "))
        if other.has_in_place_trait:
            out.append(wrap("  ", f"Tensor {name}_({other.in_place_parameter_list(True, 1)}) const;", "      "))
    for _, name, declared, _ in HAND_WRITTEN:
        parameters = ", ".join(filter(None, [declared, "SourceLocation at = SourceLocation::here()"]))
        out.append(f"  Tensor {name}({parameters}) const;")
    out += [
        "};",
        "",
        "}  // namespace fulgurite",
        "#pragma GCC visibility pop",
        "",
        "#include <fulgurite/detail/restore_macros.h>",
    ]
    return "\n".join(out) + "\n"


def symbols_header(operators):
    out = [BANNER, "#pragma once", "#include <fulgurite/symbol.h>", "", "namespace fulgurite {", ""]
    out += [f"extern const Symbol {o.variable};" for o in sorted(operators, key=lambda o: o.variable) if not o.alias]
    return "\n".join(out + ["", "}  // namespace fulgurite"]) + "\n"


def formulas_header(operators):
    names = sorted(o.variable for o in operators if o.has_formula and not o.alias)
    out = [BANNER, "#pragma once", '#include "ops/generated/symbols.h"', "", "namespace fulgurite {", ""]
    out += ["template <const Symbol&... symbols>", "struct SymbolPack {};"]
    out += ["/// The records that have the formula of an element.", "using SymbolsWithFormulas = SymbolPack<"]
    out += [f"    {name}," for name in names[:-1]] + [f"    {names[-1]}>;"]
    return "\n".join(out + ["", "}  // namespace fulgurite"]) + "\n"
