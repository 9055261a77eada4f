"""Trains a small model for many steps through `fulgurite.jit` and `torch.compile(backend="fulgurite")`, in one thread
and in many at once: the loss falls as in eager, and the process's memory stays as it is after the first tenth.

usage: run_steps.py [--steps 10000] [--threads 16] [--ways jit,compile] [--growth MB]

--growth: how many MB more are an error; the allocators of 16 threads keep some of what their threads had at a time.
"""

import argparse
import copy
import gc
import sys
import threading

import fulgurite as fg
import fulgurite.torch  # noqa: F401  the back end
import torch

WIDTH, ROWS = 16, 8


def net():
    """A model with a normalization, dropout and a buffer that each step changes."""
    return torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 2 * WIDTH),
        torch.nn.BatchNorm1d(2 * WIDTH),
        torch.nn.GELU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(2 * WIDTH, 4),
    )


def compiled(model, way):
    """The model through one of the two ways, or itself."""
    ways = {"eager": lambda m: m, "jit": fg.jit, "compile": lambda m: torch.compile(m, backend="fulgurite")}
    return ways[way](model)


def resident():
    """The process's resident memory in MB."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def train(model, way, steps, at_tenth=lambda: None):
    """The loss of the last steps."""
    function = compiled(model, way)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(1))
    y = torch.arange(ROWS) % 4
    total = 0.0
    for step in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(function(x), y)
        loss.backward()
        optimizer.step()
        if step == steps // 10:
            at_tenth()
        if step >= steps - 100:
            total += loss.item() / 100
    return total


def run(way, steps, threads):
    """(the loss, the growth of memory in MB) of many steps, in so many threads at once."""
    torch.manual_seed(0)
    models = [net() for _ in range(threads)]
    before, losses = [], [None] * threads
    barrier = threading.Barrier(threads, action=lambda: before.append(resident()))

    def work(i):
        losses[i] = train(models[i], way, steps // threads, barrier.wait)

    if threads == 1:
        work(0)
    else:
        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return losses, resident() - before[0]


def main():
    """Runs all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--ways", default="jit,compile")
    parser.add_argument("--growth", type=float, default=4.0)
    options = parser.parse_args()
    torch.manual_seed(0)
    expected = train(copy.deepcopy(net()), "eager", 1000)
    failed = 0
    for way in options.ways.split(","):
        for threads in sorted({1, options.threads}):
            losses, growth = run(way, options.steps, threads)
            is_wrong = any(loss is None or not loss < max(0.05, 2 * expected) for loss in losses)
            is_failed = is_wrong or growth > options.growth
            failed += is_failed
            print(
                f"{way}, {threads} threads: {options.steps} steps, loss {max(x or 0.0 for x in losses):.4f}, "
                f"{growth:+.1f} MB{', FAILED' if is_failed else ''}",
                flush=True,
            )
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
