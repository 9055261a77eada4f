"""The twin of dqn.cpp."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, CAPACITY, DISCOUNT = 64, 512, 0.99


class Lcg:
    """A linear congruential generator, the same in every language."""

    def __init__(self) -> None:
        self.state = 1

    def below(self, bound: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


class Cart:
    def reset(self, draws: Lcg) -> None:
        self.state = [(draws.below(1000) / 1000 - 0.5) * 0.1 for _ in range(4)]
        self.age = 0

    def push(self, action: int) -> bool:
        x, v, angle, turn = self.state
        force, sine, cosine = (10 if action == 1 else -10), math.sin(angle), math.cos(angle)
        pushed = (force + 0.05 * turn * turn * sine) / 1.1
        of_turn = (9.8 * sine - cosine * pushed) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1))
        of_speed = pushed - 0.05 * of_turn * cosine / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * of_speed, angle + 0.02 * turn, turn + 0.02 * of_turn]
        self.age += 1 if abs(self.state[0]) <= 2.4 and abs(self.state[2]) <= 0.2094 else 0
        return abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2094 or self.age >= 200


class Player:
    def __init__(self) -> None:
        self.draws, self.cart, self.memories, self.next = Lcg(), Cart(), [], 0
        self.cart.reset(self.draws)
        while len(self.memories) < CAPACITY:
            self.play(self.draws.below(2))

    def play(self, action: int) -> None:
        before = self.cart.state
        is_end = self.cart.push(action)
        memory = (before, self.cart.state, action, 0.0 if is_end else 1.0)
        if is_end:
            self.cart.reset(self.draws)
        if len(self.memories) < CAPACITY:
            self.memories.append(memory)
        else:
            self.memories[self.next % CAPACITY] = memory
            self.next += 1

    def play_by(self, network: nn.Module) -> None:
        is_random, random = self.draws.below(10) == 0, self.draws.below(2)
        with torch.no_grad():
            self.play(random if is_random else network(torch.tensor([self.cart.state])).argmax().item())

    def sample(self) -> list:
        chosen = [self.memories[self.draws.below(CAPACITY)] for _ in range(BATCH)]
        return [torch.tensor(column) for column in zip(*chosen)]


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.values = nn.Linear(4, 128), nn.Linear(128, 128), nn.Linear(128, 2)

    def forward(self, x):
        return self.values(F.relu(self.second(F.relu(self.first(x)))))


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.online, self.target = Network(), Network()
        self.target.load_state_dict(self.online.state_dict())


def model():
    return Agent()


def compiled(model):
    """The parts that a compiler sees."""
    model.online.compile()
    model.target.compile()
    return model


def batch():
    return {}


def optimizers(model):
    optimizer = torch.optim.Adam(model.online.parameters(), lr=1e-3)
    optimizer.player, optimizer.count = Player(), 0
    return [optimizer]


def step(model, optimizers, batch):
    optimizer = optimizers[0]
    for _ in range(4):
        optimizer.player.play_by(model.online)
    before, after, action, goes_on = optimizer.player.sample()
    value = model.online(before).gather(1, action.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        wanted = 1 + DISCOUNT * goes_on * model.target(after).max(1).values
    loss = F.smooth_l1_loss(value, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.count += 1
    if optimizer.count % 5 == 0:
        model.target.load_state_dict(model.online.state_dict())
    return loss
