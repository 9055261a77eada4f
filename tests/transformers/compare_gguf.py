#!/usr/bin/env python3
"""Compares converted GGUF files with the packages gguf and sentencepiece: tensors of every type of blocks, and tokens.

usage: compare_gguf.py FULGURITE [--count N] [--seed N]. Ends with 77 where a package is missing.
"""

import argparse
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy
    import safetensors.numpy
    import sentencepiece
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

WIDTH, HEADS, KEY_VALUE_HEADS, HIDDEN = 256, 4, 2, 512
TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# The tensors of a layer: the name in GGUF, the name in transformers, and the shape.
LAYER = {
    "attn_q": ("self_attn.q_proj", (WIDTH, WIDTH)),
    "attn_k": ("self_attn.k_proj", (WIDTH // 2, WIDTH)),
    "attn_v": ("self_attn.v_proj", (WIDTH // 2, WIDTH)),
    "attn_output": ("self_attn.o_proj", (WIDTH, WIDTH)),
    "ffn_gate": ("mlp.gate_proj", (HIDDEN, WIDTH)),
    "ffn_up": ("mlp.up_proj", (HIDDEN, WIDTH)),
    "ffn_down": ("mlp.down_proj", (WIDTH, HIDDEN)),
    "attn_norm": ("input_layernorm", (WIDTH,)),
    "ffn_norm": ("post_attention_layernorm", (WIDTH,)),
}
SENTENCES = [
    "the quick brown fox jumps over the lazy dog",
    "a compiler reads a program and writes another one",
    "values stay in registers while neighbours are joined",
    "numbers like 3, 14 and 159 are tokens too",
]


def random_blocks(draws, kind, shape):
    """Random bytes of blocks whose scales are ordinary numbers."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rows = draws.integers(0, 256, (shape[0], shape[1] // block, size), dtype=numpy.uint8)
    halves = {"Q6_K": [208], "Q4_0": [0], "Q5_0": [0], "Q8_0": [0]}.get(kind.name, [0, 2])
    for at in halves:
        scales = draws.normal(0, 0.1, rows.shape[:2]).astype(numpy.float16)
        rows[:, :, at : at + 2] = scales[..., None].view(numpy.uint8)
    return rows.reshape(shape[0], -1)


def tensor_of(draws, shape):
    """A tensor's type and data as they are in a file, and the values that the package gguf reads from them."""
    name = "F32" if len(shape) == 1 else str(draws.choice(TYPES))
    kind = gguf.GGMLQuantizationType[name]
    if name in ("F32", "F16"):
        data = draws.normal(0, 1, shape).astype(numpy.float32 if name == "F32" else numpy.float16)
        return kind, data, data.astype(numpy.float32)
    if name == "BF16":
        data = gguf.quantize(draws.normal(0, 1, shape).astype(numpy.float32), kind)
    else:
        data = random_blocks(draws, kind, shape)
    return kind, data, gguf.dequantize(data, kind).reshape(shape)


def with_halves(values, heads):
    rows = values.shape[0] // heads // 2
    return values.reshape(heads, rows, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def train_tokenizer(seed):
    sentences = random.Random(seed).choices(SENTENCES, k=200)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=model,
        vocab_size=400,
        model_type="bpe",
        byte_fallback=True,
        minloglevel=2,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def add_tokenizer(writer, tokenizer):
    size = tokenizer.vocab_size()
    writer.add_tokenizer_model("llama")
    writer.add_token_list([tokenizer.IdToPiece(i) for i in range(size)])
    writer.add_token_scores([tokenizer.get_score(i) for i in range(size)])
    writer.add_token_types(
        [
            2 if tokenizer.is_unknown(i) else 3 if tokenizer.is_control(i) else 6 if tokenizer.is_byte(i) else 1
            for i in range(size)
        ]
    )
    writer.add_bos_token_id(tokenizer.bos_id())
    writer.add_eos_token_id(tokenizer.eos_id())
    writer.add_unk_token_id(tokenizer.unk_id())


def write_model(path, draws, tokenizer):
    """Writes a LLaMA of one layer; returns the expected tensors by their names in transformers."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_VALUE_HEADS)
    add_tokenizer(writer, tokenizer)
    expected = {}

    def add(name, to, shape):
        kind, data, values = tensor_of(draws, shape)
        writer.add_tensor(name, data, raw_dtype=kind)
        heads = {"attn_q": HEADS, "attn_k": KEY_VALUE_HEADS}.get(name.split(".")[-2])
        expected[to] = with_halves(values, heads) if heads else values

    vocabulary = tokenizer.vocab_size()
    add("token_embd.weight", "model.embed_tokens.weight", (vocabulary, WIDTH))
    for name, (to, shape) in LAYER.items():
        add(f"blk.0.{name}.weight", f"model.layers.0.{to}.weight", shape)
    add("output_norm.weight", "model.norm.weight", (WIDTH,))
    add("output.weight", "lm_head.weight", (vocabulary, WIDTH))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return expected


def check_case(program, folder, seed):
    """Returns what differs."""
    draws, tokenizer = numpy.random.default_rng(seed), train_tokenizer(seed)
    expected = write_model(folder / "model.gguf", draws, tokenizer)
    subprocess.run([program, "convert", folder / "model.gguf", "--out", folder / "out"], check=True)
    ours = safetensors.numpy.load_file(folder / "out" / "model.safetensors")
    wrong = [] if set(ours) == set(expected) else ["names"]
    wrong += [name for name in ours if name in expected and not numpy.array_equal(ours[name], expected[name])]
    texts = SENTENCES + ["Straße 東京 🙂", "  two  spaces ", "x"]
    done = subprocess.run(
        [program, "tokenize", "--model", folder / "out", "--json"],
        input="\n".join(texts) + "\n",
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    for text, line in zip(texts, done.stdout.splitlines(), strict=True):
        if json.loads(line)["ids"] != [tokenizer.bos_id(), *tokenizer.encode(text)]:
            wrong.append(f"tokens of {text!r}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            wrong = check_case(options.program, pathlib.Path(folder), seed)
        failed += bool(wrong)
        if wrong:
            print(f"FAILED seed {seed}: {', '.join(wrong)}")
    print(f"{options.count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
