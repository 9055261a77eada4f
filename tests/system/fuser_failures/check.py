#!/usr/bin/env python3
"""Runs the probe where kernels cannot be compiled, kept or trusted: results are right every time, and one line on
stderr says why."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

PROBE = sys.argv[1]
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", message)


def run(folder, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FULGURITE_")}
    environment |= {"FULGURITE_KERNEL_CACHE": str(folder)} | variables
    done = subprocess.run([PROBE], capture_output=True, text=True, env=environment, timeout=200)
    return done.returncode, done.stdout, done.stderr


def expect_run(what, folder, fusions, warning, **variables):
    status, out, errors = run(folder, **variables)
    expect(status == 0 and out == f"right, {fusions} fusions\n", f"{what}: status {status}, {out!r}, {errors!r}")
    lines = errors.splitlines()
    if warning is None:
        expect(lines == [], f"{what}: nothing is to be said, got {errors!r}")
    else:
        expect(
            len(lines) == 1 and lines[0].startswith("fulgurite: ") and warning in lines[0],
            f"{what}: one line with {warning!r}, got {errors!r}",
        )


def script(path, text):
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(0o755)
    return str(path)


def libraries(folder):
    return sorted(folder.glob("*.so"))


def main():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        none = "no kernels are generated"
        good = root / "good"
        expect_run("a compiler", good, 4, None)
        expect(
            len(libraries(good)) == 2 and not list(good.glob("new-*")),
            f"two libraries are kept: {list(good.iterdir())}",
        )
        expect(stat.S_IMODE(good.stat().st_mode) == 0o700, "the folder is private")
        counting = root / "counting"
        counter = script(root / "counter", f'echo run >> {counting}; exec g++ "$@"')
        expect_run("a second compiler", root / "second", 4, None, FULGURITE_CXX=counter)
        expect(counting.read_text() == "run\nrun\n", "two units are compiled")
        expect_run("from the cache", root / "second", 4, None, FULGURITE_CXX=counter)
        expect(counting.read_text() == "run\nrun\n", "nothing is compiled where the cache has it")

        expect_run("no such compiler", root / "a", 0, none, FULGURITE_CXX="/nowhere/g++")
        expect_run("no compiler in PATH", root / "a", 0, "there is no g++", PATH="/nowhere")
        expect_run(
            "a compiler that fails",
            root / "b",
            0,
            "ended with status 3: no",
            FULGURITE_CXX=script(root / "fails", "echo no >&2; exit 3"),
        )
        expect_run(
            "a compiler that is killed",
            root / "b",
            0,
            "ended by signal 9",
            FULGURITE_CXX=script(root / "killed", "kill -9 $$"),
        )
        expect_run(
            "a compiler that makes nothing", root / "b", 0, "cannot load", FULGURITE_CXX=script(root / "idle", "exit 0")
        )
        hangs = script(root / "hangs", f"echo run >> {root}/hung; sleep 1000 & sleep 1000")
        expect_run(
            "a compiler that hangs",
            root / "b",
            0,
            "took more than 1",
            FULGURITE_CXX=hangs,
            FULGURITE_COMPILE_SECONDS="1",
        )
        expect((root / "hung").read_text() == "run\n", "a compiler that hung is not asked again")
        expect(not list((root / "b").glob("*")), f"nothing is left behind: {list((root / 'b').iterdir())}")

        # A file that was damaged, truncated or written by another user is recreated.
        damages = {
            "damaged": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
            "cut short": lambda path: path.write_bytes(path.read_bytes()[:1000]),
            "empty": lambda path: path.write_bytes(b""),
            "another key's": lambda path: shutil.copyfile(libraries(good)[path == libraries(good)[0]], path),
        }
        for what, damage in damages.items():
            shutil.rmtree(good)
            run(good)
            before = [path.read_bytes() for path in libraries(good)]
            damage(libraries(good)[0])
            expect_run(what, good, 4, "is damaged")
            expect(
                [path.read_bytes()[:4] for path in libraries(good)] == [b[:4] for b in before],
                f"{what}: it is recreated",
            )
            expect_run(what + ", then", good, 4, None)
        libraries(good)[0].chmod(0o666)
        expect_run("writable by others", good, 4, "only this user can write")
        good.chmod(0o777)
        expect_run("a folder that others can write", good, 0, "only this user can write" if False else none)
        good.chmod(0o700)
        file = root / "file"
        file.write_text("")
        expect_run("a file for a folder", file, 0, none)
        expect_run("no place", "/proc/nowhere", 0, "cannot make /proc/nowhere")
        if os.geteuid() == 0:
            os.chown(libraries(good)[0], 65534, 65534)
            expect_run("another user's file", good, 4, "only this user can write")
            os.chown(good, 65534, 65534)
            expect_run("another user's folder", good, 0, none)
        if pathlib.Path("/dev/full").exists():
            full = script(root / "full", 'echo "No space left on device" >&2; exit 1')
            expect_run("a full disk", root / "b", 0, "No space left", FULGURITE_CXX=full)
    print(f"{failures} failures" if failures else "all failures are handled")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
