"""Checkpoints that are damaged or of another run, and disks that are full: an earlier checkpoint is never lost."""

import json
import shutil
import struct

from harness import contents, expect, expect_equal

CHECKPOINT = "checkpoint/checkpoint.safetensors"


def copy_of_run(cli):
    out = cli.new_path()
    shutil.copytree(cli.trained(), out)
    return out


def refused(cli, out, *flags, message, text=None, status=1, **how):
    """Resuming must fail and leave every file as it was."""
    before = contents(out)
    cli.bad(*cli.training(out, *flags, "--resume", text=text), status=status, message=message, **how)
    expect(contents(out) == before, f"resuming a refused run ({message}) changed {out}")


def with_header(out, change):
    """Writes the checkpoint anew with another header."""
    path = out / CHECKPOINT
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header = change(header) or header
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def test_resume_without_a_checkpoint(cli):
    out = cli.new_path()
    cli.bad(*cli.training(out, "--resume"), status=1, message="there is no checkpoint in")
    expect(not out.exists(), "the folder was made")


def test_truncated_checkpoints(cli):
    whole = (cli.trained() / CHECKPOINT).read_bytes()
    for size in (0, 5, 8, 100, len(whole) // 2, len(whole) - 1):
        out = copy_of_run(cli)
        (out / CHECKPOINT).write_bytes(whole[:size])
        refused(cli, out, message="is not a whole safetensors file")
        cli.bad("generate", "--checkpoint", out, status=1, message="is not a whole safetensors file")


def test_wrong_headers(cli):
    out = copy_of_run(cli)
    path = out / CHECKPOINT
    whole = path.read_bytes()
    for data, message in (
        (b"\xff" * 8 + whole[8:], "header's length"),
        (whole[:8] + b"!" + whole[9:], "does not begin with '{'"),
        (whole[:9] + b"!" + whole[10:], "not JSON"),
        (struct.pack("<Q", 20_000) + b"[" * 20_000, "not a JSON object"),
        (struct.pack("<Q", 40_006) + b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "nested too deeply"),
    ):
        path.write_bytes(data)
        refused(cli, out, message=message)


def test_wrong_metadata(cli):
    def set_metadata(key, value):
        def change(header):
            header["__metadata__"][key] = value

        return change

    def set_config(key, value):
        def change(header):
            config = json.loads(header["__metadata__"]["config"])
            config[key] = value
            header["__metadata__"]["config"] = json.dumps(config)

        return change

    for change, message in (
        (set_metadata("format", "other"), "is not a checkpoint of fulgurite train"),
        (set_metadata("config", "{"), "damaged configuration"),
        (set_metadata("step", "x"), "damaged configuration"),
        (set_metadata("step", "999"), "damaged configuration"),
        (set_config("heads", 0), "damaged configuration"),
        (set_config("layers", 2**40), "damaged configuration"),
        (set_config("layers", "1"), "damaged configuration"),
        (set_metadata("vocabulary", ""), "damaged configuration"),
    ):
        out = copy_of_run(cli)
        with_header(out, change)
        refused(cli, out, message=message)
        cli.bad("generate", "--checkpoint", out, status=1, message=message)
    out = copy_of_run(cli)
    with_header(out, set_metadata("generator_offset", "x"))
    refused(cli, out, message="damaged generator state")


def test_damaged_data(cli):
    """The header is whole and the data are not: zeros to the end, as after a crash, or one other bit."""
    whole = (cli.trained() / CHECKPOINT).read_bytes()
    half = len(whole) // 2
    for data in (whole[:half] + bytes(len(whole) - half), whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]):
        out = copy_of_run(cli)
        (out / CHECKPOINT).write_bytes(data)
        refused(cli, out, message="is damaged: its data do not have the checksum that was saved with them")
        cli.bad("generate", "--checkpoint", out, status=1, message="is damaged")


def test_weights_that_are_not_finite(cli):
    """Without a checksum, as other programs write checkpoints."""
    for value in (float("nan"), float("inf")):
        out = copy_of_run(cli)

        def change(header):
            del header["__metadata__"]["checksum"]

        with_header(out, change)
        path = out / CHECKPOINT
        data = bytearray(path.read_bytes())
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        at = 8 + length + next(entry["data_offsets"][0] for name, entry in header.items() if name.startswith("model."))
        data[at : at + 4] = struct.pack("<f", value)
        path.write_bytes(data)
        done = cli.bad(
            "generate", "--checkpoint", out, "--tokens", "5", status=1, message="has elements that are not finite"
        )
        expect_equal(done.stdout, "", "what was generated")
        refused(cli, out, message="has elements that are not finite")


def test_tensors_that_do_not_fit(cli):
    def rename(prefix):
        def change(header):
            name = next(name for name in header if name.startswith(prefix))
            header[prefix + "other"] = header.pop(name)

        return change

    out = copy_of_run(cli)
    with_header(out, rename("model."))
    refused(cli, out, message="does not fit the model")
    cli.bad("generate", "--checkpoint", out, status=1, message="does not fit the model")
    out = copy_of_run(cli)
    with_header(out, rename("optimizer."))
    refused(cli, out, message="optimizer")


def test_other_settings(cli):
    out = copy_of_run(cli)
    refused(cli, out, "--width", "32", message="width is 16 in the checkpoint, 32 asked for")
    refused(cli, out, "--layers", "2", message="layers is 1 in the checkpoint, 2 asked for")
    refused(cli, out, "--seed", "5", message="seed is 1337 in the checkpoint, 5 asked for")
    refused(cli, out, "--batch", "3", message="batch is 2 in the checkpoint, 3 asked for")
    refused(cli, out, "--lr", "1e-5", "--min-lr", "1e-4", message="--min-lr is larger than --lr", status=2)


def test_other_texts(cli):
    out = copy_of_run(cli)
    refused(cli, out, text=cli.write(cli.text.read_text() + "Ω"), message="the checkpoint is of another text")
    swapped = cli.text.read_text().replace("quick", "kciuq")  # the same characters
    refused(cli, out, text=cli.write(swapped), message="the checkpoint is of another text")


def test_full_disk_while_training(cli):
    """A limit on the size of files stands for a full disk: the write fails halfway."""
    out = cli.new_path()
    flags = ["--steps", "400", "--checkpoint-every", "5"]
    cli.train(out, *flags, "--stop-at", "10")
    size = (out / CHECKPOINT).stat().st_size
    before = (out / CHECKPOINT).read_bytes()
    cli.bad(*cli.training(out, *flags, "--resume"), status=1, message="cannot write", file_limit=size // 2)
    expect((out / CHECKPOINT).read_bytes() == before, "the earlier checkpoint is lost")
    expect(not list(out.rglob("*.part")), "a half-written file is left")
    cli.train(out, *flags, "--resume", "--stop-at", "15")


def test_full_disk_at_the_first_checkpoint(cli):
    out = cli.new_path()
    cli.bad(*cli.training(out), status=1, message="cannot write", file_limit=2000)
    expect_equal(
        [name for name in contents(out) if "checkpoint" in name or name.endswith(".part")], [], "half-written files"
    )


def test_full_disk_for_the_losses(cli):
    out = cli.new_path()
    flags = ["--steps", "2000", "--checkpoint-every", "0", "--eval-every", "0"]
    cli.train(out, *flags, "--stop-at", "1")
    limit = (out / CHECKPOINT).stat().st_size + 10
    cli.bad(*cli.training(out, *flags, "--resume"), status=1, message="metrics.jsonl", file_limit=limit)
    text = (out / "metrics.jsonl").read_text()
    expect(text.endswith("}\n") and len(text) > limit - 200, "the log of losses ends in the middle of a line")
    expect(all(json.loads(line) for line in text.splitlines()), "a line is not JSON")
