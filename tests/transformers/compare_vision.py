#!/usr/bin/env python3
"""Compares models of images with transformers: outputs, losses, every gradient, and saved folders, of random weights.

usage: compare_vision.py RUN_VISION [--family NAME] [--seed N]. Ends with 77 where transformers is missing.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import PIL.Image
    import safetensors.torch
    import torch
    import transformers
    import transformers.models.vit.image_processing_pil_vit as vit_images
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

BATCH = 2
VIT = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "num_labels": 7,
}
RESNET = {"embedding_size": 16, "hidden_sizes": [32, 48, 64], "depths": [2, 1, 2], "num_labels": 7}
TEXT = {
    "hidden_size": 40,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 99,
    "max_position_embeddings": 20,
    "eos_token_id": 98,
    "bos_token_id": 97,
    "pad_token_id": 1,
}
CLIP = {"projection_dim": 24}
VITS = [
    {},
    {"qkv_bias": False, "hidden_act": "quick_gelu", "patch_size": 16, "num_channels": 1},
    {"hidden_act": "gelu_new", "layer_norm_eps": 1e-6, "interpolate": [40, 24]},
    {"hidden_act": "relu", "num_attention_heads": 2, "image_size": 40},
]
RESNETS = [
    {},
    {"layer_type": "basic", "train": True},
    {"downsample_in_bottleneck": True, "hidden_act": "silu"},
    {"downsample_in_first_stage": True, "train": True, "num_channels": 1},
    {"layer_type": "basic", "hidden_act": "gelu"},
]
CLIPS = [
    {},
    {"text": {"eos_token_id": 2}, "vision": {"patch_size": 16}},
    {
        "text": {"hidden_act": "gelu", "pad_token_id": 98},
        "vision": {"hidden_act": "gelu"},
        "mask": True,
        "interpolate": [24, 40],
    },
    {
        "text": {"num_attention_heads": 2, "num_hidden_layers": 1},
        "vision": {"num_channels": 1},
        "mask": True,
        "logit_scale_init_value": 1.5,
    },
]
# By family: its configuration, its class in transformers, the common sizes, and sets of options beside them. "train" is
# for batch norms, "interpolate" the size of images that the positions are not for. "text" and "vision" are options of
# CLIP's towers; "mask" marks the padding.
FAMILIES = {
    "vit": ("ViTConfig", "ViTModel", VIT, VITS + [{"pooler_output_size": 24, "pooler_act": "relu"}]),
    "vit_classifier": (
        "ViTConfig",
        "ViTForImageClassification",
        VIT,
        VITS + [{"num_labels": 1}, {"problem_type": "multi_label_classification"}],
    ),
    "resnet": ("ResNetConfig", "ResNetModel", RESNET, RESNETS),
    "clip": ("CLIPConfig", "CLIPModel", CLIP, CLIPS),
    "resnet_classifier": ("ResNetConfig", "ResNetForImageClassification", RESNET, RESNETS),
}


class Case:
    """A random model of transformers, the inputs of a call, and how to call it."""

    def __init__(self, family, options):
        configuration, model, sizes, _ = FAMILIES[family]
        options = {**sizes, **options}
        self.family = family
        self.trains, self.size = options.pop("train", False), options.pop("interpolate", None)
        self.is_masked = options.pop("mask", False)
        if family == "clip":
            options["text_config"] = {**TEXT, **options.pop("text", {})}
            options["vision_config"] = {**VIT, **options.pop("vision", {})}
        self.config = getattr(transformers, configuration)(**options)
        self.kind = getattr(transformers, model)
        self.model = self.kind._from_config(self.config, attn_implementation="eager").train(self.trains)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.08)
            for name, buffer in self.model.named_buffers():
                if name.endswith(("running_mean", "running_var")):
                    buffer.add_(torch.rand_like(buffer) * 0.3)
        self.image_config = getattr(self.config, "vision_config", self.config)
        rows, columns = self.size or [getattr(self.image_config, "image_size", 64)] * 2
        self.inputs = self.make_texts() if family == "clip" else {}
        self.inputs["images"] = self.make_images(rows, columns)
        if family.endswith("classifier"):
            self.inputs["labels"] = self.make_labels()
        elif family != "clip":
            for name, output in self.try_call(self.inputs["images"]).items():
                self.inputs[f"weight.{name}"] = torch.randn_like(output) / output.shape[-1]

    def make_images(self, rows, columns):
        """Images for which no relu is so near its kink that rounding decides about its gradient."""
        nearest = []

        def note(_, inputs):
            sizes = inputs[0].abs()
            nearest.append((sizes.min() / sizes.max()).item())

        hooks = [
            module.register_forward_pre_hook(note)
            for module in self.model.modules()
            if isinstance(module, torch.nn.ReLU)
        ]
        while True:
            images = torch.randn(BATCH, self.image_config.num_channels, rows, columns)
            nearest.clear()
            self.try_call(images)
            if not nearest or min(nearest) > 1e-6:
                break
        for hook in hooks:
            hook.remove()
        return images

    def try_call(self, images):
        """The outputs; the model's buffers stay as they are."""
        with torch.no_grad():
            buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
            done = self.call(self.model, images)
            for buffer, before in buffers:
                buffer.copy_(before)
        return self.named(done) if hasattr(done, "pooler_output") else {}

    def make_texts(self):
        """Tokens of texts of two lengths, which end with their largest token, and padding behind them."""
        text = self.config.text_config
        tokens = torch.randint(3, 90, (BATCH, 13))
        tokens[:, 12] = TEXT["eos_token_id"]
        tokens[1, 8] = TEXT["eos_token_id"]
        tokens[1, 9:] = text.pad_token_id
        out = {"tokens": tokens}
        if self.is_masked:
            out["mask"] = torch.ones_like(tokens)
            out["mask"][1, 9:] = 0
        return out

    def make_labels(self):
        if self.config.num_labels == 1:
            return torch.randn(BATCH)
        if self.config.problem_type == "multi_label_classification":
            return torch.randint(0, 2, (BATCH, self.config.num_labels)).float()
        return torch.randint(0, self.config.num_labels, (BATCH,))

    def call(self, model, images, **more):
        if self.size:
            more["interpolate_pos_encoding"] = True
        if "tokens" in self.inputs:
            more.update(attention_mask=self.inputs.get("mask"), return_loss=True)
            return model(self.inputs["tokens"], images, **more)
        return model(images, **more)

    def outputs(self, model, images):
        return self.named(self.call(model, images))

    def named(self, done):
        return {"features": done.last_hidden_state, "pooled": done.pooler_output.flatten(1)}

    def reference(self, model):
        """Returns what run_vision computes, by PyTorch; gradients under the parameters' names in `model`."""
        model.zero_grad()
        dtype = next(model.parameters()).dtype
        images = self.inputs["images"].to(dtype)
        if "labels" in self.inputs:
            labels = self.inputs["labels"]
            done = self.call(model, images, labels=labels.to(dtype) if labels.is_floating_point() else labels)
            outputs, loss = {"logits": done.logits}, done.loss
        elif "tokens" in self.inputs:
            done = self.call(model, images)
            names = ("logits_per_image", "logits_per_text", "text_embeds", "image_embeds")
            outputs, loss = {name: done[name].contiguous() for name in names}, done.loss
            outputs["features"] = done.vision_model_output.last_hidden_state
            outputs["text_features"] = done.text_model_output.pooler_output
            outputs["image_features"] = done.vision_model_output.pooler_output
        else:
            outputs = self.outputs(model, images)
            loss = sum((output * self.inputs[f"weight.{name}"].to(dtype)).sum() for name, output in outputs.items())
        loss.backward()
        out = {name: output.detach().float() for name, output in outputs.items()}
        out["loss"] = loss.detach().float()
        out.update(
            {
                f"grad.{name}": parameter.grad.float()
                for name, parameter in model.named_parameters()
                if parameter.grad is not None
            }
        )
        if self.trains:
            out.update({f"buffer.{name}": buffer.float() for name, buffer in model.named_buffers()})
        return out


def names_in_file(model, folder):
    """The name of each tensor in the saved file, which may differ from the module's. Values tell which is which."""
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    names = {}
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        kind = name.split(".")[-1]
        same = [key for key, value in stored.items() if key.split(".")[-1] == kind and torch.equal(value, tensor)]
        names[name] = name if name in same or len(same) != 1 else same[0]
    return names


def renamed(tensors, names):
    """Tensors under the names of files."""
    out = {}
    for name, tensor in tensors.items():
        prefix, _, rest = name.partition(".")
        out[f"{prefix}.{names[rest]}" if rest else name] = tensor
    return out


def distance(ours, theirs):
    """The largest difference, relative to the largest element."""
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12)).item()


def spread(ours, theirs):
    """The root of the mean squared difference, relative to the largest element. It is steady for few elements."""
    return ((ours - theirs).square().mean().sqrt() / theirs.abs().max().clamp(min=1e-12)).item()


class Comparison:
    """Runs of run_vision on folders, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks, self.spreads = [], 0, {}

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def run(self, case, model_folder, *options):
        flags = [*options, *(["--train", "1"] if case.trains else []), *(["--interpolate", "1"] if case.size else [])]
        return self.run_program(case.family, model_folder, case.inputs, *flags)

    def run_program(self, kind, model_folder, inputs, *flags):
        """Returns the tensors that run_vision writes."""
        given, result = self.folder / "inputs.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file(inputs, given)
        command = [self.program, kind, model_folder, given, result, *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{model_folder.name}: {done.stderr.strip()}")
            return None
        return safetensors.torch.load_file(result)

    def compare(self, title, case):
        """f32: everything; bf16: outputs no farther from f32 than twice PyTorch's own."""
        model_folder, saved = self.folder / title, self.folder / f"{title}_saved"
        case.model.save_pretrained(model_folder)
        names = names_in_file(case.model, model_folder)
        theirs = renamed(case.reference(case.model), names)
        ours = self.run(case, model_folder, "--save", saved)
        if ours is None:
            return
        self.expect(set(ours) == set(theirs), f"{title}: other names: {set(ours) ^ set(theirs)}")
        for name in sorted(set(ours) & set(theirs)):
            # Attention does not depend on the bias of keys: its gradient is rounding errors of a zero.
            scale = theirs[name.replace("key.bias", "query.bias").replace("k_proj.bias", "q_proj.bias")].abs().max()
            far = ((ours[name] - theirs[name]).abs().max() / scale.clamp(min=1e-12)).item()
            self.expect(ours[name].shape == theirs[name].shape and far < 1e-4, f"{title}: {name} differs by {far:.1e}")
        self.compare_saved(title, case, saved)
        self.compare_bf16(title, case, model_folder, theirs)
        if case.family.endswith("classifier") and case.image_config.num_channels == 3:
            self.compare_classes(title, case, model_folder)

    def compare_saved(self, title, case, saved):
        """A saved model has the weights of the model, and its outputs, after training with the same statistics.

        Outputs of equal weights may differ in the last bits: PyTorch's products depend on the alignment of tensors.
        """
        again = case.kind.from_pretrained(saved, attn_implementation="eager").eval()
        case.model.eval()
        images = case.inputs["images"]
        with torch.no_grad():
            one, other = case.call(again, images), case.call(case.model, images)
        keys = [key for key in other if torch.is_tensor(other[key])]
        same = all(distance(one[key], other[key]) < 1e-5 for key in keys)
        self.expect(same, f"{title}: other outputs after saving")
        if not case.trains:
            saved_weights = again.state_dict()
            equal = all(torch.equal(saved_weights[name], weight) for name, weight in case.model.state_dict().items())
            self.expect(equal, f"{title}: other weights after saving")
        case.model.train(case.trains)

    def compare_bf16(self, title, case, model_folder, exact):
        """Features have enough elements for a comparison of their own; the others are compared over a family."""
        half = case.kind.from_pretrained(model_folder, attn_implementation="eager", dtype=torch.bfloat16)
        own = case.reference(half.train(case.trains))
        low = self.run(case, model_folder, "--dtype", "bf16")
        for name in [name for name in low or () if not name.startswith(("grad.", "buffer.", "loss"))]:
            for far in (distance, spread) if name == "features" else ():
                self.expect_near(f"{title}: bf16 {name}", far(low[name], exact[name]), far(own[name], exact[name]))
            self.spreads.setdefault(name, []).append((spread(low[name], exact[name]), spread(own[name], exact[name])))

    def expect_near(self, title, far, limit):
        self.expect(far <= 2 * limit, f"{title} differ by {far:.1e}, PyTorch's by {limit:.1e}")

    def compare_classes(self, title, case, model_folder):
        """Labels and scores of the pipeline of transformers."""
        rows = case.config.image_size if case.family == "vit_classifier" else 48
        processor = vit_images.ViTImageProcessorPil(size={"height": rows, "width": rows})
        processor.save_pretrained(model_folder)
        model = case.kind.from_pretrained(model_folder, attn_implementation="eager").eval()  # as the folder says
        pipeline = transformers.ImageClassificationPipeline(model=model, image_processor=processor)
        pixels = {f"pixels.{i}": torch.randint(0, 256, (20 + 9 * i, 31, 3)) for i in range(3)}
        ours = self.run_program("classifier", model_folder, pixels)
        for i, image in enumerate(pixels.values()) if ours else ():
            theirs = pipeline(PIL.Image.fromarray(image.byte().numpy()), top_k=4)
            labels = [case.config.id2label[index] for index in ours[f"indices.{i}"].tolist()]
            self.expect(labels == [one["label"] for one in theirs], f"{title}: other classes {labels}, not {theirs}")
            scores = torch.tensor([one["score"] for one in theirs])
            far = (ours[f"scores.{i}"] - scores).abs().max().item() if len(labels) == len(theirs) else float("inf")
            self.expect(far < 1e-5, f"{title}: scores of classes differ by {far:.1e}")

    def finish_family(self, family):
        """The errors of a few logits vary by more than a factor of 2 from model to model: their mean is compared."""
        for name, pairs in self.spreads.items():
            ours, theirs = (sum(pair[i] ** 2 for pair in pairs) ** 0.5 for i in (0, 1))
            self.expect_near(f"{family}: bf16 {name} of all its models", ours, theirs)
        self.spreads.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program run_vision")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_vision_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for family in [options.family] if options.family else FAMILIES:
            for i, variant in enumerate(FAMILIES[family][3]):
                comparison.compare(f"{family}{i}", Case(family, variant))
            comparison.finish_family(family)
    for failure in comparison.failures:
        print(f"FAILED {failure}")
    print(f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed")
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
