#!/usr/bin/env python3
"""Compares models with an encoder and a decoder, of random weights, with transformers: logits, loss, every gradient,
greedy tokens, and the folders that hub::save writes.

usage: compare_seq2seq.py RUN_SEQ2SEQ [--family NAME] [--seed N]. Ends with 77 where transformers is missing.
"""

import argparse
import json
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
    "d_model": 60,
    "d_kv": 12,
    "d_ff": 96,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
}
FAR = {"relative_attention_num_buckets": 12, "relative_attention_max_distance": 17}
# By family, the class of the configuration and sets of options beside SIZES. "head" gives the output layer weights of
# its own.
FAMILIES = {
    "t5": (
        "T5Config",
        [
            {},
            {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "head": True} | FAR,
            {"feed_forward_proj": "gated-silu", "tie_word_embeddings": False, "decoder_start_token_id": 5},
            {"feed_forward_proj": "gelu", "head": True, "num_decoder_layers": None},
        ],
    ),
    "mt5": ("MT5Config", [{}, {"head": True} | FAR, {"feed_forward_proj": "relu"}]),
}


def make_model(family, options):
    """Returns a model of transformers with random weights, also in its norms."""
    name, _ = FAMILIES[family]
    options = dict(options)
    has_head = options.pop("head", False)
    config = getattr(transformers, name)(**{**SIZES, **options})
    model = transformers.AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager").eval()
    if has_head:
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.shared.weight))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter) * (0.5 if "relative" in name else 0.08))
    return model


def make_inputs():
    """Two sources, the second one padded, and labels, the second ones shorter."""
    source, labels = torch.randint(2, 199, (2, 45)), torch.randint(2, 199, (2, 23))
    mask = torch.ones_like(source)
    source[1, 30:], mask[1, 30:], labels[1, 19:] = 0, 0, -100
    return {"source": source, "mask": mask, "labels": labels, "target": torch.randint(2, 199, (2, 23))}


def use_older_keys(folder):
    """Rewrites config.json with the keys of transformers 4."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["tie_word_embeddings"] = config.pop("scale_decoder_outputs", False)
    config["torch_dtype"] = config.pop("dtype", "float32")
    path.write_text(json.dumps(config, indent=2))


def reference(model, inputs, count):
    """Returns what run_seq2seq computes, by PyTorch."""
    source, mask = inputs["source"], inputs["mask"]
    logits = model(source, attention_mask=mask, decoder_input_ids=inputs["target"]).logits.float()
    model.zero_grad()
    loss = model(source, attention_mask=mask, labels=inputs["labels"]).loss
    loss.backward()
    out = {"logits": logits.detach(), "loss": loss.detach().float()}
    out.update({f"grad.{name}": parameter.grad.float() for name, parameter in model.named_parameters()})
    ids = torch.full((1, 1), model.config.decoder_start_token_id)
    with torch.no_grad():
        for _ in range(count):
            ids = torch.cat([ids, model(source[:1], decoder_input_ids=ids).logits[:, -1:].argmax(-1)], 1)
    out["generated"] = ids[0, 1:]
    return out


def distance(ours, theirs):
    """The largest difference, relative to the largest element."""
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12)).item()


class Comparison:
    """Runs of run_seq2seq on folders, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks = [], 0

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def run(self, model_folder, inputs, count, *options):
        """Returns the tensors that run_seq2seq writes."""
        given, result = self.folder / "inputs.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file(inputs | {"count": torch.tensor(count)}, given)
        done = subprocess.run([self.program, model_folder, given, result, *options], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{model_folder.name}: {done.stderr.strip()}")
            return None
        return safetensors.torch.load_file(result)

    def compare(self, title, model, model_folder):
        """f32: everything; bf16: logits, no farther from f32 than twice PyTorch's own."""
        inputs, count = make_inputs(), 40
        theirs = reference(model, inputs, count)
        saved = self.folder / f"{title}_saved"
        ours = self.run(model_folder, inputs, count, "--save", saved)
        if ours is None:
            return
        self.expect(set(ours) == set(theirs), f"{title}: other names: {set(ours) ^ set(theirs)}")
        for name in sorted(set(ours) & set(theirs) - {"generated"}):
            far = distance(ours[name], theirs[name])
            self.expect(far < 1e-4, f"{title}: {name} differs by {far:.1e}")
        self.expect(
            torch.equal(ours["generated"], theirs["generated"]),
            f"{title}: other tokens: {ours['generated'].tolist()}, {theirs['generated'].tolist()}",
        )
        again, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(
            saved, attn_implementation="eager", output_loading_info=True
        )
        self.expect(
            not report["missing_keys"] and not report["unexpected_keys"], f"{title}: transformers loads with {report}"
        )
        same = again(inputs["source"], attention_mask=inputs["mask"], decoder_input_ids=inputs["target"]).logits
        self.expect(torch.equal(same, theirs["logits"]), f"{title}: other logits after saving")
        half = model.to(torch.bfloat16)
        own = distance(reference(half, inputs, 0)["logits"], theirs["logits"])
        low = self.run(model_folder, inputs, 1, "--dtype", "bf16")
        if low is not None:
            far = distance(low["logits"], theirs["logits"])
            self.expect(far <= 2 * own, f"{title}: bf16 logits differ by {far:.1e}, PyTorch's by {own:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program run_seq2seq")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_seq2seq_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for family in [options.family] if options.family else FAMILIES:
            for i, variant in enumerate(FAMILIES[family][1]):
                title = f"{family}{i}"
                model, folder = make_model(family, variant), pathlib.Path(name) / title
                model.save_pretrained(folder, max_shard_size="60KB" if i == 1 else "5GB")
                if i >= 2:
                    use_older_keys(folder)
                comparison.compare(title, model, folder)
    for failure in comparison.failures:
        print(failure)
    print(f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed")
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
