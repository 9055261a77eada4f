"""Training steps beside as many busy processes as there are CPUs: wall and CPU time over those on the quiet machine.

usage: load.py --cli FULGURITE [--pytorch PYTHON] [--steps N] [--threads N] [--rounds N]
The model is that of `fulgurite train` without flags. --pytorch also runs benchmarks/pytorch_gpt.py, the same model, by
that Python. Quiet and loaded runs take turns; each figure is the smallest of the rounds. Busy processes end by
themselves. Prints a JSON line for each."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BUSY = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
LONGEST = 240  # seconds of a run


class Load:
    """Busy processes for a scope."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        self.processes = [
            subprocess.Popen([sys.executable, "-c", BUSY.format(seconds=LONGEST)]) for _ in range(self.count)
        ]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(command):
    """Wall and CPU seconds of a command."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {messages.decode()}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime


class Fulgurite:
    name = "fulgurite"

    def __init__(self, arguments, folder, text):
        self.command = [
            arguments.cli,
            "train",
            "--text",
            text,
            "--threads",
            arguments.threads,
            "--eval-every",
            0,
            "--checkpoint-every",
            0,
            "--eval-batches",
            1,
        ]
        self.folder, self.steps, self.runs = folder, arguments.steps, 0

    def run(self, steps):
        self.runs += 1
        return measure([*self.command, "--out", self.folder / f"run{self.runs}", "--steps", steps])

    def step_times(self):
        """Wall and CPU seconds of the steps: of a run less those of a run of one step."""
        first, all_steps = self.run(1), self.run(1 + self.steps)
        return [after - before for before, after in zip(first, all_steps)]


class PyTorch:
    name = "pytorch"

    def __init__(self, arguments, folder, text):
        start = folder / "start"
        measure([arguments.cli, "train", "--text", text, "--out", start, "--steps", 0])
        self.command = [
            arguments.pytorch,
            pathlib.Path(__file__).with_name("pytorch_gpt.py"),
            "--checkpoint",
            next(start.glob("**/*.safetensors")),
            "--text",
            text,
            "--steps",
            arguments.steps,
            "--threads",
            arguments.threads,
        ]

    def step_times(self):
        output = subprocess.run(
            [str(part) for part in self.command], check=True, capture_output=True, text=True, timeout=LONGEST
        ).stdout
        result = json.loads(output.splitlines()[-1])
        return [result["seconds"], result["cpu_seconds"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cli", required=True)
    parser.add_argument("--pytorch")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = folder / "text.txt"
        pages = sorted((pathlib.Path(__file__).parents[1] / "docs").glob("*.md"))
        text.write_text("".join(page.read_text(encoding="utf-8") for page in pages), encoding="utf-8")
        for kind in [Fulgurite, *([PyTorch] if arguments.pytorch else [])]:
            one = kind(arguments, folder, text)
            one.step_times()  # compiles, and reads what it reads into the caches
            quiet, loaded = [], []
            for _ in range(arguments.rounds):
                quiet.append(one.step_times())
                with Load(cpus):
                    loaded.append(one.step_times())
            least = {
                key: [min(times[i] for times in runs) for i in range(2)]
                for key, runs in (("quiet", quiet), ("loaded", loaded))
            }
            print(
                json.dumps(
                    {
                        "what": one.name,
                        "steps": arguments.steps,
                        "threads": arguments.threads,
                        "busy_processes": cpus,
                        "quiet_seconds": round(least["quiet"][0], 3),
                        "quiet_cpu_seconds": round(least["quiet"][1], 3),
                        "loaded_seconds": round(least["loaded"][0], 3),
                        "loaded_cpu_seconds": round(least["loaded"][1], 3),
                        "wall_ratio": round(least["loaded"][0] / least["quiet"][0], 2),
                        "cpu_ratio": round(least["loaded"][1] / least["quiet"][1], 2),
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
