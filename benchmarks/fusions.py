#!/usr/bin/env python3
"""The fusions that peers are compared on, forward and backward, against PyTorch: eager with its default allocation, and
with an allocator that keeps freed pages (MALLOC=tuned). Ours are the eager executor and all executors. All are run in
turns and the best of each counts: CPU time with one thread, wall time with more.
usage: fusions.py BENCH_FUSIONS [--threads 1] [--rounds 3] [--seconds 1] [--only CASE]
(run by a Python that has PyTorch)"""

import argparse
import json
import os
import subprocess
import sys
import time

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
CASES = ("gelu", "layernorm", "softmax", "xent", "adamw")


def cases():
    import torch
    import torch.nn.functional as F

    def leaf(*sizes):
        return torch.randn(*sizes).requires_grad_()

    def differentiated(function, inputs, gradient):
        def run():
            y = function(*inputs)
            return y, torch.autograd.grad(y, inputs, gradient)

        return run

    def gelu():
        return differentiated(
            lambda x, w, b: F.gelu(x * w + b, approximate="tanh"),
            [leaf(4096, 4096), leaf(4096), leaf(4096)],
            torch.randn(4096, 4096),
        )

    def layernorm():
        return differentiated(
            lambda x, w, b: F.layer_norm(x, (1024,), w, b),
            [leaf(8192, 1024), leaf(1024), leaf(1024)],
            torch.randn(8192, 1024),
        )

    def softmax():
        return differentiated(lambda x: F.softmax(x, -1), [leaf(8192, 1024)], torch.randn(8192, 1024))

    def xent():
        target = torch.randint(0, 50257, (2048,))
        return differentiated(lambda x: F.cross_entropy(x, target), [leaf(2048, 50257)], None)

    def adamw():
        parameter = leaf(124, 1000, 100)
        parameter.grad = torch.randn(124, 1000, 100)
        return torch.optim.AdamW([parameter], lr=1e-3, weight_decay=0.1, fused=True).step

    return {"gelu": gelu, "layernorm": layernorm, "softmax": softmax, "xent": xent, "adamw": adamw}


def best_of(run, seconds, clock):
    run()
    best, start, calls = float("inf"), time.perf_counter(), 0
    while time.perf_counter() - start < seconds or calls < 3:
        begin = clock()
        run()
        best = min(best, clock() - begin)
        calls += 1
    return 1000 * best


def theirs(options, case):
    """In a process of its own: what is asked of the allocator is read when it starts."""
    import torch

    torch.set_num_threads(options.threads)
    print(
        json.dumps(
            {
                "ms": best_of(
                    cases()[case](), options.seconds, time.process_time if options.threads == 1 else time.perf_counter
                )
            }
        )
    )


def run(options, command, key, variables):
    environment = {
        **os.environ,
        "FULGURITE_NUM_THREADS": str(options.threads),
        "OMP_NUM_THREADS": str(options.threads),
        **variables,
    }
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[0])[key]


def measure(options, case):
    own = "cpu_ms_best" if options.threads == 1 else "ms_best"
    peer = [
        sys.executable,
        __file__,
        options.bench,
        "--theirs",
        case,
        "--threads",
        str(options.threads),
        "--seconds",
        str(options.seconds),
    ]
    ours = [options.bench, "--only", case, "--seconds", str(options.seconds), "--executors"]
    sides = {
        "pytorch": (peer, "ms", {}),
        "pytorch_tuned": (peer, "ms", TUNED),
        "eager": (ours + ["eager"], own, TUNED),
        "fused": (ours + ["products,onednn,fuser"], own, TUNED),
    }
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(options.rounds):
        for side, (command, key, variables) in sides.items():
            best[side] = min(best[side], run(options, command, key, variables))
    row = {
        "case": case,
        "threads": options.threads,
        **{side + "_ms": round(ms, 2) for side, ms in best.items()},
        "ratio": round(min(best["pytorch"], best["pytorch_tuned"]) / best["fused"], 2),
    }
    print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--theirs", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.theirs:
        return theirs(options, options.theirs)
    for case in CASES:
        if options.only in (None, case):
            measure(options, case)


if __name__ == "__main__":
    main()
