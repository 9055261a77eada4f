#!/usr/bin/env python3
"""Repro programs stand alone: each is built with the command in its first line, runs and agrees; with a fault planted
in it, it ends with 1."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cli", required=True, help="the fulgurite command")
    parser.add_argument("--library", required=True, help="the folder of the shared library")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers")
    parser.add_argument("--all", action="store_true", help="every fusion of every example model, not a few")
    options = parser.parse_args()
    environment = {
        **os.environ,
        "CPATH": ":".join(options.include),
        "LIBRARY_PATH": options.library,
        "LD_LIBRARY_PATH": options.library,
    }
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fulgurite_repro_"))
    failures = 0

    def written(*arguments):
        done = subprocess.run([options.cli, "repro", *arguments], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"fulgurite repro {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def expect(text, status, title):
        """Runs a program's first line; `status` is how it is to end."""
        nonlocal failures
        command = re.match(r"(?://|#) (.*)", text)[1]
        name = re.search(r"(\w+\.(?:cpp|py))", command)[1]
        (folder / name).write_text(text)
        done = subprocess.run(
            command.replace("python3", os.environ.get("PYTORCH_PYTHON", "python3"), 1),
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode != status:
            failures += 1
            print(f"FAILED {title}: ended with {done.returncode}, not {status}\n{done.stdout}{done.stderr[:3000]}")

    def fusions(model):
        done = subprocess.run(
            [options.cli, "examine", model], env=environment, capture_output=True, text=True, check=True
        )
        return re.findall(r"^(fusion\d+)$", done.stdout, re.MULTILINE)

    few = {"mlp": 2, "gpt": 0}
    for model in ("mlp", "gpt", "llama", "convnet") if options.all else few:
        names = fusions(model)
        for name in names if options.all else names[: few[model]]:
            expect(written(model, "--fusion", name), 0, f"{name} of {model}")
    kernel = written("gpt", "--fusion", fusions("gpt")[0])
    expect(kernel, 0, "a fusion of gpt")
    at = kernel.index("namespace kernel {")
    planted = kernel[:at] + re.sub(r"\bstore\((\w+), c, (\w+)\)", r"store(\1, c, \2 + \2)", kernel[at:], count=1)
    if planted == kernel:
        sys.exit("no place for a fault in the kernel")
    expect(planted, 1, "a fusion with a fault in its kernel")
    lines = written("mlp", "--first", "0", "--last", "3")
    expect(lines, 0, "lines of mlp")
    expect(
        lines.replace(
            "const auto compiled = jit(reference,",
            "const auto compiled = jit([](auto... t) { return reference(t * 1.5 ...); },",
        ),
        1,
        "lines of mlp with a fault in them",
    )
    expect(written("mlp", "--first", "2", "--last", "14", "--backward"), 0, "lines of mlp's backward")
    if "PYTORCH_PYTHON" in os.environ:
        python = written("gpt", "--fusion", fusions("gpt")[0], "--python")
        expect(python, 0, "a fusion of gpt on PyTorch")
        expect(
            python.replace("results = reference(*inputs)", "results = reference(*(t * 1.5 for t in inputs))"),
            1,
            "the same with a fault",
        )
    if "PYTORCH_PYTHON" in os.environ:
        for model in ("mlp", "gpt"):
            done = subprocess.run(
                [options.cli, "trace", model, "--python"], env=environment, capture_output=True, text=True, check=True
            )
            program = f"# python3 trace_{model}.py\n{done.stdout}"
            expect(program, 0, f"the Python form of {model}")
            expect(
                program.replace("return numbers.to(", "return 2 * numbers.to(", 1),
                1,
                f"the Python form of {model} with other inputs",
            )
    print("all repro programs behave" if failures == 0 else f"{failures} repro programs do not")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
