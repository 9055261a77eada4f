"""Runs models of transformers and torchvision with random weights through `fulgurite.jit` and
`torch.compile(backend="fulgurite")`, and compares with eager: losses, logits, all gradients and buffers.

usage: run_models.py [--only NAME,...] [--sizes tiny,small] [--cases NAME,...] [--ways jit,compile] [--write]

It needs transformers, and torchvision for the classics. In f32 a difference is at most 1e-5 of the largest element (of
a gradient: or 1e-3 of the model's largest). In bf16 the values are at most twice as far from the f32 model's as eager's
are, and an ULP. --write: what falls back is written to model_fallbacks.txt, with the reason; the committed list may
only shrink. A model that differs is an error.
"""

import argparse
import copy
import pathlib
import re
import sys
import warnings

import fulgurite as fg
import fulgurite.torch
import torch
from model_families import BATCH, CLASSICS, FAMILIES, LENGTH, SIZES

LIST = pathlib.Path(__file__).with_name("model_fallbacks.txt")
RELATIVE, SMALL, ULP = 1e-5, 1e-3, 2.0**-8


def compiled(model, way, dynamic=False):
    """The model through one of the two ways."""
    torch._dynamo.reset()
    fulgurite.torch.reset()
    if way == "compile":
        return torch.compile(model, backend="fulgurite", dynamic=dynamic or None)
    return fg.jit(model, cache="symbolic values" if dynamic else "constant values", fallback="error")


def fallbacks(function, way, inputs):
    """The reasons why operators ran on PyTorch, without the lines of the program."""
    if way == "compile":
        lines = [line for line in fulgurite.torch.report().splitlines()[1:] if line != "nothing fell back"]
    else:
        lines = [line for line in str(fg.supported(function, **inputs)).splitlines() if "own implementation" in line]
    return [re.sub(r",? at \S+:\d+.*", "", line) for line in lines]


def gradients(model):
    """The gradients by name."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def trained(function, model, inputs):
    """The loss, gradients and buffers of one step."""
    model.zero_grad(set_to_none=True)
    loss = loss_of(function(**inputs), inputs)
    loss.backward()
    return {"loss": loss.detach(), **gradients(model), **dict(model.named_buffers())}


def loss_of(out, inputs):
    """A model's own loss, or that of a classifier's scores."""
    return out.loss if hasattr(out, "loss") else torch.nn.functional.cross_entropy(out, inputs["labels"])


class Classic(torch.nn.Module):
    """A network of torchvision with the arguments of transformers' models."""

    def __init__(self, name):
        super().__init__()
        import torchvision

        self.net = getattr(torchvision.models, name)(num_classes=10)
        for module in self.net.modules():  # draws would differ from eager's
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if type(module).__name__ == "StochasticDepth":
                module.p = 0.0

    def forward(self, pixel_values, labels):
        """The scores."""
        del labels
        return self.net(pixel_values)


def differences(found, expected):
    """Names and descriptions of the values that differ."""
    if found.keys() != expected.keys():
        return {"": f"other gradients: {sorted(found.keys() ^ expected.keys())[:3]}"}
    largest = max((v.double().abs().max().item() for v in expected.values() if v.numel()), default=0)
    texts = {}
    for name, value in expected.items():
        if not value.numel():
            continue
        error = (found[name].double() - value.double()).abs().max().item()
        if not error <= RELATIVE * max(value.double().abs().max().item(), SMALL * largest):
            texts[name] = f"{name} differs by {error:.1e} of {value.double().abs().max().item():.1e}"
    return texts


def difference(found, expected):
    """The first value that differs, or an empty string."""
    return next(iter(differences(found, expected).values()), "")


def judged(found, expected, model, inputs):
    """The first difference that is farther from f64 than eager's value: a gradient may be rounding errors alone."""
    texts = differences(found, expected)
    if not texts or "" in texts:
        return texts.get("", "")
    exact = copy.deepcopy(model).double()
    exact = trained(exact, exact, cast_inputs(inputs, torch.float64))
    for name, text in texts.items():
        value = exact[name].double()
        errors = [(x[name].double() - value).abs().max().item() for x in (found, expected)]
        if not errors[0] <= 4 * errors[1] + 2.0**-22 * value.abs().max().item():
            return f"{text}, {errors[0]:.1e} and eager {errors[1]:.1e} from f64"
    return ""


def rounded_difference(found, rounded, exact):
    """Text if values of a narrower dtype are farther from f32's than eager's: in the root mean square of the relative
    errors of all, since a single one may be near by chance."""
    squares, count = [0.0, 0.0], 0
    for name, value in exact.items():
        size = value.double().norm().item() if value.is_floating_point() else 0
        if size == 0:
            continue
        count += 1
        for i, values in enumerate((found, rounded)):
            squares[i] += ((values[name].double() - value.double()).norm().item() / size) ** 2
    error, allowed = ((x / count) ** 0.5 for x in squares)
    return "" if error <= 2 * allowed + ULP else f"relative error {error:.1e} from f32, eager {allowed:.1e}"


def step_case(model, inputs, way, change=lambda m: m):
    """One training step."""
    model = change(model.train())
    reference = copy.deepcopy(model)
    function, other = compiled(model, way), copy.deepcopy(model)
    found = trained(function, model, inputs)
    return judged(found, trained(reference, reference, inputs), other, inputs), fallbacks(function, way, inputs)


def checkpointed(model):
    """The model with gradient checkpointing."""
    model.gradient_checkpointing_enable()
    return model


def eval_case(model, inputs, way):
    """The logits of an evaluation, twice."""
    model.eval()
    function = compiled(model, way)
    with torch.no_grad():
        pairs = [logits(f(**inputs)) for f in (function, function, model)]
    wrong = difference({"logits": pairs[0]}, {"logits": pairs[2]}) or difference(
        {"logits": pairs[1]}, {"logits": pairs[2]}
    )
    return wrong, fallbacks(function, way, inputs)


def logits(out):
    """The scores of a result."""
    return out.logits if hasattr(out, "logits") else out


def cast_inputs(inputs, dtype):
    """The arguments with their floating tensors in a dtype."""
    return {k: v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in inputs.items()}


def bf16_case(model, inputs, way):
    """One training step with weights in bf16."""
    model.train()
    reference = copy.deepcopy(model)
    exact = trained(reference, reference, inputs)
    narrow = copy.deepcopy(model).to(torch.bfloat16)
    given = cast_inputs(inputs, torch.bfloat16)
    rounded_model = copy.deepcopy(narrow)
    rounded = trained(rounded_model, rounded_model, given)
    function = compiled(narrow, way)
    return rounded_difference(trained(function, narrow, given), rounded, exact), fallbacks(function, way, given)


def autocast_case(model, inputs, way):
    """One training step under autocast."""
    model.train()
    reference, other = copy.deepcopy(model), copy.deepcopy(model)
    exact = trained(reference, reference, inputs)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = trained(other, other, inputs)
        function = compiled(model, way)
        found = trained(function, model, inputs)
        return rounded_difference(found, rounded, exact), fallbacks(function, way, inputs)


def lengths_case(model, inputs, way, make):
    """Evaluation of texts or batches of several sizes."""
    del inputs
    model.eval()
    function, given = compiled(model, way, dynamic=True), {}
    for batch, length in ((BATCH, LENGTH), (3, 11), (4, 23)):
        torch.manual_seed(length)
        given = make(batch, length)
        with torch.no_grad():
            found, expected = logits(function(**given)), logits(model(**given))
        wrong = difference({"logits": found}, {"logits": expected})
        if wrong:
            return f"{wrong} at {batch} x {length}", []
    return "", fallbacks(function, way, given)


def cache_case(model, inputs, way):
    """Ten greedy tokens with a cache."""
    model.eval()
    model.config.use_cache = True

    def decode(function):
        with torch.no_grad():
            ids, out, scores = inputs["input_ids"], None, []
            for _ in range(10):
                out = function(input_ids=ids, past_key_values=out.past_key_values if out else None, use_cache=True)
                scores.append(out.logits[:, -1])
                ids = out.logits[:, -1:].argmax(-1)
        return torch.stack(scores)

    function = compiled(model, way)
    wrong = difference({"logits": decode(function)}, {"logits": decode(model)})
    # A recording of its own would change the cache.
    return wrong, fallbacks(function, way, inputs) if way == "compile" else []


def is_decoder(name):
    """True where a cache may be passed from call to call."""
    family = FAMILIES.get(name)
    return family is not None and family.model.endswith(("ForCausalLM", "LMHeadModel"))


def cases_of(name):
    """(name of a case, function of model, inputs and way, attention)."""
    family = FAMILIES.get(name)
    attentions = family.attentions if family else ()
    yield "train", step_case, attentions[-1] if attentions else None
    if "eager" in attentions and len(attentions) > 1:
        yield "train_eager_attention", step_case, "eager"
    yield "eval", eval_case, None
    yield "bf16", bf16_case, None
    yield "autocast", autocast_case, None
    if family is None:
        return
    if getattr(family.make(SIZES["tiny"]), "supports_gradient_checkpointing", False):
        yield "checkpointing", lambda m, i, d: step_case(m, i, d, checkpointed), None
    yield "lengths", lambda m, i, d: lengths_case(m, i, d, family.inputs), None
    if is_decoder(name):
        yield "cache", cache_case, None


def made(name, size, attention):
    """A model and its arguments."""
    torch.manual_seed(0)
    if name in CLASSICS:
        side = CLASSICS[name]
        return Classic(name), {"pixel_values": torch.randn(4, 3, side, side), "labels": torch.arange(4)}
    family = FAMILIES[name]
    return family.make(SIZES[size], attention), family.inputs(BATCH, LENGTH)


def run(name, size, case, function, attention, way):
    """The fault of a case, and its fallbacks."""
    try:
        model, inputs = made(name, size, attention)
        return function(model, inputs, way)
    except Exception as error:  # noqa: BLE001  whatever comes is a reason
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200], []


def main():
    """Runs all cases, and compares the fallbacks with the list."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="tiny,small")
    parser.add_argument("--cases", default="")
    parser.add_argument("--ways", default="jit,compile")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wanted, cases = set(options.only.split(",")) - {""}, set(options.cases.split(",")) - {""}
    ran, wrong, fallen = 0, 0, set()
    for name in [*FAMILIES, *CLASSICS]:
        if wanted and name not in wanted:
            continue
        for size in options.sizes.split(",") if name in FAMILIES else ["tiny"]:
            for case, function, attention in cases_of(name):
                if cases and case not in cases:
                    continue
                for way in options.ways.split(","):
                    fault, reasons = run(name, size, case, function, attention, way)
                    ran += 1
                    fallen |= {f"{name} {case} {way}: {reason}" for reason in reasons}
                    if fault:
                        wrong += 1
                        print(f"{name} {size} {case} {way}: {fault}", flush=True)
    print(f"{ran} cases, {wrong} wrong, {len(fallen)} fallbacks", flush=True)
    if options.write:
        LIST.write_text("".join(f"{line}\n" for line in sorted(fallen)))
        return int(wrong > 0)
    known = set(LIST.read_text().splitlines()) if LIST.exists() else set()
    for line in sorted(fallen - known):
        print(f"not in {LIST.name}: {line}")
    return int(wrong > 0 or not fallen <= known)


if __name__ == "__main__":
    sys.exit(main())
