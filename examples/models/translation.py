"""The twin of translation.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, WIDTH, LENGTH = 32, 128, 16


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(WORDS, WIDTH), nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        options = {"dim_feedforward": 256, "dropout": 0.0, "batch_first": True}
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, **options), 2)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(WIDTH, 4, **options), 2)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, source, so_far):
        memory = self.encoder(self.source(source) + self.positions)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        return self.head(self.decoder(self.target(so_far) + self.positions, memory, tgt_mask=mask))


def model():
    return Translator()


def batch():
    source = torch.randint(1, WORDS, (32, LENGTH))
    wanted = source.flip(1)
    so_far = torch.cat([torch.zeros(32, 1, dtype=torch.int64), wanted[:, :-1]], 1)
    return {"from": source, "so_far": so_far, "wanted": wanted.contiguous()}


def optimizers(model):
    return [torch.optim.AdamW(model.parameters(), lr=1e-3)]


def step(model, optimizers, batch):
    loss = F.cross_entropy(model(batch["from"], batch["so_far"]).flatten(0, 1), batch["wanted"].flatten())
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
