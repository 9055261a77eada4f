#!/usr/bin/env python3
"""Reads the symbol table of the built library and reports writable variables outside of Context and ThreadState.

State of the process is in `Context`, state of a thread in `ThreadState`. Every other variable is a constant: in a
section that is read-only after loading, or made at its first use and listed below with its reason.
"""

import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

WRITABLE = (".data", ".bss", ".tdata", ".tbss")
# Patterns of demangled names, and the reasons.
ALLOWED = [
    ("fulgurite::context()::one", "the context"),
    ("fulgurite::thread_state", "the state of a thread"),
    # Constants that are made at their first use, or when the library is loaded: `static const`.
    ("fulgurite::declared_symbols()::all", "the list of the library's symbols"),
    ("fulgurite::(anonymous namespace)::look_up(*)::names", "their names"),
    ("fulgurite::codegen::is_name_of_*header(*)::names", "the names in the header of kernels"),
    ("fulgurite::*_executor()::executor", "an executor of the library"),
    ("fulgurite::find_eager_implementation(*)::table", "the kernels of the eager executor"),
    ("fulgurite::kernels_*::kernel_set()::all", "tables of kernels"),
    ("fulgurite::kernels_*::formula_kernel<*>", "the formulas of calls, prepared for a dtype at their first use"),
    ("fulgurite::kernel_set()::chosen", "the kernels for this CPU"),
    ("fulgurite::(anonymous namespace)::find_implementation(*)::implementations", "those of oneDNN"),
    ("fulgurite::implementation_of(*)::*", "the functions of a captured backward"),
    ("fulgurite::codegen::amx_is_usable()::is_usable", "a property of the CPU"),
    ("fulgurite::codegen::has_pair_products()::has_them", "a property of the CPU"),
    ("fulgurite::fused_gemm::(anonymous namespace)::profitable_sizes(*)::has", "a property of the CPU"),
    ("fulgurite::engine()::one", "oneDNN's handle of the CPU"),
    ("fulgurite::unknown_environment_variables*::unknown", "the environment at the first look"),
    ("fulgurite::report_unknown_environment_variables()::reported", "the environment at the first look"),
    ("fulgurite::cache_bytes()::bytes", "the environment at the first look"),
    ("fulgurite::detail::(anonymous namespace)::max_entries(*)::of_environment", "the environment at the first look"),
    ("fulgurite::*EagerFunctionShard::add(*)::max_bytes", "the environment at the first look"),
    ("fulgurite::detail::*_operand()::*", "an operand that stands for a default"),
    ("fulgurite::detail::no_tensor()::none", "an undefined tensor"),
    ("fulgurite::SharedShape::of_number()::none", "the shape without dimensions"),
    ("fulgurite::proxy_name*::none", "an empty name"),
    ("fulgurite::hub::(anonymous namespace)::empty_object()::empty", "an empty JSON object"),
    ("fulgurite::chat::(anonymous namespace)::filters", "the filters of chat templates"),
    ("fulgurite::chat::(anonymous namespace)::tests", "the tests of chat templates"),
    ("fulgurite::chat::(anonymous namespace)::text_methods", "the methods of texts in chat templates"),
    # Made by compilers and their libraries.
    ("std::__ioinit", "made by <iostream>"),
    ("completed.0", "made by crtbegin"),
    ("__TMC_END__", "made by crtbegin"),
    ("__dso_handle", "made by crtbegin"),
    ("DW.ref.*", "references of exception tables"),
    ("__cpu_model", "made by libgcc"),
    ("__cpu_features2", "made by libgcc"),
    ("_edata", "made by the linker"),
    ("__bss_start", "made by the linker"),
    ("_end", "made by the linker"),
]


def is_allowed(name):
    # A local variable of a function, or its guard; clang numbers some.
    name = re.sub(r"^guard variable for ", "", name)
    name = re.sub(r" \(\.\d+\)$|\.\d+$", "", name) if name not in ("completed.0",) else name
    return any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")) for pattern, _ in ALLOWED)


def output_of(*command, given=None):
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def writable_symbols(library):
    """Yields (section, demangled name) of the library's variables in writable sections."""
    sections = {}
    for line in output_of("readelf", "-SW", library).splitlines():
        if found := re.match(r"\s*\[\s*(\d+)\]\s+(\S+)", line):
            sections[found[1]] = found[2]
    symbols = []
    for line in output_of("readelf", "-sW", library).splitlines():
        fields = line.split()
        section = sections.get(fields[6]) if len(fields) >= 8 else None
        if section in WRITABLE and fields[3] in ("OBJECT", "TLS", "NOTYPE", "COMMON"):
            symbols.append((section, fields[7].split("@")[0]))
    names = output_of("c++filt", given="\n".join(name for _, name in symbols)).splitlines()
    names = [name.replace("[abi:cxx11]", "") for name in names]  # clang++ writes it behind local variables too
    yield from sorted(set(zip((section for section, _ in symbols), names)))


def complaints(library):
    return [f"{section}: {name}" for section, name in writable_symbols(library) if not is_allowed(name)]


PLANTED = """#include <string>
namespace fulgurite {
struct Context { int a = 0; };
Context& context() { static Context* const one = new Context; return *one; }
struct ThreadState { int depth = 0; };
thread_local constinit ThreadState thread_state;
const char* const constants[] = {"a", "b"};
namespace { int calls = 0; thread_local int depth = 0; std::string last; }
int count() {
  static int inside = 1;
  return ++inside + ++calls + ++depth + int(last.size()) + thread_state.depth + constants[0][0];
}
}
"""
WANTED = [
    ".bss: fulgurite::(anonymous namespace)::calls",
    ".bss: fulgurite::(anonymous namespace)::last",
    ".data: fulgurite::count()::inside",
    ".tbss: fulgurite::(anonymous namespace)::depth",
]


def planted_faults(compiler):
    """Returns what is wrong with the complaints about a library that breaks the rule four times."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = pathlib.Path(folder) / "planted.cpp", pathlib.Path(folder) / "planted.so"
        source.write_text(PLANTED)
        subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
        found = complaints(str(library))
    return [] if [c for c in found if "tls_guard" not in c] == WANTED else [f"planted variables: {found}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libfulgurite.so, not stripped")
    parser.add_argument("--compiler", default="c++")
    options = parser.parse_args()
    found = complaints(options.library)
    if found:
        print("variables that are neither in Context nor in ThreadState:")
    found += planted_faults(options.compiler)
    print("\n".join(found) or "all state is in Context and ThreadState")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
