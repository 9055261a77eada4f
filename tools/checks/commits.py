#!/usr/bin/env python3
"""Checks the subjects of commits: one topic, imperative, at most 72 characters, a body for whatever is not obvious.

usage: tools/check commits [RANGE]; without a range, the commits since this check was added.
"""

import re
import subprocess
import sys

LONGEST_SUBJECT = 72
# Verbs that look like a plural or a past form.
VERBS = {
    "suppress",
    "pass",
    "guess",
    "address",
    "access",
    "process",
    "express",
    "focus",
    "bypass",
    "discuss",
    "compress",
    "feed",
    "embed",
    "need",
    "speed",
    "bring",
    "string",
}
NOT_VERBS = {
    "a",
    "an",
    "the",
    "this",
    "these",
    "there",
    "it",
    "what",
    "which",
    "who",
    "where",
    "whether",
    "when",
    "why",
    "how",
    "all",
    "some",
    "no",
    "more",
    "new",
}
STATEMENT = re.compile(
    r"^\S+(?: \S+){0,3}(?<! what)(?<! that)(?<! which) "
    r"(?:is|are|was|were|has|have|does|do not|no longer)\b"
)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def faults_of(subject: str) -> list[str]:
    """Returns the problem of a subject."""
    faults = []
    if len(subject) > LONGEST_SUBJECT:
        faults.append(f"has {len(subject)} characters, at most {LONGEST_SUBJECT}")
    first = re.split(r"[ :]", subject)[0]
    word = first.lower()
    if first[:1].islower():
        faults.append("begins with a lower-case letter")
    if word in NOT_VERBS or STATEMENT.match(subject) or (re.search(r"(s|ed|ing)$", word) and word not in VERBS):
        faults.append('is not an imperative sentence ("Add …", "Fix …")')
    if subject.endswith("."):
        faults.append("ends with a full stop")
    if ";" in subject:
        faults.append("has two topics")
    return faults


def default_range() -> str:
    added = git("log", "--diff-filter=A", "--format=%H", "--", "tools/check_commits", "tools/checks/commits.py").split()
    return f"{added[-1]}..HEAD" if added else "HEAD~0..HEAD"


def main() -> int:
    wanted = sys.argv[1] if len(sys.argv) > 1 else default_range()
    failures = 0
    for line in git("log", "--no-merges", "--format=%h %s", wanted).splitlines():
        commit, _, subject = line.partition(" ")
        for fault in faults_of(subject):
            print(f'{commit} "{subject}" {fault}', file=sys.stderr)
            failures += 1
    print(f"{failures} faults in the subjects of {wanted}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
