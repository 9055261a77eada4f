"""Runs that are stopped by a signal, continued with more steps, or with other settings."""

import json
import signal
import subprocess
import time

from good_runs import losses_of
from harness import contents, expect, expect_equal

# Flags that are not settings of a run and would take time.
QUICK = ["--threads", "1", "--log-every", "1", "--eval-batches", "1"]


def stopped_run(cli, out, *signals):
    """Starts a long run, sends it signals once it trains, and waits for its end."""
    arguments = [*cli.training(out, "--steps", "1000000", "--checkpoint-every", "0", "--eval-every", "0")]
    process = subprocess.Popen(
        [cli.program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environment,
        text=True,
    )
    lines = []
    while not (lines and lines[-1].startswith("step ")) and process.poll() is None:
        lines.append(process.stderr.readline())
    for number in signals:
        process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, "".join(lines) + errors


def test_a_stopped_run_saves_and_continues(cli):
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        out = cli.new_path()
        returned, output, errors = stopped_run(cli, out, number)
        expect_equal(returned, status, f"exit status after {number.name}")
        last = errors.splitlines()[-1]
        expect(
            last.startswith("stopped at step ")
            and last.endswith(f"saved; continue with: fulgurite train --text {cli.text} --out {out} --resume"),
            f"it ends with {last!r}",
        )
        step = int(last.split()[3])
        expect(output.startswith(f"step {step}: training loss "), f"results are {output!r}")
        expect("NaN" not in output and "nan" not in output, f"results are {output!r}")
        expect((out / "loss.svg").exists(), "there is no plot")
        again = cli.run("train", "--text", cli.text, "--out", out, "--resume", "--stop-at", step + 2, *QUICK)
        expect(
            again.returncode == 0 and f"continuing from step {step}\n" in again.stderr,
            f"it continues with {again.stderr!r}",
        )
        expect_equal(
            [at for at, train_loss, _ in losses_of(out) if train_loss is not None],
            list(range(1, step + 3)),
            "steps with a loss",
        )


def test_a_stopped_run_is_the_run_that_was_not_stopped(cli):
    out, whole = cli.new_path(), cli.new_path()
    returned, _, errors = stopped_run(cli, out, signal.SIGINT)
    step = int(errors.splitlines()[-1].split()[3])
    cli.train(whole, "--steps", "1000000", "--checkpoint-every", "0", "--eval-every", "0", "--stop-at", step)
    without_validation = [(at, loss) for at, loss, _ in losses_of(whole) if loss is not None]
    expect_equal([(at, loss) for at, loss, _ in losses_of(out)], without_validation, "the losses of a stopped run")


def test_a_second_signal_ends_at_once(cli):
    out = cli.new_path()
    arguments = cli.training(out, "--steps", "1000000", "--eval-every", "1", "--eval-batches", "1000000")
    process = subprocess.Popen(
        [cli.program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environment,
        text=True,
    )
    while not process.stderr.readline().startswith("a GPT of"):
        pass
    time.sleep(1.0)  # the validation after the first step has no end
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    expect_equal(process.returncode, -signal.SIGINT, "how a second Ctrl-C ends it")


def test_more_steps_and_another_rate(cli):
    out = cli.new_path()
    cli.train(out, "--steps", "10", "--lr", "0.01")
    text = ["--text", cli.text, "--out", out, *QUICK]
    first = json.loads(cli.good("train", *text, "--resume", "--steps", "20", "--json"))
    expect_equal(first["steps"], 20, "steps after --steps 20")
    config = json.loads((out / "config.json").read_text())
    expect_equal((config["steps"], config["lr"], config["width"]), (20, 0.01, 16), "settings of the continued run")
    cli.good("train", *text, "--resume", "--steps", "30", "--lr", "1e-5", "--dropout", "0.1", "--weight-decay", "0")
    config = json.loads((out / "config.json").read_text())
    expect_equal(
        (config["steps"], config["lr"], config["min_lr"], config["dropout"], config["weight_decay"]),
        (30, 1e-5, 1e-5, 0.1, 0),
        "settings of the continued run",
    )
    expect_equal([at for at, loss, _ in losses_of(out) if loss is not None], list(range(1, 31)), "steps with a loss")
    cli.good("generate", "--checkpoint", out, "--tokens", "3")


def test_another_rate_is_used(cli):
    runs = []
    for rate in ("0.1", "1e-6"):
        out = cli.new_path()
        cli.train(out, "--steps", "10", "--lr", "0.01")
        cli.good("train", "--text", cli.text, "--out", out, *QUICK, "--resume", "--steps", "40", "--lr", rate)
        runs.append([loss for _, loss, _ in losses_of(out) if loss is not None])
    expect_equal((len(runs[0]), runs[0][:11]), (40, runs[1][:11]), "losses before the other rate acts")
    expect(abs(runs[1][-1] - runs[1][10]) < abs(runs[0][-1] - runs[0][10]), f"losses are {runs}")


def test_fewer_steps_than_were_taken(cli):
    out = cli.new_path()
    cli.train(out)
    before = contents(out)
    done = cli.run("train", "--text", cli.text, "--out", out, "--resume", "--steps", "5", *QUICK)
    expect(done.returncode == 0 and "no step is left of 10; --steps trains on" in done.stderr, done.stderr)
    expect_equal(done.stdout.split(":")[0], "step 10", "the result")
    expect(contents(out) == before, "the run was changed")


def test_no_steps(cli):
    done = cli.run(*cli.training(cli.new_path(), "--steps", "0"))
    expect(done.returncode == 0 and done.stdout.startswith("step 0: validation loss "), f"results are {done.stdout!r}")
    expect("nan" not in done.stdout + done.stderr, f"it prints {done.stdout!r} and {done.stderr!r}")
