#!/usr/bin/env python3
"""Adds an operator as CONTRIBUTING.md shows it, in a copy of the sources, and runs it.

The change may touch one file and add 20 lines; tools/generate_operators.py writes the rest. Sources that it changes are
compiled with the commands of the build, and linked before the library's objects.
usage: check.py BUILD_FOLDER"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAX_FILES, MAX_LINES = 1, 20
SKIPPED = 77


def shown_change():
    """The files of CONTRIBUTING.md's diff, with their lines."""
    block = re.search(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    files, lines = {}, []
    for line in block[1].splitlines():
        if line.startswith("+++ b/"):
            lines = files.setdefault(line.removeprefix("+++ b/"), [])
        elif not line.startswith("---"):
            lines.append(line)
    return files


def changed(text, lines):
    """Inserts lines that begin with + before or behind the line of context that is beside them."""
    for index, line in enumerate(lines):
        if line.startswith("+"):
            continue
        context = line[1:] + "\n"
        if text.count(context) != 1:
            sys.exit(f"CONTRIBUTING.md shows a line that is not in the file once: {context}")
        before, after = [], []
        for other in reversed(lines[:index]):
            if not other.startswith("+"):
                break
            before.insert(0, other[1:])
        is_first = all(other.startswith("+") for other in lines[:index])
        for other in lines[index + 1 :]:
            if not other.startswith("+"):
                break
            after.append(other[1:])
        added = "".join(f"{other}\n" for other in (before if is_first else []))
        text = text.replace(context, added + context + "".join(f"{other}\n" for other in after))
    return text


def copy_with_operator(folder, files):
    for name in ("include", "src"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools/generate_operators.py", folder / "tools")
    shutil.copytree(ROOT / "tools/operators", folder / "tools/operators")
    for name, lines in files.items():
        path = folder / name
        path.write_text(changed(path.read_text(), lines))
    subprocess.run([sys.executable, folder / "tools/generate_operators.py"], check=True, capture_output=True)
    sources = [path.relative_to(folder) for path in folder.rglob("src/**/*.cpp")]
    return [name for name in sources if is_changed(folder, name)]


def is_changed(folder, name):
    """Returns true for a source that differs, or that has a kernel for each formula."""
    text = (folder / name).read_text()
    return text != (ROOT / name).read_text() or '#include "ops/generated/formulas.h"' in text


def compile_commands(build, folder, names):
    """The build's commands for these files, which read the copy and no precompiled header."""
    for number, entry in enumerate(json.loads((build / "compile_commands.json").read_text())):
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(ROOT) or path.relative_to(ROOT) not in names:
            continue
        words = shlex.split(entry["command"])
        for index in [i for i, word in enumerate(words) if word == "-include"][::-1]:
            del words[index : index + 2]
        words = [word.replace(f"-I{ROOT}/", f"-I{folder}/") if f"-I{build}" not in word else word for word in words]
        words[words.index("-o") + 1] = str(folder / f"{number}.o")
        words[words.index("-c") + 1] = str(folder / path.relative_to(ROOT))
        yield words


def link_command(build, objects, program):
    """The command that links a test of the library's objects, for other objects."""
    query = ["ninja", "-C", str(build), "-t", "commands", "test_ir"]
    lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    words = shlex.split(lines[-1].split("&&")[1])
    output = words.index("-o")
    options = [word for word in words[1:output] if not word.endswith(".o")]
    libraries = [word for word in words[output + 2 :] if not word.endswith("libtest_support.a")]
    return [words[0], *options, *objects, "-o", program, *libraries]


def run(words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, words))}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    build = parser.parse_args().build.resolve()
    if not shutil.which("ninja") or not (build / "compile_commands.json").exists():
        print("skipped: the build has no ninja, or no compile_commands.json")
        return SKIPPED

    files = shown_change()
    count = sum(line.startswith("+") for lines in files.values() for line in lines)
    if len(files) > MAX_FILES or count > MAX_LINES:
        sys.exit(f"{len(files)} files and {count} lines, at most {MAX_FILES} and {MAX_LINES}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        commands = list(compile_commands(build, folder, copy_with_operator(folder, files)))
        program = [word for word in commands[0] if word.startswith(("-I", "-std"))]
        source = pathlib.Path(__file__).parent / "program.cpp"
        commands.append([commands[0][0], *program, "-O1", "-o", str(folder / "program.o"), "-c", str(source)])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda words: run(words, cwd=build), commands))
        objects = [words[words.index("-o") + 1] for words in commands]
        run(link_command(build, objects, folder / "program"), cwd=build)
        run([folder / "program"])
    print(f"{len(files)} files, {count} lines, {len(commands)} sources compiled: the operator runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
