#!/usr/bin/env python3
"""Compares optimizers, schedules and averages of parameters with PyTorch's: 200 steps in f64 one by one, with a save in
the middle, and of a jitted step, with random options.

usage: compare_optimizers.py RUN_OPTIMIZER [--count N] [--seed N] [--only NAME]. Ends with 77 where a package is
missing.
"""

import argparse
import random
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import torch
    from torch.optim import lr_scheduler, swa_utils
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

STEPS = 200
WAYS = ("steps one by one", "resumed in the middle", "a jitted step")
TOLERANCE = 1e-6
# Muon's directions are computed in bf16, where sums in another order round to a neighbour once in some hundred steps.
TOLERANCE_OF_MUON = 1e-4


def betas(r):
    return {"betas1": r.choice([0.8, 0.9, 0.95]), "betas2": r.choice([0.9, 0.99, 0.999])}


def decay(r):
    return {"weight_decay": r.choice([0, 0, 0.01, 0.1])}


def maximize(r):
    return {"maximize": int(r.random() < 0.15)}


def sgd(r):
    momentum = r.choice([0, 0.5, 0.9])
    nesterov = int(momentum > 0 and r.random() < 0.4)
    dampening = r.choice([0, 0.3]) if momentum and not nesterov else 0
    return {"lr": r.choice([1e-3, 1e-2]), "momentum": momentum, "nesterov": nesterov, "dampening": dampening}


def adam(r):
    return {"lr": r.choice([1e-3, 1e-2]), "amsgrad": r.randrange(2), "eps": r.choice([1e-8, 1e-4]), **betas(r)}


OPTIMIZERS = {
    "SGD": lambda r: {**sgd(r), **decay(r), **maximize(r)},
    "Adam": lambda r: {**adam(r), **decay(r), **maximize(r)},
    "AdamW": lambda r: {**adam(r), **decay(r), **maximize(r)},
    "RMSprop": lambda r: {
        "lr": r.choice([1e-3, 1e-2]),
        "alpha": r.choice([0.9, 0.99]),
        "momentum": r.choice([0, 0.5]),
        "centered": r.randrange(2),
        **decay(r),
        **maximize(r),
    },
    "Adagrad": lambda r: {
        "lr": 0.1,
        "lr_decay": r.choice([0, 0.01]),
        "initial_accumulator_value": r.choice([0, 0.1]),
        **decay(r),
        **maximize(r),
    },
    "Adadelta": lambda r: {"lr": r.choice([0.5, 1.0]), "rho": r.choice([0.8, 0.9]), **decay(r), **maximize(r)},
    "Adamax": lambda r: {"lr": r.choice([2e-3, 1e-2]), **betas(r), **decay(r), **maximize(r)},
    "NAdam": lambda r: {
        "lr": r.choice([2e-3, 1e-2]),
        "momentum_decay": r.choice([4e-3, 1e-2]),
        "decoupled_weight_decay": r.randrange(2),
        **betas(r),
        **decay(r),
        **maximize(r),
    },
    "RAdam": lambda r: {
        "lr": r.choice([1e-3, 1e-2]),
        "decoupled_weight_decay": r.randrange(2),
        **betas(r),
        **decay(r),
        **maximize(r),
    },
    "Rprop": lambda r: {"lr": 1e-2, "etas1": r.choice([0.4, 0.5]), "etas2": r.choice([1.1, 1.2]), **maximize(r)},
    "ASGD": lambda r: {
        "lr": 1e-2,
        "lambd": r.choice([1e-4, 1e-2]),
        "alpha": r.choice([0.75, 0.9]),
        "t0": r.choice([50, 1e6]),
        **decay(r),
        **maximize(r),
    },
    "Adafactor": lambda r: {
        "lr": r.choice([1e-2, 1e-3]),
        "beta2_decay": r.choice([-0.8, -0.5]),
        "d": r.choice([1.0, 2.0]),
        **decay(r),
        **maximize(r),
    },
    "Muon": lambda r: {
        "lr": r.choice([1e-3, 1e-2]),
        "momentum": r.choice([0.9, 0.95]),
        "nesterov": r.randrange(2),
        "adjust_lr_fn": r.choice(["original", "match_rms_adamw"]),
        **decay(r),
    },
    "LBFGS": lambda r: {
        "lr": r.choice([0.1, 0.5]),
        "max_iter": r.choice([1, 4]),
        "history_size": r.choice([2, 10]),
        **r.choice([{}, {"line_search_fn": "strong_wolfe"}]),
    },
}
SCHEDULES = {
    "": lambda r: {},
    "StepLR": lambda r: {"step_size": r.choice([30, 70]), "gamma": r.choice([0.1, 0.5])},
    "MultiStepLR": lambda r: {"milestones1": r.choice([20, 60]), "milestones2": 120, "gamma": r.choice([0.1, 0.5])},
    "LambdaLR": lambda r: {"decay": r.choice([0.01, 0.1])},
    "MultiplicativeLR": lambda r: {"decay": r.choice([1e-4, 1e-3])},
    "SequentialLR": lambda r: {"start_factor": 0.1, "total_iters": 20, "gamma": 0.99, "milestone": r.choice([10, 30])},
    "ChainedScheduler": lambda r: {"start_factor": 0.1, "total_iters": r.choice([10, 30]), "gamma": 0.99},
    "ReduceLROnPlateau": lambda r: {
        "factor": r.choice([0.1, 0.5]),
        "patience": r.choice([0, 5]),
        "threshold": r.choice([1e-2, 1e-1]),
        "threshold_mode": r.choice(["rel", "abs"]),
        "cooldown": r.choice([0, 3]),
        "min_lr": r.choice([0, 1e-4]),
    },
    "SWALR": lambda r: {
        "swa_lr": r.choice([1e-4, 2e-2]),
        "anneal_epochs": r.choice([0, 10, 150]),
        "anneal_strategy": r.choice(["cos", "linear"]),
    },
    "ExponentialLR": lambda r: {"gamma": r.choice([0.99, 0.995])},
    "CosineAnnealingLR": lambda r: {"T_max": r.choice([100, 200]), "eta_min": r.choice([0, 1e-4])},
    "CosineAnnealingWarmRestarts": lambda r: {"T_0": r.choice([20, 50]), "T_mult": r.choice([1, 2]), "eta_min": 1e-5},
    "LinearLR": lambda r: {"start_factor": 0.1, "end_factor": r.choice([1.0, 0.5]), "total_iters": r.choice([20, 150])},
    "PolynomialLR": lambda r: {"total_iters": r.choice([150, 250]), "power": r.choice([1.0, 2.0])},
    "ConstantLR": lambda r: {"factor": 0.5, "total_iters": r.choice([10, 100])},
    "OneCycleLR": lambda r: {
        "max_lr": 0.02,
        "total_steps": STEPS + 1,
        "pct_start": r.choice([0.3, 0.45]),
        "anneal_strategy": r.choice(["cos", "linear"]),
        "three_phase": r.randrange(2),
        "cycle_momentum": 0,
    },
    "CyclicLR": lambda r: {
        "base_lr": 1e-3,
        "max_lr": 1e-2,
        "step_size_up": r.choice([15, 40]),
        "mode": r.choice(["triangular", "triangular2", "exp_range"]),
        "gamma": 0.99,
        "cycle_momentum": 0,
    },
}
CYCLES_MOMENTUM = ("SGD", "Adam", "AdamW")


def options_of(given):
    """PyTorch's arguments: pairs in one, and truth values."""
    flags = ("maximize", "amsgrad", "nesterov", "centered", "decoupled_weight_decay", "three_phase", "cycle_momentum")
    out = {}
    for key, value in given.items():
        if key in ("betas1", "etas1", "milestones1"):
            out[key[:-1]] = (value, given[key[:-1] + "2"])
        elif key not in ("betas2", "etas2", "milestones2"):
            out[key] = bool(value) if key in flags else value
    return out


def planned_of(made, schedule, plan):
    """PyTorch's schedule; None without one."""
    options = options_of(plan)
    if schedule in ("SequentialLR", "ChainedScheduler"):
        milestone, gamma = options.pop("milestone", None), options.pop("gamma")
        parts = [lr_scheduler.LinearLR(made, **options), lr_scheduler.ExponentialLR(made, gamma)]
        if schedule == "ChainedScheduler":
            return lr_scheduler.ChainedScheduler(parts)
        return lr_scheduler.SequentialLR(made, parts, [milestone])
    if schedule in ("LambdaLR", "MultiplicativeLR"):
        return getattr(lr_scheduler, schedule)(made, lambda i: 1 / (1 + plan["decay"] * i))
    if schedule == "SWALR":
        return swa_utils.SWALR(made, **options)
    return getattr(lr_scheduler, schedule)(made, **options) if schedule else None


def expected(tensors, optimizer, options, schedule, plan, noise=0.0):
    """The numbers of a run of PyTorch; with noise in the last digits of the gradients."""
    model = torch.nn.Linear(3, 2, bias=False, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(tensors["start"])
    made = getattr(torch.optim, optimizer)(model.parameters(), **options_of(options))
    planned = planned_of(made, schedule, plan)
    moving = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.95))
    plain = swa_utils.AveragedModel(model)

    def evaluate():
        made.zero_grad()
        distance = model.weight - tensors["target"]
        loss = (torch.cos(model.weight * 3) * 0.3 + distance * distance * tensors["weight"]).sum()
        loss.backward()
        if noise:
            model.weight.grad.mul_(1 + noise * torch.randn(2, 3))
        return loss.detach()

    for _ in range(STEPS):
        loss = made.step(evaluate)
        if planned:
            planned.step(*([loss] if schedule == "ReduceLROnPlateau" else []))
        moving.update_parameters(model)
        plain.update_parameters(model)
    weights = [m.weight.detach().flatten() for m in (model, moving.module, plain.module)]
    return torch.cat([*weights, torch.tensor([made.param_groups[0]["lr"]], dtype=torch.float64)])


def is_sensitive(tensors, wanted, case):
    """True where the last digits of the gradients decide PyTorch's own result, as in steps that divide by the root of a
    mean that is almost zero."""
    moved = (expected(tensors, *case, noise=noise) for noise in (2e-16, 1e-15, 5e-15, 1e-14) * 3)
    return any(((m - wanted).abs() / (1 + wanted.abs())).max().item() > TOLERANCE for m in moved)


def line_of(name, options):
    return " ".join([name, *(f"{key}={value}" for key, value in options.items())])


def cases(count, seed, only):
    """Each optimizer with each schedule, `count` times."""
    chance = random.Random(seed)
    for _ in range(count):
        for optimizer, draw in OPTIMIZERS.items():
            for schedule, plan in SCHEDULES.items():
                chosen, planned = draw(chance), plan(chance)
                if "cycle_momentum" in planned and optimizer in CYCLES_MOMENTUM and chosen.get("momentum", 1):
                    planned["cycle_momentum"] = chance.randrange(2)
                if only in ("", optimizer, schedule):
                    yield optimizer, chosen, schedule, planned


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_default_dtype(torch.float64)  # PyTorch's scalar states, as NAdam's mu_product, have the default dtype
    start, target, weight = torch.randn(3, 2, 3)
    tensors = {"start": start.clone(), "target": target.clone(), "weight": weight.abs() + 0.1}
    chosen = list(cases(options.count, options.seed, options.only))
    lines = [line_of(a, b) + (f" / {line_of(c, d)}" if c else "") for a, b, c, d in chosen]
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        safetensors.torch.save_file(tensors, file.name)
        run = subprocess.run(
            [options.program, file.name], input="\n".join(lines), capture_output=True, text=True, check=True
        )
    found = iter(run.stdout.splitlines())
    failed, sensitive, largest = 0, 0, 0.0
    for line, case in zip(lines, chosen):
        wanted = expected(tensors, *case)
        for way in WAYS:
            answer = next(found)
            if answer.startswith("error"):
                print(f"{line}: {answer}")
                failed += 1
                break
            got = torch.tensor([float(x) for x in answer.split()], dtype=torch.float64)
            apart = ((got - wanted).abs() / (1 + wanted.abs())).max().item()
            tolerance = TOLERANCE_OF_MUON if case[0] == "Muon" else TOLERANCE
            if not apart <= tolerance and is_sensitive(tensors, wanted, case):
                sensitive += 1
                continue
            if case[0] != "Muon":
                largest = max(largest, apart)
            if not apart <= tolerance:
                print(f"{line}: {way}: {apart:.1e} apart")
                failed += 1
    print(f"{len(lines)} runs of {STEPS} steps in {len(WAYS)} ways, {failed} wrong, at most {largest:.1e} apart")
    print(f"{sensitive} not compared, where the last digits of gradients change PyTorch's own result by more")
    return int(failed > 0 or not lines or sensitive > len(lines) // 5)


if __name__ == "__main__":
    sys.exit(main())
