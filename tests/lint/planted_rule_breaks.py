#!/usr/bin/env python3
"""Plants a fault for each rule of check_sources.py in a tree of a few files and requires the rule to report it, and
only it."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_sources  # noqa: E402

OPENING = "#include <fulgurite/detail/requirements.h>\n#include <fulgurite/detail/hide_macros.h>\n"
CLOSING = "#include <fulgurite/detail/restore_macros.h>\n"
PROGRAM = "int main() {}\n"
CLEAN = {
    "include/fulgurite/tensor.h": f"#include <fulgurite/detail/requirements.h>\n#include "
    f"<vector>\n{OPENING.splitlines()[1]}\n{CLOSING}",
    "src/support/text/text.h": "#pragma once\n",
    "src/implementation/implementation.h": "#pragma once\n",
    "src/transforms/cleanup/pass.cpp": '#include "support/text/text.h"\n',
    "src/executors/registry.h": '#include "implementation/implementation.h"\n',
    "src/transforms/execution/claim.cpp": '#include "executors/registry.h"\n#include "transforms/cleanup/pass.h"\n',
    "src/cli/main.cpp": '#include "examine/debug/compare.h"\n#include "jit/jit.h"\n',
    "tests/support/test.h": "#pragma once\n",
    "examples/mlp.cpp": PROGRAM,
    "README.md": f"```cpp\n{PROGRAM}```\n",
}
# Rule, the files that break it, a text of the complaint.
PLANTED = [
    (
        "include_directions",
        {"src/runtime/plan/plan.cpp": '#include "executors/registry.h"\n'},
        "runtime may not include executors",
    ),
    (
        "include_directions",
        {"src/transforms/grad/split.cpp": '#include "transforms/execution/claim.h"\n'},
        "transforms may not include transforms/execution",
    ),
    (
        "include_directions",
        {"src/support/log.cpp": '#include "examine/debug/compare.h"\n'},
        "no layer includes examine/",
    ),
    ("include_directions", {"src/attic/old.cpp": "\n"}, "it is in no layer"),
    ("folder_sizes", {f"src/ops/linalg/f{i}.cpp": "\n" for i in range(26)}, "src/ops/linalg: 26 files directly in it"),
    (
        "folder_sizes",
        {f"src/examine/explorer/page/f{i}.js": "\n" for i in range(26)},
        "src/examine/explorer/page: 26 files",
    ),
    ("folder_sizes", {f"tests/jit/f{i}_test.cpp": "\n" for i in range(26)}, "tests/jit: 26 files directly in it"),
    ("lengths_and_leftovers", {"src/ops/core/call.cpp": "\n" * 401}, "401 lines"),
    ("lengths_and_leftovers", {"src/ops/core/call.cpp": "// TO" + "DO: later\n"}, "left behind"),
    (
        "operators_are_records",
        {"src/runtime/plan/plan.cpp": "return step.bound->symbol == &cat_symbol;\n"},
        "ask the operator's record",
    ),
    (
        "operators_are_records",
        {"src/jit/write.cpp": "if (&prims::copy__symbol != bound.symbol) return;\n"},
        "ask the operator's record",
    ),
    (
        "operators_are_records",
        {"src/transforms/cleanup/order.cpp": 'return symbol.qualified_name() == "torch.add";\n'},
        "ask the operator's record",
    ),
    (
        "operators_are_records",
        {"src/codegen/lowering/lower.cpp": 'return bound.symbol->name() != "add";\n'},
        "ask the operator's record",
    ),
    (
        "operators_are_records",
        {"src/jit/write.cpp": "return symbol.kind == SymbolKind::writing;\n"},
        "test the kind of a symbol",
    ),
    (
        "interpreters_are_not_cast",
        {"src/jit/linearize.cpp": "auto* tracer = dynamic_cast<Tracer*>(innermost_interpreter());\n"},
        "ask the interpreter",
    ),
    (
        "interpreters_are_not_cast",
        {"src/jit/linearize.cpp": "const auto* tracer = dynamic_cast<const Tracer*>(outer);\n"},
        "ask the interpreter",
    ),
    (
        "interpreters_are_not_cast",
        {"src/ops/core/call.cpp": "if (dynamic_cast<Batch*>(innermost_interpreter())) return;\n"},
        "ask the interpreter",
    ),
    (
        "interpreters_are_not_cast",
        {"src/tracing/strides.cpp": "auto& tracer = static_cast<Tracer&>(*outer());\n"},
        "ask the interpreter",
    ),
    (
        "threads_have_one_state",
        {"src/jit/values.cpp": "thread_local constinit int depth = 0;\n"},
        "make it a field of ThreadState",
    ),
    (
        "threads_have_one_state",
        {"src/jit/values.cpp": "int& depth() {\n  static thread_local int one = 0;\n  return one;\n}\n"},
        "make it a field",
    ),
    ("public_headers_are_light", {"include/fulgurite/io.h": f"{OPENING}#include <regex>\n{CLOSING}"}, "too heavy"),
    (
        "public_headers_are_light",
        {"include/fulgurite/io.h": f'{OPENING}#include "tensor.h"\n{CLOSING}'},
        "include with <fulgurite/",
    ),
    ("public_headers_hide_macros", {"include/fulgurite/io.h": "#include <vector>\n"}, "the first include is not"),
    (
        "readme_program_is_an_example",
        {"README.md": "```cpp\nint main() { return 1; }\n```\n"},
        "not that of examples/mlp.cpp",
    ),
]
RULES = sorted({rule for rule, _, _ in PLANTED})


def complaints(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return {rule: list(getattr(check_sources, rule)(root)) for rule in RULES}


def main():
    failures = [f"clean tree, {rule}: {found}" for rule, found in complaints(CLEAN).items() if found]
    for rule, files, wanted in PLANTED:
        for name, found in complaints({**CLEAN, **files}).items():
            if name == rule and not any(wanted in complaint for complaint in found):
                failures.append(f'{rule}: no complaint with "{wanted}": {found}')
            # A header that lacks its parts may break a second rule.
            if name != rule and found and not name.startswith("public_headers"):
                failures.append(f"{rule}, {next(iter(files))}: {name} complains too: {found}")
    print("\n".join(failures) or f"{len(PLANTED)} planted faults found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
