#!/usr/bin/env python3
"""Programs that must not compile, and the first line of the message each must get.

Every .cpp file beside this one begins with "// expect: <text>"; the text must be in the compiler's first error. With
all checks of the library's own in static_asserts, the text is the same for both compilers. A file may give several
texts, separated by " | "."""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

EXPECT = "// expect: "


def first_errors(compiler, include, source):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", include, str(source)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    )
    return done.returncode, [line for line in done.stderr.splitlines() if re.search(r"\berror: ", line)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("include", help="the folder of the public headers")
    parser.add_argument("--compilers", nargs="*", default=["g++", "clang++"])
    options = parser.parse_args()
    folder = pathlib.Path(__file__).parent
    failures = checks = 0
    for compiler in options.compilers:
        if not shutil.which(compiler):
            print(f"skipped: there is no {compiler}")
            continue
        sources = sorted(folder.glob("*.cpp"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(functools.partial(first_errors, compiler, options.include), sources))
        for source, (status, errors) in zip(sources, results):
            first_line = source.read_text().splitlines()[0]
            expected = first_line.removeprefix(EXPECT).split(" | ")
            checks += 1
            if status == 0:
                problem = "it compiles"
            elif any(text in errors[0] for text in expected):
                continue
            else:
                problem = f"the first error is\n  {errors[0]}\nexpected\n  {first_line}"
            failures += 1
            print(f"{source.name} with {compiler}: {problem}")
    print(f"{checks - failures} passed, {failures} failed")
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
