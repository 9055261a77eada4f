"""`fulgurite transcribe` and `inspect` on a folder of a Whisper."""

import json
import math
import struct

from harness import expect, expect_equal
from inspect_runs import inspected, write_folder

SIZES = {
    "model_type": "whisper",
    "vocab_size": 76,
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8,
    "num_mel_bins": 8,
    "max_source_positions": 50,
    "max_target_positions": 24,
    "decoder_start_token_id": 17,
    "pad_token_id": 16,
    "dtype": "float32",
}
SPECIAL = [
    "endoftext",
    "startoftranscript",
    "en",
    "de",
    "translate",
    "transcribe",
    "startofprev",
    "nospeech",
    "notimestamps",
]
GENERATION = {
    "eos_token_id": 16,
    "decoder_start_token_id": 17,
    "is_multilingual": True,
    "no_timestamps_token_id": 24,
    "lang_to_id": {"<|en|>": 18, "<|de|>": 19},
    "task_to_id": {"translate": 20, "transcribe": 21},
    "suppress_tokens": list(range(17, 25)),
    "begin_suppress_tokens": [16],
}


def shapes():
    """The tensors of the model that SIZES describes."""
    out = {
        "model.encoder.conv1.weight": [8, 8, 3],
        "model.encoder.conv1.bias": [8],
        "model.encoder.conv2.weight": [8, 8, 3],
        "model.encoder.conv2.bias": [8],
        "model.encoder.embed_positions.weight": [50, 8],
        "model.decoder.embed_positions.weight": [24, 8],
        "model.decoder.embed_tokens.weight": [76, 8],
    }
    for side, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        norms = ["layer_norm", "layers.0.final_layer_norm"]
        for norm in [*norms, *(f"layers.0.{name}_layer_norm" for name in attentions)]:
            out |= {f"model.{side}.{norm}.weight": [8], f"model.{side}.{norm}.bias": [8]}
        for linear in ["fc1", "fc2", *(f"{name}.{part}_proj" for name in attentions for part in "k q v out".split())]:
            out[f"model.{side}.layers.0.{linear}.weight"] = [8, 8]
            if not linear.endswith("k_proj"):
                out[f"model.{side}.layers.0.{linear}.bias"] = [8]
    return out


def write_whisper(folder):
    """A Whisper of random weights for chunks of one second, whose tokens are letters."""
    write_folder(folder, SIZES, shapes())
    added = [{"id": 16 + i, "content": f"<|{name}|>", "special": True} for i, name in enumerate(SPECIAL)]
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "added_tokens": added,
                "normalizer": None,
                "pre_tokenizer": None,
                "post_processor": None,
                "decoder": None,
                "model": {
                    "type": "BPE",
                    "vocab": {letter: i for i, letter in enumerate("abcdefghijklmnop")},
                    "merges": [],
                },
            }
        )
    )
    (folder / "generation_config.json").write_text(json.dumps(GENERATION))
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 8, "chunk_length": 1})
    )
    return folder


def write_wav(path, seconds, rate=8000):
    """A tone of 16 bits."""
    samples = [int(9000 * math.sin(i * 0.3)) for i in range(int(seconds * rate))]
    data = struct.pack(f"<{len(samples)}h", *samples)
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        36 + len(data),
        b"WAVE",
        b"fmt ",
        16,
        1,
        1,
        rate,
        2 * rate,
        2,
        16,
        b"data",
        len(data),
    )
    path.write_bytes(head + data)
    return str(path)


def test_transcribe(cli):
    folder = str(write_whisper(cli.folder / "whisper"))
    short, long = write_wav(cli.folder / "short.wav", 0.7), write_wav(cli.folder / "long.wav", 1.5)
    run = ("transcribe", "--model", folder, "--threads", "1")
    text = cli.good(*run, short)
    result = json.loads(cli.good(*run, short, "--json"))
    expect_equal(result["text"] + "\n", text, "the text of --json")
    expect_equal(result["file"], short, "file")
    expect_equal([(segment["begin"], segment["end"]) for segment in result["segments"]], [(0, 0.7)], "segments")
    expect(result["language"] in ("en", "de") and len(text) > 1, result)
    expect_equal(len(json.loads(cli.good(*run, long, "--json", "--chunks"))["segments"]), 2, "chunks of a longer sound")
    both = cli.good(*run, long, short, "--language", "German").splitlines()
    expect(both[0].startswith(f"{long}: ") and both[1].startswith(f"{short}: ") and len(both) == 2, both)
    timed = cli.good(*run, short, "--timestamps", "--task", "translate").splitlines()
    expect(timed and all(line.startswith("[") and " - " in line for line in timed), timed)


def test_transcribe_bad_input(cli):
    folder, sound = write_whisper(cli.folder / "bad_whisper"), write_wav(cli.folder / "bad.wav", 0.1)
    cli.bad("transcribe", sound, status=2, message="--model is missing")
    cli.bad("transcribe", "--model", str(folder), status=2, message="a WAV file is missing")
    cli.bad("transcribe", "--model", str(folder), sound, "--timestamps", "--chunks", status=2, message="excludes")
    cli.bad("transcribe", "--model", str(folder), sound, "--tsk", "x", status=2, message="did you mean --task?")
    cli.bad("transcribe", "--model", str(folder), sound, "--task", "x", status=2, message="transcribe|translate")
    cli.bad(
        "transcribe", "--model", str(folder), sound, "--language", "germn", status=1, message="did you mean german?"
    )
    cli.bad("transcribe", "--model", str(folder), f"{cli.folder}/none.wav", status=1, message="none.wav")
    (cli.folder / "text.wav").write_text("no sound")
    cli.bad("transcribe", "--model", str(folder), f"{cli.folder}/text.wav", status=1, message="it is not a WAV file")
    (folder / "preprocessor_config.json").unlink()
    cli.bad("transcribe", "--model", str(folder), sound, status=1, message="has no preprocessor_config.json")


def test_inspect_whisper(cli):
    folder = write_whisper(cli.folder / "inspect_whisper")
    lines = cli.good("inspect", str(folder))
    expect(
        lines.startswith(
            "model        whisper\nsupported    yes\n"
            "kind         encoder of speech and decoder of texts\n"
            "texts        at most 24 tokens\nsound        100 frames of 8 bins\nparameters   "
        ),
        lines,
    )
    expect("cache of 74 positions" in lines and "not prepared" not in lines, lines)
    result = inspected(cli, folder)
    expect_equal(
        (result["max_tokens"], result["sound_bins"], result["sound_frames"], result["cache_bytes"]),
        (24, 8, 100, 2 * 74 * 8 * 4),
        "whisper",
    )
    expect_equal(result["weight_bytes"] - 4 * result["parameters"], 50 * 8 * 4, "positions without gradients")
    (folder / "preprocessor_config.json").write_text('{"feature_extractor_type": "ASTFeatureExtractor"}')
    expect("ASTFeatureExtractor" in inspected(cli, folder)["preparation_reason"], "preparation")
