#!/usr/bin/env python3
"""Compares chat templates with Jinja as transformers runs it: templates of models' formats, of single features, and
random ones, each with all conversations.

usage: compare_chat_templates.py RENDER_CHAT [--count N] [--seed N] [FILE…]. FILEs are further templates. Ends with 77
where transformers is missing.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

from chat_templates import CONVERSATIONS, FEATURES, MODELS, TOOLS

try:
    import jinja2
    from transformers.utils import chat_template_utils
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

VARIABLES = {"bos_token": "<s>", "eos_token": "</s>", "tools": TOOLS, "documents": [{"title": "T", "text": "x y"}]}


class Generator:
    """Random templates of a grammar whose values are texts, numbers, lists and messages."""

    def __init__(self, draws):
        self.draws = draws

    def pick(self, *choices):
        return self.draws.choice(choices)

    def text(self, depth):
        if depth <= 0 or self.draws.random() < 0.3:
            return self.pick("'a b'", "'Hello'", "'  x\\n'", "''", "messages[0].role", "bos_token", "'é東'", "m.role")
        inner = self.text(depth - 1)
        return self.pick(
            f"{inner}.strip()",
            f"({inner} + {self.text(depth - 1)})",
            f"({inner} ~ {self.number(depth - 1)})",
            f"{inner}|upper",
            f"{inner}|trim",
            f"{inner}[{self.draws.randint(-2, 2)}:]",
            f"{inner}[:{self.draws.randint(-2, 3)}]",
            f"{inner}.replace('l', 'L')",
            f"({inner} if {self.condition(depth - 1)} else {self.text(depth - 1)})",
            f"{self.list(depth - 1)}|join('-')",
            f"{inner}|capitalize",
            f"{inner}|string",
            f"({inner}|tojson)",
            f"{inner}.split('l')|first",
            f"({inner} * 2)",
            f"{inner}|replace('e', '')",
            f"{inner}|title",
        )

    def number(self, depth):
        if depth <= 0 or self.draws.random() < 0.3:
            return self.pick("0", "1", "7", "2.5", "messages|length", "-3", "loop.index0")
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} % 3)",
            f"({a} // 2)",
            f"({a} / 4)",
            f"{self.list(depth - 1)}|length",
            f"({self.text(depth - 1)}|length)",
            f"({a}|abs)",
            f"({a}|int)",
        )

    def condition(self, depth):
        if depth <= 0:
            return self.pick("true", "false", "loop.first", "messages", "nothing", "add_generation_prompt")
        return self.pick(
            f"{self.text(depth - 1)} == {self.text(depth - 1)}",
            f"{self.number(depth - 1)} < {self.number(depth - 1)}",
            f"{self.text(depth - 1)} in {self.text(depth - 1)}",
            f"not {self.condition(depth - 1)}",
            f"({self.condition(depth - 1)} and {self.condition(depth - 1)})",
            f"{self.value(depth - 1)} is string",
            f"({self.condition(depth - 1)} or {self.value(depth - 1)})",
            f"{self.value(depth - 1)} is defined",
            f"{self.value(depth - 1)} is not none",
            f"{self.value(depth - 1)} is iterable",
        )

    def list(self, depth):
        if depth <= 0:
            return self.pick("[1, 2]", "['b', 'a', 'b']", "[]", "messages|map(attribute='role')|list", "range(3)|list")
        return self.pick(
            f"[{self.value(depth - 1)}, {self.value(depth - 1)}]",
            f"{self.list(depth - 1)}[1:]",
            f"{self.text(depth - 1)}.split()",
            f"{self.list(depth - 1)}|reverse|list",
            f"({self.list(depth - 1)} + {self.list(depth - 1)})",
            f"{self.list(depth - 1)}[::-1]",
            f"{self.text(depth - 1)}|list",
            f"{self.list(depth - 1)}|select|list",
        )

    def value(self, depth):
        kind = self.pick(self.text, self.number, self.list, self.condition)
        return f"({kind(depth)})" if self.draws.random() < 0.8 else self.pick("none", "nothing", "{'k': 1}", "m", "x")

    def tag(self, kind, body):
        return f"{{{kind}{self.pick('', '', '-')} {body} {self.pick('', '', '-')}{'}' if kind == '{' else '%'}}}"

    def block(self, depth):
        out = ""
        for _ in range(self.draws.randint(1, 3)):
            out += self.pick("", "\n", "  ", " text ", "\n  ", "<|x|>", "{# c #}", "\n\n")
            out += self.statement(depth)
        return out + self.pick("", "\n", " ")

    def statement(self, depth):
        kind = self.draws.random()
        if depth <= 0 or kind < 0.5:
            return self.tag("{", self.value(2))
        if kind < 0.65:
            other = self.tag("%", "else") + self.block(depth - 1) if self.draws.random() < 0.5 else ""
            return self.tag("%", f"if {self.condition(2)}") + self.block(depth - 1) + other + self.tag("%", "endif")
        if kind < 0.85:
            values = self.pick("messages", self.list(1), f"messages if {self.condition(1)}")
            jump = self.tag("%", f"if {self.condition(1)}") + self.pick("{% break %}", "{% continue %}") + "{% endif %}"
            jump = self.pick("", "", jump)
            return (
                self.tag("%", f"for {self.pick('m', 'x')} in {values}")
                + jump
                + self.block(depth - 1)
                + self.tag("%", "endfor")
            )
        if kind < 0.95:
            return self.tag("%", f"set {self.pick('x', 'y')} = {self.value(2)}")
        return self.tag("%", "set z") + self.block(depth - 1) + self.tag("%", "endset") + "{{ z }}"


def theirs(template, messages, variables, prompt):
    """The text that transformers makes; None for an error."""
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        return compiled.render(messages=messages, add_generation_prompt=prompt, **variables)
    except (
        jinja2.exceptions.TemplateError,
        TypeError,
        ValueError,
        AttributeError,
        ZeroDivisionError,
        KeyError,
        OverflowError,
    ):
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=2000, help="random templates")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_intermixed_args()
    generator = Generator(random.Random(options.seed))
    templates = {f"model {name}": text for name, text in MODELS.items()}
    templates |= {f"feature {i}": text for i, text in enumerate(FEATURES)}
    templates |= {file.name: file.read_text() for file in options.files}
    templates |= {f"random {i}": generator.block(2) for i in range(options.count)}
    cases = [
        (name, text, messages, prompt)
        for name, text in templates.items()
        for messages in (CONVERSATIONS if not name.startswith("random") else CONVERSATIONS[1:3])
        for prompt in (True, False)
    ]
    requests = "".join(
        json.dumps(
            {"template": text, "messages": json.dumps(messages), "prompt": prompt, "variables": json.dumps(VARIABLES)}
        )
        + "\n"
        for _, text, messages, prompt in cases
    )
    done = subprocess.run([options.program], input=requests, stdout=subprocess.PIPE, text=True, check=True)
    failed, shown = 0, set()
    for (name, text, messages, prompt), line in zip(cases, done.stdout.split("\n")[:-1], strict=True):
        ours = json.loads(line)
        expected = theirs(text, messages, VARIABLES, prompt)
        if ours.get("text") == expected:
            continue
        failed += 1
        if name not in shown and len(shown) < 12:
            shown.add(name)
            print(f"FAILED {name}: {text!r}\n  ours {ours}\n  transformers {expected!r}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
