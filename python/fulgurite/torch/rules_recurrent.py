"""`torch.lstm`, `gru`, `rnn_tanh` and `rnn_relu`, which the layers nn.LSTM, GRU and RNN call: step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._core import Tensor, Unsupported
from .calls import FUNCTIONS, At, call

State = tuple[Tensor, ...]
Step = Callable[[Tensor, State, list[Tensor | None], At], State]  # the projected input, the state, the weights


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None, at: At) -> Tensor:
    return call("nn.functional.linear", [x, weight, bias], {}, at)


def _of(op: str, at: At, *args: Any) -> Tensor:
    return call(op, args, {}, at)


def _lstm_step(x: Tensor, state: State, weights: list[Tensor | None], at: At) -> State:
    hidden, cell = state
    recurrent, bias, projection = weights
    assert recurrent is not None
    gates = _of("add", at, x, _linear(hidden, recurrent, bias, at))
    i, f, g, o = call("chunk", [gates, 4, -1], {}, at)
    kept = _of("mul", at, _of("sigmoid", at, f), cell)
    new = _of("mul", at, _of("sigmoid", at, i), _of("tanh", at, g))
    cell = _of("add", at, kept, new)
    hidden = _of("mul", at, _of("sigmoid", at, o), _of("tanh", at, cell))
    return (hidden if projection is None else _linear(hidden, projection, None, at)), cell


def _gru_step(x: Tensor, state: State, weights: list[Tensor | None], at: At) -> State:
    (hidden,) = state
    recurrent, bias, _ = weights
    assert recurrent is not None
    of_x = call("chunk", [x, 3, -1], {}, at)
    of_h = call("chunk", [_linear(hidden, recurrent, bias, at), 3, -1], {}, at)
    reset = _of("sigmoid", at, _of("add", at, of_x[0], of_h[0]))
    update = _of("sigmoid", at, _of("add", at, of_x[1], of_h[1]))
    scaled = _of("mul", at, reset, of_h[2])
    new = _of("tanh", at, _of("add", at, of_x[2], scaled))
    difference = _of("mul", at, _of("sub", at, hidden, new), update)
    return (_of("add", at, difference, new),)


def _plain_step(activation: str) -> Step:
    def step(x: Tensor, state: State, weights: list[Tensor | None], at: At) -> State:
        recurrent, bias, _ = weights
        assert recurrent is not None
        return (_of(activation, at, _of("add", at, x, _linear(state[0], recurrent, bias, at))),)

    return step


def _direction(
    step: Step, x: Tensor, state: State, weights: list[Tensor | None], is_reversed: bool, at: At
) -> tuple[list[Tensor], State]:
    """(the outputs, in the order of the sequence, the state at its end), of `x`: (time, batch, features)."""
    count = int(x.shape[0])
    given, *rest = weights[:2]
    bias = weights[2]
    assert given is not None
    projected = _linear(x, given, bias, at)
    outputs: list[Tensor] = []
    for k in reversed(range(count)) if is_reversed else range(count):
        state = step(_of("select", at, projected, 0, k), state, [*rest, *weights[3:]], at)
        outputs.append(state[0])
    return outputs[::-1] if is_reversed else outputs, state


def _grouped(parameters: list[Tensor], has_biases: bool, has_projections: bool) -> list[list[Tensor | None]]:
    """The weights of each layer and direction: (input, recurrent, bias of the input, recurrent bias, projection)."""
    size = 2 + 2 * has_biases + has_projections
    groups = [parameters[i : i + size] for i in range(0, len(parameters), size)]
    return [[*g[:2], *(g[2:4] if has_biases else (None, None)), g[-1] if has_projections else None] for g in groups]


def _recurrent(step: Step, states: int) -> Any:
    """`states`: 2 of layers with a cell beside the hidden state."""

    def handler(args: list[Any], kwargs: dict[str, Any], at: At) -> Any:
        if kwargs or len(args) != 9 or isinstance(args[3], (list, tuple)):
            raise Unsupported("a recurrent layer over packed sequences")
        x, initial, parameters, has_biases, layers, dropout, train, bidirectional, batch_first = args
        initial = list(initial) if states == 2 else [initial]
        has_projections = states == 2 and initial[0].shape[2] != initial[1].shape[2]
        groups = _grouped(list(parameters), has_biases, has_projections)
        directions = 2 if bidirectional else 1
        x = _of("transpose", at, x, 0, 1) if batch_first else x
        ends: list[State] = []
        for layer in range(layers):
            parts = []
            for direction in range(directions):
                k = layer * directions + direction
                state = tuple(_of("select", at, s, 0, k) for s in initial)
                outputs, end = _direction(step, x, state, groups[k], direction == 1, at)
                ends.append(end)
                parts.append(call("stack", [outputs, 0], {}, at))
            x = parts[0] if directions == 1 else call("cat", [parts, -1], {}, at)
            if dropout and train and layer < layers - 1:
                x = call("nn.functional.dropout", [x, dropout, True], {}, at)
        x = _of("transpose", at, x, 0, 1) if batch_first else x
        return x, *[call("stack", [[end[k] for end in ends], 0], {}, at) for k in range(states)]

    return handler


FUNCTIONS[torch.lstm] = _recurrent(_lstm_step, 2)
FUNCTIONS[torch.gru] = _recurrent(_gru_step, 1)
FUNCTIONS[torch.rnn_tanh] = _recurrent(_plain_step("tanh"), 1)
FUNCTIONS[torch.rnn_relu] = _recurrent(_plain_step("relu"), 1)
