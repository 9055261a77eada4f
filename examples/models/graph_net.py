"""The twin of graph_net.cpp."""

import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, EDGES, FEATURES, CLASSES = 2000, 12000, 64, 8


class Convolution(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.message = nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, source, target, degrees):
        messages = self.message(x).index_select(0, source)
        sums = torch.zeros(NODES, messages.shape[1]).index_add(0, target, messages)
        return self.own(x) + sums / degrees


class GraphNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Convolution(FEATURES, 128), Convolution(128, CLASSES)

    def forward(self, x, source, target, y):
        degrees = torch.zeros(NODES).index_add(0, target, torch.ones(EDGES)).clamp_min(1).unsqueeze(1)
        hidden = F.relu(self.first(x, source, target, degrees))
        return F.cross_entropy(self.second(hidden, source, target, degrees), y)


def model():
    return GraphNet()


def batch():
    return {
        "x": torch.randn(NODES, FEATURES),
        "from": torch.randint(NODES, (EDGES,)),
        "to": torch.randint(NODES, (EDGES,)),
        "y": torch.randint(CLASSES, (NODES,)),
    }


def optimizers(model):
    return [torch.optim.Adam(model.parameters(), lr=1e-2)]


def step(model, optimizers, batch):
    loss = model(batch["x"], batch["from"], batch["to"], batch["y"])
    optimizers[0].zero_grad()
    loss.backward()
    optimizers[0].step()
    return loss
