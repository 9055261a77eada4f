#!/usr/bin/env python3
"""Trains each model of this folder and its PyTorch twin from the same weights and batch; compares losses and times.

usage: compare.py BUILD [--only NAME] [--threads 1] [--steps 20] [--rounds 3] [--peers eager,compile]
Run by a Python that has PyTorch and safetensors. The last lines are a table of the shortest steps and the geometric
mean of our time divided by the better peer's; the status is 1 if a loss differs by more than 1e-4 of its size.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in HERE.glob("*.cpp"))
LARGEST_DIFFERENCE = 1e-4  # of a loss, relative to its size or to 1


def run_twin(options: argparse.Namespace) -> None:
    """Trains the twin, in a process of its own, and prints a JSON line; --write saves the weights and the batch."""
    import safetensors.torch
    import torch

    sys.path.insert(0, str(HERE))
    twin = importlib.import_module(options.only)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model, batch = twin.model(), twin.batch()
    if options.write:
        tensors = {f"model.{name}": value.clone() for name, value in model.state_dict().items()}
        tensors |= {f"batch.{name}": value.clone() for name, value in batch.items()}
        safetensors.torch.save_file(tensors, options.write)
    optimizers = twin.optimizers(model)
    if options.peers == "compile":
        if hasattr(twin, "compiled"):
            twin.compiled(model)
        else:
            model.compile()
    losses, shortest = [], math.inf
    for i in range(options.steps):
        start = time.perf_counter()
        losses.append(twin.step(model, optimizers, batch).item())
        if i > 2:
            shortest = min(shortest, 1e3 * (time.perf_counter() - start))
    print(json.dumps({"losses": losses, "step_ms": shortest}))


def result_of(command: list[str], threads: int) -> dict:
    """The JSON line that a program prints last."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "FULGURITE_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(name: str, options: argparse.Namespace, folder: str) -> tuple[float, dict[str, float]]:
    """The largest difference between losses, and the shortest step of each side in milliseconds."""
    file = f"{folder}/{name}.safetensors"
    twin = [sys.executable, str(HERE / "compare.py"), str(options.build), "--twin", "--only", name]
    steps = ["--threads", str(options.threads), "--steps", str(options.steps)]
    sides = {peer: [*twin, "--peers", peer, *steps] for peer in options.peers.split(",")}
    sides["eager"] += ["--write", file]
    sides["ours"] = [str(options.build / "examples" / f"example_model_{name}"), file, *steps[2:]]
    shortest = dict.fromkeys(sides, math.inf)
    difference = 0.0
    for _ in range(options.rounds):
        results = {side: result_of(command, options.threads) for side, command in sides.items()}
        for side, result in results.items():
            shortest[side] = min(shortest[side], result["step_ms"])
        for ours, theirs in zip(results["ours"]["losses"], results["eager"]["losses"], strict=True):
            difference = max(difference, abs(ours - theirs) / max(1.0, abs(theirs)))
    return difference, shortest


def main() -> None:
    """Compares the models and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="eager,compile", help="eager is always one of them")
    parser.add_argument("--twin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.twin:
        run_twin(options)
        return
    ratios, is_wrong = [], False
    peers = options.peers.split(",")
    columns = " | ".join(f"{peer}, ms" for peer in peers)
    print(f"| Model | largest difference of a loss | ours, ms | {columns} | ratio |")
    print("| --- |" + " ---: |" * (3 + len(peers)))
    with tempfile.TemporaryDirectory() as folder:
        for name in [options.only] if options.only else NAMES:
            difference, shortest = compare(name, options, folder)
            ratios.append(shortest["ours"] / min(time for side, time in shortest.items() if side != "ours"))
            is_wrong = is_wrong or difference > LARGEST_DIFFERENCE
            times = " | ".join(f"{shortest[side]:.2f}" for side in ["ours", *peers])
            print(f"| {name} | {difference:.1e} | {times} | {ratios[-1]:.2f} |", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of our time divided by the better peer's: {mean:.2f}")
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
