"""The bodies of functions and methods."""

from operators.records import namespaces_in_order, overloaded
from operators.tables import HAND_WRITTEN
from operators.text import wrap


def function_body(operator):
    arguments = [p.argument() for p in operator.typed_parameters()]
    if operator.creator:
        arguments += ["Argument(options.dtype)", "options.device == Device() ? Argument() : Argument(options.device)"]
    lines = [wrap("", f"{operator.cpp_result()} {operator.name}({operator.parameter_list(False)}) {{", "    ")]
    given = "{}"
    if arguments:
        lines.append(wrap("  ", f"const Argument arguments[] = {{{', '.join(arguments)}}};", "      "))
        given = "arguments"
    if any(p.name == "inplace" for p in operator.parameters):
        lines.append(f"  if (inplace) return apply_in_place({operator.variable}, arguments, at);")
    if operator.results == "Tensor":
        call = f"dispatch({operator.variable}, {given}, at)"
        if operator.creator:
            lines += [
                f"  const Tensor result = {call};",
                "  return options.requires_grad ? result.requires_grad_() : result;",
            ]
        else:
            lines.append(f"  return {call};")
    else:
        lines += ["  Results results;", f"  dispatch({operator.variable}, {given}, at, results);"]
        count = operator.results.count("Tensor")
        if operator.results == "Tensor[]":
            lines.append("  return std::vector<Tensor>(results.begin(), results.end());")
        elif count:
            lines.append(f"  return {{{', '.join(f'results[{i}]' for i in range(count))}}};")
    return "\n".join(lines + ["}"])


def in_place_body(operator, name=None):
    arguments = ", ".join(p.argument() for p in operator.parameters)
    return "\n".join(
        [
            wrap("", f"Tensor {name or operator.name}_({operator.in_place_parameter_list(False)}) {{", "    "),
            wrap("  ", f"const Argument arguments[] = {{{arguments}}};", "      "),
            f"  return apply_in_place({operator.variable}, arguments, at);",
            "}",
        ]
    )


def method_bodies(operator):
    # The free function of the same name is hidden inside the member function, hence the full name.
    me = "static_cast<const Tensor&>(*this)"
    names = [p.cpp_name for p in operator.parameters[1:]] + ["at"]
    bodies = [
        wrap(
            "",
            f"{operator.cpp_result()} TensorMethods::{operator.name}({operator.parameter_list(False, 1)}) const {{",
            "    ",
        )
        + f"\n  return {operator.qualified_cpp()}({', '.join([me] + names)});\n}}"
    ]
    if operator.takes_separate_sizes:
        for sizes, given in operator.separate_sizes():
            bodies.append(
                wrap(
                    "",
                    f"Tensor TensorMethods::{operator.name}({', '.join(sizes + ['SourceLocation at'])}) const {{",
                    "    ",
                )
                + f"\n  return {operator.qualified_cpp()}({me}, {{{', '.join(given)}}}, at);\n}}"
            )
    if operator.has_in_place_form:
        bodies.append(
            wrap(
                "",
                f"Tensor TensorMethods::{operator.name}_({operator.in_place_parameter_list(False, 1)}) const {{",
                "    ",
            )
            + f"\n  return {operator.qualified_cpp('_')}({', '.join([me] + names)});\n}}"
        )
    return bodies


def functions(operators):
    """The bodies of free functions: (record, namespace, text)."""
    for space, group in namespaces_in_order(operators).items():
        for operator in group:
            yield operator, space, function_body(operator)
            for given, passed in operator.shorter_lists():
                parameters = ", ".join(given + ["const TensorOptions& options", "SourceLocation at"])
                yield (
                    operator,
                    space,
                    (
                        wrap("", f"Tensor {operator.name}({parameters}) {{", "    ")
                        + f"\n  return {operator.name}({', '.join(passed + ['options', 'at'])});\n}}"
                    ),
                )
            if operator.takes_separate_sizes:
                for sizes, names in operator.separate_sizes():
                    first = operator.parameters[0]
                    parameters = ", ".join([first.declared(False)] + sizes + ["SourceLocation at"])
                    yield (
                        operator,
                        space,
                        (
                            wrap("", f"Tensor {operator.name}({parameters}) {{", "    ")
                            + f"\n  return {operator.name}({first.cpp_name}, {{{', '.join(names)}}}, at);\n}}"
                        ),
                    )
            if operator.has_in_place_form:
                yield operator, space, in_place_body(operator)
    for name, other in overloaded(operators):
        names = ", ".join([p.cpp_name for p in other.parameters] + ["at"])
        yield (
            other,
            "",
            (
                wrap("", f"{other.cpp_result()} {name}({other.parameter_list(False)}) {{", "    ")
                + f"\n  return {other.qualified_cpp()}({names});\n}}"
            ),
        )
        if other.has_in_place_trait:
            yield other, "", in_place_body(other, name)


def methods_of_tensors(operators, methods):
    """The bodies of Tensor's methods: (record, namespace, text)."""
    for operator in methods:
        for body in method_bodies(operator):
            yield operator, "", body
    for name, other in overloaded(operators):
        names = ", ".join(["static_cast<const Tensor&>(*this)"] + [p.cpp_name for p in other.parameters[1:]] + ["at"])
        yield (
            other,
            "",
            (
                wrap(
                    "", f"{other.cpp_result()} TensorMethods::{name}({other.parameter_list(False, 1)}) const {{", "    "
                )
                + f"\n  return {other.qualified_cpp()}({names});\n}}"
            ),
        )
        if other.has_in_place_trait:
            yield (
                other,
                "",
                (
                    wrap(
                        "", f"Tensor TensorMethods::{name}_({other.in_place_parameter_list(False, 1)}) const {{", "    "
                    )
                    + f"\n  return fulgurite::{name}_({names});\n}}"
                ),
            )
    for _, name, declared, passed in HAND_WRITTEN:
        parameters = ", ".join(filter(None, [declared, "SourceLocation at"]))
        names = ", ".join(filter(None, ["static_cast<const Tensor&>(*this)", passed, "at"]))
        yield None, "", f"Tensor TensorMethods::{name}({parameters}) const {{\n  return fulgurite::{name}({names});\n}}"
