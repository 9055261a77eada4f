#!/usr/bin/env python3
"""The command line as a user meets it: good runs, and bad input of every kind.

Bad input gets exactly one line on stderr and exit status 1 (failed) or 2 (wrong use), and leaves what was there as it
was.
usage: check_cli.py PROGRAM [--only PART_OF_NAME]
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True  # the source tree stays as it is

import bad_checkpoints  # noqa: E402
import bad_input  # noqa: E402
import finetune_runs  # noqa: E402
import folder_runs  # noqa: E402
import good_runs  # noqa: E402
import inspect_runs  # noqa: E402
import model_runs  # noqa: E402
import resumed_runs  # noqa: E402
import serve_runs  # noqa: E402
import speech_runs  # noqa: E402
from harness import Cli, Failure  # noqa: E402


def cases():
    modules = (
        good_runs,
        model_runs,
        finetune_runs,
        inspect_runs,
        speech_runs,
        folder_runs,
        serve_runs,
        resumed_runs,
        bad_input,
        bad_checkpoints,
    )
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("test_"):
                yield name.removeprefix("test_").replace("_", " "), value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only the cases whose name has this in it")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="fulgurite_cli_") as name:
        cli = Cli(options.program.resolve(), pathlib.Path(name))
        for title, case in cases():
            if options.only not in title:
                continue
            begin = time.monotonic()
            try:
                case(cli)
                passed += 1
                if os.environ.get("VERBOSE"):
                    print(f"{time.monotonic() - begin:6.2f} s  {title}")
            except Failure as failure:
                failed += 1
                print(f"FAILED {title}: {failure}")
            except Exception:
                failed += 1
                print(f"FAILED {title}:\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
