#!/usr/bin/env python3
"""Plants one offence at a time against each rule of check_words.py and requires that rule to report it; clean files get
no complaint."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_words  # noqa: E402

# Rule, file, text.
PLANTED = [
    ("opening", "src/ir/a.h", "/// What a trace holds.\nint f();\n"),
    ("opening", "src/ir/a.h", "/// Whether the trace is there.\nbool f();\n"),
    ("opening", "src/ir/a.cpp", "// Where sizes differ, the larger one.\n"),
    ("opening", "include/fulgurite/a.h", "int f();  // Of a view: its base\n"),
    ("opening", "src/ir/a.cpp", "/* Which one runs it. */\n"),
    ("opening", "tools/a.py", "# Which file it is\n"),
    ("opening", "tests/a/a.py", '"""What the check does."""\n'),
    ("opening", "cmake/a.cmake", "# What is installed.\n"),
    ("opening", "src/ops/a.cpp", '    .documentation =\n        "Whether elements "\n        "are equal.",\n'),
    ("opening", "python/fulgurite/a.py", 'def f():\n    """What a graph holds."""\n'),
    ("is no", "src/ir/a.cpp", "// The result is no view of it.\n"),
    ("is no", "src/ir/a.cpp", "// They are no tensors.\n"),
    ("who", "src/ir/a.cpp", "// The executor who claimed it.\n"),
    ("who", "src/ir/a.cpp", "// It is freed by whoever uses it last.\n"),
    ("who", "src/ir/a.cpp", "// Values that nobody makes.\n"),
    ("who", "tests/CMakeLists.txt", "# Somebody else holds the lock.\n"),
    ("made again", "src/ir/a.cpp", "// The value is made again in the backward.\n"),
    ("opening", "tests/a/a_test.cpp", 'TEST("what a hook gives must fit") {}\n'),
    ("who", "tests/a/a_test.cpp", 'TEST("a program is made by whoever needs it") {}\n'),
    ("lies", "src/ir/a.h", "/// The tensor lies in the arena.\nint f();\n"),
    ("lies", "src/ir/a.cpp", "int a;  // rows that lie side by side\n"),
    ("width", "src/ir/a.cpp", f"// {'x' * 118}\n"),
    ("width", "tools/a.py", f"x = {'1' * 117}\n"),
    ("old name", "src/ir/a.cpp", "constexpr int most_bytes = 1;\n"),
    ("old name", "src/ir/a.cpp", "struct CompiledVersion;\n"),
    ("old name", "tests/a/a_test.cpp", "auto pieces = split(x);\n"),
    ("old name", "src/ir/a.cpp", "bool what_pays();\n"),
    ("old name", "tools/a.py", "def run_product(): pass\n"),
    ("old name", "src/ir/a.cpp", "enum class Place { arena };\n"),
]
CLEAN = {
    "src/ir/a.cpp": "// There is no view of it. The text is no longer than that.\n// No base, whole or in part.\nint "
    "maximum = 1;\n",
    "src/ir/b.cpp": f'const char* text = R"(\n{"x" * 200} lies, nobody, made again\n)";\nconst char* other = "who '
    f'lies";\n',
    "include/fulgurite/a.h": 'using Product [[deprecated("use GemmCase")]] = GemmCase;\n',
    "tools/a.py": "# A comment that names its noun.\nx = 1\n",
}


def offences(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in check_words.FOLDERS:
            (root / name).mkdir()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [(rule, name) for name, found in check_words.all_offences(root).items() for _, rule, _, _ in found]


def main():
    failures = [f"clean: {found}" for found in [offences(CLEAN)] if found]
    for rule, name, text in PLANTED:
        found = offences({name: text})
        if found != [(rule, name)]:
            failures.append(f"{rule}, {name}, {text!r}: found {found}")
    print("\n".join(failures) or f"{len(PLANTED)} planted offences found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
