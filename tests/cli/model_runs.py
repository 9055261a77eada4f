"""Commands on folders of Hugging Face models."""

import json
import math
import random
import struct

from harness import expect, expect_equal

CONFIG = {
    "model_type": "llama",
    "vocab_size": 29,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "dtype": "float32",
    "eos_token_id": 28,
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def shapes():
    """The tensors of the model that CONFIG describes."""
    out = {"model.embed_tokens.weight": [29, 16], "model.norm.weight": [16], "lm_head.weight": [29, 16]}
    for layer in range(2):
        at = f"model.layers.{layer}."
        out |= {
            at + "self_attn.q_proj.weight": [16, 16],
            at + "self_attn.k_proj.weight": [8, 16],
            at + "self_attn.v_proj.weight": [8, 16],
            at + "self_attn.o_proj.weight": [16, 16],
            at + "mlp.gate_proj.weight": [24, 16],
            at + "mlp.up_proj.weight": [24, 16],
            at + "mlp.down_proj.weight": [16, 24],
            at + "input_layernorm.weight": [16],
            at + "post_attention_layernorm.weight": [16],
        }
    return out


def write_model(folder):
    """A LLaMA of random weights whose tokens are letters."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    vocabulary = {letter: number for number, letter in enumerate(LETTERS)} | {"\u0120": 26, "!": 27}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "added_tokens": [{"id": 28, "content": "<end>", "special": True}],
                "normalizer": None,
                "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
                "post_processor": None,
                "decoder": {"type": "ByteLevel"},
                "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
            }
        )
    )
    write_tensors(folder / "model.safetensors", shapes())
    return folder


def write_tensors(path, shapes):
    """A safetensors file of random numbers."""
    draws = random.Random(5)
    header, data = {}, b""
    for name, shape in shapes.items():
        count = math.prod(shape)
        values = struct.pack(f"<{count}f", *(draws.gauss(0, 0.5) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_generate_with_a_model(cli):
    folder = str(write_model(cli.folder / "generate_model"))
    generate = ("generate", "--model", folder, "--prompt", "hello", "--max-tokens", "12", "--threads", "1")
    text = cli.good(*generate, "--temperature", "0")
    result = json.loads(cli.good(*generate, "--temperature", "0", "--json"))
    expect_equal(result["text"] + "\n", text, "the text of --json")
    expect_equal(result["prompt_tokens"], [LETTERS.index(letter) for letter in "hello"], "prompt_tokens")
    expect(len(result["tokens"]) <= 12, "there are too many tokens")
    drawn = cli.good(*generate, "--temperature", "1.5", "--seed", "4")
    expect_equal(cli.good(*generate, "--temperature", "1.5", "--seed", "4"), drawn, "the same seed")
    expect(cli.good(*generate, "--temperature", "1.5", "--seed", "5") != drawn, "another seed gives the same text")
    stop = text[4:6]
    cut = cli.good(*generate, "--temperature", "0", "--stop", stop)
    expect_equal(cut, text[: text.index(stop)] + "\n", "the text before a stop text")
    cli.good(*generate, "--dtype", "bf16")


def write_t5(folder):
    """A T5 of random weights with the tokenizer of write_model."""
    write_model(folder)
    config = {
        "model_type": "t5",
        "vocab_size": 29,
        "d_model": 16,
        "d_kv": 4,
        "d_ff": 24,
        "num_layers": 1,
        "num_heads": 2,
        "dtype": "float32",
        "eos_token_id": 28,
        "decoder_start_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    attention = {f"{part}.weight": [16, 8] if part == "o" else [8, 16] for part in "qkvo"}
    tensors = {"shared.weight": [29, 16]}
    for stack, layers in (
        ("encoder", ["SelfAttention", "DenseReluDense"]),
        ("decoder", ["SelfAttention", "EncDecAttention", "DenseReluDense"]),
    ):
        tensors[f"{stack}.final_layer_norm.weight"] = [16]
        for number, layer in enumerate(layers):
            at = f"{stack}.block.0.layer.{number}."
            tensors[at + "layer_norm.weight"] = [16]
            if layer == "DenseReluDense":
                tensors |= {at + layer + ".wi.weight": [24, 16], at + layer + ".wo.weight": [16, 24]}
            else:
                tensors |= {f"{at}{layer}.{name}": shape for name, shape in attention.items()}
            if layer == "SelfAttention":
                tensors[at + layer + ".relative_attention_bias.weight"] = [32, 2]
    write_tensors(folder / "model.safetensors", tensors)
    return folder


def test_generate_with_a_t5(cli):
    folder = str(write_t5(cli.folder / "t5_model"))
    generate = ("generate", "--model", folder, "--prompt", "hello", "--max-tokens", "9", "--temperature", "0")
    result = json.loads(cli.good(*generate, "--json"))
    expect_equal(cli.good(*generate), result["text"] + "\n", "the text of --json")
    expect_equal(result["prompt_tokens"], [LETTERS.index(letter) for letter in "hello"], "the source's tokens")
    expect(0 < len(result["tokens"]) <= 9, "the number of tokens")
    expect(cli.good(*generate[:4], "other", *generate[5:]) != result["text"] + "\n", "another source, the same text")
    cli.bad(*generate, "--chat", status=1, message="--chat is for language models")
    report = json.loads(cli.good("inspect", folder, "--json"))
    expect(report["supported"] and report["cache_bytes"] == 1024 * 2 * 8 * 4, "the report of inspect")


def test_generate_reads_the_prompt_from_stdin(cli):
    folder = str(write_model(cli.folder / "stdin_model"))
    flags = ("generate", "--model", folder, "--max-tokens", "5", "--temperature", "0", "--json")
    result = json.loads(cli.run(*flags, input="hello").stdout)
    expect_equal(result["prompt"], "hello", "prompt")


def test_chat(cli):
    folder = write_model(cli.folder / "chat_model")
    chat = ("generate", "--model", str(folder), "--chat", "--max-tokens", "4", "--temperature", "0")
    cli.bad(*chat, "--prompt", "hi", status=1, message="the tokenizer has no chat template")
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.role[0] ~ m.content }}{% endfor %}{% if add_generation_prompt %}a{% endif %}"
    )
    result = json.loads(cli.good(*chat, "--prompt", "hi", "--system", "be", "--json"))
    expect_equal(result["prompt"], "sbeuhia", "the prompt of a chat")
    expect_equal(cli.good(*chat, "--prompt", "hi", "--system", "be"), result["text"] + "\n", "the answer")
    answers = cli.run(*chat, "--system", "be", input="hi\nyou\n").stdout
    expect_equal(answers.split("\n")[0], result["text"], "the first answer")
    expect_equal(answers.count("\n"), 2, "answers")


def finetune(model, data, out, *more, steps=6):
    return [
        "finetune",
        "--model",
        str(model),
        "--data",
        str(data),
        "--out",
        str(out),
        *([] if steps is None else ["--steps", str(steps)]),
        "--batch",
        "2",
        "--length",
        "8",
        "--lr",
        "0.01",
        "--threads",
        "1",
        *more,
    ]


def losses_of(folder):
    return [json.loads(line).get("train_loss") for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_finetune(cli):
    model = write_model(cli.folder / "finetuned_model")
    data = cli.write("the quick brown fox jumps over the lazy dog! " * 8)
    outs = [cli.new_path() for _ in range(4)]
    result = json.loads(cli.good(*finetune(model, data, outs[0], "--json", "--eval-data", str(data))))
    expect_equal(result["steps"], 6, "steps")
    expect(result["train_loss"] < losses_of(outs[0])[0], "the loss does not fall")
    expect(result["eval_loss"] > 0, "eval_loss")
    expect_equal((outs[0] / "tokenizer.json").read_bytes(), (model / "tokenizer.json").read_bytes(), "tokenizer.json")
    cli.good("generate", "--model", str(outs[0]), "--prompt", "the", "--max-tokens", "3")
    cli.run(*finetune(model, data, outs[1]))
    expect_equal(losses_of(outs[1]), losses_of(outs[0])[:6], "losses of an equal run")
    cli.run(*finetune(model, data, outs[2], "--lora", "2", "--targets", "all-linear", "--dtype", "bf16"))
    expect_equal(
        sorted(path.name for path in outs[2].iterdir()),
        ["adapter_config.json", "adapter_model.safetensors", "loss.svg", "metrics.jsonl"],
        "LoRA's files",
    )
    generate = ("generate", "--model", str(model), "--prompt", "the", "--max-tokens", "9", "--temperature", "0")
    expect(cli.good(*generate, "--adapter", str(outs[2])) != cli.good(*generate), "LoRA changes nothing")
    cli.run(*finetune(model, data, outs[3], "--accumulate", "2", "--warmup", "3"))
    expect_equal(len(losses_of(outs[3])), 6, "losses with accumulation")


def test_finetune_on_lines_of_json(cli):
    model = write_model(cli.folder / "lines_model")
    (model / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.role[0] ~ m.content }}!{% endfor %}{% if add_generation_prompt %}a{% endif %}"
    )
    chat = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "you there"}]}
    lines = [{"text": "plain"}, {"prompt": "ab", "completion": " cd"}, chat] * 6
    data = cli.write("\n".join(map(json.dumps, lines)) + "\n\n", ".jsonl")
    out = cli.new_path()
    cli.run(*finetune(model, data, out))
    expect_equal(len(losses_of(out)), 6, "losses")
    bad = cli.write('{"text": "good"}\n{"text": 3}\n', ".jsonl")
    cli.bad(*finetune(model, bad, cli.new_path()), status=1, message='line 2: "text" must be a text')
    cli.bad(*finetune(model, cli.write("ab"), cli.new_path()), status=1, message="the data have 3 tokens; --length 8")
    cli.bad(
        *finetune(model, data, cli.new_path(), "--lora", "2", "--targets", "c_attn"),
        status=1,
        message="the model has no linear layer c_attn",
    )
    cli.bad("finetune", "--model", str(model), status=2, message="--data is missing")


def test_tokenize(cli):
    folder = str(write_model(cli.folder / "tokenize_model"))
    done = cli.run("tokenize", "--model", folder, input="abc\nno way<end>\n")
    expect_equal(done.stdout, "0 1 2\n13 14 26 22 0 24 28\n", "tokens of two lines")
    done = cli.run("tokenize", "--model", folder, "--json", input="a b\n")
    expect_equal(
        json.loads(done.stdout),
        {"ids": [0, 26, 1], "tokens": ["a", "\u0120", "b"], "offsets": [[0, 1], [1, 2], [2, 3]]},
        "the object of a line",
    )


def write_bert(folder):
    """A BERT of random weights whose tokens are the words red, green and blue."""
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps(
            {
                "model_type": "bert",
                "vocab_size": 7,
                "hidden_size": 8,
                "intermediate_size": 12,
                "num_hidden_layers": 0,
                "num_attention_heads": 2,
                "max_position_embeddings": 16,
                "dtype": "float32",
            }
        )
    )
    tokens = ["[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "a"]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "added_tokens": [],
                "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"},
                "decoder": None,
                "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
                "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            }
        )
    )
    write_tensors(
        folder / "model.safetensors",
        {
            "embeddings.word_embeddings.weight": [7, 8],
            "embeddings.position_embeddings.weight": [16, 8],
            "embeddings.token_type_embeddings.weight": [2, 8],
            "embeddings.LayerNorm.weight": [8],
            "embeddings.LayerNorm.bias": [8],
        },
    )
    return folder


def test_embed(cli):
    folder = str(write_bert(cli.folder / "embed_model"))
    done = cli.run("embed", "--model", folder, "--json", input="red\n\nred green\nred\n")
    vectors = [json.loads(line) for line in done.stdout.splitlines()]
    expect_equal([len(vector) for vector in vectors], [8] * 4, "widths")
    expect(vectors[0] == vectors[3] and vectors[0] != vectors[2], "equal texts have equal vectors")
    plain = cli.run("embed", "--model", folder, input="red\n").stdout
    expect_equal([float(number) for number in plain.split()], vectors[0], "the vector without --json")
    cli.bad("embed", status=2, message="--model is missing")


def test_inspect(cli):
    folder = write_model(cli.folder / "inspect_model")
    lines = cli.good("inspect", str(folder))
    expect(lines.startswith("model        llama\nsupported    yes\nkind         language model\n"), lines)
    expect("\nparameters   4848 (f32)\n" in lines and "cache of 1024 tokens" in lines, lines)
    result = json.loads(cli.good("inspect", str(folder), "--json"))
    expect_equal((result["supported"], result["weight_bytes"]), (True, 4 * result["parameters"]), "inspect --json")
    (folder / "config.json").write_text(json.dumps({**CONFIG, "model_type": "mamba"}))
    done = cli.run("inspect", str(folder))
    expect_equal(done.returncode, 1, "status for a model that is not supported")
    expect("supported    no: " in done.stdout and '"model_type" is "mamba"' in done.stdout, done.stdout)
    others = "bert, roberta, xlm-roberta, vit, resnet, clip, t5, mt5, whisper"
    expect(done.stdout.endswith(f"other models of {others}\n"), done.stdout)


def test_convert_refuses_other_files(cli):
    out = cli.new_path()
    cli.bad("convert", status=2, message="a GGUF file is missing")
    cli.bad("convert", "x.gguf", status=2, message="--out is missing")
    cli.bad("convert", cli.folder / "nowhere.gguf", "--out", out, status=1, message="nowhere.gguf")
    cli.bad("convert", cli.text, "--out", out, status=1, message='it does not begin with "GGUF"')
    expect(not out.exists(), "a folder is left")


def test_bad_model_folders(cli):
    folder = write_model(cli.folder / "bad_model")
    cli.bad("generate", "--model", str(cli.folder / "nowhere"), status=1, message="nowhere")
    cli.bad("inspect", str(cli.folder / "nowhere"), status=1, message="is not a folder of a model")
    cli.bad("tokenize", status=2, message="--model is missing")
    cli.bad("generate", "--model", str(folder), "--dtype", "f8", status=2, message="--dtype is one of")
    cli.bad(
        "generate", "--model", str(folder), "--prompt", "a", "--top-p", "0", status=1, message="top_p must be above 0"
    )
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-8])
    cli.bad("generate", "--model", str(folder), "--prompt", "a", status=1, message="model.safetensors")
    (folder / "tokenizer.json").write_text("{")
    cli.bad("generate", "--model", str(folder), "--prompt", "a", status=1, message="tokenizer.json")
