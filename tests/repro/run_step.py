#!/usr/bin/env python3
"""Every fusion and matrix product of a GPT's training step, as a program of its own: each is built with the command in
its first line, runs and agrees, and takes as long as in the step. Programs that differ in names alone are built
once."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SHORT = 100.0  # microseconds: shorter ones are compared in sum


def written_programs(options, folder):
    """The programs that write_step writes: (path, description, lower quartile of its microseconds in the step)."""
    command = [*options.under.split(), options.write, str(folder)]
    command += [f"--{flag}" for flag in ("bf16", "divided", "small") if getattr(options, flag)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(pathlib.Path(path), what, float(time)) for path, what, time in rows]


def nameless(path):
    """The text with values numbered in order of appearance, without the program's name, and what lines moved before it
    to a factor of two."""
    numbers = {}
    text = path.read_text().replace(path.stem, "program")
    text = re.sub(r"\b(lines \[\d+, \d+\)|fusion\d+)", "program", text)
    text = re.sub(r"moved_since = (\d+)", lambda match: f"moved_since = {int(match[1]).bit_length()} bits", text)
    return re.sub(r"\bt_?\w*\d\w*\b", lambda match: f"value{numbers.setdefault(match[0], len(numbers))}", text)


def build(path, environment):
    """Builds a program: what is wrong, or None."""
    command = re.match(r"// (.*) && ", path.read_text())[1]
    done = subprocess.run(command, shell=True, cwd=path.parent, env=environment, capture_output=True, text=True)
    return f"is not built\n{done.stderr[:3000]}" if done.returncode != 0 else None


def run(path, under, environment):
    """Runs a program: (what is wrong or None, microseconds, which a quarter of its runs keep to)."""
    done = subprocess.run([*under, f"./{path.stem}"], cwd=path.parent, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        return f"ended with {done.returncode}\n{done.stdout}{done.stderr[:3000]}", None
    return None, float(re.search(r"a quarter of the runs within ([\d.]+)", done.stdout)[1])


def is_off(alone, in_step):
    return in_step >= SHORT and abs(alone / in_step - 1) > 0.15


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", required=True, help="the program write_step")
    parser.add_argument("--library", required=True, help="the folder of the shared library")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers")
    parser.add_argument("--bf16", action="store_true", help="under autocast")
    parser.add_argument(
        "--divided", action="store_true", help="a jitted loss and its backward, not one trace for the step"
    )
    parser.add_argument("--small", action="store_true", help="of a small model")
    parser.add_argument("--all", action="store_true", help="builds those too that differ from others in names alone")
    parser.add_argument("--every", type=int, default=1, help="one of so many programs")
    parser.add_argument("--jobs", type=int, default=2, help="how many programs are built at once")
    parser.add_argument("--under", default="", help="a command that timed programs are run with")
    parser.add_argument("--times", action="store_true", help="fails where times differ by more than 15 %%")
    options = parser.parse_args()
    environment = {
        **os.environ,
        "CPATH": ":".join(options.include),
        "LIBRARY_PATH": options.library,
        "LD_LIBRARY_PATH": options.library,
    }

    failures, known, short_here, short_there, slow, strided = 0, {}, 0.0, 0.0, 0, 0
    with tempfile.TemporaryDirectory(prefix="fulgurite_step_") as folder:
        programs = written_programs(options, folder)[:: options.every]
        keys = {path: path if options.all else nameless(path) for path, _, _ in programs}
        different = {key: path for path, key in reversed(keys.items())}
        # All are built before any is timed.
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            built = dict(zip(different, pool.map(lambda path: build(path, environment), different.values())))
        known = {
            key: (built[key], None) if built[key] else run(path, options.under.split(), environment)
            for key, path in different.items()
        }
        # Suspicious times are measured again; a machine's other work only adds to times, so that the minimum is kept on
        # both sides. (The best runs are not compared: those found by luck what they read in a shared cache.)
        for _ in range(10):
            off = {
                keys[path]
                for path, _, in_step in programs
                if not known[keys[path]][0] and is_off(known[keys[path]][1], in_step)
            }
            if not off:
                break
            with tempfile.TemporaryDirectory(prefix="fulgurite_step_") as again:
                times = [time for _, _, time in written_programs(options, again)[:: options.every]]
            programs = [(path, what, min(time, other)) for (path, what, time), other in zip(programs, times)]
            for key in off:
                error, alone = run(different[key], options.under.split(), environment)
                known[key] = (error, min(alone or known[key][1], known[key][1]))
        for path, what, in_step in programs:
            error, alone = known[keys[path]]
            title = f"{path.parent.name}/{path.stem} ({what})"
            strided += any(
                is_transposed(strides) for strides in re.findall(r"\.strides = \{([\d, ]*)\}", path.read_text())
            )
            if error:
                failures += 1
                print(f"FAILED {title}: {error if path == different[keys[path]] else 'like one before'}")
                continue
            if in_step < SHORT:
                short_here, short_there = short_here + alone, short_there + in_step
                continue
            ratio = alone / in_step
            slow += is_off(alone, in_step)
            print(
                f"{title}: {alone:.1f} us, in the step {in_step:.1f}: "
                f"{ratio:.2f}{' OFF' if is_off(alone, in_step) else ''}",
                flush=True,
            )
    ratio = short_here / short_there if short_there else 1.0
    print(
        f"{len(programs)} programs, {len(known)} of them different, {strided} with transposed inputs: {failures} "
        f"fail; of those over "
        f"{SHORT:.0f} us {slow} are off by more than 15 %; the others take {short_here:.0f} us, in the step "
        f"{short_there:.0f} ({ratio:.2f})"
    )
    sys.exit(failures > 0 or (options.times and (slow > 0 or abs(ratio - 1) > 0.15)))


def is_transposed(strides):
    numbers = [int(number) for number in strides.split(",") if number.strip()]
    return any(a < b for a, b in zip(numbers, numbers[1:]))


if __name__ == "__main__":
    main()
