#!/usr/bin/env python3
"""Compares training with PyTorch and peft: 20 steps of AdamW of whole models and of LoRA, from the same folders and
batches; and the folders that are saved.

usage: compare_training.py TRAIN_MODEL [--steps N] [--seed N] [--folder MODEL]. Ends with 77 where a package is missing.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import peft
    import safetensors.torch
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIZES = {
    "vocab_size": 199,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 96,
}
ATTENTION = ["q_proj", "v_proj"]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# The class of the configuration, its options, and LoRA's settings (None: the whole model).
CASES = {
    "llama": ("LlamaConfig", {}, None),
    "tied": ("Qwen3Config", {"tie_word_embeddings": True, "head_dim": 16}, None),
    "lora": ("LlamaConfig", {}, {"r": 4, "lora_alpha": 8, "target_modules": ATTENTION}),
    "lora all": ("Qwen2Config", {"tie_word_embeddings": True}, {"r": 16, "lora_alpha": 16, "target_modules": ALL}),
    "gemma": ("Gemma2Config", {"head_dim": 16, "sliding_window": 8, "pad_token_id": 3}, None),
    "fused": (
        "Phi3Config",
        {"pad_token_id": 3, "sliding_window": 8},
        {"r": 4, "lora_alpha": 8, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]},
    ),
    "rslora": ("MistralConfig", {}, {"r": 8, "lora_alpha": 4, "use_rslora": True, "target_modules": ALL}),
}


def make_model(kind, options):
    config = getattr(transformers, kind)(**{**SIZES, **options})
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def train(model, batches, rate, decay):
    """Returns the loss of each step, by PyTorch."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate, weight_decay=decay)
    losses = []
    for tokens in batches:
        optimizer.zero_grad()
        logits = model(tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses, dtype=torch.float64)


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def __call__(self, what, holds, detail=""):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds or detail:
            print(f"{'passed' if holds else 'FAILED'} {what} {detail}", flush=True)


def distance(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def compare(check, program, title, base, lora, batches, folder):
    """`base` is a model of transformers, whose folder is written."""
    model_folder, saved, merged = folder / "base", folder / "saved", folder / "merged"
    base.save_pretrained(model_folder)
    flags = ["--save", saved]
    model = base
    if lora is not None:
        model = peft.get_peft_model(base, peft.LoraConfig(init_lora_weights=False, **lora))
        model.save_pretrained(folder / "adapter")
        flags += ["--lora", folder / "adapter", "--merged", merged]
    rate, decay = (2e-3, 0.05)
    given, result = folder / "batches.safetensors", folder / "result.safetensors"
    safetensors.torch.save_file({"tokens": batches, "rate": torch.tensor(rate), "decay": torch.tensor(decay)}, given)
    done = subprocess.run([program, model_folder, given, result, *flags], capture_output=True, text=True)
    if done.returncode != 0:
        return check(f"{title} ran", False, done.stderr.strip())
    ours = safetensors.torch.load_file(result)
    theirs = train(model, batches, rate, decay)
    far = ((ours["losses"] - theirs).abs() / theirs.abs()).max().item()
    check(
        f"{title}: the losses of {len(theirs)} steps",
        far < 1e-4,
        f"{theirs[0]:.4f} to {theirs[-1]:.4f}, largest relative difference {far:.1e}",
    )
    check(f"{title}: logits after loading again", torch.equal(ours["logits"], ours["logits_again"]))
    fresh = transformers.AutoModelForCausalLM.from_pretrained(
        model_folder if lora is not None else saved, attn_implementation="eager"
    ).eval()
    if lora is not None:
        fresh = peft.PeftModel.from_pretrained(fresh, saved).eval()
        compare_matrices(check, title, fresh, saved)
        plain = transformers.AutoModelForCausalLM.from_pretrained(merged, attn_implementation="eager").eval()
        with torch.no_grad():
            far = distance(plain(batches[0]).logits, ours["logits"])
        check(f"{title}: merged logits", far < 1e-4, f"differ by {far:.1e}")
    with torch.no_grad():
        far = distance(fresh(batches[0]).logits, ours["logits"])
    check(f"{title}: logits of what was saved", far < 1e-4, f"differ by {far:.1e}")


def compare_matrices(check, title, model, saved):
    """peft's tensors are those of the file, bit for bit."""
    ours = safetensors.torch.load_file(saved / "adapter_model.safetensors")
    theirs = peft.get_peft_model_state_dict(model)
    check(f"{title}: names of matrices", set(ours) == set(theirs))
    check(f"{title}: matrices", all(torch.equal(ours[name], theirs[name]) for name in ours if name in theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program train_model")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="a model's folder, instead of random ones")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    check = Checks()
    for title, (kind, sizes, lora) in CASES.items():
        with tempfile.TemporaryDirectory(prefix="fulgurite_training_") as name:
            if options.folder:
                base = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.float32).eval()
            else:
                base = make_model(kind, sizes)
            batches = torch.randint(0, base.config.vocab_size, (options.steps, 2, 17))
            compare(check, options.program, title, base, lora, batches, pathlib.Path(name))
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed or not check.passed else 0


if __name__ == "__main__":
    sys.exit(main())
