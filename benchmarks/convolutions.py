#!/usr/bin/env python3
"""Convolutions and two small convolutional networks against PyTorch, eager and compiled by inductor. All sides are run
in turns, each in a process of its own, and the best of each counts: CPU time with one thread, wall time with more. A
ratio is PyTorch's time divided by ours: of a convolution the better of its two, of a network eager by eager and
compiled by compiled.
usage: convolutions.py BENCH_CONVOLUTIONS [--threads 1] [--rounds 3] [--seconds 0.3] [--only CASE] [--peers
    eager,compile]
                       [--write docs/performance.md]   (run by a Python that has PyTorch)"""

import argparse
import json
import os
import subprocess
import sys
import time

# name: input, rows, kernel, stride, padding, groups, is the first of a network; the same as in convolutions.cpp
CASES = {
    "3x3, 64 at 56": ((8, 64, 56, 56), 64, 3, 1, 1, 1),
    "3x3, 128 at 28": ((8, 128, 28, 28), 128, 3, 1, 1, 1),
    "3x3, 256 at 14": ((8, 256, 14, 14), 256, 3, 1, 1, 1),
    "3x3, 512 at 7": ((8, 512, 7, 7), 512, 3, 1, 1, 1),
    "3x3 / 2, 128 to 256": ((8, 128, 28, 28), 256, 3, 2, 1, 1),
    "1x1, 64 to 256 at 56": ((8, 64, 56, 56), 256, 1, 1, 0, 1),
    "1x1, 1024 to 256 at 14": ((8, 1024, 14, 14), 256, 1, 1, 0, 1),
    "7x7 / 2, images": ((8, 3, 224, 224), 64, 7, 2, 3, 1, True),
    "depthwise 3x3, 128 at 56": ((8, 128, 56, 56), 128, 3, 1, 1, 128),
    "depthwise 3x3 / 2, 128 at 56": ((8, 128, 56, 56), 128, 3, 2, 1, 128),
    "depthwise 3x3, 512 at 14": ((8, 512, 14, 14), 512, 3, 1, 1, 512),
    "3x3, 16 to 32 at 14": ((64, 16, 14, 14), 32, 3, 1, 1, 1),
    "3x3, 1 to 16 at 28": ((64, 1, 28, 28), 16, 3, 1, 1, 1, True),
    "3x3, 64 at 56, one image": ((1, 64, 56, 56), 64, 3, 1, 1, 1),
    "1-d, 9, 64 at 4000": ((8, 64, 4000), 64, 9, 1, 4, 1),
}
NETWORKS = {"CNN": (64, 1, 28, 28), "ResNet": (64, 3, 32, 32)}
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
BEGIN, END = "\n## Convolutions, {} thread{}\n", "\n## "


def networks():
    import torch.nn as nn
    import torch.nn.functional as F

    def stage(channels, width):
        return nn.Sequential(nn.Conv2d(channels, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2))

    def convolution(channels, width, stride=1, kernel=3):
        return nn.Sequential(nn.Conv2d(channels, width, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(width))

    class Block(nn.Module):
        def __init__(self, channels, width):
            super().__init__()
            stride = 1 if channels == width else 2
            self.first, self.second = convolution(channels, width, stride), convolution(width, width)
            self.shortcut = nn.Identity() if channels == width else convolution(channels, width, stride, 1)

        def forward(self, x):
            return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))

    end = (nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return {
        "CNN": lambda: nn.Sequential(stage(1, 16), stage(16, 32), *end, nn.Linear(32, 10)),
        "ResNet": lambda: nn.Sequential(
            convolution(3, 16), nn.ReLU(), Block(16, 16), Block(16, 32), Block(32, 64), *end, nn.Linear(64, 10)
        ),
    }


def theirs(options):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    is_compiled = options.theirs == "compile"
    compiled = torch.compile if is_compiled else lambda f: f

    def measure(case, what, run):
        run()
        run()
        best, start, calls = float("inf"), time.perf_counter(), 0
        while time.perf_counter() - start < options.seconds or calls < 3:
            begin = clock()
            run()
            best = min(best, clock() - begin)
            calls += 1
        print(json.dumps({"case": case, "what": what, "ms": 1000 * best}), flush=True)

    def convolution(name, shape, rows, kernel, stride, padding, groups, is_first=False):
        torch.compiler.reset()
        x, bias = torch.randn(shape), torch.randn(rows)
        weight = torch.randn(rows, shape[1] // groups, *[kernel] * (len(shape) - 2)) * 0.05
        function = F.conv1d if len(shape) == 3 else F.conv2d
        convolve = compiled(lambda x, w, b: function(x, w, b, stride, padding, 1, groups))
        with torch.no_grad():
            grad = torch.randn(convolve(x, weight, bias).shape)
            measure(name, "forward", lambda: convolve(x, weight, bias))
        inputs = [weight.requires_grad_(), bias.requires_grad_()] + ([] if is_first else [x.requires_grad_()])
        measure(name, "training", lambda: torch.autograd.grad(convolve(x, weight, bias), inputs, grad))

    def network(name, make, shape):
        torch.compiler.reset()
        model, x, classes = make(), torch.randn(shape), torch.randint(0, 10, shape[:1])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=True)
        loss = compiled(lambda x, y: F.cross_entropy(model(x), y))
        suffix = "compiled" if is_compiled else "eager"

        def step():
            optimizer.zero_grad()
            loss(x, classes).backward()
            optimizer.step()

        measure(name, "step, " + suffix, step)
        model.eval()
        forward = compiled(lambda x: model(x))
        with torch.no_grad():
            measure(name, "forward, " + suffix, lambda: forward(x))

    for name, case in CASES.items():
        if options.only in (None, name):
            convolution(name, *case)
    for name, make in networks().items():
        if options.only in (None, name):
            network(name, make, NETWORKS[name])


def run(options, command, key):
    environment = {
        **os.environ,
        **TUNED,
        "FULGURITE_NUM_THREADS": str(options.threads),
        "OMP_NUM_THREADS": str(options.threads),
    }
    pinned = ["taskset", "-c", "1", *command] if options.threads == 1 and os.cpu_count() > 1 else command
    done = subprocess.run(pinned, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return {(line["case"], line["what"]): line[key] for line in map(json.loads, done.stdout.splitlines())}


def measure(options):
    """The best milliseconds of each side, by case and what was measured."""
    common = ["--seconds", str(options.seconds)] + (["--only", options.only] if options.only else [])
    sides = {
        peer: (
            [sys.executable, __file__, options.bench, "--theirs", peer, "--threads", str(options.threads), *common],
            "ms",
        )
        for peer in options.peers.split(",")
    }
    sides["ours"] = ([options.bench, *common], "cpu_ms_best" if options.threads == 1 else "ms_best")
    best = {side: {} for side in sides}
    for _ in range(options.rounds):
        for side, (command, key) in sides.items():
            for what, ms in run(options, command, key).items():
                best[side][what] = min(best[side].get(what, float("inf")), ms)
    return best


def rows_of(best):
    rows = []
    for key, ours in best["ours"].items():
        peers = {side: times[key] for side, times in best.items() if side != "ours" and key in times}
        if peers:
            rows.append([*key, *(peers.get(side) for side in ("eager", "compile")), ours, min(peers.values()) / ours])
    return rows


def section(rows, threads):
    lines = [
        BEGIN.format(threads, "s" if threads > 1 else ""),
        "f32, by `benchmarks/convolutions.py`. Batches are of 8, those with 1 or 16 channels of 64. Training is the "
        "forward and both gradients (of a "
        "network's first layer that of the weight alone); a step of a network is its loss, gradients and SGD with "
        "momentum.\n",
        "| case | what | PyTorch eager | inductor | ours | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for case, what, *times, ratio in rows:
        lines.append(
            f"| {case} | {what} | " + " | ".join("" if t is None else f"{t:.2f}" for t in times) + f" | {ratio:.2f} |"
        )
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
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", choices=[*CASES, *NETWORKS])
    parser.add_argument("--peers", default="eager,compile")
    parser.add_argument("--write", metavar="FILE")
    parser.add_argument("--theirs", choices=("eager", "compile"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.theirs:
        return theirs(options)
    rows = rows_of(measure(options))
    for case, what, *times, ratio in rows:
        print(
            f"{case:30} {what:18}" + "".join(f"{'':>9}" if t is None else f"{t:9.3f}" for t in times) + f"{ratio:7.2f}"
        )
    if options.write:
        write(options.write, rows, options.threads)


if __name__ == "__main__":
    main()
