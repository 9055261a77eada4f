"""Tokens a second of language models beside llama.cpp, also with weights of few bits: random weights in Qwen2-0.5B's
shape.

usage: quantized_decode.py --bench BENCH_QUANTIZED_DECODE [--llama PYTHON] [--threads 1] [--rounds 3] [--tokens 32]
       [--prompt 512] [--only int8:f32,int4:f32]
--llama names a Python with llama-cpp-python, numpy and gguf, which writes GGUF files of the shape and runs them. The
variants take turns; each figure is the largest of the rounds. Prints a JSON line for each variant: tokens a second of
the prompt and of decoding, by the clock and by CPU time; each run's to stderr."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

OURS = [("f32", "f32"), ("bf16", "bf16"), ("int8", "f32"), ("int8", "bf16"), ("int4", "f32"), ("int4", "bf16")]
THEIRS = ["bf16", "q8_0", "q4_0"]
SHAPE = {"layers": 24, "width": 896, "heads": 14, "key_value_heads": 2, "hidden": 4864, "vocabulary": 151936}

WRITE_GGUF = """
import sys
import gguf, gguf.quants
import numpy as np
path, kind, layers, width, heads, shared, hidden, vocabulary = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
head = width // heads
writer = gguf.GGUFWriter(path, "qwen2")
writer.add_context_length(2048)
writer.add_embedding_length(width)
writer.add_block_count(layers)
writer.add_feed_forward_length(hidden)
writer.add_head_count(heads)
writer.add_head_count_kv(shared)
writer.add_layer_norm_rms_eps(1e-6)
writer.add_rope_freq_base(10000.0)
writer.add_tokenizer_model("gpt2"); writer.add_tokenizer_pre("qwen2")
writer.add_token_list([f"t{i}" for i in range(vocabulary)])
writer.add_token_types([1] * vocabulary)
writer.add_token_merges(["t 1"])
writer.add_eos_token_id(0); writer.add_bos_token_id(0)
random = np.random.default_rng(1)
row = (random.normal(size=(64, max(width, hidden))) * 0.02).astype(np.float32)
def matrix(name, rows, columns):
  # A product is made of a block of rows again and again: drawing and rounding all of them takes minutes.
  type = getattr(gguf.GGMLQuantizationType, kind.upper())
  block = gguf.quants.quantize(np.ascontiguousarray(row[:, :columns]), type)
  writer.add_tensor(name, np.ascontiguousarray(np.tile(block, (-(-rows // 64), 1))[:rows]), raw_dtype=type)
matrix("token_embd.weight", vocabulary, width)
writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
for i in range(layers):
  name = f"blk.{i}."
  for norm in ("attn_norm", "ffn_norm"): writer.add_tensor(f"{name}{norm}.weight", np.ones(width, np.float32))
  for part, rows in (("q", heads * head), ("k", shared * head), ("v", shared * head)):
    matrix(f"{name}attn_{part}.weight", rows, width)
    writer.add_tensor(f"{name}attn_{part}.bias", np.zeros(rows, np.float32))
  matrix(f"{name}attn_output.weight", width, heads * head)
  matrix(f"{name}ffn_gate.weight", hidden, width)
  matrix(f"{name}ffn_up.weight", hidden, width)
  matrix(f"{name}ffn_down.weight", width, hidden)
writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()
"""

RUN_LLAMA = """
import ctypes, json, sys, time
import llama_cpp as lc
path, kind, threads, tokens, length = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
silent = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
lc.llama_log_set(silent, ctypes.c_void_p(0)); lc.llama_backend_init()
model = lc.llama_model_load_from_file(path.encode(), lc.llama_model_default_params())
params = lc.llama_context_default_params()
params.n_ctx, params.n_batch, params.n_ubatch = 2048, 512, 512
params.n_threads, params.n_threads_batch = threads, threads
context = lc.llama_init_from_model(model, params)
def decode(ids):
  array = (lc.llama_token * len(ids))(*ids)
  if lc.llama_decode(context, lc.llama_batch_get_one(array, len(ids))): raise SystemExit("llama_decode failed")
def prompt(seed): return [(i * 7919 + seed * 104729) % 151936 for i in range(length)]
def clear(): lc.llama_memory_clear(lc.llama_get_memory(context), True)
decode(prompt(1)); decode([5]); clear()
out = {"peer": "llama.cpp", "weights": kind, "threads": threads}
def measure(metric, count, body):
  wall, cpu = time.perf_counter(), time.process_time()
  body()
  out[metric] = count / (time.perf_counter() - wall); out[metric + "_cpu"] = count / (time.process_time() - cpu)
measure("prompt", length, lambda: decode(prompt(2)))
decode([7])
def steps():
  for i in range(tokens): decode([i + 11])
measure("decode", tokens, steps)
print(json.dumps(out))
"""


def run_ours(options, weights, dtype):
    done = subprocess.run(
        [options.bench, weights, dtype, str(options.threads), str(options.tokens), str(options.prompt)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    out = {"peer": "fulgurite", "weights": weights, "dtype": dtype, "threads": options.threads}
    for line in map(json.loads, done.stdout.splitlines()):
        out[line["metric"]], out[line["metric"] + "_cpu"] = line["tokens_per_second"], line["tokens_per_cpu_second"]
    return out


def run_llama(options, folder, kind):
    done = subprocess.run(
        [
            options.llama,
            "-c",
            RUN_LLAMA,
            str(folder / f"{kind}.gguf"),
            kind,
            str(options.threads),
            str(options.tokens),
            str(options.prompt),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--llama", help="a Python with llama-cpp-python")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--only", help="variants of fulgurite, as int8:f32,int4:f32")
    options = parser.parse_args()
    ours = [tuple(part.split(":")) for part in options.only.split(",")] if options.only else OURS
    best = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for kind in THEIRS if options.llama else []:
            subprocess.run(
                [options.llama, "-c", WRITE_GGUF, str(folder / f"{kind}.gguf"), kind, *map(str, SHAPE.values())],
                check=True,
            )
        for _ in range(options.rounds):
            results = [run_ours(options, *variant) for variant in ours]
            results += [run_llama(options, folder, kind) for kind in (THEIRS if options.llama else [])]
            for result in results:
                key = (result["peer"], result["weights"], result.get("dtype"))
                known = best.setdefault(key, result)
                print(json.dumps(result), file=sys.stderr, flush=True)
                for metric in ("prompt", "prompt_cpu", "decode", "decode_cpu"):
                    known[metric] = max(known[metric], result[metric])
    for result in best.values():
        print(
            json.dumps({name: round(value, 2) if isinstance(value, float) else value for name, value in result.items()})
        )


if __name__ == "__main__":
    sys.exit(main())
