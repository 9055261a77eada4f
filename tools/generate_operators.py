#!/usr/bin/env python3
"""Writes the typed operator functions from the operator records.

Reads every `const Symbol NAME{ .signature = "…", … };` in the folders of src/ops and writes
  include/fulgurite/operators.h       the free functions, documented
  include/fulgurite/tensor_methods.h  struct TensorMethods, which Tensor derives from
  src/ops/generated/operators_<family>.cpp
                                      their bodies, by the folder of the records (and by their files, where one file
                                      would be too long)
  src/ops/generated/symbols.h         the records' declarations
  src/ops/generated/formulas.h        the records with the formula of an element
  src/ops/generated/aliases.cpp       other names of the records

usage: tools/generate_operators.py [--check]     --check writes nothing and exits 1 when a file is stale
"""

import sys

from operators.headers import formulas_header, methods_header, operators_header, symbols_header
from operators.records import method_operators, read_records, with_aliases
from operators.sources import aliases_source, source_files
from operators.text import ROOT

GENERATED = ROOT / "src/ops/generated"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    operators = with_aliases(read_records())
    methods = method_operators(operators)
    wanted = {
        ROOT / "include/fulgurite/operators.h": operators_header(operators),
        ROOT / "include/fulgurite/tensor_methods.h": methods_header(operators, methods),
        ROOT / "src/ops/generated/symbols.h": symbols_header(operators),
        ROOT / "src/ops/generated/formulas.h": formulas_header(operators),
        ROOT / "src/ops/generated/aliases.cpp": aliases_source(),
    }
    for name, text in source_files(operators, methods).items():
        wanted[GENERATED / name] = text
    left_over = [p for p in GENERATED.glob("*.cpp") if p not in wanted]
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for path in stale + left_over:
            print(f"stale: {path.relative_to(ROOT)}; run tools/generate_operators.py", file=sys.stderr)
        return 1 if stale or left_over else 0
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    for path in left_over:
        path.unlink()
    print(f"{sum(not o.alias for o in operators)} operators, {len(stale) + len(left_over)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
