#!/usr/bin/env python3
"""Compares weights of few bits with the package gguf, and models that have them with transformers and peft.

Compared are the bits of codes, scales and dequantized numbers of random matrices, the losses of a small model and
those of transformers on the numbers of the codes, LoRA that was trained on codes and is loaded by peft over their
numbers, and, with --folder, the perplexity of a real model.

usage: compare_codes.py RUN_CODES [--seed N] [--folder MODEL] [--text FILE] [--rows 16]. Ends with 77 where a package is
missing.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import gguf.quants
    import numpy as np
    import peft
    import safetensors.torch
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = {
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
    "q4_0": gguf.GGMLQuantizationType.Q4_0,
    "q4_1": gguf.GGMLQuantizationType.Q4_1,
}


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, what, holds, detail=""):
        self.failed += not holds
        print(f"{'passed' if holds else 'FAILED'} {what} {detail}", flush=True)


def matrices(seed):
    """Random matrices: of several sizes of numbers, with groups of zeros, equal numbers and powers of two."""
    random = np.random.default_rng(seed)
    out = {
        "normal": random.normal(size=(64, 256)),
        "wide": random.normal(size=(33, 96)) * np.exp(random.normal(size=(33, 1)) * 2),
        "uniform": random.uniform(-1, 1, size=(16, 320)),
        "positive": random.uniform(0, 1, size=(16, 64)),
        "coarse": random.integers(-9, 10, size=(64, 128)) / 4,
        "powers": 2.0 ** random.integers(-20, 8, size=(16, 64)),
        "zeros": np.zeros((3, 64)),
        "equal": np.full((2, 32), 0.37),
    }
    # The package's sign of a zero scale is that of the group's first zero.
    out["sparse"] = out["normal"] * (random.uniform(size=(64, 256)) < 0.05) + 0.0
    return {name: matrix.astype(np.float32) for name, matrix in out.items()}


def blocks(ours, prefix, kind):
    """Our codes as the bytes of GGUF's blocks."""
    codes, scales = ours[prefix + "codes"].numpy().view(np.uint8), ours[prefix + "scales"].numpy().view(np.uint8)
    rows = codes.shape[0]
    groups = scales.shape[1] // 2
    parts = [scales.reshape(rows, groups, 2)]
    if kind == "q4_1":
        parts.append(ours[prefix + "minima"].numpy().view(np.uint8).reshape(rows, groups, 2))
    parts.append(codes.reshape(rows, groups, -1))
    return np.concatenate(parts, axis=-1).reshape(rows, -1)


def compare_bits(check, program, folder, seed):
    numbers, result = folder / "numbers.safetensors", folder / "codes.safetensors"
    given = matrices(seed)
    safetensors.torch.save_file({name: torch.from_numpy(matrix) for name, matrix in given.items()}, numbers)
    subprocess.run([program, "quantize", numbers, result], check=True)
    ours = safetensors.torch.load_file(result)
    for kind, gguf_type in TYPES.items():
        for name, matrix in given.items():
            theirs = gguf.quants.quantize(matrix, gguf_type)
            made = blocks(ours, f"{name}.{kind}.", kind)
            check(
                f"codes and scales, {kind} {name}",
                np.array_equal(made, theirs),
                f"{(made != theirs).sum()} of {made.size} bytes differ",
            )
            back = gguf.quants.dequantize(theirs, gguf_type)
            check(f"numbers, {kind} {name}", np.array_equal(back, ours[f"{name}.{kind}.numbers"].numpy()))


def small_model(folder, seed):
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=101,
        hidden_size=128,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.15,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


def run(program, command, folder, tokens, work, *arguments):
    given, result = work / "tokens.safetensors", work / "result.safetensors"
    safetensors.torch.save_file({"tokens": tokens}, given)
    subprocess.run([program, command, folder, given, result, *arguments], check=True)
    return safetensors.torch.load_file(result)


def compare_lora(check, program, work, seed):
    """peft loads LoRA that was trained on codes, over the numbers of the codes."""
    folder = work / "model"
    small_model(folder, seed)
    tokens = torch.randint(0, 101, (4, 24), generator=torch.Generator().manual_seed(seed))
    for weights in ("int8", "int4"):
        out = work / weights
        made = run(program, "lora", folder, tokens, work, weights, str(out))
        losses = made["losses"].tolist()
        check(f"losses fall on {weights}", losses[-1] < 0.8 * losses[0], f"{losses[0]:.4f} to {losses[-1]:.4f}")
        base = transformers.AutoModelForCausalLM.from_pretrained(out / "base", dtype=torch.float32).eval()
        with torch.no_grad():
            plain = base(tokens, labels=tokens).loss.item()
        ours = run(program, "loss", folder, tokens, work, weights, "f32")["loss"].mean().item()
        check(
            f"loss of {weights}",
            abs(ours / plain - 1) <= 1e-5,
            f"{ours:.6f}, transformers on the numbers {plain:.6f}",
        )
        model = peft.PeftModel.from_pretrained(base, out / "adapter").eval()
        with torch.no_grad():
            theirs = model(tokens).logits
        difference = (made["logits"] - theirs).abs().max().item() / theirs.abs().max().item()
        check(f"logits of LoRA on {weights}", difference <= 1e-4, f"{difference:.1e} of the largest")


def compare_perplexity(check, program, work, folder, text, rows):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(pathlib.Path(text).read_text())["input_ids"]
    length = 256
    rows = min(rows, len(ids) // length)
    tokens = torch.tensor(ids[: rows * length]).reshape(rows, length)
    perplexity = {}
    for weights, dtype in [("files", "f32"), ("files", "bf16"), ("int8", "f32"), ("int8", "bf16"), ("int4", "f32")]:
        perplexity[weights, dtype] = math.exp(
            run(program, "loss", folder, tokens, work, weights, dtype)["loss"].double().mean().item()
        )
    plain = perplexity["files", "f32"]
    for (weights, dtype), value in perplexity.items():
        change = 100 * (value / plain - 1)
        print(f"perplexity of {rows} x {length} tokens, {weights} {dtype}: {value:.4f} ({change:+.3f} %)")
    check("perplexity of int8", abs(perplexity["int8", "f32"] / plain - 1) <= 0.005)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="a real language model")
    parser.add_argument("--text", help="the text whose perplexity is measured")
    parser.add_argument("--rows", type=int, default=16, help="rows of 256 tokens of the text")
    options = parser.parse_args()
    check = Checks()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        compare_bits(check, options.program, work, options.seed)
        compare_lora(check, options.program, work, options.seed)
        if options.folder:
            compare_perplexity(check, options.program, work, options.folder, options.text, options.rows)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
