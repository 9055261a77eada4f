"""Commands that work, and what they print and write."""

import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import xml.etree.ElementTree

from harness import expect, expect_equal

LAST_LINE_KEYS = ["steps", "train_loss", "val_loss", "tokens_per_s", "seconds"]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def metrics_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def losses_of(folder):
    return [(entry["step"], entry.get("train_loss"), entry.get("val_loss")) for entry in metrics_of(folder)]


def test_version_and_help(cli):
    expect(re.fullmatch(r"fulgurite \d+\.\d+\.\d+\n", cli.good("--version")), "--version prints the version")
    listed = cli.good("--help")
    for command in (
        "train",
        "generate",
        "finetune",
        "tokenize",
        "embed",
        "classify",
        "transcribe",
        "inspect",
        "convert",
        "trace",
        "examine",
        "repro",
        "explain",
        "ops",
        "conformance",
        "bench",
    ):
        expect(f"  {command} " in listed, f"--help does not list {command}")
        help = cli.good(command, "--help")
        expect(help.startswith("usage: "), f"{command} --help does not begin with its usage")
        expect_equal(cli.good("help", command), help, f"help {command}")
        long = [line for line in help.splitlines() if len(line) > 100]
        expect(not long, f"{command} --help has lines of more than 100 columns: {long}")
        expect("--text TEXT" not in help and "--out TEXT" not in help, f"{command} --help calls a file TEXT")
    expect_equal(cli.good("help"), listed, "help without a command")
    expect("exit status: 0 success; 1 failure; 2 wrong use" in listed, "--help does not say what the exit status means")
    expect(
        "examples:\n  fulgurite train --text book.txt" in cli.good("train", "--help"), "train --help has no examples"
    )


def test_environment_page_is_fresh(cli):
    expect_equal((ROOT / "docs" / "environment.md").read_text(), cli.good("--environment"), "docs/environment.md")


def test_logs(cli):
    def reported(channels, *arguments):
        done = cli.run(*arguments, env={**cli.environment, "FULGURITE_LOGS": channels})
        expect_equal(done.returncode, 0, f"status with FULGURITE_LOGS={channels}")
        return done.stderr

    bench = ("bench", "ov_pointwise", "--seconds", "0.01")
    lines = reported("recompiles", *bench).splitlines()
    expect(
        any(
            re.fullmatch(r"\[recompiles\] jitted at \w+\.cpp:\d+, called at \w+\.cpp:\d+: first call", line)
            for line in lines
        ),
        lines,
    )
    expect(
        any(
            re.fullmatch(r"\[recompiles\] took [\d.]+ ms \(tracing .*, transforms .*, planning .*\)", line)
            for line in lines
        ),
        lines,
    )
    expect(all(line.startswith("[recompiles] ") for line in lines), lines)
    lines = reported("traces", *bench).splitlines()
    expect("[traces] // Constructed by Delete Last Used" in "\n".join(lines), lines)
    known = (
        "  fusions: the fusions formed, and missed-fusion remarks\n"
        "  recompiles: each compile of a jitted function: why, which guard failed, and how long it took\n"
        "  traces: the traces of each compile, pass by pass\n"
        "  compiled_autograd: each backward that compiled autograd captures, as a trace\n"
        "  compiled_autograd_verbose: the same with strides, and why none of the earlier captures serves\n"
    )
    expect_equal(
        reported("help", *bench), "fulgurite: FULGURITE_LOGS takes these, separated by commas:\n" + known, "help"
    )
    expect_equal(
        reported("fusion,", *bench),
        "fulgurite: FULGURITE_LOGS: fusion is unknown and has no effect; there are:\n" + known,
        "an unknown channel",
    )


def test_training_writes_its_files(cli):
    out = cli.new_path()
    lines = cli.train(out, "--json").splitlines()
    expect_equal(len(lines), 1, "number of lines with --json")
    last = json.loads(lines[0])
    expect_equal(list(last), LAST_LINE_KEYS, "the last line's keys")
    expect_equal(last["steps"], 10, "steps")
    expect(all(isinstance(last[key], (int, float)) for key in LAST_LINE_KEYS), f"not all numbers: {last}")
    metrics = metrics_of(out)
    expect_equal(
        [entry["step"] for entry in metrics if "train_loss" in entry], list(range(1, 11)), "steps with a training loss"
    )
    expect_equal([entry["step"] for entry in metrics if "val_loss" in entry], [10], "steps with a validation loss")
    expect(
        all(set(entry) <= {"step", "train_loss", "val_loss", "tokens_per_s"} for entry in metrics),
        "unknown keys in metrics.jsonl",
    )
    expect_equal(metrics[-1]["val_loss"], last["val_loss"], "the last validation loss")
    svg = xml.etree.ElementTree.parse(out / "loss.svg").getroot()
    expect_equal(svg.tag, "{http://www.w3.org/2000/svg}svg", "loss.svg's root")
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    for wanted in (
        "Loss by training step",
        "step",
        "loss",
        f"training loss {last['train_loss']:.4f}",
        f"validation loss {last['val_loss']:.4f}",
    ):
        expect(wanted in texts, f"loss.svg has no text {wanted!r}: {texts}")
    config = json.loads((out / "config.json").read_text())
    expect_equal(
        (config["layers"], config["width"], config["steps"], config["bias"]), (1, 16, 10, False), "config.json"
    )
    files = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    expect_equal(
        files, ["checkpoint/checkpoint.safetensors", "config.json", "loss.svg", "metrics.jsonl"], "files of a run"
    )


def test_training_learns(cli):
    out = cli.new_path()
    last = json.loads(cli.train(out, "--steps", "200", "--lr", "0.01", "--json"))
    expect(
        last["val_loss"] < 2.5 < metrics_of(out)[0]["train_loss"], f"validation loss {last['val_loss']} after 200 steps"
    )


def test_plain_lines_elsewhere_than_on_a_terminal(cli):
    done = cli.run(*cli.training(cli.new_path(), "--log-every", "2", "--steps", "20"))
    expect("\r" not in done.stderr and "step 20/20 loss " in done.stderr, f"progress is {done.stderr!r}")
    begin = done.stderr.splitlines()[:2]
    expect(
        begin[0] == "text: 2720 characters, 30 different"
        and re.fullmatch(r"a GPT of \d+ parameters, 1 thread", begin[1]),
        f"it begins with {begin}",
    )
    expect(
        re.fullmatch(
            r"step 20: training loss [\d.]+, validation loss [\d.]+, [\d.]+ s\nplot: .*/loss.svg\n", done.stdout
        ),
        f"results are {done.stdout!r}",
    )


def test_progress_line_on_a_terminal(cli):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [cli.program, *map(str, cli.training(cli.new_path()))],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        env=cli.environment,
    )
    os.close(theirs)
    printed = b""
    try:
        while chunk := os.read(ours, 4096):
            printed += chunk
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    expect_equal(process.wait(), 0, "exit status")
    text = printed.decode()
    expect(re.search(r"\rstep 10/10  loss \d+\.\d+  \d+ tokens/s  .* left", text), f"no progress line in {text!r}")
    expect(
        all(len(part) < 80 for part in re.split(r"[\r\n]+", text) if part.startswith("step ")),
        "a progress line is too wide",
    )
    expect(re.search(r"\r\x1b\[Kstep 10/10 validation loss", text), f"the progress line is not cleared in {text!r}")


def test_show_traces(cli):
    printed = cli.train(cli.new_path(), "--steps", "1", "--show-traces")
    expect("prims.adamw" in printed or "prims::adamw" in printed, "the traces of the step have no optimizer")


def test_losses_do_not_depend_on_threads(cli):
    runs = []
    for threads in (1, 2, 3):
        out = cli.new_path()
        cli.train(
            out,
            "--steps",
            "30",
            "--dropout",
            "0.1",
            "--width",
            "32",
            "--block",
            "32",
            "--batch",
            "4",
            "--threads",
            threads,
        )
        runs.append(losses_of(out))
    expect(runs[0] == runs[1], "2 threads give other losses than 1")
    expect(runs[0] == runs[2], "3 threads give other losses than 1")


def test_resume_after_stopping(cli):
    whole, halves = cli.new_path(), cli.new_path()
    flags = ["--steps", "20", "--dropout", "0.1", "--eval-every", "10", "--checkpoint-every", "5"]
    cli.train(whole, *flags)
    cli.train(halves, *flags, "--stop-at", "10")
    # A killed run may leave these: a file half-written, a line half-written, lines after the checkpoint.
    (halves / "checkpoint" / "checkpoint.safetensors.12345.part").write_bytes(b"half")
    (halves / "loss.svg.12345.part").write_bytes(b"half")
    with open(halves / "metrics.jsonl", "a") as metrics:
        metrics.write('{"step": 11, "train_loss": 9.5, "tokens_per_s": 1}\n{"step": 12, "train_l')
    cli.train(halves, *flags, "--resume")
    expect_equal(losses_of(halves), losses_of(whole), "the losses of a resumed run")
    expect(not list(halves.rglob("*.part")), "unfinished files are still there")


def test_training_in_bf16(cli):
    wide, narrow, resumed = cli.new_path(), cli.new_path(), cli.new_path()
    flags = ["--steps", "20", "--eval-every", "10", "--dtype", "bf16"]
    cli.train(wide, "--steps", "20", "--eval-every", "10")
    cli.train(narrow, *flags)
    cli.train(resumed, *flags, "--stop-at", "10")
    cli.train(resumed, *flags, "--resume")
    pairs = [(a, b) for (_, a, _), (_, b, _) in zip(losses_of(wide), losses_of(narrow)) if a is not None]
    expect(pairs and all(abs(a - b) < 0.02 * a for a, b in pairs), f"losses in f32 and bf16 are {pairs}")
    expect(losses_of(wide) != losses_of(narrow), "bf16 changes nothing")
    expect_equal(losses_of(resumed), losses_of(narrow), "the losses of a resumed run")
    text = cli.train(cli.new_path(), "--dtype", "bf16", "--steps", "1", "--show-traces")
    expect("bf16[" in text, "the trace of a step in bf16 has no bf16")


def test_resuming_a_finished_run_changes_nothing(cli):
    out = cli.new_path()
    first = json.loads(cli.train(out, "--json"))
    before = (out / "metrics.jsonl").read_bytes(), (out / "checkpoint" / "checkpoint.safetensors").read_bytes()
    again = json.loads(cli.train(out, "--json", "--resume"))
    for key in ("steps", "train_loss", "val_loss"):
        expect_equal(again[key], first[key], key)
    after = (out / "metrics.jsonl").read_bytes(), (out / "checkpoint" / "checkpoint.safetensors").read_bytes()
    expect(before == after, "the files are not the same")


def test_text_from_a_folder(cli):
    folder = cli.new_path()
    folder.mkdir()
    shutil.copy(cli.text, folder / "a.txt")
    (folder / "b.bin").write_bytes(b"\xff\xfe\x00")
    cli.train(cli.new_path(), "--steps", "1", text=folder)


def test_generate(cli):
    arguments = ["generate", "--checkpoint", cli.trained(), "--prompt", "the ", "--tokens", "30", "--seed", "5"]
    text = cli.good(*arguments)
    expect(text.startswith("the ") and text.endswith("\n"), f"generated {text!r}")
    expect_equal(len(text), len("the ") + 30 + 1, "number of characters")
    expect_equal(cli.good(*arguments), text, "the text of the same seed")
    likeliest = [cli.good(*arguments[:-1], seed, "--temperature", "0") for seed in ("1", "2")]
    expect_equal(likeliest[0], likeliest[1], "the text at temperature 0")
    cli.good("generate", "--checkpoint", cli.trained() / "checkpoint", "--tokens", "3", "--top-k", "2")


def test_generate_from_a_text_without_new_lines(cli):
    out = cli.new_path()
    cli.train(out, "--steps", "1", text=cli.write("żółw and jaź " * 60))
    text = cli.good("generate", "--checkpoint", out, "--tokens", "12")
    expect_equal(len(text), 1 + 12 + 1, "number of characters")


def test_examine(cli):
    text = cli.good("examine", "mlp")
    expect(re.search(r"^fusion0\n  reads t\w+: \"cpu f32\[", text, re.MULTILINE), text)
    found = json.loads(cli.good("examine", "mlp", "--json"))
    expect_equal(sorted(found), ["fusions", "peak_bytes", "saved_bytes"], "keys of examine --json")
    fusion = found["fusions"][0]
    expect_equal(
        sorted(fusion),
        [
            "bytes_read",
            "bytes_written",
            "inputs",
            "last_runs",
            "microseconds",
            "name",
            "operations",
            "outputs",
            "share_of_limit",
        ],
        "keys of a fusion",
    )
    expect_equal(fusion["inputs"][0]["device"], "cpu", "an input's device")
    expect("void fusion0(" in cli.good("examine", "mlp", "--fusion", "fusion0"), "a fusion's kernel")
    expect("saved for backward" in cli.good("examine", "mlp", "--memory"), "the memory")
    expect("all of it is supported" in cli.good("examine", "mlp", "--supported"), "what is supported")
    expect("bf16[" in cli.good("examine", "mlp", "--dtype", "bf16"), "a fusion's inputs where products are autocast")
    expect(
        "all of it is supported" in cli.good("examine", "mlp", "--supported", "--dtype", "bf16"),
        "what is supported in bf16",
    )
    expect("bf16" in cli.good("repro", "mlp", "--fusion", "fusion0", "--dtype", "bf16"), "a repro in bf16")
    path = cli.new_path()
    expect_equal(cli.good("repro", "mlp", "--fusion", "fusion0", "--out", str(path)), "", "what repro --out prints")
    expect(path.read_text().startswith("// g++ "), "a repro program's first line")
    expect(
        cli.good("repro", "mlp", "--first", "0", "--last", "2", "--python").startswith("# python3 lines_0_2.py"),
        "a repro for PyTorch",
    )
    explained = cli.good("explain", "gpt")
    expect("first call" in explained and "1 call, 0 hits, 1 compile\n" in explained, "explain")
    expect(all(len(line) <= 100 for line in explained.splitlines()), "explain has lines of more than 100 columns")


def test_profile(cli):
    page, chrome = cli.new_path(), cli.new_path()
    text = cli.good("examine", "mlp", "--profile", "--seconds", "0.01", "--html", str(page), "--chrome", str(chrome))
    expect("by operator" in text and "by line of the program" in text, "the tables of a profile")
    events = json.loads(chrome.read_text())["traceEvents"]
    expect(any(event["name"] == "torch.matmul" and event["dur"] > 0 for event in events), "a span of a product")
    expect(page.read_text().startswith("<!doctype html>"), "the page")
    found = json.loads(cli.good("examine", "mlp", "--profile", "--json", "--seconds", "0.01"))
    expect(0 < found["in_lines"] <= found["step"], "times of a profile as JSON")
    expect(found["operators"][0]["count"] > 0 and found["sources"], "tables of a profile as JSON")


def test_trace(cli):
    stages = cli.good("trace", "linear", "--stage", "list").splitlines()
    for kind in ("prologue.0 ", "forward.0 ", "backward.0 "):
        expect(any(line.startswith(kind) for line in stages), f"--stage list has no {kind}in {stages}")
    for line in stages:
        expect(cli.good("trace", "linear", "--stage", line.split()[0]).strip(), f"stage {line} is empty")
    expect("linear" in cli.good("trace", "linear"), "the trace has no linear")
    expect("def " in cli.good("trace", "mlp", "--backward", "--python", "--associate"), "the Python form has no def")


def test_the_python_form_is_a_program(cli):
    for model in ("linear", "mlp", "convnet"):
        program = cli.good("trace", model, "--python")
        compile(program, model, "exec")
        expect(
            program.count('\nif __name__ == "__main__":\n') == 1 and "expected = [\n    ([0" in program,
            f"the program of {model} checks nothing:\n{program}",
        )
    stage = cli.good("trace", "mlp", "--python", "--stage", "forward.0")
    expect("__main__" not in stage, "a stage alone is not a program")


def test_trace_associate(cli):
    lines = cli.good("trace", "mlp", "--associate", "--python").splitlines()
    served, forward = {}, ""
    for line in lines:
        if line.startswith("    "):
            served[forward].append(line)
        else:
            forward = line.split(" = ")[0]
            served[forward] = []
    names = [name for name in served if not name.startswith("return")]
    expect(len(names) >= 3, f"the forward has the lines {lines}")
    for name in names:
        expect(served[name], f"no line of the backward serves {name}")
        expect(
            all(f' {name}: "' in line.split("forward:", 1)[-1] for line in served[name]),
            f"{served[name]} do not serve {name}",
        )
    backward = cli.good("trace", "mlp", "--associate", "--backward", "--python")
    count = sum("forward: " in line for line in backward.splitlines())
    serving = {line for each in served.values() for line in each}
    expect_equal(len(serving), count, "lines of the backward that serve a forward line")


def test_trace_of_one_forward_operator(cli):
    linear = cli.good("trace", "mlp", "--forward", "linear").splitlines()
    expect_equal(
        linear, cli.good("trace", "mlp", "--forward", "torch.nn.functional.linear").splitlines(), "by either name"
    )
    heads = [line for line in linear if not line.startswith(" ")]
    expect_equal([("linear(" in line) for line in heads], [True, True], "the two linear layers")
    name = heads[0].split()[1]
    one = cli.good("trace", "mlp", "--associate", "--forward", name).splitlines()
    expect(one == linear[: len(one)] and len(one) > 2, f"--forward {name} prints {one}")
    cli.bad("trace", "mlp", "--forward", "t999", status=2, message="the forward of mlp has no line t999")
    cli.bad(
        "trace",
        "mlp",
        "--forward",
        "t0",
        "--backward",
        status=2,
        message="--forward goes with neither --stage nor --backward",
    )


def test_ops(cli):
    signatures = cli.good("ops").splitlines()
    lines = [json.loads(line) for line in cli.good("ops", "--json").splitlines()]
    expect_equal([line["signature"] for line in lines], signatures, "signatures with and without --json")
    expect(
        all(line["name"] and line["documentation"] and line["traits"] for line in lines), "an operator is not described"
    )
    expect(cli.good("ops", "matmul").startswith("torch.matmul("), "ops matmul")


def test_bench_lines(cli):
    lines = [json.loads(line) for line in cli.good("bench", "ov_pointwise", "--threads", "1").splitlines()]
    expect(
        lines and all(set(line) == {"peer", "case", "dtype", "metric", "value"} for line in lines),
        f"bench prints {lines}",
    )


def test_printing_into_a_closed_pipe(cli):
    """It may end by SIGPIPE or with a failure, never with a crash."""
    reading, writing = os.pipe()
    os.close(reading)
    done = cli.run("ops", stdout=writing)
    os.close(writing)
    expect(
        done.returncode == -13 or (done.returncode == 1 and done.stderr.count("\n") == 1),
        f"ended with {done.returncode}",
    )
    expect(done.stderr == "" or done.stderr.startswith("fulgurite: "), f"said {done.stderr!r}")


def test_printing_to_a_full_disk_or_nowhere(cli):
    for arguments in (["--version"], ["ops"], ["--help"], cli.training(cli.new_path())):
        with open("/dev/full", "w") as full:
            cli.bad(*arguments, status=1, message="could not be written", stdout=full)


def test_closed_stdout_does_not_spoil_files(cli):
    out = cli.new_path()
    done = subprocess.run(
        ["sh", "-c", '"$0" "$@" >&-', cli.program, *map(str, cli.training(out))],
        stderr=subprocess.PIPE,
        text=True,
        env=cli.environment,
    )
    expect_equal(
        (done.returncode, done.stderr.splitlines()[-1]),
        (1, "fulgurite: the output could not be written"),
        "exit status and error",
    )
    expect_equal(len(metrics_of(out)), 11, "lines of metrics.jsonl")
