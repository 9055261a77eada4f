"""Writes the type stubs of the extension and of `fulgurite.ops`. usage: make_stubs.py FOLDER_OF_CORE OUTPUT
FOLDER_OF_NANOBIND. pip builds in an environment of its own, whose packages the interpreter does not find."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, sys.argv[1])
sys.path.append(sys.argv[3])
import _core  # noqa: E402
from nanobind.stubgen import StubGen  # noqa: E402

TYPES = {
    "tensor": "Tensor",
    "operand": "Tensor | float",
    "tensors": "Sequence[Tensor]",
    "integer": "int",
    "integers": "int | Sequence[int]",
    "floating": "float",
    "floatings": "float | Sequence[float]",
    "boolean": "bool",
    "string": "str",
    "padding": "int | Sequence[int] | str",
    "dtype": "Any",
    "device": "Any",
    "indices": "Any",
}
RESULTS = {-1: "list[Tensor]", 0: "None", 1: "Tensor"}


def signature(name: str) -> str:
    """`def softmax(input: Tensor, dim: int, ...) -> Tensor: ...`"""
    parts, seen_star, seen_default = [], False, False
    for parameter, kind, optional, keyword_only, default in _core.parameters(name):
        if keyword_only and not seen_star:
            parts.append("*")
            seen_star = True
        text = f"{parameter}: {TYPES[kind]}" + (" | None" if optional else "")
        seen_default = seen_default or bool(default)
        parts.append(text + (" = ..." if default or (seen_default and not keyword_only) else ""))
    result = RESULTS.get(_core.result_count(name), "tuple[Tensor, ...]")
    return f"def {name.rsplit('.', 1)[-1]}({', '.join(parts)}) -> {result}: ..."


def main() -> None:
    """Writes `_core.pyi` and `ops.pyi`."""
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    generator = StubGen(_core, quiet=True)
    generator.put(_core)
    (folder / "_core.pyi").write_text(generator.get())
    lines = [
        "from collections.abc import Callable, Sequence",
        "from typing import Any",
        "",
        "from ._core import Tensor",
        "",
    ]
    lines += ["def operator(name: str) -> Callable[..., Any]: ...", "def names() -> list[str]: ..."]
    seen = set()
    for name in sorted(_core.operator_names(), key=lambda n: (n.startswith("prims."), n)):
        short = name.rsplit(".", 1)[-1]
        if name.startswith("prims.") or short in seen or not short.isidentifier() or short.startswith("__"):
            continue
        seen.add(short)
        lines.append(signature(name))
    (folder / "ops.pyi").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
