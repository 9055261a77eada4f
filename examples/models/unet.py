"""The twin of unet.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.norm2 = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom = Block(1, 16), Block(16, 32), Block(32, 64)
        self.up2, self.up1 = Block(64, 32), Block(32, 16)
        self.grow2 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.grow1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        fine = self.down1(x)
        middle = self.down2(F.max_pool2d(fine, 2))
        coarse = self.bottom(F.max_pool2d(middle, 2))
        joined = self.up2(torch.cat([self.grow2(coarse), middle], 1))
        return self.head(self.up1(torch.cat([self.grow1(joined), fine], 1)))


def model():
    return UNet()


def batch():
    along = torch.arange(64.0)
    x, y, radius = torch.rand(3, 4, 1, 1, 1).unbind(0)
    dx, dy = along.view(1, 1, 1, 64) - (x * 40 + 12), along.view(1, 1, 64, 1) - (y * 40 + 12)
    mask = (dx * dx + dy * dy < (radius * 8 + 4) ** 2).float()
    return {"x": mask + 0.5 * torch.randn(4, 1, 64, 64), "y": mask}


def optimizers(model):
    return [torch.optim.AdamW(model.parameters(), lr=1e-3)]


def step(model, optimizers, batch):
    loss = F.binary_cross_entropy_with_logits(model(batch["x"]), batch["y"])
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
