#!/usr/bin/env python3
"""Training steps of PyTorch's models through torch.compile(backend="fulgurite") and fulgurite.jit beside eager and
inductor: small configurations of transformers' and torchvision's models, an MLP and a CNN. Each side runs in processes
of its own, in turns, and the best of all rounds counts: CPU time of a step with one thread, wall time with more; the
first step, with its compilation; and the most memory that the process had. The last line of a case is the better
peer's time divided by the better of ours.
usage: torch_training.py [--cases gpt2,…] [--sides eager,inductor,compile,jit] [--rounds 3] [--steps 10] [--threads 1]
    [--dtype f32|bf16] [--forward]
                         (run by a Python that has PyTorch, transformers, torchvision and this package)"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time

from torch_models import CASES

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
PEERS = ("eager", "inductor")
LOSS_DIFFERENCE = {"f32": 1e-3, "bf16": 3e-2}
SIDES = ("eager", "inductor", "compile", "jit")


def measure(case, side, options):
    """Prints the figures of one side as JSON."""
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model, loss_of = CASES[case](torch)
    if options.dtype == "bf16":
        model.to(torch.bfloat16)
    model.train(not options.forward)
    if side == "eager":
        compiled = model
    elif side == "jit":
        import fulgurite

        compiled = fulgurite.jit(model)
    else:
        compiled = torch.compile(model, backend="fulgurite" if side == "compile" else "inductor")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    clock = time.process_time if options.threads == 1 else time.perf_counter

    def step():
        if options.forward:
            with torch.no_grad():
                return loss_of(compiled).item()
        optimizer.zero_grad()
        loss = loss_of(compiled)
        loss.backward()
        optimizer.step()
        return loss.item()

    start = time.perf_counter()
    losses = [step()]
    first, times = time.perf_counter() - start, []
    for _ in range(options.steps):
        start = clock()
        losses.append(step())
        times.append(clock() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    loss = losses[min(5, options.steps)]
    print(json.dumps({"step": min(times) * 1e3, "first": first, "memory": peak, "loss": loss}))


def run(case, side, options):
    """The figures of a process of its own."""
    command = [sys.executable, __file__, "--measure", case, side, "--steps", str(options.steps)]
    command += ["--threads", str(options.threads), "--dtype", options.dtype] + ["--forward"] * options.forward
    threads = {"OMP_NUM_THREADS": str(options.threads), "FULGURITE_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **TUNED, **threads})
    if done.returncode:
        raise RuntimeError(f"{case}, {side}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(case, options):
    """Runs all sides in turns, prints them, and returns the better peer's time divided by the better of ours."""
    best, sides = {}, options.sides.split(",")
    for _ in range(options.rounds):
        for side in sides:
            found = run(case, side, options)
            kept = best.setdefault(side, found)
            best[side] = {key: min(kept[key], value) for key, value in found.items()}
    print(f"{case}: {CASES[case].__doc__}")
    first = best[sides[0]]
    for side in sides:
        figures = best[side]
        if abs(figures["loss"] - first["loss"]) > LOSS_DIFFERENCE[options.dtype] * abs(first["loss"]):
            raise RuntimeError(f"{case}: the loss of {side} is {figures['loss']}, of {sides[0]} {first['loss']}")
        print(
            f"  {side:9} {figures['step']:8.1f} ms a step, {first['step'] / figures['step']:5.2f} times {sides[0]}'s "
            f"speed, first step {figures['first']:6.1f} s, {figures['memory']:6.0f} MB"
        )
    peers, ours = ([best[s]["step"] for s in sides if (s in PEERS) is is_peer] for is_peer in (True, False))
    ratio = min(peers) / min(ours) if peers and ours else math.nan
    print(f"  ratio     {ratio:.2f}", flush=True)
    return ratio


def main():
    """Compares all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--forward", action="store_true", help="losses without gradients")
    parser.add_argument("--measure", nargs=2)
    options = parser.parse_args()
    if options.measure:
        return measure(*options.measure, options)
    ratios = [compare(case, options) for case in options.cases.split(",")]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean of the ratios {mean:.2f}, least {min(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
