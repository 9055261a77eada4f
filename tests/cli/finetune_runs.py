"""Fine-tuning runs that are interrupted, continued, ended early, or changed."""

import json
import signal
import subprocess

from harness import expect, expect_equal
from model_runs import finetune, losses_of, write_model

TEXT = "the quick brown fox jumps over the lazy dog! " * 8


def stopped_run(cli, arguments, number):
    """Starts a run, sends it a signal when it has made steps, and waits for its end."""
    process = subprocess.Popen(
        [cli.program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environment,
        text=True,
    )
    while not (line := process.stderr.readline()).startswith("step 20/") and line:
        pass
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def without_setting(path, name, value):
    """Removes a setting from a saved run, as an earlier version would have written it; spaces keep the file's size."""
    text = f'\\"{name}\\": \\"{value}\\", '.encode()
    content = path.read_bytes()
    expect(content.count(text) == 1, f"{path} has not the setting {name} once")
    path.write_bytes(content.replace(text, b" " * len(text)))


def check_equal_runs(cli, model, data, weights, *flags):
    whole, stopped, killed = (cli.new_path() for _ in range(3))
    flags = ("--warmup", "5", *flags)
    cli.good(*finetune(model, data, whole, *flags, "--json", steps=800))
    status, errors = stopped_run(cli, finetune(model, data, stopped, *flags, steps=800), signal.SIGINT)
    expect_equal(status, 130, "exit status after SIGINT")
    expect(errors.splitlines()[-1].endswith(f"; continue with: fulgurite finetune --out {stopped} --resume"), errors)
    expect((stopped / "training_state.safetensors").exists(), "an interrupted run has no state")
    cli.bad(*finetune(model, data, stopped), status=1, message="has an interrupted run; give --resume to continue it")
    cli.good("finetune", "--out", stopped, "--resume", "--threads", "1", "--json")
    checkpointed = finetune(model, data, killed, *flags, "--checkpoint-every", "7", steps=800)
    status, _ = stopped_run(cli, checkpointed, signal.SIGKILL)
    expect_equal(status, -9, "exit status after SIGKILL")
    without_setting(killed / "training_state.safetensors", "weights", "files")
    cli.good("finetune", "--out", killed, "--resume", "--threads", "1", "--json")
    for out in (stopped, killed):
        expect_equal(losses_of(out), losses_of(whole), "losses of a resumed run")
        expect_equal((out / weights).read_bytes(), (whole / weights).read_bytes(), "weights of a resumed run")
    expect(not (stopped / "training_state.safetensors").exists(), "a run that has ended has a state")
    expect((killed / "training_state.safetensors").exists(), "--checkpoint-every leaves no state")


def test_resumed_runs_of_finetune_are_those_without_interruption(cli):
    model = write_model(cli.folder / "resumed_model")
    data = cli.write(TEXT)
    check_equal_runs(cli, model, data, "model.safetensors")
    check_equal_runs(cli, model, data, "adapter_model.safetensors", "--lora", "2", "--accumulate", "2")


def test_finetune_ends_early_and_saves_the_best(cli):
    model = write_model(cli.folder / "early_model")
    data, other = cli.write(TEXT), cli.write("zzz qqq " * 9)
    out = cli.new_path()
    result = json.loads(
        cli.good(
            *finetune(
                model,
                data,
                out,
                "--eval-data",
                str(other),
                "--eval-every",
                "2",
                "--patience",
                "3",
                "--save-best",
                "--json",
                steps=200,
            )
        )
    )
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["val_loss"] for line in lines if "val_loss" in line}
    best = min(losses, key=losses.get)
    expect_equal((result["best_step"], result["best_loss"]), (best, losses[best]), "the best measurement")
    expect(result["steps"] < 200, "the run did not end early")
    expect_equal(result["steps"], best + 6, "the step of the end")
    best, last = ((folder / "model.safetensors").read_bytes() for folder in (out / "best", out))
    expect(best != last, "the best model is the last one")
    cli.good("generate", "--model", str(out / "best"), "--prompt", "the", "--max-tokens", "3")


def test_flags_of_resumed_finetuning(cli):
    model = write_model(cli.folder / "changed_model")
    data, other = cli.write(TEXT), cli.write(TEXT[1:])
    out = cli.new_path()
    cli.good(*finetune(model, data, out, "--checkpoint-every", "6", "--json"))
    resume = ("finetune", "--out", out, "--resume", "--threads", "1")
    cli.bad(
        *resume,
        "--batch",
        "3",
        status=1,
        message=f"the run in {out} has --batch 2, not 3; another --out begins another run",
    )
    cli.bad(*resume, "--data", other, status=1, message=f"the run is of other data than {other}")
    cli.bad(*resume, "--patience", "2", status=2, message="--patience needs --eval-data and --eval-every")
    result = json.loads(cli.good(*resume, "--steps", "9", "--lr", "0.001", "--json"))
    expect_equal(result["steps"], 9, "steps of a run with more steps")
    expect_equal(len(losses_of(out)), 9, "losses of a run with more steps")
    state = out / "training_state.safetensors"
    state.write_bytes(state.read_bytes()[:-4])
    cli.bad(*resume, status=1, message=str(state))
    cli.bad(
        "finetune",
        "--out",
        cli.new_path(),
        "--resume",
        status=1,
        message="has no interrupted run to continue; begin one without --resume",
    )


def test_epochs_and_schedules_of_finetune(cli):
    model = write_model(cli.folder / "epochs_model")
    data = cli.write(TEXT)
    losses = {}
    for schedule in ("cosine", "linear", "constant"):
        out = cli.new_path()
        cli.good(*finetune(model, data, out, "--epochs", "2", "--schedule", schedule, "--json", steps=None))
        losses[schedule] = losses_of(out)
    rows = len(TEXT) // 8  # a token is a letter, and one more ends the text
    for schedule, found in losses.items():
        expect_equal(len(found), rows, f"steps of two epochs of {rows} rows in batches of 2, {schedule}")
        expect_equal(found[:2], losses["cosine"][:2], f"losses while all rates are at their peak, {schedule}")
    expect(len({tuple(found) for found in losses.values()}) == 3, "two schedules have the same losses")
    cli.bad(
        *finetune(model, data, cli.new_path(), "--epochs", "2"), status=2, message="give one of --steps and --epochs"
    )
    cli.bad(*finetune(model, data, cli.new_path(), "--schedule", "step"), status=2, message="--schedule")


def test_epochs_of_resumed_finetuning(cli):
    model = write_model(cli.folder / "more_epochs_model")
    data = cli.write(TEXT)
    out = cli.new_path()
    flags = ("--schedule", "constant", "--checkpoint-every", "6", "--json")
    cli.good(*finetune(model, data, out, "--epochs", "1", *flags, steps=None))
    rows = len(TEXT) // 8
    expect_equal(len(losses_of(out)), -(-rows // 2), "steps of an epoch, in batches of 2")
    resume = ("finetune", "--out", out, "--resume", "--threads", "1", "--json")
    expect_equal(json.loads(cli.good(*resume, "--epochs", "2"))["steps"], rows, "steps of two epochs")
    expect_equal(json.loads(cli.good(*resume, "--steps", str(rows + 3)))["steps"], rows + 3, "more steps")


def test_finetune_with_dropout_of_lora(cli):
    model = write_model(cli.folder / "dropout_model")
    data = cli.write(TEXT)
    outs = [cli.new_path() for _ in range(3)]
    for out, share in zip(outs, ("0", "0.3", "0.3")):
        cli.good(*finetune(model, data, out, "--lora", "2", "--lora-dropout", share, "--json"))
    expect_equal(losses_of(outs[1]), losses_of(outs[2]), "losses of two runs of one seed")
    expect(losses_of(outs[0]) != losses_of(outs[1]), "dropout changes no loss")
    cli.bad(
        *finetune(model, data, cli.new_path(), "--lora-dropout", "0.1"),
        status=2,
        message="--lora-dropout needs --lora",
    )


def test_finetune_on_a_folder(cli):
    model = write_model(cli.folder / "folder_data_model")
    folder = cli.folder / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.jsonl").write_text(json.dumps({"text": "plain words"}) + "\n")
    (folder / "more" / "c.md").write_text(TEXT[3:])
    (folder / "picture.png").write_bytes(b"\x89PNG")
    joined = cli.write("".join(json.dumps({"text": text}) + "\n" for text in (TEXT, "plain words", TEXT[3:])), ".jsonl")
    outs = [cli.new_path() for _ in range(2)]
    for out, data in zip(outs, (folder, joined)):
        cli.good(*finetune(model, data, out, "--json"))
    expect_equal(losses_of(outs[0]), losses_of(outs[1]), "losses of a folder and of its texts in one file")
    empty = cli.folder / "no_texts"
    empty.mkdir()
    cli.bad(*finetune(model, empty, cli.new_path()), status=1, message="has no .txt, .md or .jsonl file")
