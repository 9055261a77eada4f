"""The memory of eager training of a GPT, ours and eager PyTorch's: peak above the idle process, and growth after a
tenth of the steps.

usage: eager_training_memory.py --program bench_eager_training_memory [--case gpt6l|small] [--steps N] [--threads N]
Each is a process of its own. Prints their JSON lines, then the ratio of the peaks; ends with 1 where ours is the larger
or grows by 1 MB."""

import argparse
import json
import os
import subprocess
import sys
import time

CASES = {
    "gpt6l": dict(layers=6, heads=6, width=384, length=256, batch=8),
    "small": dict(layers=6, heads=6, width=36, length=24, batch=8),
}
VOCABULARY = 65


def resident_mb(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024


def measure_pytorch(case, steps):
    import torch
    from torch import nn
    from torch.nn import functional as F

    c = CASES[case]
    idle = resident_mb("VmRSS")
    torch.manual_seed(0)
    width, heads, length, batch = c["width"], c["heads"], c["length"], c["batch"]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = (t.view(batch, length, heads, -1).transpose(1, 2) for t in self.qkv(self.ln_1(x)).split(width, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(batch, length, width))
            return x + self.out(F.gelu(self.fc(self.ln_2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
            self.blocks, self.ln_f = nn.ModuleList(Block() for _ in range(c["layers"])), nn.LayerNorm(width)
            nn.init.normal_(self.wte.weight, std=0.02)

        def forward(self, tokens, targets):
            x = self.wte(tokens) + self.wpe.weight[:length]
            for block in self.blocks:
                x = block(x)
            logits = F.linear(self.ln_f(x), self.wte.weight)
            return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))

    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    stream = (torch.rand(batch * length + 1) ** 3 * VOCABULARY).long()
    tokens, targets = stream[:-1].reshape(batch, length), stream[1:].reshape(batch, length)
    start = time.perf_counter()
    for i in range(steps):
        loss = model(tokens, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        if i == steps // 10:
            after_a_tenth = resident_mb("VmRSS")
    seconds = time.perf_counter() - start
    for metric, number in (
        ("peak_mb", resident_mb("VmHWM") - idle),
        ("growth_mb", resident_mb("VmRSS") - after_a_tenth),
        ("ms_per_step", seconds * 1e3 / steps),
        ("loss", value),
    ):
        print(json.dumps({"peer": "pytorch", "metric": metric, "value": round(number, 4)}))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--program")
    arguments.add_argument("--case", choices=sorted(CASES), default="gpt6l")
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--pytorch", action="store_true")
    a = arguments.parse_args()
    if a.pytorch:
        return measure_pytorch(a.case, a.steps)
    threads = str(a.threads)
    environment = dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads, FULGURITE_NUM_THREADS=threads)
    found = {}
    for name, command in (
        ("fulgurite", [a.program, a.case, str(a.steps)]),
        ("pytorch", [sys.executable, __file__, "--pytorch", "--case", a.case, "--steps", str(a.steps)]),
    ):
        out = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(out, end="")
        found[name] = {record["metric"]: record["value"] for record in map(json.loads, out.splitlines())}
    ratio = found["fulgurite"]["peak_mb"] / found["pytorch"]["peak_mb"]
    print(f"{a.case}, {a.steps} steps: peak {ratio:.2f} of PyTorch's, growth {found['fulgurite']['growth_mb']:.2f} MB")
    sys.exit(0 if ratio <= 1 and found["fulgurite"]["growth_mb"] < 1 else 1)


if __name__ == "__main__":
    main()
