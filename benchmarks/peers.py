#!/usr/bin/env python3
"""Training steps, a LLaMA block, decoding and single fusions against PyTorch (eager with a fused optimizer, and
inductor) and jax: the same work, from the same weights and tokens, in turns, each side in a process of its own, the
best of all rounds. CPU time with one thread, wall time with more. PEERS is a folder with the peers' own programs
(torch_bench.py, jax_bench.py, common.py); a peer that is not installed is left out.
usage: peers.py FULGURITE PEERS [--cases gpt6l,…] [--dtypes f32,bf16] [--threads 1] [--rounds 3] [--seconds 3]
    [--peers eager,compile,jax]
                [--write docs/performance.md]   (run by a Python that has PyTorch; fails when a loss differs)"""

import argparse
import datetime
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
CASES = {
    "gpt6l": "GPT, 6 layers of 384, batch 8 x 256: training step",
    "gpt124m": "GPT-2 of 124 M, batch 4 x 64: training step",
    "llama": "LLaMA block of 1024, 512 tokens",
    "gelu": "gelu(x * w + b), 4096 x 4096",
    "layernorm": "layer norm, 8192 x 1024",
    "softmax": "softmax, 8192 x 1024",
    "xent": "cross entropy, 2048 x 50257",
    "adamw": "AdamW, 50 M parameters",
    "decode": "GPT-2 of 124 M, decoding 64 tokens",
}
TRAINING = ("gpt6l", "gpt124m")
FIGURES = {"gpt6l": ["step"], "gpt124m": ["step"], "llama": ["fwd", "fwdbwd"]}
LOSS_DIFFERENCE = {"f32": 2e-4, "bf16": 2e-2}  # relative, of the first step and of the fourth
OUR_PARTS = {"ln1": "ln_1", "qkv": "attn.qkv", "proj": "attn.proj", "ln2": "ln_2", "fc": "mlp.fc", "out": "mlp.out"}


def our_name(name):
    """h0.qkv.w is blocks.0.attn.qkv.weight."""
    *path, leaf = name.split(".") if "." in name else [name, "w"]
    leaf = {"w": "weight", "b": "bias"}[leaf]
    if path[0] == "lnf":
        path = ["ln_f"]
    elif len(path) == 2:
        path = ["blocks", path[0][1:], OUR_PARTS[path[1]]]
    return ".".join([*path, leaf])


def save_inputs(case, folder, peers):
    """The peers' weights and tokens, as a file of safetensors."""
    sys.path.insert(0, str(peers))
    import common

    tensors = {our_name(name): value for name, value in common.gpt_params(common.GPT[case]).items()}
    tensors["tokens"] = common.gpt_tokens(common.GPT[case])
    header, data, offset = {}, [], 0
    for name, value in tensors.items():
        header[name] = {
            "dtype": "I64" if value.dtype.kind == "i" else "F32",
            "shape": list(value.shape),
            "data_offsets": [offset, offset + value.nbytes],
        }
        data.append(value.tobytes())
        offset += value.nbytes
    text = json.dumps(header).encode()
    path = pathlib.Path(folder) / f"{case}.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
    return path


def figures_of(command, variables, threads):
    """The output of a program, by metric; the reason under "error" if it failed."""
    environment = {
        **os.environ,
        **variables,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "NPROC": str(threads),
        "FULGURITE_NUM_THREADS": str(threads),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'false' if threads == 1 else 'true'} "
        f"intra_op_parallelism_threads={threads}",
    }
    pinned = ["taskset", "-c", "1", *command] if threads == 1 and os.cpu_count() > 1 else command
    done = subprocess.run(pinned, capture_output=True, text=True, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {line["metric"]: line["value"] for line in lines}
    if not found:
        found["error"] = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
    return found


def machine_limits(options):
    """Operations and bytes a second that this machine was seen to reach, before anything else ran."""
    found = figures_of(
        [options.fulgurite, "bench", "limits", "--threads", str(options.threads)], TUNED, options.threads
    )
    figures = {"f32": "f32_gflops", "bf16": "bf16_gflops", "memory": "memory_gb_s", "read": "read_gb_s"}
    return {limit: 1e9 * found[figure] for limit, figure in figures.items()}


def min_ms(case, figure, dtype, limits, peers):
    """The minimum time at the measured limits of the machine, of the matmuls or of the memory traffic."""
    sys.path.insert(0, str(peers))
    import common

    if case in TRAINING:
        config = common.GPT[case]
        weights = 12 * config["C"] ** 2 * config["L"] + (config["V"] + config["P"]) * config["C"]
        return 1e3 * (common.gpt_flops(config) / limits[dtype] + 28 * weights / limits["memory"])
    if case == "llama":
        return 1e3 * common.llama_flops(figure == "fwdbwd") / limits[dtype]
    if case == "decode":
        config = common.GPT["gpt124m"]
        weights = 12 * config["C"] ** 2 * config["L"] + config["V"] * config["C"]
        return 1e3 * common.DECODE_N * weights * (4 if dtype == "f32" else 2) / limits["read"]
    return 1e3 * common.FUSION_BYTES[case] / limits["memory"]


class Side:
    """One program on one case: the least of each time, the last of what is not a time."""

    def __init__(self, command, variables):
        self.command, self.variables, self.figures = command, variables, {}

    def run(self, threads):
        for metric, value in figures_of(self.command, self.variables, threads).items():
            is_time = metric.endswith("_best")
            self.figures[metric] = min(value, self.figures.get(metric, value)) if is_time else value


def sides_of(options, case, dtype, inputs):
    seconds = ["--seconds", str(options.seconds)]
    ours = [options.fulgurite, "bench", case, "--dtype", dtype, "--threads", str(options.threads), *seconds]
    if inputs:
        ours += ["--inputs", str(inputs)]
    sides = {"ours": Side(ours, TUNED)}
    for peer in options.peers.split(","):
        program = ["jax_bench.py"] if peer == "jax" else ["torch_bench.py", "--peer", peer]
        command = [
            sys.executable,
            str(options.programs / program[0]),
            *program[1:],
            "--case",
            case,
            "--dtype",
            "bf16" if dtype == "bf16" else "fp32",
            *seconds,
        ]
        sides[peer] = Side(command, TUNED)
    return sides


def check_losses(case, dtype, sides):
    """Returns true if all did the same work."""
    wrong = []
    for metric in ("loss_first", "loss_step3"):
        own = sides["ours"].figures[metric]
        for name, side in sides.items():
            if metric in side.figures and abs(side.figures[metric] - own) > LOSS_DIFFERENCE[dtype] * abs(own):
                wrong.append(f"{case} {dtype}: {metric} is {own}, {side.figures[metric]} by {name}")
    return wrong


def rows_of(case, dtype, sides, threads):
    time = "cpu_ms_best" if threads == 1 else "ms_best"
    rows = []
    for figure in FIGURES.get(case, [""]):
        metric = f"{figure}_{time}" if figure else time
        found = {name: round(side.figures[metric], 2) for name, side in sides.items() if metric in side.figures}
        peers = {name: ms for name, ms in found.items() if name != "ours"}
        row = {"case": case, "figure": figure, "dtype": dtype, "threads": threads, **found}
        if peers and "ours" in found:
            row["best_peer"] = min(peers, key=peers.get)
            row["ratio"] = round(min(peers.values()) / found["ours"], 2)
        row["errors"] = {name: side.figures["error"] for name, side in sides.items() if "error" in side.figures}
        rows.append(row)
    return rows


def measure(options, case, dtype, folder, limits):
    inputs = save_inputs(case, folder, options.programs) if case in TRAINING else None
    sides = sides_of(options, case, dtype, inputs)
    for _ in range(options.rounds):
        for name in list(sides):
            if "error" not in sides[name].figures:
                sides[name].run(options.threads)
    rows = rows_of(case, dtype, sides, options.threads)
    for row in rows:
        if "ours" in row:
            row["share"] = round(min_ms(case, row["figure"], dtype, limits, options.programs) / row["ours"], 2)
        print(json.dumps(row), flush=True)
    wrong = check_losses(case, dtype, sides) if case in TRAINING and "error" not in sides["ours"].figures else []
    return rows, wrong


def of_processor(key, otherwise):
    """The record of the first processor."""
    for line in open("/proc/cpuinfo"):
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return otherwise


def instructions():
    """The best that it multiplies with: figures of one set say nothing of another's."""
    flags = of_processor("flags", "").split()
    names = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 BF16", "avx512f": "AVX-512", "avx2": "AVX2"}
    return next((name for flag, name in names.items() if flag in flags), "plain vectors")


def marker(threads):
    return f"<!-- steps, {threads}, {instructions()} -->"


def table(rows, threads, peers):
    import torch

    lines = [
        marker(threads),
        f"## Whole steps, {threads} thread{'s' if threads > 1 else ''}, {instructions()}",
        "",
        f"{of_processor('model name', 'an unnamed processor')}, PyTorch {torch.__version__.split('+')[0]}, "
        f"{datetime.date.today()}.",
        "",
        f"| case | dtype | ours | {' | '.join(peers)} | ratio | of the limit |",
        "| --- | --- | --- |" + " --- |" * (len(peers) + 2),
    ]
    for row in rows:
        name = CASES[row["case"]] + {"fwd": ": forward", "fwdbwd": ": forward and backward"}.get(row["figure"], "")
        lines.append(
            f"| {name} | {row['dtype']} | {row.get('ours', '-')} | "
            f"{' | '.join(str(row.get(peer, '-')) for peer in peers)} | {row.get('ratio', '-')} | "
            + (f"{100 * row['share']:.0f} %" if "share" in row else "-")
            + " |"
        )
    return "\n".join(lines) + "\n<!-- end -->\n"


def write(path, text, threads):
    """Replaces the table of the same number of threads and instructions; the rest of the page stays."""
    old = path.read_text() if path.exists() else "# Performance\n"
    begin, end = marker(threads), "<!-- end -->\n"
    if begin in old:
        before, rest = old.split(begin, 1)
        path.write_text(before + text + rest.split(end, 1)[1])
    else:
        path.write_text(old.rstrip("\n") + "\n\n" + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fulgurite")
    parser.add_argument("programs", type=pathlib.Path, metavar="PEERS")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--dtypes", default="f32,bf16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--peers", default="eager,compile")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    rows, wrong = [], []
    limits = machine_limits(options)
    print(json.dumps({"limits": limits, "threads": options.threads}), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases.split(","):
            for dtype in options.dtypes.split(","):
                if dtype == "bf16" and case not in (*TRAINING, "llama", "decode"):
                    continue
                more, differ = measure(options, case, dtype, folder, limits)
                rows += more
                wrong += differ
                if options.write:  # what an interrupted run has measured is kept
                    write(options.write, table(rows, options.threads, options.peers.split(",")), options.threads)
    for text in wrong:
        print("FAILED:", text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
