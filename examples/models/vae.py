"""The twin of vae.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(784, 400)
        self.mean = nn.Linear(400, 20)
        self.log_variance = nn.Linear(400, 20)
        self.hidden = nn.Linear(20, 400)
        self.decoder = nn.Linear(400, 784)

    def forward(self, x, noise):
        code = F.relu(self.encoder(x))
        mu, log_var = self.mean(code), self.log_variance(code)
        z = mu + noise * torch.exp(0.5 * log_var)
        scores = self.decoder(F.relu(self.hidden(z)))
        reconstruction = F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + log_var - mu * mu - torch.exp(log_var))
        return (reconstruction + divergence) / 128


def model():
    return Vae()


def batch():
    return {"x": (torch.rand(128, 784) > 0.8).float(), "noise": torch.randn(128, 20)}


def optimizers(model):
    return [torch.optim.Adam(model.parameters(), lr=1e-3)]


def step(model, optimizers, batch):
    loss = model(batch["x"], batch["noise"])
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
