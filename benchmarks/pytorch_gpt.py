"""The GPT of `fulgurite train` in plain PyTorch, from the same weights and on the same batches.

usage: pytorch_gpt.py --checkpoint FILE --text FILE [--steps N] [--threads N] [--seed N]
FILE is a checkpoint of step 0 (fulgurite train --steps 0). Prints one JSON line: the loss of each step, seconds, CPU
seconds."""

import argparse
import json
import math
import struct
import time

import torch
import torch.nn.functional as F


def load_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    dtypes = {"F32": torch.float32, "I64": torch.int64}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = (
            torch.frombuffer(bytearray(data[begin:end]), dtype=dtypes[entry["dtype"]])
            if end > begin
            else torch.empty(0)
        )
        tensors[name] = flat.reshape(entry["shape"])
    return tensors, header.get("__metadata__", {})


MASK = 2**64 - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw_batch(tokens, batch, block, seed, stream, index):
    starts = [mix(mix(mix(seed) ^ stream) ^ (index * batch + row)) % (len(tokens) - block) for row in range(batch)]
    return (
        torch.stack([tokens[s : s + block] for s in starts]),
        torch.stack([tokens[s + 1 : s + 1 + block] for s in starts]),
    )


class Gpt:
    def __init__(self, weights, config):
        self.config, self.p = config, {name: t.clone().requires_grad_() for name, t in weights.items()}

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p.get(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p[name + ".weight"], self.p.get(name + ".bias"))

    def loss(self, tokens, targets):
        heads = self.config["heads"]
        x = self.p["wte.weight"][tokens] + self.p["wpe.weight"][torch.arange(tokens.shape[1])]
        for i in range(self.config["layers"]):
            block = f"blocks.{i}."
            b, t, c = x.shape
            qkv = self.linear(self.norm(x, block + "ln_1"), block + "attn.qkv").split(c, 2)
            q, k, v = [y.view(b, t, heads, c // heads).transpose(1, 2) for y in qkv]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
            x = x + self.linear(y, block + "attn.proj")
            x = x + self.linear(F.gelu(self.linear(self.norm(x, block + "ln_2"), block + "mlp.fc")), block + "mlp.out")
        logits = self.norm(x, "ln_f") @ self.p["wte.weight"].T
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--checkpoint", required=True)
    arguments.add_argument("--text", required=True)
    arguments.add_argument("--steps", type=int, default=100)
    arguments.add_argument("--threads", type=int, default=1)
    a = arguments.parse_args()
    torch.set_num_threads(a.threads)
    tensors, metadata = load_safetensors(a.checkpoint)
    config = json.loads(metadata["config"])
    model = Gpt({name[len("model.") :]: t for name, t in tensors.items() if name.startswith("model.")}, config)
    index = {c: i for i, c in enumerate(metadata["vocabulary"])}
    tokens = torch.tensor([index[c] for c in open(a.text, encoding="utf-8", newline="").read()])
    tokens = tokens[: int(0.9 * len(tokens))]

    decay = [p for p in model.p.values() if p.dim() > 1]
    rest = [p for p in model.p.values() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": config["weight_decay"]}, {"params": rest, "weight_decay": 0.0}],
        lr=config["lr"],
        betas=(config["beta1"], config["beta2"]),
        fused=True,
    )
    losses, start, cpu = [], time.perf_counter(), time.process_time()
    for step in range(a.steps):
        warmup, steps, low, high = config["warmup"], config["steps"], config["min_lr"], config["lr"]
        progress = (step - warmup) / max(1, steps - warmup)
        lr = (
            high * (step + 1) / (warmup + 1)
            if step < warmup
            else low + 0.5 * (1 + math.cos(math.pi * progress)) * (high - low)
        )
        for group in optimizer.param_groups:
            group["lr"] = lr
        loss = model.loss(*draw_batch(tokens, config["batch"], config["block"], config["seed"], 0, step))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(model.p.values()), config["clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    print(
        json.dumps({"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu, "losses": losses})
    )


if __name__ == "__main__":
    main()
