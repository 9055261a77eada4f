#!/usr/bin/env python3
"""Attention alone, forward and backward apart, straight from a packed projection, against PyTorch's flash kernels. Both
are run in turns and the best of each counts: CPU time with one thread, wall time with more. A ratio is PyTorch's time
divided by ours.
usage: attention.py BENCH_ATTENTION [--threads 1] [--rounds 3] [--seconds 0.5] [--only CASE] [--write
    docs/performance.md]
(run by a Python that has PyTorch)"""

import argparse
import json
import os
import subprocess
import sys
import time

# name: batch, heads, heads of key and value, length, width, is causal; the same as in attention.cpp
CASES = {
    "gpt6l": (8, 6, 6, 256, 64, True),
    "llama": (1, 16, 16, 512, 64, True),
    "long": (1, 6, 6, 2048, 64, True),
    "grouped": (1, 16, 4, 512, 128, True),
    "all": (4, 8, 8, 256, 64, False),
    "odd": (3, 5, 5, 197, 40, False),
}
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
BEGIN, END = "\n## Attention, {} thread{}\n", "\n## "


def theirs(options):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter

    def best_of(run):
        run()
        best, start, calls = float("inf"), time.perf_counter(), 0
        while time.perf_counter() - start < options.seconds or calls < 3:
            begin = clock()
            run()
            best = min(best, clock() - begin)
            calls += 1
        return 1000 * best

    batch, heads, shared, length, width, causal = CASES[options.theirs]
    dtype = torch.float32 if options.dtype == "f32" else torch.bfloat16
    packed = torch.randn(batch, length, (heads + 2 * shared) * width).to(dtype)
    q, k, v = (
        x.view(batch, length, -1, width).transpose(1, 2)
        for x in packed.split([heads * width, shared * width, shared * width], 2)
    )
    g = torch.randn(batch, length, heads * width).to(dtype).view(batch, length, heads, width).transpose(1, 2)

    def attend():
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != shared)

    print(json.dumps({"direction": "forward", "ms": best_of(attend)}))
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    y = attend()
    print(
        json.dumps(
            {"direction": "backward", "ms": best_of(lambda: torch.autograd.grad(y, (q, k, v), g, retain_graph=True))}
        )
    )


def run(options, command, key):
    environment = {
        **os.environ,
        **TUNED,
        "FULGURITE_NUM_THREADS": str(options.threads),
        "OMP_NUM_THREADS": str(options.threads),
    }
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return {line["direction"]: line[key] for line in map(json.loads, done.stdout.splitlines())}


def measure(options, case, dtype):
    peer = [
        sys.executable,
        __file__,
        options.bench,
        "--theirs",
        case,
        "--dtype",
        dtype,
        "--threads",
        str(options.threads),
        "--seconds",
        str(options.seconds),
    ]
    ours = [options.bench, "--only", case, "--dtype", dtype, "--seconds", str(options.seconds)]
    best = {}
    for _ in range(options.rounds):
        for side, command, key in (
            ("pytorch", peer, "ms"),
            ("ours", ours, "cpu_ms_best" if options.threads == 1 else "ms_best"),
        ):
            for direction, ms in run(options, command, key).items():
                best[side, direction] = min(best.get((side, direction), float("inf")), ms)
    row = {"case": case, "dtype": dtype, "threads": options.threads}
    for direction in ("forward", "backward"):
        row[direction] = [round(best[side, direction], 2) for side in ("pytorch", "ours")]
        row[direction + "_ratio"] = round(best["pytorch", direction] / best["ours", direction], 2)
    print(json.dumps(row), flush=True)
    return row


def section(rows, threads):
    lines = [
        BEGIN.format(threads, "s" if threads > 1 else ""),
        "By `benchmarks/attention.py`.\n",
        "| case (batch, heads, heads of keys, length, width) | dtype | forward: PyTorch | ours | ratio | backward: "
        "PyTorch | ours | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        *sizes, causal = CASES[row["case"]]
        name = f"{row['case']} ({', '.join(map(str, sizes))}{', causal' if causal else ''})"
        cells = [cell for d in ("forward", "backward") for cell in (*row[d], row[d + "_ratio"])]
        lines.append(f"| {name} | {row['dtype']} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def write(path, rows, threads):
    """The page's other sections stay."""
    text = open(path).read() if os.path.exists(path) else "# Performance\n"
    title = BEGIN.format(threads, "s" if threads > 1 else "")
    if title in text:
        before, _, after = text.partition(title)
        text = before + (END + after.partition(END)[2] if END in after else "")
    with open(path, "w") as file:
        file.write(text.rstrip("\n") + "\n" + section(rows, threads))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--dtype", choices=("f32", "bf16"))
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--theirs", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.theirs:
        return theirs(options)
    rows = [
        measure(options, case, dtype)
        for dtype in ("bf16", "f32")
        if options.dtype in (None, dtype)
        for case in CASES
        if options.only in (None, case)
    ]
    if options.write:
        write(options.write, rows, options.threads)


if __name__ == "__main__":
    main()
