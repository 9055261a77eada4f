#!/usr/bin/env python3
"""Work with models of Hugging Face folders beside other libraries: MiniLM's vectors beside onnxruntime, fine-tuning of
SmolLM2 beside PyTorch and peft, tokens of a text beside the package tokenizers, loading, and products of few rows
beside one row. Each side runs in processes of its own, in turns, and the best of all rounds counts: CPU time with one
thread, wall time with more. Prints the seconds of each side, and the peer's divided by ours.

usage: real_models.py BENCH_REAL_MODELS [--minilm FOLDER] [--smollm2 FOLDER] [--text FILE] [--threads 1] [--rounds 3]
       [--work embed,train-f32,train-bf16,lora-f32,lora-bf16,tokenize,load,rows-f32,rows-bf16]
It runs in a Python that has PyTorch, transformers and peft; onnxruntime, onnx and onnxscript for embed; and tokenizers.
Words without their folder are skipped. Tokenizers of four kinds are trained on the text."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_TOP_PAD_": "268435456"}
WORK = "embed,train-f32,train-bf16,lora-f32,lora-bf16,tokenize,load,rows-f32,rows-bf16"
KINDS = ("gpt2", "llama2", "unigram", "wordpiece")
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def report(work, runs, body):
    """Runs `body` once and then some times, and prints the best wall and CPU seconds as JSON."""
    body()
    wall, cpu = [], []
    for _ in range(runs):
        begin = time.perf_counter(), time.process_time()
        body()
        wall.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
    print(json.dumps({"peer": "peer", "work": work, "wall": min(wall), "cpu": min(cpu)}))


def tokens_of(torch, rows, length):
    return (torch.arange(rows * length) * 7919 % 20000).reshape(rows, length)


def write_onnx(folder, path):
    """MiniLM for onnxruntime: features of 32 texts of 128 tokens."""
    import torch
    import transformers

    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    arguments = (tokens_of(torch, 32, 128), torch.ones(32, 128, dtype=torch.int64))
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(model, arguments, str(path), input_names=names, dynamo=True)


def embed_with_onnx(path, threads):
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tokens = (np.arange(32 * 128) * 7919 % 20000).reshape(32, 128)
    inputs = {"input_ids": tokens, "attention_mask": np.ones((32, 128), np.int64)}
    report("embed", 5, lambda: session.run(None, inputs))


def train_with_pytorch(folder, dtype, rank, threads):
    import torch
    import transformers

    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    if rank:
        import peft

        model = peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=32, target_modules=TARGETS))
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
    tokens = tokens_of(torch, 1, 512)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    report("train", 3, step)


def make_tokenizer(kind, lines, folder):
    """Trains a tokenizer of 8,000 tokens and saves it."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    if kind == "gpt2":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=8000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    elif kind == "llama2":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
        trainer = trainers.BpeTrainer(vocab_size=8000, special_tokens=special)
    elif kind == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=8000, special_tokens=["<unk>"], unk_token="<unk>")
    else:
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=8000, special_tokens=["[UNK]"])
    trainer.show_progress = False
    tokenizer.train_from_iterator(lines, trainer)
    if kind == "llama2":  # as its file has it: merges cross words
        tokenizer.pre_tokenizer = None
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))


def tokenize_with_tokenizers(folder, text):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    lines = pathlib.Path(text).read_text().splitlines()
    report("tokenize", 3, lambda: tokenizer.encode_batch(lines))


def load_with_transformers(folder):
    import torch
    import transformers

    def load():
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        model.model.norm.weight.sum().item()

    report("load", 3, load)


PEERS = {
    "embed": embed_with_onnx,
    "train": train_with_pytorch,
    "tokenize": tokenize_with_tokenizers,
    "load": load_with_transformers,
}


class Runner:
    """Runs both sides in turns, and keeps the best of their figures."""

    def __init__(self, options):
        self.options, self.best = options, {}

    def run(self, side, command):
        threads = str(self.options.threads)
        settings = {"OMP_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **TUNED, **settings})
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
        for found in map(json.loads, (line for line in done.stdout.splitlines() if line.startswith("{"))):
            seconds = found["cpu" if self.options.threads == 1 else "wall"]
            key = side, found["work"]
            self.best[key] = min(self.best.get(key, seconds), seconds)

    def compare(self, name, ours, peer):
        """`ours` and `peer` are arguments of bench_real_models and of this script."""
        self.best = {}
        for _ in range(self.options.rounds):
            self.run("ours", [self.options.bench, *map(str, ours)])
            if peer:
                self.run("peer", [sys.executable, __file__, "peer", *map(str, peer)])
        for (side, work), seconds in self.best.items():
            if side == "ours" and (theirs := self.best.get(("peer", work))) is not None:
                print(
                    f"{name:20} ours {seconds:9.4f} s, peer {theirs:9.4f} s, ratio {theirs / seconds:6.2f}", flush=True
                )
            elif side == "ours":
                base = next(iter(self.best.values()))
                print(f"{name:20} {work:8} {seconds:9.5f} s, {seconds / base:5.2f} of the first", flush=True)


def run_work(runner, work, folder):
    """One word of --work, if its folder is given."""
    options = runner.options
    kind, _, dtype = work.partition("-")
    if kind == "embed" and options.minilm:
        onnx = folder / "minilm.onnx"
        write_onnx(options.minilm, onnx)
        runner.compare(work, ["embed", options.minilm, options.threads], ["embed", onnx, options.threads])
    elif kind in ("train", "lora") and options.smollm2:
        rank = 16 if kind == "lora" else 0
        both = ["train", options.smollm2, dtype, rank, options.threads]
        runner.compare(work, both, both)
    elif kind == "tokenize" and options.text:
        for name in KINDS:
            make_tokenizer(name, pathlib.Path(options.text).read_text().splitlines(), folder / name)
            both = ["tokenize", folder / name, options.text]
            runner.compare(f"{work} {name}", both, both)
    elif kind == "load" and options.smollm2:
        runner.compare(work, ["load", options.smollm2], ["load", options.smollm2])
    elif kind == "rows":
        runner.compare(work, ["rows", dtype, options.threads], None)


def main():
    if sys.argv[1:2] == ["peer"]:
        return PEERS[sys.argv[2]](*(int(word) if word.isdigit() else word for word in sys.argv[3:]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("--minilm", help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--smollm2", help="the folder of SmolLM2-135M")
    parser.add_argument("--text", help="a text, tokenized line by line")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", default=WORK)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for work in options.work.split(","):
            run_work(Runner(options), work, pathlib.Path(temporary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
