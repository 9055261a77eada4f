#!/usr/bin/env python3
"""Compares language models of random weights with transformers: logits, loss, every gradient, greedy tokens, and the
folders that hub::save writes.

usage: compare_models.py RUN_MODEL [--family NAME] [--seed N]. Ends with 77 where transformers is missing.
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
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 96,
    "bos_token_id": 1,
    "eos_token_id": 198,
    "pad_token_id": 0,
}
GROUPED = {"num_key_value_heads": 2, "tie_word_embeddings": True}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 24}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
    "long_factor": [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0],
}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}
LOCAL = {"rope_type": "default", "rope_theta": 300.0}
LOCAL_GLOBAL_LOCAL = ["sliding_attention", "full_attention", "sliding_attention"]
# Part of models of images and texts that is not read.
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}

# By family, the class of the configuration and sets of options beside SIZES.
FAMILIES = {
    "llama": (
        "LlamaConfig",
        [
            {},
            GROUPED | {"rope_parameters": LLAMA3},
            {"attention_bias": True, "mlp_bias": True, "head_dim": 32, "rope_parameters": YARN, "hidden_act": "gelu"},
            {"rope_parameters": LONGROPE | {"original_max_position_embeddings": 30, "factor": 3.0}},
        ],
    ),
    "mistral": (
        "MistralConfig",
        [{"sliding_window": None}, GROUPED | {"sliding_window": 8}, {"head_dim": 24, "sliding_window": 64}],
    ),
    "qwen2": (
        "Qwen2Config",
        [
            {},
            GROUPED | {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
            {"rope_parameters": LINEAR},
        ],
    ),
    "qwen3": (
        "Qwen3Config",
        [
            {"head_dim": 16},
            GROUPED | {"head_dim": 32, "pad_token_id": 7},
            {"head_dim": 8, "attention_bias": True, "pad_token_id": None},
        ],
    ),
    "smollm3": ("SmolLM3Config", [{}, GROUPED, {"no_rope_layers": [1, 0, 1], "tie_word_embeddings": False}]),
    "olmo2": ("Olmo2Config", [{}, GROUPED, {"attention_bias": True}]),
    "granite": (
        "GraniteConfig",
        [
            {},
            GROUPED
            | {
                "embedding_multiplier": 6.0,
                "attention_multiplier": 0.3,
                "residual_multiplier": 0.4,
                "logits_scaling": 5.0,
            },
            {"mlp_bias": True, "attention_bias": True},
        ],
    ),
    "gemma": (
        "GemmaConfig",
        [
            {"head_dim": 16},
            GROUPED | {"head_dim": 32, "hidden_size": 72},
            {
                "head_dim": 24,
                "num_key_value_heads": 1,
                "tie_word_embeddings": False,
                "attention_bias": True,
                "hidden_act": "gelu",
            },
        ],
    ),
    "gemma2": (
        "Gemma2Config",
        [
            {
                "head_dim": 16,
                "sliding_window": 8,
                "query_pre_attn_scalar": 24,
                "attn_logit_softcapping": 2.0,
                "final_logit_softcapping": 1.5,
            },
            GROUPED | {"head_dim": 32, "hidden_size": 72, "sliding_window": 8},
            {
                "head_dim": 24,
                "tie_word_embeddings": False,
                "attn_logit_softcapping": None,
                "final_logit_softcapping": None,
                "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
                "sliding_window": 5,
            },
        ],
    ),
    "gemma3_text": (
        "Gemma3TextConfig",
        [
            {"head_dim": 16, "sliding_window": 8, "query_pre_attn_scalar": 24, "layer_types": LOCAL_GLOBAL_LOCAL},
            GROUPED
            | {
                "head_dim": 32,
                "hidden_size": 72,
                "sliding_window": 8,
                "layer_types": LOCAL_GLOBAL_LOCAL,
                "rope_parameters": {"full_attention": LINEAR | {"rope_theta": 5e3}, "sliding_attention": LOCAL},
                "final_logit_softcapping": 2.0,
            },
            {
                "head_dim": 24,
                "tie_word_embeddings": False,
                "attention_bias": True,
                "sliding_window": 5,
                "sliding_window_pattern": 2,
                "rope_parameters": {"full_attention": LINEAR | {"rope_theta": 7e3}, "sliding_attention": LOCAL},
            },
        ],
    ),
    "gemma3": (
        "Gemma3Config",
        [{"head_dim": 16, "sliding_window": 8, "sliding_window_pattern": 2}, GROUPED | {"head_dim": 32}],
    ),
    "phi": (
        "PhiConfig",
        [
            {},
            GROUPED | {"qk_layernorm": True},
            {"rope_parameters": LINEAR | {"partial_rotary_factor": 0.25}, "hidden_act": "relu"},
        ],
    ),
    "phi3": (
        "Phi3Config",
        [
            {"sliding_window": 8},
            GROUPED | {"rope_parameters": LONGROPE, "original_max_position_embeddings": 32},
            {
                "rope_parameters": LONGROPE | {"attention_factor": 1.3},
                "original_max_position_embeddings": 12,
                "num_key_value_heads": 1,
            },
        ],
    ),
    "gpt2": (
        "GPT2Config",
        [
            {},
            {"activation_function": "relu", "scale_attn_by_inverse_layer_idx": True},
            {"n_inner": 80, "tie_word_embeddings": False},
        ],
    ),
}
GPT2_SIZES = {
    "vocab_size": 199,
    "n_embd": 64,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 96,
    "bos_token_id": 1,
    "eos_token_id": 198,
    "resid_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "attn_pdrop": 0.0,
}


def make_model(family, options):
    """Returns a model of transformers with random weights, also in its norms and biases."""
    name, _ = FAMILIES[family]
    options = {**(GPT2_SIZES if family == "gpt2" else SIZES), **options}
    if family == "gemma3":
        options = {"text_config": options, "vision_config": VISION, "mm_tokens_per_image": 1}
    config = getattr(transformers, name)(**options)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.08)
    return model


def use_older_keys(folder):
    """Rewrites config.json with the keys of transformers 4."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters", None)
    if rope is not None and "sliding_attention" in rope:
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
        config["sliding_window_pattern"] = config.pop("_sliding_window_pattern")
        del config["layer_types"]
    if rope is not None:
        config["rope_theta"] = rope.pop("rope_theta")
        if "partial_rotary_factor" in rope:
            config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype", "float32")
    path.write_text(json.dumps(config, indent=2))


def reference(model, tokens, count):
    """Returns what run_model computes, by PyTorch."""
    logits = model(tokens).logits.float()
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    model.zero_grad()
    predicted = model(inputs).logits.float()
    loss = torch.nn.functional.cross_entropy(predicted.reshape(-1, predicted.shape[-1]), targets.reshape(-1))
    loss.backward()
    out = {"logits": logits.detach(), "loss": loss.detach()}
    out.update(
        {
            f"grad.{name.replace('language_model.', '')}": parameter.grad.float()
            for name, parameter in model.named_parameters()
            if parameter.grad is not None
        }
    )
    ids = tokens[:1]
    with torch.no_grad():
        for _ in range(count):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
    out["generated"] = ids[0, tokens.shape[1] :]
    return out


def padding_of(model):
    """The token whose embedding gets no gradient; none in families without one."""
    return model.get_input_embeddings().padding_idx


def distance(ours, theirs):
    """The largest difference, relative to the largest element."""
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12)).item()


class Comparison:
    """Runs of run_model on folders, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks = [], 0

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def run(self, model_folder, tokens, count, *options):
        """Returns the tensors that run_model writes."""
        inputs, result = self.folder / "tokens.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file({"tokens": tokens, "count": torch.tensor(count)}, inputs)
        done = subprocess.run([self.program, model_folder, inputs, result, *options], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{model_folder.name}: {done.stderr.strip()}")
            return None
        return safetensors.torch.load_file(result)

    def compare(self, title, model, model_folder):
        """f32: everything; bf16: logits, no farther from f32 than twice PyTorch's own."""
        tokens = torch.randint(2, 198, (2, 21))
        if (pad := padding_of(model)) is not None:
            tokens[:, [3, 11]] = pad
        count = 40
        theirs = reference(model, tokens, count)
        saved = self.folder / f"{title}_saved"
        ours = self.run(model_folder, tokens, count, "--save", saved)
        if ours is None:
            return
        self.expect(set(ours) == set(theirs), f"{title}: other names: {set(ours) ^ set(theirs)}")
        for name in sorted(set(ours) & set(theirs) - {"generated"}):
            far = distance(ours[name], theirs[name])
            self.expect(far < 1e-4, f"{title}: {name} differs by {far:.1e}")
        generated = theirs["generated"].tolist()
        if 198 in generated:
            generated = generated[: generated.index(198)]
        tokens_of_ours = ours["generated"].tolist()[: len(generated)]
        self.expect(tokens_of_ours == generated, f"{title}: other tokens: {tokens_of_ours}, {generated}")
        again, report = transformers.AutoModelForCausalLM.from_pretrained(
            saved, attn_implementation="eager", output_loading_info=True
        )
        self.expect(
            not report["missing_keys"] and not report["unexpected_keys"], f"{title}: transformers loads with {report}"
        )
        self.expect(torch.equal(again(tokens).logits, theirs["logits"]), f"{title}: other logits after saving")
        half = model.to(torch.bfloat16)
        own = distance(half(tokens).logits.float(), theirs["logits"])
        low = self.run(model_folder, tokens, 1, "--dtype", "bf16")
        if low is not None:
            far = distance(low["logits"], theirs["logits"])
            self.expect(far <= 2 * own, f"{title}: bf16 logits differ by {far:.1e}, PyTorch's by {own:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program run_model")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_models_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for family in [options.family] if options.family else FAMILIES:
            for i, variant in enumerate(FAMILIES[family][1]):
                title = f"{family}{i}"
                model, folder = make_model(family, variant), pathlib.Path(name) / title
                model.save_pretrained(folder, max_shard_size="60KB" if i == 1 else "5GB")
                if i == 2:
                    use_older_keys(folder)
                comparison.compare(title, model, folder)
    for failure in comparison.failures:
        print(failure)
    print(f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed")
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
