"""The twin of lstm_language_model.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(64, 128)
        self.lstm = nn.LSTM(128, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, 64)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states)


def model():
    return LanguageModel()


def batch():
    return {"x": torch.randint(64, (16, 32)), "y": torch.randint(64, (16, 32))}


def optimizers(model):
    return [torch.optim.Adam(model.parameters(), lr=2e-3)]


def step(model, optimizers, batch):
    loss = F.cross_entropy(model(batch["x"]).flatten(0, 1), batch["y"].flatten())
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
