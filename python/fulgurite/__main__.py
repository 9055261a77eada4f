"""`python -m fulgurite` is the command line of the library."""

from __future__ import annotations

import sys

from . import _core


def main() -> int:
    """Runs the command line on the program's arguments."""
    if any(argument.split("=")[0] == "--library" for argument in sys.argv[1:]):
        print(
            "fulgurite: --library needs the installed command `fulgurite`, which shares its library with yours",
            file=sys.stderr,
        )
        return 2
    sys.stdout.flush()
    return _core.command_line(["fulgurite", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
