"""The server of `fulgurite serve`, asked with the standard library's client."""

import base64
import concurrent.futures
import contextlib
import http.client
import json
import signal
import socket
import struct
import subprocess
import time

from harness import expect, expect_equal
from model_runs import write_bert, write_model

TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}"


class Server:
    """A running server, and requests to it."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    def ask(self, path, body=None, headers=None):
        """Returns the status and the JSON of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        text = json.dumps(body) if isinstance(body, dict) else body
        with contextlib.closing(connection):
            connection.request(
                "GET" if body is None else "POST",
                path,
                text,
                {"Content-Type": "application/json"} if headers is None else headers,
            )
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def complete(self, **body):
        status, answer = self.ask("/v1/completions", {"temperature": 0, "max_tokens": 10, **body})
        expect_equal(status, 200, f"the status of {body}: {answer}")
        return answer

    def error(self, status, body, path="/v1/completions", **how):
        got, answer = self.ask(path, body, **how)
        expect_equal(got, status, f"the status of {body!r:.80}: {answer}")
        return answer["error"]["message"]

    def stream(self, path, body):
        """The objects of a stream of server-sent events."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
            events = connection.getresponse().read().decode().split("\n\n")
        expect_equal(events[-2:], ["data: [DONE]", ""], "the end of the stream")
        return [json.loads(event.removeprefix("data: ")) for event in events[:-2]]


@contextlib.contextmanager
def serve(cli, *flags):
    """A server; it must end with 0 when it gets SIGTERM."""
    process = subprocess.Popen(
        [cli.program, "serve", "--port", "0", "--threads", "1", *map(str, flags)],
        text=True,
        env=cli.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        line = process.stdout.readline()
        error = "" if line else process.stderr.read()
        expect(line.startswith("listening at http://127.0.0.1:"), f"the server printed {line!r}, {error}")
        yield Server(process, int(line.rsplit(":", 1)[1]))
        process.send_signal(signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        # A sanitizer's report is above the log of requests.
        expect(process.returncode == 0, f"the server ended with {process.returncode}; it printed\n{errors[:6000]}")
    finally:
        process.kill()
        process.communicate()


def chat_model(cli, name):
    folder = write_model(cli.folder / name)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def generated(cli, folder, prompt, *flags):
    return json.loads(cli.good("generate", "--model", folder, "--prompt", prompt, "--threads", "1", "--json", *flags))


def test_server_completes_texts_as_generate_does(cli):
    folder = chat_model(cli, "served")
    wanted = generated(cli, folder, "hello", "--max-tokens", "10", "--temperature", "0")
    drawn = generated(cli, folder, "hello", "--max-tokens", "10", "--temperature", "1.5", "--seed", "7")
    with serve(cli, "--model", folder) as server:
        answer = server.complete(prompt="hello")
        expect_equal(answer["choices"][0]["text"], wanted["text"], "the text")
        expect_equal(
            answer["usage"],
            {"prompt_tokens": 5, "completion_tokens": len(wanted["tokens"]), "total_tokens": 5 + len(wanted["tokens"])},
            "usage",
        )
        expect_equal(server.complete(prompt=wanted["prompt_tokens"])["choices"][0]["text"], wanted["text"], "of tokens")
        expect_equal(
            server.complete(prompt="hello", temperature=1.5, seed=7)["choices"][0]["text"],
            drawn["text"],
            "the drawn text",
        )
        both = server.complete(prompt=["hello", "bye"], n=2)["choices"]
        expect_equal([choice["index"] for choice in both], [0, 1, 2, 3], "the indices")
        expect_equal([choice["text"] for choice in both[:2]], [wanted["text"]] * 2, "the texts of one prompt")
        stop = wanted["text"][3:5]
        cut = server.complete(prompt="hello", stop=stop)["choices"][0]
        expect_equal(
            (cut["text"], cut["finish_reason"]), (wanted["text"][: wanted["text"].index(stop)], "stop"), "stop"
        )
        parts = server.stream(
            "/v1/completions",
            {"prompt": "hello", "temperature": 0, "max_tokens": 10, "stream_options": {"include_usage": True}},
        )
        expect_equal("".join(part["choices"][0]["text"] for part in parts[:-1]), wanted["text"], "the streamed text")
        expect_equal(parts[-1]["usage"], answer["usage"], "the usage of a stream")
        scores = server.complete(prompt="hello", logprobs=3)["choices"][0]["logprobs"]
        expect_equal("".join(scores["tokens"]), wanted["text"], "the tokens of logprobs")
        expect_equal([max(top.values()) for top in scores["top_logprobs"]], scores["token_logprobs"], "greedy logprobs")
        biased = server.complete(prompt="hello", logit_bias={"3": 100})["choices"][0]["text"]
        expect_equal(biased, "d" * 10, "the text with a bias")
        varied = server.complete(prompt="hello", logit_bias={"3": 20}, frequency_penalty=2, max_tokens=30)
        expect(varied["choices"][0]["text"] != "d" * 30, "a frequency penalty has no effect")


def test_server_chats(cli):
    folder = chat_model(cli, "chatted")
    wanted = generated(cli, folder, "hello ", "--max-tokens", "6", "--temperature", "0")
    with serve(cli, "--model", folder, "--name", "small", "--api-key", "abc") as server:
        headers = {"Content-Type": "application/json", "Authorization": "Bearer abc"}
        body = {
            "model": "small",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            "max_completion_tokens": 6,
            "temperature": 0,
            "logprobs": True,
            "top_logprobs": 2,
        }
        status, answer = server.ask("/v1/chat/completions", body, headers)
        expect_equal(status, 200, f"the status: {answer}")
        choice = answer["choices"][0]
        message = {"role": "assistant", "content": wanted["text"], "refusal": None}
        expect_equal(choice["message"], message, "the message")
        expect_equal([len(token["top_logprobs"]) for token in choice["logprobs"]["content"]], [2] * 6, "top_logprobs")
        expect("key" in server.error(401, body, "/v1/chat/completions"), "a missing key")
        wrong = {**headers, "Authorization": "Bearer abd"}
        expect("key" in server.error(401, body, "/v1/chat/completions", headers=wrong), "a wrong key")
        expect_equal(server.ask("/health")[1]["status"], "ok", "the health")
        expect_equal(server.ask("/v1/models/small", headers=headers)[1]["id"], "small", "the model")
        expect_equal(server.ask("/v1/models/other", headers=headers)[0], 404, "another model")


def test_server_gives_vectors(cli):
    folder = write_bert(cli.folder / "served_bert")
    lines = cli.good("embed", "--model", folder, "--threads", "1", "--json", input="red\nblue green\n").splitlines()
    with serve(cli, "--embedder", folder) as server:
        status, answer = server.ask("/v1/embeddings", {"input": ["red", "blue green"]})
        expect_equal(status, 200, f"the status: {answer}")
        vectors = [each["embedding"] for each in answer["data"]]
        expect_equal(vectors, [json.loads(line) for line in lines], "the vectors")
        coded = server.ask("/v1/embeddings", {"input": "red", "encoding_format": "base64"})[1]["data"][0]
        bytes_ = base64.b64decode(coded["embedding"], validate=True)
        wanted = struct.pack(f"<{len(bytes_) // 4}f", *json.loads(lines[0]))
        expect_equal(bytes_, wanted, "the vector in base64")
        expect("no language model" in server.error(400, {"prompt": "a"}), "a text from a server of vectors")
        expect("dimensions must be" in server.error(400, {"input": "a", "dimensions": 3}, "/v1/embeddings"), "width")


def test_server_refuses_bad_requests(cli):
    folder = write_model(cli.folder / "refusing")
    with serve(cli, "--model", folder, "--context", "20", "--max-body", "1") as server:
        for body, message in (
            ({}, "prompt must be a text, a list of texts, or tokens"),
            ({"prompt": "a", "temperature": 3}, "temperature must be between 0.0 and 2.0, it is 3.0"),
            ({"prompt": "a", "temperature": "1"}, "temperature must be a number"),
            ({"prompt": "a", "top_p": 0}, "top_p must be above 0 and at most 1"),
            ({"prompt": "a", "max_tokens": 1.5}, "max_tokens must be an integer"),
            ({"prompt": "a", "max_token": 3}, "unknown member, max_token; did you mean max_tokens or min_tokens?"),
            ({"prompt": "a", "stop": ""}, "stop has an empty text"),
            ({"prompt": "a", "echo": True}, "echo is not supported"),
            ({"prompt": "a" * 20}, "the prompt has 20 tokens, and a text at most 20"),
            ({"prompt": "a" * 10, "max_tokens": 11}, "the prompt has 10 tokens and 11 are to be generated"),
            ({"prompt": [5, 29]}, "the prompt has the token 29"),
            ({"prompt": ""}, "the prompt has no tokens"),
            ({"prompt": "a", "stream_options": {}}, "stream_options needs stream"),
            ("[" * 100000, "the body is not JSON"),
            ("{", "the body is not JSON"),
            ("[]", "the body must be a JSON object"),
        ):
            got = server.error(400, body)
            expect(message in got, f"{body!r:.80} gave {got!r}, expected {message!r}")
        unknown = server.error(404, {"model": "x", "prompt": "a"})
        expect_equal(unknown, "there is no model x; this server has refusing", "the error of another model")
        chat = {"messages": [{"role": "user", "content": "a"}]}
        expect("no chat template" in server.error(400, chat, "/v1/chat/completions"), "a missing template")
        expect("tools is not supported" in server.error(400, {**chat, "tools": [1]}, "/v1/chat/completions"), "tools")
        expect("too large" in server.error(413, json.dumps({"prompt": "a" * (1 << 20)})), "a large body")
        expect("Content-Type" in server.error(415, {"prompt": "a"}, headers={"Content-Type": "text/plain"}), "a form")
        expect_equal(server.ask("/v1/other", {})[0], 404, "an unknown path")
        server.complete(prompt="a")


def abandon(server):
    """Asks for a long text and disconnects after its beginning."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        body = json.dumps({"prompt": "a", "max_tokens": 10000, "stream": True, "logit_bias": {"28": -100}})
        connection.sendall(
            f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        expect(connection.recv(20).startswith(b"HTTP/1.1 200"), "the beginning of an answer")


def wait_until_idle(server):
    deadline = time.monotonic() + 60
    while server.ask("/health")[1]["unfinished"] > 0:
        expect(time.monotonic() < deadline, "texts of clients that are gone are generated")
        time.sleep(0.05)


def test_server_ends_the_texts_of_clients_that_are_gone(cli):
    folder = write_model(cli.folder / "abandoned")
    with serve(cli, "--model", folder, "--texts", "2", "--queue", "2") as server:
        for _ in range(3):
            abandon(server)
        wait_until_idle(server)
        server.complete(prompt="a")
        expect("as many texts as may wait" in server.error(429, {"prompt": "a", "n": 5}), "a full queue")


def test_server_answers_many_clients(cli):
    folder = write_model(cli.folder / "crowded")
    prompts = [word * repeats for word in ("ab", "hello", "x", "why") for repeats in (1, 3, 5)]
    wanted = [generated(cli, folder, prompt, "--max-tokens", "20", "--temperature", "0")["text"] for prompt in prompts]
    with serve(cli, "--model", folder, "--texts", "4") as server:

        def ask(prompt):
            return server.complete(prompt=prompt, max_tokens=20)["choices"][0]["text"]

        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as clients:
            expect_equal(list(clients.map(ask, prompts)), wanted, "the texts")


def test_server_finishes_answers_when_it_is_stopped(cli):
    folder = write_model(cli.folder / "stopped")
    body = {"prompt": "a", "max_tokens": 400, "temperature": 0, "logit_bias": {"28": -100}}
    with serve(cli, "--model", folder) as server, concurrent.futures.ThreadPoolExecutor(1) as client:
        answer = client.submit(server.stream, "/v1/completions", body)
        while server.ask("/health")[1]["unfinished"] == 0 and not answer.done():
            time.sleep(0.001)
        server.process.send_signal(signal.SIGINT)
        parts = answer.result()
        expect_equal(parts[-1]["choices"][0]["finish_reason"], "length", "the end of the answer")
        server.process.wait(60)


def test_server_reports_what_it_cannot_serve(cli):
    folder = write_model(cli.folder / "unserved")
    cli.bad("serve", status=2, message="--model is missing")
    cli.bad("serve", "--model", cli.folder / "nothing", status=1, message="config.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cli.bad("serve", "--model", folder, "--port", taken.getsockname()[1], status=1, message="cannot be used")
