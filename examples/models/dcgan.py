"""The twin of dcgan.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grow1 = nn.ConvTranspose2d(64, 128, 4, bias=False)
        self.norm1 = nn.BatchNorm2d(128)
        self.grow2 = nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(64)
        self.grow3 = nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(32)
        self.grow4 = nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1, bias=False)

    def forward(self, noise):
        x = F.relu(self.norm1(self.grow1(noise)))
        x = F.relu(self.norm2(self.grow2(x)))
        x = F.relu(self.norm3(self.grow3(x)))
        return torch.tanh(self.grow4(x))


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 4, stride=2, padding=1, bias=False)
        self.conv2 = nn.Conv2d(32, 64, 4, stride=2, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(64)
        self.conv3 = nn.Conv2d(64, 128, 4, stride=2, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(128)
        self.conv4 = nn.Conv2d(128, 1, 4, bias=False)

    def forward(self, image):
        x = F.leaky_relu(self.conv1(image), 0.2)
        x = F.leaky_relu(self.norm2(self.conv2(x)), 0.2)
        x = F.leaky_relu(self.norm3(self.conv3(x)), 0.2)
        return self.conv4(x).flatten()


class Gan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()


def model():
    return Gan()


def compiled(model):
    """The parts that a compiler sees."""
    model.generator.compile()
    model.discriminator.compile()
    return model


def batch():
    return {"real": torch.rand(32, 1, 32, 32) * 2 - 1, "noise": torch.randn(32, 64, 1, 1)}


def optimizers(model):
    parts = (model.generator, model.discriminator)
    return [torch.optim.Adam(part.parameters(), lr=2e-5, betas=(0.5, 0.999)) for part in parts]


def judged(scores, label):
    return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, label))


def step(model, optimizers, batch):
    fake = model.generator(batch["noise"])
    of_judge = judged(model.discriminator(batch["real"]), 1.0) + judged(model.discriminator(fake.detach()), 0.0)
    optimizers[1].zero_grad()
    of_judge.backward()
    optimizers[1].step()
    of_generator = judged(model.discriminator(fake), 1.0)
    optimizers[0].zero_grad()
    of_generator.backward()
    optimizers[0].step()
    return of_judge.detach() + of_generator.detach()
