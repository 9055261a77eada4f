#!/usr/bin/env python3
"""Training steps of PyTorch's models through torch.compile(backend="fulgurite") and fulgurite.jit beside eager and
inductor: GPT-2 with a small configuration, an MLP and a CNN. Each side runs in processes of its own, in turns, and the
best of all rounds counts: CPU time of a step with one thread, wall time with more; the first step, with its
compilation; and the most memory that the process had.
usage: torch_training.py [--cases gpt2,mlp,cnn] [--sides eager,inductor,compile,jit] [--rounds 3] [--steps 10]
    [--threads 1]
                         (run by a Python that has PyTorch, transformers and this package)"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

SIDES = ("eager", "inductor", "compile", "jit")


def gpt2(torch):
    """4 layers of 256, 8 x 128 tokens."""
    import transformers

    config = transformers.GPT2Config(
        n_layer=4,
        n_embd=256,
        n_head=4,
        vocab_size=8192,
        n_positions=128,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        use_cache=False,
    )
    ids = torch.randint(0, config.vocab_size, (8, 128))
    model = transformers.GPT2LMHeadModel(config)
    return model, lambda compiled: compiled(input_ids=ids, labels=ids).loss


def mlp(torch):
    """Three layers of 1024, 256 rows."""
    layers = [
        torch.nn.Linear(1024, 1024),
        torch.nn.GELU(),
        torch.nn.Linear(1024, 1024),
        torch.nn.GELU(),
        torch.nn.Linear(1024, 10),
    ]
    x, y = torch.randn(256, 1024), torch.randint(0, 10, (256,))
    return torch.nn.Sequential(*layers), lambda compiled: torch.nn.functional.cross_entropy(compiled(x), y)


def cnn(torch):
    """Three convolutions with batch norm, 32 images of 32 x 32."""
    layers, channels = [], 3
    for wider in (32, 64, 128):
        layers += [
            torch.nn.Conv2d(channels, wider, 3, padding=1),
            torch.nn.BatchNorm2d(wider),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
        ]
        channels = wider
    model = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(128 * 16, 10))
    x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    return model, lambda compiled: torch.nn.functional.cross_entropy(compiled(x), y)


CASES = {"gpt2": gpt2, "mlp": mlp, "cnn": cnn}


def measure(case, side, steps, threads):
    """Prints the figures of one side as JSON."""
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, loss_of = CASES[case](torch)
    if side == "eager":
        compiled = model
    elif side == "jit":
        import fulgurite

        compiled = fulgurite.jit(model)
    else:
        compiled = torch.compile(model, backend="fulgurite" if side == "compile" else "inductor")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    clock = time.process_time if threads == 1 else time.perf_counter

    def step():
        optimizer.zero_grad()
        loss = loss_of(compiled)
        loss.backward()
        optimizer.step()
        return loss.item()

    start = time.perf_counter()
    losses = [step()]
    first, times = time.perf_counter() - start, []
    for _ in range(steps):
        start = clock()
        losses.append(step())
        times.append(clock() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step": min(times) * 1e3, "first": first, "memory": peak, "loss": losses[min(5, steps)]}))


def run(case, side, options):
    """The figures of a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--measure",
        case,
        side,
        "--steps",
        str(options.steps),
        "--threads",
        str(options.threads),
    ]
    variables = {**os.environ, "OMP_NUM_THREADS": str(options.threads), "FULGURITE_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=variables)
    if done.returncode:
        raise RuntimeError(f"{case}, {side}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Runs all sides in turns and prints a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--measure", nargs=2)
    options = parser.parse_args()
    if options.measure:
        return measure(*options.measure, options.steps, options.threads)
    for case in options.cases.split(","):
        best, sides = {}, options.sides.split(",")
        for _ in range(options.rounds):
            for side in sides:
                found = run(case, side, options)
                kept = best.setdefault(side, found)
                best[side] = {key: min(kept[key], value) for key, value in found.items()}
        print(f"{case}: {CASES[case].__doc__}")
        for side in sides:
            figures = best[side]
            if abs(figures["loss"] - best[sides[0]]["loss"]) > 1e-3 * abs(best[sides[0]]["loss"]):
                raise RuntimeError(
                    f"{case}: the loss of {side} is {figures['loss']}, of {sides[0]} {best[sides[0]]['loss']}"
                )
            print(
                f"  {side:9} {figures['step']:8.1f} ms a step, {best[sides[0]]['step'] / figures['step']:5.2f} "
                f"times {sides[0]}'s speed, first step "
                f"{figures['first']:6.1f} s, {figures['memory']:6.0f} MB",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
