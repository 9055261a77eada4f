#!/usr/bin/env python3
"""Kills a program that loads shuffled batches, at random moments, and resumes it, until its epochs are done.

usage: loader.py BUILD_FOLDER [--kills 200] [--seed 1]

Every batch must have the samples, and the numbers that the samples drew, of a run that was never killed, for any number
of workers. A batch that was written before its state is written twice; both times must be equal.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time


class Wrong(Exception):
    """A batch that differs."""


def batches_of(log: pathlib.Path) -> dict[str, str]:
    """The samples of each epoch and batch."""
    batches: dict[str, str] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        name, _, samples = line.partition(":")
        if batches.setdefault(name, samples) != samples:
            raise Wrong(f"batch {name} was loaded twice, with other samples")
    return batches


def run(program: pathlib.Path, folder: pathlib.Path, workers: int, seconds: float | None) -> bool:
    """Runs the program, for so many seconds at most; returns True if it came to its end."""
    command = [str(program), str(folder / "state"), str(folder / "log"), str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if seconds is not None:
        time.sleep(seconds)
        process.kill()
    status = process.wait(timeout=120)
    if status not in (0, -9):
        raise Wrong(f"the program ended with status {status}")
    return status == 0


def main() -> int:
    """Compares runs that were killed with one that was not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = options.build / "tests" / "killed_loader"
    draw = random.Random(options.seed)
    kills = runs = 0
    with tempfile.TemporaryDirectory() as name:
        whole = pathlib.Path(name) / "whole"
        whole.mkdir()
        start = time.monotonic()
        run(program, whole, 0, None)
        length = time.monotonic() - start
        expected = batches_of(whole / "log")
        while kills < options.kills:
            runs += 1
            folder = pathlib.Path(name) / str(runs)
            folder.mkdir()
            # Nearly every start is killed, so that a run ends after some kills.
            while not run(program, folder, draw.choice((0, 1, 2, 16)), draw.uniform(0, length / 3)):
                kills += 1
            if batches_of(folder / "log") != expected:
                raise Wrong(f"run {runs} loaded other batches than the run that was not killed")
    print(f"{kills} kills in {runs} runs of {len(expected)} batches, 0 differences")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(f"FAILED: {wrong}")
        sys.exit(1)
