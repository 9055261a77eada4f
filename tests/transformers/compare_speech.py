#!/usr/bin/env python3
"""Compares Whispers of random weights with transformers: features of sounds, encoded features, logits, loss, every
gradient, greedy tokens with and without times, and the folders that hub::save writes.

usage: compare_speech.py RUN_SPEECH [--seed N]. Ends with 77 where transformers is missing.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors.torch
    import tokenizers
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

LANGUAGES = ["en", "de", "yue"]
SPECIAL = [
    "<|endoftext|>",
    "<|startoftranscript|>",
    *[f"<|{language}|>" for language in LANGUAGES],
    "<|translate|>",
    "<|transcribe|>",
    "<|startoflm|>",
    "<|startofprev|>",
    "<|nospeech|>",
    "<|notimestamps|>",
]
IDS = {token: 256 + i for i, token in enumerate(SPECIAL)}
SECONDS = 2  # of a chunk
TIMES = SECONDS * 50 + 1
SIZES = {
    "vocab_size": 256 + len(SPECIAL) + TIMES,
    "d_model": 48,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 60,
    "decoder_ffn_dim": 72,
    "max_source_positions": SECONDS * 50,
    "max_target_positions": 40,
    "pad_token_id": 256,
    "bos_token_id": 256,
    "eos_token_id": 256,
    "decoder_start_token_id": 257,
}
STEERING = {"suppress_tokens": [1, 2, 7, 60, 61, 62, 258], "begin_suppress_tokens": [32, 256]}
SOME_SOUNDS = ("noise", "long")  # of all models but the first
# Options of the configuration and of the generation for each model; "english" models have one language.
MODELS = [
    ({}, STEERING | {"max_initial_timestamp_index": 20}),
    (
        {"num_mel_bins": 128, "decoder_layers": 1, "activation_function": "relu", "tie_word_embeddings": False},
        {"max_length": 25},
    ),
    (
        {"encoder_attention_heads": 2, "decoder_attention_heads": 3, "d_model": 30, "encoder_layers": 1},
        STEERING | {"english": True},
    ),
    (
        {"pad_token_id": None, "encoder_ffn_dim": 40, "num_mel_bins": 64},
        STEERING | {"older": True, "forced_decoder_ids": [[1, IDS["<|de|>"]], [2, IDS["<|translate|>"]]]},
    ),
]


def write_tokenizer(folder):
    """A tokenizer of bytes, with the special tokens behind them."""
    bytes_only = {token: i for i, token in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(bytes_only, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))


def make_model(options, steering):
    """Returns a model of transformers with random weights, also in its norms and positions."""
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(**{**SIZES, **options})).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn_like(parameter) * (0.3 if "embed_tokens" in name else 0.1))
    chosen = model.generation_config
    values = {
        "max_length": 448,
        "pad_token_id": 256,
        "eos_token_id": 256,
        "decoder_start_token_id": 257,
        "no_timestamps_token_id": IDS["<|notimestamps|>"],
        "is_multilingual": not steering.get("english"),
    }
    for key, value in (values | steering).items():
        if key not in ("english", "older"):
            setattr(chosen, key, value)
    if not steering.get("english"):
        chosen.lang_to_id = {f"<|{language}|>": IDS[f"<|{language}|>"] for language in LANGUAGES}
        chosen.task_to_id = {task: IDS[f"<|{task}|>"] for task in ("transcribe", "translate")}
    return model


def make_sounds():
    """Sounds of 16000 samples a second: noise, tones, silence, shorter and longer than a chunk."""

    def tones(seconds):
        at = torch.arange(int(seconds * 16000)) / 16000
        return sum(torch.sin(2 * torch.pi * torch.rand(()) * 7000 * at) * 0.2 for _ in range(3))

    sounds = {
        "noise": torch.randn(20000) * 0.1,
        "tones": tones(SECONDS),
        "silence": torch.zeros(1000),
        "short": torch.randn(130) * 0.3,
        "long": torch.cat([tones(3.3), torch.randn(16007) * 0.05, tones(1)]),
    }
    sounds["fading"] = tones(1.7) * torch.linspace(1, 1e-4, int(1.7 * 16000)) ** 3
    return {name: sound.float().contiguous() for name, sound in sounds.items()}


def reference(model, inputs):
    """Returns what run_speech computes of features and tokens, by PyTorch."""
    dtype = model.proj_out.weight.dtype
    features = inputs["features"].to(dtype)
    with torch.no_grad():
        out = {
            "encoded": model.model.encoder(features).last_hidden_state.float(),
            "logits": model(features, decoder_input_ids=inputs["tokens"]).logits.float(),
        }
    model.zero_grad()
    loss = model(features, labels=inputs["labels"]).loss
    loss.backward()
    out["loss"] = loss.detach().float()
    out |= {
        f"grad.{name}": parameter.grad.float()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
    return out


def distance(ours, theirs):
    """The largest difference, relative to the largest element."""
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-12)).item()


class Comparison:
    """Runs of run_speech on folders, and what differed."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failures, self.checks, self.farthest = [], 0, {}

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def near(self, title, kind, ours, theirs, bound=1e-4, absolute=False):
        if ours.shape != theirs.shape:
            return self.expect(False, f"{title}: shapes {list(ours.shape)} and {list(theirs.shape)}")
        far = (ours - theirs).abs().max().item() if absolute else distance(ours, theirs)
        self.farthest[kind] = max(far, self.farthest.get(kind, 0))
        self.expect(far < bound, f"{title} differs by {far:.1e}")

    def run(self, model_folder, inputs, *options):
        """Returns the tensors that run_speech writes."""
        given, result = self.folder / "inputs.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file(inputs, given)
        done = subprocess.run([self.program, model_folder, given, result, *options], capture_output=True, text=True)
        if done.returncode != 0:
            self.failures.append(f"{model_folder.name}: {done.stderr.strip()}")
            return None
        return safetensors.torch.load_file(result)

    def compare_features(self, title, ours, theirs, extractor, sound):
        """transformers computes in f32 with PyTorch, and more exactly with NumPy: its own distance is allowed too."""
        frames = theirs.shape[2]
        padded = numpy.zeros(max(len(sound), extractor.n_samples), numpy.float32)
        padded[: len(sound)] = sound.numpy()
        padded = padded[: extractor.n_samples] if frames == extractor.nb_max_frames else padded
        exact = torch.from_numpy(extractor._np_extract_fbank_features(padded[None], "cpu")).float()
        own = (exact[:, :, :frames] - theirs).abs().max().item()
        self.farthest["features of transformers by PyTorch and NumPy"] = max(
            own, self.farthest.get("features of transformers by PyTorch and NumPy", 0)
        )
        self.near(title, "features from NumPy", ours, exact[:, :, :frames], 1e-5, absolute=True)
        self.near(title, "features from PyTorch", ours, theirs, 1e-4 + own, absolute=True)

    def compare_tokens(self, title, model, extractor, name, sound, ours):
        """Greedy tokens, as transformers generates them for the same language and task."""
        multilingual = model.generation_config.is_multilingual
        features = extractor(sound.numpy(), sampling_rate=16000, return_tensors="pt").input_features
        everything = extractor(
            sound.numpy(),
            sampling_rate=16000,
            return_tensors="pt",
            truncation=False,
            padding="max_length" if len(sound) < extractor.n_samples else "longest",
        ).input_features
        self.compare_features(f"{title} features.{name}", ours[f"features.{name}"], features, extractor, sound)
        self.compare_features(f"{title} all.{name}", ours[f"all.{name}"], everything, extractor, sound)
        times = range(SIZES["vocab_size"] - TIMES, SIZES["vocab_size"])
        forbidden = [*(model.generation_config.suppress_tokens or []), *times]
        is_forced = getattr(model.generation_config, "forced_decoder_ids", None) is not None
        ways = {"default": {} if is_forced else {"task": "transcribe"}, "translate": {"task": "translate"}}
        ways |= {language: {"language": language, "task": "transcribe"} for language in LANGUAGES}
        if not multilingual:
            ways = {"default": {}}
        chunks = [sound[i : i + extractor.n_samples].numpy() for i in range(0, len(sound), extractor.n_samples)]
        for way, options in ways.items():
            options, theirs = dict(options), []
            for chunk in chunks:
                part = extractor(chunk, sampling_rate=16000, return_tensors="pt").input_features
                if multilingual and options and "language" not in options:
                    language = model.detect_language(part)[0].item()
                    options["language"] = SPECIAL[language - 256]
                tokens = model.generate(part, return_timestamps=False, suppress_tokens=forbidden, **options)
                theirs += tokens[0].tolist()
            self.same_tokens(f"{title} {name}.{way}", ours[f"{name}.{way}"], theirs)
        if model.generation_config.max_length < 448 and len(chunks) > 1:
            return  # transformers raises a smaller limit with each part of a longer sound
        options = {"task": "transcribe"} if multilingual and not is_forced else {}
        theirs = model.generate(everything, return_timestamps=True, **options)[0].tolist()
        self.same_tokens(f"{title} {name}.times", ours[f"{name}.times"], theirs)

    def same_tokens(self, title, ours, theirs):
        self.expect(ours.tolist() == theirs, f"{title}: other tokens: {ours.tolist()}, {theirs}")

    def compare(self, title, model, extractor, model_folder):
        """f32: everything; bf16: logits, no farther from f32 than twice PyTorch's own."""
        sizes = model.config
        inputs = {
            "features": torch.randn(2, sizes.num_mel_bins, 2 * sizes.max_source_positions),
            "tokens": torch.randint(0, 256, (2, 40)),
            "labels": torch.randint(0, 256, (2, 17)),
        }
        inputs["labels"][1, 12:] = -100 if sizes.pad_token_id is not None else 3
        sounds = {name: sound for name, sound in make_sounds().items() if title == "whisper0" or name in SOME_SOUNDS}
        saved = self.folder / f"{title}_saved"
        everything = inputs | {f"audio.{name}": sound for name, sound in sounds.items()}
        ours = self.run(model_folder, everything, "--save", saved)
        if ours is None:
            return
        theirs = (reference if sizes.pad_token_id is not None else self.reference_without_padding)(model, inputs)
        for name in sorted(theirs):
            self.near(f"{title} {name}", name.split(".")[0], ours[name], theirs[name])
        gradients = [{name for name in tensors if name.startswith("grad.")} for tensors in (ours, theirs)]
        self.expect(gradients[0] == gradients[1], f"{title}: other parameters have gradients")
        for name, sound in sounds.items():
            self.compare_tokens(title, model, extractor, name, sound, ours)
        self.compare_saved(title, model, saved)
        own = distance(self.bf16_logits(model, inputs), theirs["logits"])
        low = self.run(model_folder, inputs, "--dtype", "bf16")
        if low is not None:
            far = distance(low["logits"], theirs["logits"])
            self.expect(far <= 2 * own, f"{title}: bf16 logits differ by {far:.1e}, PyTorch's by {own:.1e}")

    @staticmethod
    def reference_without_padding(model, inputs):
        """As reference; transformers wants a token of padding to shift labels."""
        model.config.pad_token_id = 0
        out = reference(model, inputs)
        model.config.pad_token_id = None
        return out

    @staticmethod
    def bf16_logits(model, inputs):
        half = type(model)(model.config).to(torch.bfloat16).eval()
        half.load_state_dict(model.state_dict())
        with torch.no_grad():
            return half(inputs["features"].to(torch.bfloat16), decoder_input_ids=inputs["tokens"]).logits.float()

    def compare_saved(self, title, model, saved):
        """transformers loads the saved folder with the same bits."""
        again, report = type(model).from_pretrained(saved, output_loading_info=True)
        self.expect(not report["missing_keys"] and not report["unexpected_keys"], f"{title}: {report}")
        for name, parameter in model.state_dict().items():
            self.expect(torch.equal(parameter, again.state_dict()[name]), f"{title}: {name} is saved with other bits")


def write_folder(folder, model, extractor, is_sharded, is_older):
    model.save_pretrained(folder, max_shard_size="60KB" if is_sharded else "5GB")
    extractor.save_pretrained(folder)
    write_tokenizer(folder)
    if is_older:  # the keys of transformers 4
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["torch_dtype"] = config.pop("dtype", "float32")
        path.write_text(json.dumps(config, indent=2))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="the program run_speech")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    numpy.random.seed(options.seed)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_speech_") as name:
        comparison = Comparison(options.program, pathlib.Path(name))
        for i, (sizes, steering) in enumerate(MODELS):
            model, folder = make_model(sizes, steering), pathlib.Path(name) / f"whisper{i}"
            extractor = transformers.WhisperFeatureExtractor(
                feature_size=model.config.num_mel_bins, chunk_length=SECONDS
            )
            write_folder(folder, model, extractor, i == 1, steering.get("older"))
            comparison.compare(folder.name, model, extractor, folder)
    for failure in comparison.failures:
        print(failure)
    farthest = ", ".join(f"{kind} {far:.1e}" for kind, far in sorted(comparison.farthest.items()))
    print(f"the largest differences: {farthest}")
    print(f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed")
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
