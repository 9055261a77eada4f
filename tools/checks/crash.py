#!/usr/bin/env python3
"""Kills a training run with SIGKILL at random moments, resumes it until it is done, and compares it with a run that was
never killed.

Checkpoint tensors (every byte of model and optimizer) and all logged losses must be the same. Some kills come before
the first checkpoint, some while a checkpoint is being written, the others at any moment. When a run ends before the
wanted number of kills is reached, another one begins."""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

WORDS = (
    "the a ship sea wind captain storm sails under over bright dark morning stars and then with of silver harbour"
).split()


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, holds, what):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)
        return holds


def made_up_text(path, seed):
    words = random.Random(seed)
    lines = (" ".join(words.choice(WORDS) for _ in range(8)).capitalize() + "." for _ in range(400))
    path.write_text("\n".join(lines) + "\n")


def tensors_of(folder):
    """Name -> (dtype, shape, bytes) of the checkpoint, and its step."""
    data = (folder / "checkpoint" / "checkpoint.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    body = data[8 + length :]
    tensors = {
        name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])]) for name, entry in header.items()
    }
    return tensors, metadata


def losses_of(folder):
    """(kind, step) -> loss; a line that is there twice is an error."""
    losses = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        for kind in ("train_loss", "val_loss"):
            if kind in entry:
                key = (kind, entry["step"])
                if key in losses:
                    raise ValueError(f"{kind} of step {entry['step']} is there twice")
                losses[key] = entry[kind]
    return losses


def first_difference(ours, expected):
    for name in expected:
        if name not in ours:
            return f"{name} is missing"
        if ours[name] != expected[name]:
            values = "" if isinstance(expected[name], tuple) else f": {ours[name]}, expected {expected[name]}"
            return f"{name} differs{values}"
    extra = set(ours) - set(expected)
    return f"{sorted(extra)[0]} is not in the uninterrupted run" if extra else ""


class Harness:
    def __init__(self, options, folder, text):
        self.command = [
            str(options.program.resolve()),
            "train",
            "--text",
            str(text),
            "--layers",
            "2",
            "--heads",
            "2",
            "--width",
            "32",
            "--block",
            "16",
            "--batch",
            "4",
            "--steps",
            str(options.steps),
            "--dropout",
            "0.1",
            "--log-every",
            "1",
            "--checkpoint-every",
            "20",
            "--eval-every",
            "50",
            "--eval-batches",
            "2",
            "--warmup",
            "20",
            "--threads",
            "1",
            "--json",
        ]
        self.checks = Checks()
        self.random = random.Random(options.seed)
        self.folder = folder
        self.kills = {"before the first checkpoint": 0, "while a checkpoint is written": 0, "at any moment": 0}
        self.restarts = 0

    def start(self, out, *flags):
        return subprocess.Popen(
            [*self.command, "--out", str(out), *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def uninterrupted(self, out):
        begin = time.monotonic()
        process = self.start(out)
        output, errors = process.communicate()
        whole = time.monotonic() - begin
        if not self.checks.expect(
            process.returncode == 0, f"the uninterrupted run ended with {process.returncode}: {errors.strip()}"
        ):
            return False
        self.training_seconds = json.loads(output.splitlines()[-1])["seconds"]
        self.starting_seconds = max(whole - self.training_seconds, 0.01)
        return True

    def wait_for_moment(self, process, out, kind, wanted):
        """Waits until it is time to kill; False when the run ended by itself."""
        if kind == "before the first checkpoint":
            deadline = time.monotonic() + self.random.uniform(0, 0.8 * self.starting_seconds)
        else:
            deadline = (
                time.monotonic() + self.starting_seconds + self.random.uniform(0, 1.5 * self.training_seconds / wanted)
            )
        while time.monotonic() < deadline:
            if process.poll() is not None:
                return False
            time.sleep(0.0005)
        if kind == "while a checkpoint is written":
            while not list((out / "checkpoint").glob("*.part")):
                if process.poll() is not None:
                    return False
        return process.poll() is None

    def one_run(self, out, wanted):
        """Starts, kills and resumes until the run is done; the number of kills and the last output."""
        killed = 0
        while True:
            has_checkpoint = (out / "checkpoint" / "checkpoint.safetensors").exists()
            if out.exists() and not has_checkpoint:
                refused = self.start(out, "--resume")
                _, errors = refused.communicate()
                self.checks.expect(
                    refused.returncode == 1 and errors.count("\n") == 1 and "there is no checkpoint in" in errors,
                    f"--resume without a checkpoint ended with {refused.returncode}: {errors.strip()}",
                )
                self.restarts += 1
            process = self.start(out, *(["--resume"] if has_checkpoint else []))
            if killed < wanted:
                kind = (
                    "before the first checkpoint"
                    if not has_checkpoint and killed < 2
                    else self.random.choice(["while a checkpoint is written", "at any moment", "at any moment"])
                )
                if self.wait_for_moment(process, out, kind, wanted):
                    process.kill()
                    process.communicate()
                    if process.returncode == -9:
                        self.kills[kind] += 1
                        killed += 1
                        continue
            _, errors = process.communicate()
            self.checks.expect(
                process.returncode == 0, f"a resumed run ended with {process.returncode}: {errors.strip()}"
            )
            return killed if process.returncode == 0 else None

    def compare(self, out, reference):
        ours, our_metadata = tensors_of(out)
        expected, metadata = tensors_of(reference)
        for prefix in ("model.", "optimizer."):
            mine = {name: value for name, value in ours.items() if name.startswith(prefix)}
            theirs = {name: value for name, value in expected.items() if name.startswith(prefix)}
            self.checks.expect(theirs, f"the checkpoint has no tensor {prefix}*")
            difference = first_difference(mine, theirs)
            self.checks.expect(not difference, f"{out.name}: {difference}")
        difference = first_difference(our_metadata, metadata)
        self.checks.expect(not difference, f"{out.name}: the checkpoint's {difference}")
        try:
            difference = first_difference(losses_of(out), losses_of(reference))
        except (ValueError, KeyError) as error:
            difference = f"metrics.jsonl: {error}"
        self.checks.expect(not difference, f"{out.name}: {difference}")
        leftovers = [path.name for path in out.rglob("*.part")]
        self.checks.expect(not leftovers, f"{out.name}: left behind: {' '.join(leftovers)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path, help="the fulgurite program")
    parser.add_argument("--kills", type=int, default=20, help="kills in all, at least (20)")
    parser.add_argument("--steps", type=int, default=300, help="steps of the run (300)")
    parser.add_argument("--seed", type=int, default=7, help="seed of the moments (7)")
    parser.add_argument("--text", type=pathlib.Path, help="text to learn from (some made-up lines)")
    options = parser.parse_args()
    if not options.program.is_file():
        sys.exit(f"crash: there is no program {options.program}")
    with tempfile.TemporaryDirectory(prefix="fulgurite_crash_") as name:
        folder = pathlib.Path(name)
        text = options.text
        if text is None:
            text = folder / "text.txt"
            made_up_text(text, options.seed)
        harness = Harness(options, folder, text)
        killed = runs = 0
        if harness.uninterrupted(folder / "uninterrupted"):
            while killed < options.kills and harness.checks.failed == 0:
                runs += 1
                out = folder / f"killed_{runs}"
                in_this_run = harness.one_run(out, options.kills - killed)
                if in_this_run is None:
                    break
                killed += in_this_run
                harness.compare(out, folder / "uninterrupted")
            harness.checks.expect(killed >= options.kills or harness.checks.failed, f"only {killed} kills")
        listed = ", ".join(f"{count} {kind}" for kind, count in harness.kills.items())
        print(f"{killed} kills in {runs} runs: {listed}; {harness.restarts} restarts without a checkpoint")
        print(f"{harness.checks.passed} passed, {harness.checks.failed} failed")
        return 1 if harness.checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
