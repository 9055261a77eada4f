#!/usr/bin/env python3
"""Compiles and runs the C++ programs of one page of the book and compares what they print with the page.

A block ```cpp that defines main() is a program. A block ```cpp compiled is one that needs a file, so it is compiled
and not run. Other ```cpp blocks are the body of a function: they are compiled and run inside main(). A block ```text
directly below a program is its expected standard output; "…" at the end of a line of it stands for any text. A block
```cpp error is a program that must not compile; the ```text below it is a part of the compiler's message.
UPDATE_EXPECT=1 writes the actual output into the page, but keeps lines with "…" that match.

Pages whose programs are all in Python are run by tests/python/package/test_book.py.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(
    r"^```(cpp|cpp error|cpp compiled)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
PRELUDE = "#include <fulgurite/fulgurite.h>\n#include <iostream>\nnamespace fg = fulgurite;\n"
SECONDS_OF_A_PROGRAM = 300


def as_program(code: str) -> str:
    """Returns the block as a whole program: statements are put into main()."""
    if re.search(r"\bint main\(", code):
        return code
    return f"{PRELUDE}int main() {{\n{code}}}\n"


def matches(expected: str, actual: str) -> bool:
    """Returns true if the texts are equal line by line, where a line that ends with "…" fixes only its beginning."""
    wanted, got = expected.splitlines(), actual.splitlines()
    if len(wanted) != len(got):
        return False
    return all(
        line.startswith(want[:-1]) if want.endswith("…") else want.rstrip() == line.rstrip()
        for want, line in zip(wanted, got)
    )


class Page:
    """One page with its programs."""

    def __init__(self, path: pathlib.Path, compile_command: list[str]) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.compile_command = compile_command
        self.failures: list[str] = []

    def fail(self, match: re.Match, what: str) -> None:
        line = self.text.count("\n", 0, match.start()) + 1
        self.failures.append(f"{self.path.name}:{line}: {what}")

    def run_program(self, match: re.Match, folder: pathlib.Path) -> str | None:
        """Compiles and runs one block; returns its output, or none if it failed."""
        kind, code, expected = match.groups()
        source, binary = folder / "program.cpp", folder / "program"
        source.write_text(as_program(code), encoding="utf-8")
        built = subprocess.run(
            [*self.compile_command[:1], str(source), "-o", str(binary), *self.compile_command[1:]],
            capture_output=True,
            text=True,
        )
        if kind == "cpp error":
            if built.returncode == 0:
                self.fail(match, "the program compiles")
            elif expected and expected.strip() not in built.stderr:
                self.fail(match, f"the compiler's message lacks the text:\n{built.stderr}")
            return None
        if built.returncode != 0:
            self.fail(match, f"the program does not compile:\n{built.stderr}")
            return None
        if kind == "cpp compiled":
            return None
        try:
            done = subprocess.run(
                [str(binary)], capture_output=True, text=True, cwd=folder, timeout=SECONDS_OF_A_PROGRAM
            )
        except subprocess.TimeoutExpired:
            self.fail(match, f"the program does not end within {SECONDS_OF_A_PROGRAM} s")
            return None
        if done.returncode != 0:
            self.fail(match, f"the program ends with status {done.returncode}:\n{done.stdout}{done.stderr}")
            return None
        if expected is not None and not matches(expected, done.stdout):
            self.fail(match, f"the program prints\n{done.stdout}and the page says\n{expected}")
        return done.stdout

    def run(self, update: bool) -> None:
        sections, end = [], 0
        for match in BLOCK.finditer(self.text):
            with tempfile.TemporaryDirectory() as folder:
                output = self.run_program(match, pathlib.Path(folder))
            sections.append(self.text[end : match.start()])
            block = match.group(0)
            if update and output is not None and match.group(3) is not None and not matches(match.group(3), output):
                start = match.start(3) - match.start()
                block = block[:start] + output + block[start + len(match.group(3)) :]
            sections.append(block)
            end = match.end()
        if update:
            self.path.write_text("".join(sections) + self.text[end:], encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--library", type=pathlib.Path, required=True, help="the shared library")
    parser.add_argument("--flags", default="")
    arguments = parser.parse_args()
    folder = arguments.library.parent
    command = [
        arguments.compiler,
        "-std=c++20",
        "-O1",
        "-Wall",
        "-Wextra",
        *arguments.flags.split(),
        *[f"-I{path}" for path in arguments.include],
        str(arguments.library),
        f"-Wl,-rpath,{folder}",
    ]
    page = Page(arguments.page, command)
    page.run(os.environ.get("UPDATE_EXPECT") == "1")
    for failure in page.failures:
        print(failure, file=sys.stderr)
    programs = len(BLOCK.findall(page.text))
    print(f"{arguments.page.name}: {programs} programs, {len(page.failures)} failures")
    return 1 if page.failures or (programs == 0 and "```python\n" not in page.text) else 0


if __name__ == "__main__":
    sys.exit(main())
