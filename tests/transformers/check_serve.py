"""`fulgurite serve` under many clients of the package openai, some of which disconnect.

Each text must be the one that `generate` writes for the same request; the server's memory must not grow, and no text
may remain when all clients have ended.
usage: check_serve.py FULGURITE --model FOLDER [--clients 32] [--seconds 600] [--texts 8] [--dtype f32] [--seed 1]
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import time
import urllib.request

import openai

SUBJECTS = ("the sea", "a small town", "the moon", "a clever cat", "bread", "an old clock", "winter", "a long journey")
BEGINNINGS = (
    "Once there was",
    "Tell me about",
    "The truth about",
    "My grandmother said of",
    "A short poem on",
    "Three facts on",
    "I remember",
    "Everyone knows",
)


def requests():
    """Requests of unequal lengths: greedy ones, and drawn ones with a seed."""
    out = []
    for number, (beginning, subject) in enumerate((b, s) for b in BEGINNINGS for s in SUBJECTS):
        words = f"{beginning} {subject}. " * (1 + number % 7)
        options = {"max_tokens": 8 + 5 * (number % 6), "temperature": 0}
        if number % 3 == 1:
            options |= {"temperature": 0.8, "seed": number}
        if number % 5 == 2:
            options |= {"stop": [".\n"]}
        out.append((words, options))
    return out


def generated(program, options, prompt, how):
    """The text that the command `generate` writes."""
    flags = ["--max-tokens", how["max_tokens"], "--temperature", how["temperature"], "--seed", how.get("seed", 0)]
    flags += [flag for stop in how.get("stop", ()) for flag in ("--stop", stop)]
    command = [program, "generate", "--model", options.model, "--dtype", options.dtype, "--json", "--prompt", prompt]
    done = subprocess.run([*command, *map(str, flags)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["text"]


class Clients:
    """Clients that ask until a time is over, and what they met."""

    def __init__(self, url, model, work, wanted, options):
        self.url, self.model, self.work, self.wanted, self.options = url, model, work, wanted, options
        self.deadline = time.monotonic() + options.seconds
        self.lock = threading.Lock()
        self.answers = self.disconnects = self.busy = 0
        self.first_tokens, self.faults = [], []

    def run(self):
        threads = [threading.Thread(target=self.client, args=(number,)) for number in range(self.options.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def client(self, number):
        draws = random.Random(self.options.seed * 1000 + number)
        api = openai.OpenAI(base_url=self.url, api_key="none", max_retries=0, timeout=300)
        while time.monotonic() < self.deadline:
            index = draws.randrange(len(self.work))
            try:
                self.ask(api, index, draws)
            except openai.RateLimitError:
                self.count("busy")
                time.sleep(0.2)
            except openai.OpenAIError as error:
                self.report(f"request {index}: {error!r}")

    def ask(self, api, index, draws):
        prompt, how = self.work[index]
        if draws.random() < 0.4:
            text = api.completions.create(model=self.model, prompt=prompt, **how).choices[0].text
        else:
            text = self.ask_stream(api, prompt, how, give_up=draws.randrange(4) if draws.random() < 0.4 else None)
        if text is None:
            return
        self.count("answers")
        if text != self.wanted[index]:
            self.report(f"request {index} got {text!r}, generate writes {self.wanted[index]!r}")

    def ask_stream(self, api, prompt, how, give_up):
        begin = time.monotonic()
        text = ""
        with api.completions.create(model=self.model, prompt=prompt, stream=True, **how) as stream:
            for number, part in enumerate(stream):
                if number == 0:
                    with self.lock:
                        self.first_tokens.append(time.monotonic() - begin)
                if number == give_up:
                    self.count("disconnects")
                    return None
                text += part.choices[0].text
        return text

    def count(self, name):
        with self.lock:
            setattr(self, name, getattr(self, name) + 1)

    def report(self, fault):
        with self.lock:
            self.faults.append(fault)


def resident(process):
    """The memory of a process in MB."""
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def watch(process, samples, end):
    while not end.wait(5):
        samples.append(resident(process))


def check_chat(url, model):
    """A conversation, streamed and whole, through the client's own types."""
    api = openai.OpenAI(base_url=url, api_key="none")
    messages = [{"role": "user", "content": "Name a planet."}]
    how = {"model": model, "messages": messages, "max_tokens": 12, "temperature": 0}
    whole = api.chat.completions.create(logprobs=True, top_logprobs=2, **how).choices[0]
    parts = [part.choices[0].delta.content or "" for part in api.chat.completions.create(stream=True, **how)]
    tokens = "".join(token.token for token in whole.logprobs.content)
    ids = [each.id for each in api.models.list()]
    return "".join(parts) == whole.message.content == tokens.removesuffix("<|im_end|>") and ids == [model]


def wait_for_the_end(url):
    """Returns true if no text remains within a minute."""
    for _ in range(600):
        with urllib.request.urlopen(url.removesuffix("/v1") + "/health") as health:
            if json.load(health)["unfinished"] == 0:
                return True
        time.sleep(0.1)
    return False


def percentile(values, share):
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--model", required=True)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    work = requests()
    wanted = [generated(options.program, options, *request) for request in work]
    command = [
        options.program,
        "serve",
        "--model",
        options.model,
        "--name",
        "model",
        "--port",
        "0",
        "--quiet",
        "--dtype",
        options.dtype,
        "--texts",
        str(options.texts),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().split()[-1] + "/v1"
    chats = check_chat(url, "model")
    clients = Clients(url, "model", work, wanted, options)
    memory, end = [], threading.Event()
    watcher = threading.Thread(target=watch, args=(server, memory, end))
    watcher.start()
    clients.run()
    ended = wait_for_the_end(url)
    end.set()
    watcher.join()
    server.terminate()
    status = server.wait(60)
    for fault in clients.faults[:5]:
        print(fault)
    settled = memory[len(memory) // 3 :] or [0]
    growth = settled[-1] - settled[0]
    first = [f"{percentile(clients.first_tokens, share):.2f} s" for share in (0.5, 0.99)]
    print(
        f"{clients.answers} answers, {len(clients.faults)} faults, {clients.disconnects} disconnects, "
        f"{clients.busy} refused; chats {'equal' if chats else 'differ'}"
    )
    print(
        f"first token p50 {first[0]}, p99 {first[1]}; memory {settled[-1]:.0f} MB, "
        f"growth in the last two thirds {growth:.0f} MB"
    )
    is_whole = chats and ended and status == 0 and not clients.faults and clients.answers > 0
    return 0 if is_whole and growth < 0.05 * settled[-1] else 1


if __name__ == "__main__":
    sys.exit(main())
