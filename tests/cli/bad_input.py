"""Wrong flags, texts that cannot be learnt from, folders that cannot be written."""

import json
import pathlib
import struct
import subprocess

from harness import contents, expect, expect_equal


def test_unknown_commands(cli):
    cli.bad(status=2, message="a command is missing")
    cli.bad("fly", status=2, message="there is no command fly")
    cli.bad("--fly", status=2, message="there is no command --fly")


def test_names_that_are_nearly_right(cli):
    cli.bad("trian", status=2, message="there is no command trian; did you mean train?")
    cli.bad("help", "opps", status=2, message="there is no command opps; did you mean ops?")
    cli.bad("train", "--stepss", "5", status=2, message="there is no flag --stepss; did you mean --steps?")
    cli.bad("train", "--learning", "5", status=2, message="there is no flag --learning; see --help")
    cli.bad("trace", "lama", status=2, message="there is no example model lama; did you mean llama?")
    cli.bad(
        "trace", "steam_engine", status=2, message="there are linear, mlp, gpt, gpt6l, gpt12l, llama, convnet, and "
    )
    cli.bad("ops", "sofmax", status=2, message="there is no operator sofmax; did you mean ")
    cli.bad("bench", "geluu", status=2, message="there is no case geluu; did you mean gelu?")


def test_flags_used_wrongly(cli):
    cli.bad_training("--wings", "2", status=2, message="there is no flag --wings")
    cli.bad_training("extra", status=2, message="unexpected argument extra")
    cli.bad("train", "--steps", status=2, message="--steps needs a value")
    cli.bad("train", "--out", "--resume", status=2, message="--out needs a value")
    cli.bad("train", "--resume=1", status=2, message="--resume takes no value")
    cli.bad("train", "--steps", "1", "--steps", "2", status=2, message="--steps is given twice")


def test_flags_out_of_range(cli):
    for flag, value in (
        ("--layers", "0"),
        ("--heads", "0"),
        ("--width", "-4"),
        ("--block", "0"),
        ("--batch", "0"),
        ("--steps", "-1"),
        ("--lr", "-1"),
        ("--dropout", "1"),
        ("--beta2", "1"),
        ("--threads", "-1"),
        ("--eval-batches", "0"),
        ("--log-every", "0"),
        ("--seed", "99999999999999999999"),
        ("--clip", "-1"),
    ):
        cli.bad_training(flag, value, status=2, message=f"{flag} {value} is out of range")
    for flag, value in (
        ("--layers", "two"),
        ("--steps", "1e3"),
        ("--steps", ""),
        ("--lr", "nan"),
        ("--lr", "1x"),
        ("--width", "16.5"),
    ):
        cli.bad_training(flag, value, status=2, message=f"{flag} takes a ")


def test_flags_that_do_not_fit_together(cli):
    cli.bad_training("--heads", "3", status=2, message="--width 16 is not a multiple of --heads 3")
    cli.bad_training("--lr", "1e-5", "--min-lr", "1e-4", status=2, message="--min-lr is larger than --lr")


def test_dtypes(cli):
    out = cli.new_path()
    cli.train(out, "--stop-at", "2")
    cli.bad(
        *cli.training(out, "--dtype", "bf16", "--resume"),
        status=1,
        message="dtype is f32 in the checkpoint, bf16 asked for",
    )
    cli.bad("bench", "gelu", "--dtype", "bf16", status=2, message="the case gelu is measured in f32 only")
    cli.bad_training("--dtype", "f31", status=2, message="--dtype is one of f32|bf16")


def test_texts(cli):
    missing = cli.new_path()
    cli.bad_training(text=missing, status=1, message=f"there is no file or folder {missing}")
    cli.bad_training(text=cli.write(""), status=1, message="holds no text")
    cli.bad_training(text=cli.write(b"good so far \xc3\x28"), status=1, message="is not UTF-8 text: the byte at 12")
    cli.bad_training(text=cli.write(b"cut in a character \xe2\x82"), status=1, message="is not UTF-8 text")
    cli.bad_training(text=cli.write("too short for a block"), status=1, message="is too short")
    empty = cli.new_path()
    empty.mkdir()
    cli.bad_training(text=empty, status=1, message="holds no text")


def test_out_that_cannot_be_written(cli):
    file = cli.write("a file, not a folder")
    before = file.read_bytes()
    for out in (file, file / "below"):
        cli.bad(*cli.training(out), status=1, message="cannot make the folder")
    expect_equal(file.read_bytes(), before, "the file in the way")


def test_out_that_has_a_checkpoint(cli):
    out = cli.trained()
    before = contents(out)
    cli.bad(*cli.training(out), status=1, message="already has a checkpoint")
    expect(contents(out) == before, "the earlier run was touched")


def test_a_second_run_in_the_same_folder(cli):
    out = cli.new_path()
    first = subprocess.Popen(
        [cli.program, *map(str, cli.training(out, "--steps", "1000000", "--checkpoint-every", "10"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environment,
        text=True,
    )
    try:
        while not first.stderr.readline().startswith("step "):
            pass
        flags = ["--steps", "1000000", "--checkpoint-every", "10"]
        cli.bad(*cli.training(out, *flags, "--resume"), status=1, message="another run is training in")
        expect(first.poll() is None, "the first run ended")
    finally:
        first.kill()
        first.communicate()


def test_a_model_that_is_too_large_for_memory(cli):
    cli.bad_training("--width", "1048576", "--layers", "1000", status=1, message="memory")


def test_operators(cli):
    cli.bad("ops", "no_such_operator", status=2, message="there is no operator no_such_operator")
    cli.bad("ops", "--jso", status=2, message="there is no flag --jso")


def test_conformance(cli):
    missing, empty = cli.new_path(), cli.new_path()
    empty.mkdir()
    cli.bad("conformance", status=2, message="a folder of cases is missing")
    cli.bad("conformance", missing, status=1, message=f"there is no folder {missing}")
    cli.bad("conformance", empty, status=1, message="there are no .safetensors files")
    (empty / "broken.safetensors").write_bytes(b"\x10")
    cli.bad("conformance", empty, status=1, message="too short for a header")


def test_examine(cli):
    cli.bad("examine", status=2, message="a model is missing")
    cli.bad(
        "examine",
        "mlp",
        "--memory",
        "--profile",
        status=2,
        message="give one of --fusion, --memory, --supported and a profile",
    )
    cli.bad(
        "examine",
        "mlp",
        "--html",
        "/nowhere/page.html",
        status=1,
        message="write_html: cannot write /nowhere/page.html",
    )
    cli.bad("examine", "mlp", "--fusion", "fusion99", status=2, message="mlp has no fusion fusion99; there are fusion0")
    cli.bad("repro", "mlp", "--fusion", "fusion99", status=2, message="mlp has no fusion fusion99; there are fusion0")
    cli.bad(
        "repro",
        "linear",
        "--fusion",
        "fusion0",
        status=2,
        message="linear has no fusion fusion0; it runs none. For lines of its trace give --first",
    )
    cli.bad("repro", "mlp", status=2, message="give one of --fusion, and --first with --last")
    cli.bad("repro", "mlp", "--first", "5", "--last", "2", status=1, message="lines [5, 2)")
    cli.bad("explain", "steam_engine", status=2, message="steam_engine")
    cli.bad(
        "examine",
        "block",
        "--library",
        "/nowhere/libmine.so",
        status=1,
        message="the library cannot be opened: /nowhere/libmine.so",
    )
    cli.bad("examine", "block", "--library", "libm.so.6", status=1, message="libm.so.6 exports no function block")


def test_traces(cli):
    cli.bad("trace", status=2, message="a model is missing")
    cli.bad("trace", "steam_engine", status=2, message="steam_engine")
    cli.bad("trace", "linear", "--stage", "forward.99", status=2, message="there is no stage forward.99")
    cli.bad("trace", "linear", "--python", "--cpp", status=2, message="one of --python and --cpp")


def test_bench(cli):
    cli.bad("bench", status=2, message="a case is missing")
    cli.bad("bench", "warp", status=2, message="warp")
    cli.bad("bench", "gelu", "--inputs", "nothing", status=2, message="the case gelu takes no --inputs")
    cli.bad("bench", "gpt6l", "--inputs", cli.new_path(), status=1, message="cannot")
    weights = next(pathlib.Path(cli.trained()).rglob("*.safetensors"))
    cli.bad("bench", "gpt6l", "--inputs", weights, status=1, message="has no tensor named tokens")
    tokens = pathlib.Path(cli.new_path())
    for count, expected in ((5, "must be i64 [32769]"), (32769, "load_state_dict: ")):
        header = json.dumps({"tokens": {"dtype": "I64", "shape": [count], "data_offsets": [0, 8 * count]}}).encode()
        tokens.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8 * count))
        cli.bad("bench", "gpt6l", "--inputs", tokens, status=1, message=expected)


def test_generate_without_what_it_needs(cli):
    cli.bad("generate", status=2, message="one of --model and --checkpoint is needed")
    cli.bad("generate", "--checkpoint", cli.new_path(), status=1, message="there is no checkpoint in")
    trained = cli.trained()
    for prompt, shown in (("the Ω", "'Ω'"), ("tab\t", "U+0009"), ('quoted "', "'\"'")):
        done = cli.bad(
            "generate",
            "--checkpoint",
            trained,
            "--prompt",
            prompt,
            status=1,
            message=f"the character {shown} is not in",
        )
        expect_equal(done.stdout, "", "what was printed before")
    cli.bad(
        "generate",
        "--checkpoint",
        trained,
        "--prompt",
        b"\xff\xfe".decode(errors="surrogateescape"),
        status=1,
        message="not UTF-8",
    )
    cli.bad("generate", "--checkpoint", trained, "--prompt=", status=2, message="--prompt is empty")
    cli.bad("generate", "--checkpoint", trained, "--temperature", "-1", status=2, message="out of range")
