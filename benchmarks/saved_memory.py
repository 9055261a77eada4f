"""The bytes that the 12 blocks of a GPT (width 768, 256 tokens, batch 4, f32; without embedding, head and loss) save
for backward: Fulgurite and eager PyTorch, the same blocks. Every measurement is a process of its own.

usage: saved_memory.py --program bench_saved_memory
Prints a JSON line for each way, then the ratios to eager PyTorch."""

import argparse
import json
import os
import subprocess
import sys

BATCH, LENGTH, WIDTH, HEADS, LAYERS = 4, 256, 768, 12, 12


def resident_bytes():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")


def measure_pytorch():
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            q, k, v = (t.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for t in self.qkv(self.ln_1(x)).split(WIDTH, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(BATCH, LENGTH, WIDTH))
            return x + self.out(F.gelu(self.fc(self.ln_2(x))))

    blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
    x = torch.randn(BATCH, LENGTH, WIDTH, requires_grad=True)
    outside = {p.untyped_storage().data_ptr() for p in blocks.parameters()} | {x.untyped_storage().data_ptr()}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in outside:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    before = resident_bytes()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = blocks(x)
    after = resident_bytes()
    result = out.untyped_storage().data_ptr()
    return {
        "way": "pytorch",
        "saved_bytes": sum(n for p, n in saved.items() if p != result),
        "resident_bytes": after - before,
    }


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--program")
    arguments.add_argument("--pytorch", action="store_true")
    a = arguments.parse_args()
    if a.pytorch:
        print(json.dumps(measure_pytorch()))
        return
    commands = {way: [a.program, way] for way in ("everything", "default", "checkpoint")}
    commands["pytorch"] = [sys.executable, __file__, "--pytorch"]
    results = {}
    for way, command in commands.items():
        line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        results[way] = json.loads(line)
        print(line.strip(), flush=True)
    peer, everything = results["pytorch"], results["everything"]
    for way in ("default", "checkpoint"):
        ours = results[way]
        print(
            json.dumps(
                {
                    "way": way,
                    "saved_ratio": ours["saved_bytes"] / peer["saved_bytes"],
                    "resident_ratio": ours["resident_bytes"] / peer["resident_bytes"],
                    "more_arithmetic": ours["arithmetic"] / everything["arithmetic"] - 1,
                }
            )
        )


if __name__ == "__main__":
    main()
