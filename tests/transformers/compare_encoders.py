#!/usr/bin/env python3
"""Compares BERTs of random weights with transformers: features, pooled features, every gradient, and saved folders.

usage: compare_encoders.py RUN_ENCODER [--family NAME] [--seed N]. Ends with 77 where transformers is missing.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIZES = {
    "vocab_size": 199,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
# By family, the class of the configuration and sets of options beside SIZES. "head" saves a model with a head.
FAMILIES = {
    "bert": (
        "BertConfig",
        [{}, {"hidden_act": "gelu_new", "type_vocab_size": 3}, {"hidden_act": "relu", "head": True}],
    ),
    "roberta": ("RobertaConfig", [{}, {"type_vocab_size": 1, "layer_norm_eps": 1e-5}, {"head": True}]),
    "xlm-roberta": ("XLMRobertaConfig", [{}, {"num_attention_heads": 2}, {"head": True, "hidden_act": "silu"}]),
}


def make_model(family, options):
    """Returns a model of transformers with random weights, and its encoder."""
    name, _ = FAMILIES[family]
    options = dict(options)
    kind = transformers.AutoModelForMaskedLM if options.pop("head", False) else transformers.AutoModel
    config = getattr(transformers, name)(**{**SIZES, **options})
    model = kind.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.08)
    return model, getattr(model, "bert", getattr(model, "roberta", model))


def make_inputs(encoder):
    """Two rows of tokens, the second one padded. In BERT, the first one has a token for padding in its middle, which
    RoBERTa's positions would skip."""
    pad = encoder.config.pad_token_id
    tokens = torch.randint(4, 199, (2, 21))
    tokens[1, 15:] = pad
    mask = (tokens != pad).long()
    if encoder.config.model_type == "bert":
        tokens[0, 5] = pad
    types = torch.zeros_like(tokens)
    if encoder.config.type_vocab_size > 1:
        types[:, 9:] = 1
    return {"tokens": tokens, "mask": mask, "types": types, "weight": torch.randn(encoder.config.hidden_size)}


def reference(encoder, inputs):
    """Returns what run_encoder computes, by PyTorch."""
    encoder.zero_grad()
    mask = inputs["mask"]
    done = encoder(inputs["tokens"], attention_mask=mask, token_type_ids=inputs["types"])
    features = done.last_hidden_state
    (features * inputs["weight"].to(features.dtype) * mask.unsqueeze(-1)).sum().backward()
    out = {"features": features.detach().float()}
    if done.pooler_output is not None:
        out["pooled"] = done.pooler_output.detach().float()
    out.update(
        {
            f"grad.{name}": parameter.grad.float()
            for name, parameter in encoder.named_parameters()
            if parameter.grad is not None
        }
    )
    return out


def distance(ours, theirs):
    """The largest difference, relative to the largest element."""
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12)).item()


class Comparison:
    """Runs of run_encoder on folders, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks = [], 0

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def run(self, model_folder, inputs, *options):
        """Returns the tensors that run_encoder writes."""
        given, result = self.folder / "inputs.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file(inputs, given)
        done = subprocess.run([self.program, model_folder, given, result, *options], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{model_folder.name}: {done.stderr.strip()}")
            return None
        return safetensors.torch.load_file(result)

    def compare(self, title, model, encoder):
        """f32: everything; bf16: features, no farther from f32 than twice PyTorch's own."""
        model_folder, saved = self.folder / title, self.folder / f"{title}_saved"
        model.save_pretrained(model_folder)
        inputs = make_inputs(encoder)
        theirs = reference(encoder, inputs)
        ours = self.run(model_folder, inputs, "--save", saved)
        if ours is None:
            return
        self.expect(set(ours) == set(theirs), f"{title}: other names: {set(ours) ^ set(theirs)}")
        tokens = inputs["mask"].unsqueeze(-1)
        for name in sorted(set(ours) & set(theirs)):
            kept = tokens if name == "features" else 1
            # Attention does not depend on the bias of keys: its gradient is rounding errors of a zero.
            scale = theirs[name.replace("key.bias", "query.bias")]
            far = ((ours[name] - theirs[name]) * kept).abs().max().item() / scale.abs().max().item()
            self.expect(far < 1e-4, f"{title}: {name} differs by {far:.1e}")
        again = transformers.AutoModel.from_pretrained(
            saved, attn_implementation="eager", add_pooling_layer="pooled" in theirs
        )
        same = again(inputs["tokens"], attention_mask=inputs["mask"], token_type_ids=inputs["types"]).last_hidden_state
        self.expect(torch.equal(same, theirs["features"]), f"{title}: other features after saving")
        half = encoder.to(torch.bfloat16)
        own = distance(reference(half, inputs)["features"] * tokens, theirs["features"] * tokens)
        low = self.run(model_folder, inputs, "--dtype", "bf16")
        if low is not None:
            far = distance(low["features"] * tokens, theirs["features"] * tokens)
            self.expect(far <= 2 * own, f"{title}: bf16 features differ by {far:.1e}, PyTorch's by {own:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program run_encoder")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_encoders_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for family in [options.family] if options.family else FAMILIES:
            for i, variant in enumerate(FAMILIES[family][1]):
                comparison.compare(f"{family}{i}", *make_model(family, variant))
    for failure in comparison.failures:
        print(f"FAILED {failure}")
    print(f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed")
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
