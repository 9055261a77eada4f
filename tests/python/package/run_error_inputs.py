"""Calls PyTorch's operators with the wrong arguments that op_db has for them, through `fulgurite.jit`: where eager
raises, we raise too, an exception of the same type.

usage: run_error_inputs.py [--write]    It needs expecttest from PyPI. --write: the differences are written to
error_differences.txt

The committed list may only shrink.
"""

import pathlib
import sys
import warnings

import fulgurite as fg
from run_op_db import name_of
from torch.testing._internal.common_methods_invocations import op_db

LIST = pathlib.Path(__file__).with_name("error_differences.txt")


def raised(function, sample):
    """The exception of a call, or None."""
    try:
        function(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:  # noqa: BLE001  that is what is asked for
        return error
    return None


def check(op):
    """Yields what differs from eager for each of an entry's wrong calls, or an empty string."""
    for wrong in op.error_inputs("cpu"):
        eager = raised(op.op, wrong.sample_input)
        if eager is None:
            continue
        ours = raised(fg.jit(op.op, fallback="error"), wrong.sample_input)
        text = str(eager).splitlines()[0] if str(eager) else ""
        if ours is None:
            yield f"no error, eager {type(eager).__name__}: {text}"[:150]
        elif isinstance(ours, type(eager)) or (isinstance(ours, fg.Unsupported) and "Unsupported" in str(type(ours))):
            yield ""
        else:
            yield f"{type(ours).__name__}: {str(ours).splitlines()[0]}, eager {type(eager).__name__}: {text}"[:200]


def main():
    """Compares all entries, and with the list."""
    warnings.simplefilter("ignore")
    lines, right = [], 0
    for op in op_db:
        if op.error_inputs_func is None:
            continue
        for difference in check(op):
            if difference:
                lines.append(f"{name_of(op)}: {difference}")
            else:
                right += 1
    lines = sorted(set(lines))
    print(f"{right} wrong calls raise as eager, {len(lines)} differ")
    if "--write" in sys.argv:
        LIST.write_text("".join(line + "\n" for line in lines))
        return 0
    known = set(LIST.read_text().splitlines())
    for line in sorted(set(lines) - known):
        print(f"new: {line}")
    for line in sorted(known - set(lines)):
        print(f"right now, to be taken off the list: {line}")
    return int(set(lines) != known)


if __name__ == "__main__":
    sys.exit(main())
