"""The twin of diffusion.cpp."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

TIMES, POINTS, WIDTH = 100, 1024, 256


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input = nn.Linear(2 + 64, WIDTH)
        self.hidden1 = nn.Linear(WIDTH, WIDTH)
        self.hidden2 = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, 2)

    def forward(self, x, time):
        rates = torch.exp(torch.arange(32).float() * (-math.log(1000.0) / 32))
        angles = time.float().unsqueeze(1) * rates
        embedded = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        h = F.silu(self.input(torch.cat([x, embedded], 1)))
        h = h + F.silu(self.hidden1(h))
        h = h + F.silu(self.hidden2(h))
        return self.output(h)


def model():
    return Denoiser()


def batch():
    angle = torch.rand(POINTS) * 12
    spiral = torch.stack([torch.cos(angle) * angle / 12, torch.sin(angle) * angle / 12], 1)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.05, TIMES), 0)
    return {"x": spiral, "time": torch.randint(TIMES, (POINTS,)), "noise": torch.randn(POINTS, 2), "kept": kept}


def optimizers(model):
    return [torch.optim.Adam(model.parameters(), lr=1e-3)]


def step(model, optimizers, batch):
    kept = batch["kept"].index_select(0, batch["time"]).unsqueeze(1)
    noisy = torch.sqrt(kept) * batch["x"] + torch.sqrt(1 - kept) * batch["noise"]
    loss = F.mse_loss(model(noisy, batch["time"]), batch["noise"])
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
