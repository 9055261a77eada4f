"""nanoGPT's CPU setting: `fulgurite train` and eager PyTorch, the same weights and batches, run alternately in one
process run.

usage: train_nanogpt.py --fulgurite PROGRAM --text FILE [--steps N] [--repeats N] [--threads 1,2]
Prints for each number of threads the best milliseconds a step of both and their ratio, and how far the losses
differ."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def ours(program, text, steps, threads, out, extra=()):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = subprocess.run(
        [
            program,
            "train",
            "--text",
            text,
            "--out",
            out,
            "--stop-at",
            str(steps),
            "--threads",
            str(threads),
            "--eval-every",
            "0",
            "--checkpoint-every",
            "0",
            "--log-every",
            "1",
            "--json",
            *extra,
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()[-1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(line)
    result["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result


def theirs(checkpoint, text, steps, threads):
    line = subprocess.run(
        [
            sys.executable,
            os.path.join(HERE, "pytorch_gpt.py"),
            "--checkpoint",
            checkpoint,
            "--text",
            text,
            "--steps",
            str(steps),
            "--threads",
            str(threads),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return json.loads(line)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fulgurite", required=True)
    arguments.add_argument("--text", required=True)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--threads", default="1,2")
    a = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = os.path.join(folder, "start")
        ours(a.fulgurite, a.text, 0, 1, start)
        checkpoint = os.path.join(start, "checkpoint", "checkpoint.safetensors")
        for threads in [int(t) for t in a.threads.split(",")]:
            best_ours, best_theirs = [], []
            for repeat in range(a.repeats):
                out = os.path.join(folder, f"run{threads}_{repeat}")
                best_ours.append(ours(a.fulgurite, a.text, a.steps, threads, out)["seconds"])
                reference = theirs(checkpoint, a.text, a.steps, threads)
                best_theirs.append(reference["seconds"])
            metrics = [json.loads(line) for line in open(os.path.join(out, "metrics.jsonl"))]
            losses = [m["train_loss"] for m in metrics if "train_loss" in m][: a.steps]
            difference = [abs(x - y) / abs(y) for x, y in zip(losses, reference["losses"])]
            print(
                json.dumps(
                    {
                        "threads": threads,
                        "fulgurite_ms": 1e3 * min(best_ours) / a.steps,
                        "pytorch_ms": 1e3 * min(best_theirs) / a.steps,
                        "ratio": min(best_ours) / min(best_theirs),
                        "largest_loss_difference_first_20": max(difference[:20]),
                        "largest_loss_difference": max(difference),
                        "steps": len(difference),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
