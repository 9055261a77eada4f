#!/usr/bin/env python3
"""Compares which safetensors files the library and the reference reader (the Python package safetensors) accept.

Files are valid ones, hostile ones, and random mutations of headers. What the reference refuses must be refused. What it
accepts must be accepted, apart from what the format's text forbids (a name twice, a header that begins with a space) or
cannot be a shape here. With --speed, a file of that many tensors is read by both instead."""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

# Our reasons to reject files that the reference accepts.
STRICTER = (
    "is there twice",
    "occurs twice in an object",
    "does not begin with '{'",
    "its description is not an object",
    "a size is not a whole number",
)
BITS = {
    "F64": 64,
    "F32": 32,
    "F16": 16,
    "BF16": 16,
    "I64": 64,
    "I32": 32,
    "I16": 16,
    "I8": 8,
    "U8": 8,
    "BOOL": 8,
    "U16": 16,
    "U32": 32,
    "U64": 64,
    "C64": 64,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
}


def file_of(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def valid(rng):
    """A random valid header as a list of (name, text of its value), and its data."""
    members, at = [], 0
    if rng.random() < 0.5:
        members.append(("__metadata__", json.dumps({f"k{i}": "vü\n"[:i] for i in range(rng.randrange(3))})))
    for i in range(rng.randrange(4)):
        dtype = rng.choice(list(BITS))
        shape = [rng.choice([0, 1, 2, 4, 8]) for _ in range(rng.randrange(4))]
        elements = 1
        for size in shape:
            elements *= size
        if elements * BITS[dtype] % 8:
            shape = [0]
            elements = 0
        end = at + elements * BITS[dtype] // 8
        fields = [f'"dtype":"{dtype}"', f'"shape":{json.dumps(shape)}', f'"data_offsets":[{at},{end}]']
        rng.shuffle(fields)
        members.append((f"t{i}", "{" + ",".join(fields) + "}"))
        at = end
    rng.shuffle(members)
    return members, bytes(at)


def text_of(members):
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members) + "}"


TOKENS = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "0",
    "-",
    "1.0",
    "1e2",
    "null",
    "true",
    " ",
    "\t",
    "\x00",
    "\x01",
    "\xe9",
    "é",
    "\\u0041",
    "\\ud800",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    '"F32"',
    '"U8"',
    '"f32"',
    '"dtype":"F32",',
    '"shape":[1],',
    '"data_offsets":[0,4],',
    '"more":1,',
    '"t0"',
    '"__metadata__":{},',
    '"__metadata__":null,',
]


def mutated(rng):
    members, data = valid(rng)
    text = text_of(members)
    if members and rng.random() < 0.2:
        text = text_of(members + [rng.choice(members)])
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(TOKENS) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + rng.randrange(1, 4) :]
        elif kind == 2:
            text = text[:at] + rng.choice(TOKENS) + text[at + 1 :]
        else:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + 10] + text[at:]
    header = text.encode("latin-1" if rng.random() < 0.1 and all(ord(c) < 256 for c in text) else "utf-8")
    if rng.random() < 0.1:
        data = data[:-1] if rng.random() < 0.5 else data + b"\0"
    length = len(header) + rng.choice([-1, 1, 8]) if rng.random() < 0.05 else None
    return file_of(header, data, None if length is not None and length < 0 else length)


def hostile():
    f32 = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    four = b"\0\0\0\0"
    for header in (
        "",
        "{}",
        "[]",
        "null",
        "{}{}",
        "/* */{}",
        f'{{"a":{f32},}}',
        f'\ufeff{{"a":{f32}}}',
        f' {{"a":{f32}}}',
        f'{{"a":{f32}}}  \n',
        f'{{"a":{f32}}}\0',
        f'{{"a":{f32},"a":{f32}}}',
        f'{{"__metadata__":[1],"a":{f32}}}',
        f'{{"__metadata__":"x","a":{f32}}}',
        f'{{"__metadata__":{{"k":1}},"a":{f32}}}',
        f'{{"__metadata__":{{}},"__metadata__":{{}},"a":{f32}}}',
        '{"a":["F32",[1],[0,4]]}',
        f'{{"":{f32}}}',
        f'{{"a\\u0000":{f32}}}',
        f'{{"a\\ud83d\\ude00":{f32}}}',
        f'{{"a\\ud800":{f32}}}',
        '{"a":null}',
    ):
        yield file_of(header, four)
        yield file_of(header, b"")
    for shape in (
        "[0,4611686018427387904,4611686018427387904]",
        "[4611686018427387904,4611686018427387904,0]",
        "[9223372036854775807,0]",
        "[18446744073709551615,0]",
        "[-0]",
        "[1,1,1,1,1,1,1,1,1]",
        str([1] * 1000),
    ):
        for end in (0, 4):
            yield file_of(f'{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{end}]}}}}', bytes(end))
    for depth in (120, 124, 125, 126, 127, 128, 129, 200):
        yield file_of(
            f'{{"a":{{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":{"[" * depth + "]" * depth}}}}}', four
        )
    for length in (2**63, 2**64 - 1, 100_000_000, 100_000_001):
        yield file_of("{}", b"", length)
    yield from (
        b"",
        b"\0" * 7,
        b"\0" * 8,
        b"PK\3\4" + b"\0" * 100,
        b"\x80\2}q\1.",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"<html></html>",
    )


def has_a_name_twice(content):
    """The format forbids it; the reference takes the last of them."""
    found = []

    def look(pairs):
        found.append(len({name for name, _ in pairs}) < len(pairs))
        return dict(pairs)

    try:
        json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]], object_pairs_hook=look)
    except (ValueError, struct.error, RecursionError):
        return False
    return any(found)


def compare(program, contents, folder):
    from safetensors import safe_open

    paths = []
    for i, content in enumerate(contents):
        path = folder / f"{i}.safetensors"
        path.write_bytes(content)
        paths.append(path)
    done = subprocess.run(
        [program], input="".join(f"{path}\n" for path in paths), capture_output=True, text=True, check=True
    )
    answers = done.stdout.splitlines()
    if len(answers) != len(paths):
        sys.exit(f"{len(answers)} answers for {len(paths)} files")
    wrong = accepted = stricter = 0
    for path, ours in zip(paths, answers):
        try:
            with safe_open(str(path), "np") as file:
                reference = f"ok {len(file.keys())}"
        except Exception as error:
            reference = str(error)
        accepted += reference.startswith("ok") and ours == reference
        if ours.startswith("ok") != reference.startswith("ok") or (ours.startswith("ok") and ours != reference):
            if not ours.startswith("ok") and (
                any(reason in ours for reason in STRICTER) or has_a_name_twice(path.read_bytes())
            ):
                stricter += 1
            else:
                wrong += 1
                print(f"reference: {reference}\nfulgurite: {ours}\n  {path.read_bytes()[:400]}")
    print(
        f"{len(paths)} files: both accept {accepted}, only the reference accepts {stricter} that the format forbids, "
        f"{wrong} wrong"
    )
    return wrong


def speed(program, count, folder):
    """Reads one file of many tensors with both, a few times in turn, and prints the least times."""
    from safetensors.numpy import load_file

    header = (
        "{"
        + ",".join(
            f'"model.layers.{i}.weight":{{"dtype":"F32","shape":[1],"data_offsets":[{4 * i},{4 * i + 4}]}}'
            for i in range(count)
        )
        + "}"
    )
    path = folder / "many.safetensors"
    path.write_bytes(file_of(header, bytes(4 * count)))
    ours, reference = [], []
    for _ in range(3):
        begin = time.perf_counter()
        tensors = load_file(path)
        reference.append(time.perf_counter() - begin)
        assert len(tensors) == count
        del tensors
        done = subprocess.run([program, "--time", path], capture_output=True, text=True, check=True)
        ours.append([float(text) for text in done.stdout.split()])
    all_tensors, header_alone = (min(column) for column in zip(*ours))
    print(
        f"{count} tensors, a header of {len(header) / 1e6:.1f} MB: {all_tensors:.2f} s (header alone "
        f"{header_alone:.2f} s), "
        f"reference {min(reference):.2f} s, ratio {all_tensors / min(reference):.2f}"
    )
    return all_tensors > 2 * min(reference)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="read_safetensors of the build")
    parser.add_argument("--count", type=int, default=2000, help="random files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=pathlib.Path, help="also compare the files of this folder")
    parser.add_argument("--speed", type=int, metavar="TENSORS")
    options = parser.parse_args()
    try:
        import safetensors  # noqa: F401
    except ImportError:
        print("skipped: this Python has no safetensors package")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.speed:
            return speed(options.program, options.speed, folder)
        rng = random.Random(options.seed)
        contents = [*hostile(), *(mutated(rng) for _ in range(options.count))]
        if options.files:
            contents += [path.read_bytes() for path in sorted(options.files.iterdir()) if path.is_file()]
        return min(compare(options.program, contents, folder), 1)


if __name__ == "__main__":
    sys.exit(main())
