"""Runs the program and looks at what it says and writes."""

import os
import pathlib
import resource
import signal
import subprocess

TEXT = "the quick brown fox jumps over the lazy dog, and the dog sleeps on.\n" * 40
TINY = [
    "--layers",
    "1",
    "--heads",
    "2",
    "--width",
    "16",
    "--block",
    "8",
    "--batch",
    "2",
    "--warmup",
    "2",
    "--eval-batches",
    "1",
    "--log-every",
    "1",
    "--threads",
    "1",
]

# The first words of lines of a training's progress.
PROGRESS = ("text: ", "a GPT of ", "continuing from step ", "step ")


class Failure(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Failure(what)


def expect_equal(got, wanted, what):
    expect(got == wanted, f"{what} is {got!r}, expected {wanted!r}")


def contents(folder):
    """Every file under a folder with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


class Cli:
    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder
        # Settings of the caller's shell must not change the output.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("FULGURITE_")}
        # An allocation that cannot be made fails with AddressSanitizer as it does without.
        self.environment["ASAN_OPTIONS"] = self.environment.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
        suppressions = pathlib.Path(__file__).with_name("tsan_suppressions.txt")
        self.environment["TSAN_OPTIONS"] = self.environment.get("TSAN_OPTIONS", "") + f":suppressions={suppressions}"
        self.text = folder / "text.txt"
        self.text.write_text(TEXT)
        self.made = 0
        self.trained_folder = None

    def new_path(self, suffix=""):
        self.made += 1
        return self.folder / f"path_{self.made}{suffix}"

    def write(self, content, suffix=".txt"):
        path = self.new_path(suffix)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run(self, *arguments, file_limit=None, **how):
        def limit():
            if file_limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))

        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": self.environment, "timeout": 120, **how}
        if "input" not in how:
            how["stdin"] = subprocess.DEVNULL
        return subprocess.run([self.program, *map(str, arguments)], text=True, preexec_fn=limit, **how)

    def good(self, *arguments, **how):
        done = self.run(*arguments, **how)
        expect(
            done.returncode == 0 and (not done.stderr or "train" in arguments),
            f"fulgurite {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr.strip()}",
        )
        return done.stdout

    def bad(self, *arguments, status, message, **how):
        """Runs what must fail with this status and one line, after those of progress, that has `message` in it."""
        done = self.run(*arguments, **how)
        shown = f"fulgurite {' '.join(map(str, arguments))}"
        expect(
            done.returncode == status, f"{shown} ended with {done.returncode}, expected {status}: {done.stderr.strip()}"
        )
        reported = "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith(PROGRESS))
        one_line = reported.startswith("fulgurite: ") and reported.count("\n") == 1 and reported.endswith("\n")
        expect(one_line, f"{shown} said {done.stderr!r}, expected one line")
        expect(message in done.stderr, f"{shown} said {done.stderr!r}, expected {message!r} in it")
        return done

    def train(self, out, *flags, text=None, **how):
        return self.good(*self.training(out, *flags, text=text), **how)

    def training(self, out, *flags, text=None):
        """The arguments of a tiny training run; later flags of the same name replace the tiny run's."""
        given = {flag.split("=")[0] for flag in map(str, flags) if flag.startswith("--")}
        tiny = [part for name, value in zip(TINY[::2], TINY[1::2]) if name not in given for part in (name, value)]
        steps = [] if "--steps" in given else ["--steps", "10"]
        return ["train", "--text", text or self.text, "--out", out, *tiny, *steps, *flags]

    def bad_training(self, *flags, status, message, text=None, **how):
        """A run that must fail without leaving anything in --out."""
        out = self.new_path()
        self.bad(*self.training(out, *flags, text=text), status=status, message=message, **how)
        expect(not out.exists(), f"train {' '.join(map(str, flags))} left {sorted(contents(out))} behind")

    def trained(self):
        """A folder with a finished run of 10 steps; read-only."""
        if self.trained_folder is None:
            self.trained_folder = self.new_path()
            self.train(self.trained_folder)
        return self.trained_folder
