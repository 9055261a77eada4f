"""The source files, by families of operators."""

from operators.bodies import functions, methods_of_tensors
from operators.tables import ALIASES
from operators.text import BANNER

LINES_PER_FILE = 400


def source_file(fragments):
    body, space = (
        [
            BANNER,
            "#include <fulgurite/operators.h>",
            "",
            '#include "ops/core/dispatch.h"',
            '#include "ops/generated/symbols.h"',
            '#include "ops/tensor/in_place.h"',
            "",
            "namespace fulgurite {",
        ],
        "",
    )
    for _, fragment_space, fragment in fragments:
        if fragment_space != space:
            if space:
                body.append(f"}}  // namespace {space}")
            if fragment_space:
                body.append(f"namespace {fragment_space} {{")
            space = fragment_space
        body.append(fragment)
    if space:
        body.append(f"}}  // namespace {space}")
    return "\n".join(body + ["", "}  // namespace fulgurite"]) + "\n"


def source_files(operators, methods):
    """Name and text of each file of bodies: one a family. A family that is longer than a file should be is cut between
    the files of its records."""
    families = {}
    for fragment in [*functions(operators), *methods_of_tensors(operators, methods)]:
        families.setdefault(fragment[0].family if fragment[0] else "in_place", []).append(fragment)
    out = {}
    for family, fragments in families.items():
        groups = [[]]
        for file in sorted({record.file if record else "" for record, _, _ in fragments}):
            longer = groups[-1] + [file]
            if groups[-1] and source_file(of_files(fragments, longer)).count("\n") > LINES_PER_FILE:
                groups.append([file])
            else:
                groups[-1] = longer
        for group in groups:
            first, last = group[0].removesuffix(".cpp"), group[-1].removesuffix(".cpp")
            name = (
                family if len(groups) == 1 else f"{family}_{first}" if first == last else f"{family}_{first}_to_{last}"
            )
            members = of_files(fragments, group)
            text = source_file(members)
            if text.count("\n") > LINES_PER_FILE:
                methods_of_group = [fragment for fragment in members if "TensorMethods::" in fragment[2].split("\n")[0]]
                out[f"methods_{name}.cpp"] = source_file(methods_of_group)
                text = source_file([fragment for fragment in members if fragment not in methods_of_group])
            out[f"operators_{name}.cpp"] = text
    return out


def of_files(fragments, files):
    return [fragment for fragment in fragments if (fragment[0].file if fragment[0] else "") in files]


def aliases_source():
    out = [
        BANNER,
        '#include "ops/core/aliases.h"',
        "",
        "namespace fulgurite {",
        "",
        "std::span<const Alias> aliases() {",
        "  static constexpr Alias list[] = {",
    ]
    out += [f'      {{"torch.{alias}", "torch.{name}"}},' for alias, name in sorted(ALIASES.items())]
    return "\n".join(out + ["  };", "  return list;", "}", "", "}  // namespace fulgurite"]) + "\n"
