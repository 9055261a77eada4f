#!/usr/bin/env python3
"""Every fusion and matrix product of a GPT's training step, as a program of its own: each is built with the command in its first line, runs and
agrees, and takes as much processor time as in the step. Programs that differ in names alone are built once."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SHORT = 100.0  # microseconds: shorter ones are compared in sum


def written_programs(options, folder):
    """The programs that write_step writes: (path, what, microseconds of processor time in the step)."""
    command = [options.write, str(folder)]
    command += [f"--{flag}" for flag in ("bf16", "divided", "small") if getattr(options, flag)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(pathlib.Path(path), what, float(time)) for path, what, time in rows]


def nameless(path):
    """The text with values numbered in order of appearance, and without the program's own name."""
    numbers = {}
    text = path.read_text().replace(path.stem, "program")
    text = re.sub(r"\b(lines \[\d+, \d+\)|fusion\d+)", "program", text)
    return re.sub(r"\bt_?\w*\d\w*\b", lambda match: f"value{numbers.setdefault(match[0], len(numbers))}", text)


def run(path, environment):
    """Builds and runs a program: (error or None, microseconds of processor time at best)."""
    command = re.match(r"// (.*)", path.read_text())[1]
    done = subprocess.run(command, shell=True, cwd=path.parent, env=environment, capture_output=True, text=True)
    (path.parent / path.stem).unlink(missing_ok=True)
    if done.returncode != 0:
        return f"ended with {done.returncode}\n{done.stdout}{done.stderr[:3000]}", None
    return None, float(re.search(r"([\d.]+) us of processor time", done.stdout)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", required=True, help="the program write_step")
    parser.add_argument("--library", required=True, help="the folder of the shared library")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers")
    parser.add_argument("--bf16", action="store_true", help="under autocast")
    parser.add_argument("--divided", action="store_true", help="a jitted loss and its backward, not one trace for the step")
    parser.add_argument("--small", action="store_true", help="of a small model")
    parser.add_argument("--all", action="store_true", help="builds those too that differ from others in names alone")
    parser.add_argument("--every", type=int, default=1, help="one of so many programs")
    parser.add_argument("--times", action="store_true", help="fails where times differ by more than 15 %%")
    options = parser.parse_args()
    environment = {**os.environ, "CPATH": ":".join(options.include), "LIBRARY_PATH": options.library, "LD_LIBRARY_PATH": options.library}

    failures, known, short_here, short_there, slow, strided = 0, {}, 0.0, 0.0, 0, 0
    with tempfile.TemporaryDirectory(prefix="fulgurite_step_") as folder:
        programs = written_programs(options, folder)[::options.every]
        for path, what, in_step in programs:
            key = path if options.all else nameless(path)
            if key not in known:
                known[key] = run(path, environment)
            error, alone = known[key]
            title = f"{path.parent.name}/{path.stem} ({what})"
            strided += any(is_transposed(strides) for strides in re.findall(r"\.strides = \{([\d, ]*)\}", path.read_text()))
            if error:
                failures += 1
                print(f"FAILED {title}: {error}")
                continue
            if in_step < SHORT:
                short_here, short_there = short_here + alone, short_there + in_step
                continue
            ratio = alone / in_step
            is_off = abs(ratio - 1) > 0.15
            slow += is_off
            print(f"{title}: {alone:.1f} us, in the step {in_step:.1f}: {ratio:.2f}{' OFF' if is_off else ''}", flush=True)
    ratio = short_here / short_there if short_there else 1.0
    print(f"{len(programs)} programs, {len(known)} of them different, {strided} with transposed inputs: {failures} fail; of those over {SHORT:.0f} us {slow} are "
          f"off by more than 15 %; the others take {short_here:.0f} us, in the step {short_there:.0f} ({ratio:.2f})")
    sys.exit(failures > 0 or (options.times and (slow > 0 or abs(ratio - 1) > 0.15)))


def is_transposed(strides):
    numbers = [int(number) for number in strides.split(",") if number.strip()]
    return any(a < b for a, b in zip(numbers, numbers[1:]))


if __name__ == "__main__":
    main()
