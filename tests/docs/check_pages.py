#!/usr/bin/env python3
"""Checks the Markdown pages of the tree.

Relative links and their anchors, paths in backticks, the list of the decisions, the length of the architecture.
"""

import argparse
import pathlib
import re
import sys

CODE_BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FOLDERS = ("src", "include", "tests", "tools", "benchmarks", "docs", "examples", "cmake", ".ci")
PATH = re.compile(rf"^(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*+-]*")
# In src/README.md, paths begin in src/.
SOURCE_PATH = re.compile(r"^[a-z_]+/[\w/]*(?:\w+\.(?:cpp|h)|/)$")
SECTIONS = ["Context", "Decision", "Measurement", "Consequences"]
MAX_WORDS_OF_ARCHITECTURE = 1500
# Its entries describe the tree of their day.
HISTORY = "CHANGELOG.md"


def pages(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(
        [*root.glob("*.md"), *root.glob("src/**/*.md"), *root.glob("tests/**/*.md"), *root.glob("docs/**/*.md")]
    )


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    titles = (re.sub(r"[`*]", "", title).strip().lower() for title in HEADING.findall(CODE_BLOCK.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def broken_links(root: pathlib.Path, page: pathlib.Path):
    text = INLINE_CODE.sub("", CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists():
            yield f"{page.relative_to(root)}: the link {target} leads to no file"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
            yield f"{page.relative_to(root)}: the page of the link {target} has no such heading"


def missing_paths(root: pathlib.Path, page: pathlib.Path):
    if page.name == HISTORY:
        return
    for code in INLINE_CODE.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if (found := PATH.match(code)) and not any(root.glob(found[0].rstrip("/."))):
            yield f"{page.relative_to(root)}: there is no {found[0]}"
        elif not found and page.parent == root / "src" and SOURCE_PATH.match(code):
            if not any((root / base / code).exists() for base in ("src", "include/fulgurite")):
                yield f"src/README.md: there is no {code}"


def decisions(root: pathlib.Path):
    folder = root / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    numbers = set()
    for page in sorted(folder.glob("[0-9]*.md")):
        name, text = page.relative_to(root), page.read_text(encoding="utf-8")
        number = page.name[:4]
        if number in numbers:
            yield f"{name}: the number {number} is used twice"
        numbers.add(number)
        if f"]({page.name})" not in listed:
            yield f"{name}: docs/decisions/README.md does not list it"
        if not re.match(rf"# {number}: .+\n\n20\d\d-\d\d-\d\d", text):
            yield f"{name}: it does not begin with '# {number}: title', a blank line and the date"
        if re.findall(r"^## (.*)$", text, re.MULTILINE) != SECTIONS:
            yield f"{name}: its sections are not {', '.join(SECTIONS)}"


def architecture(root: pathlib.Path):
    words = len((root / "docs" / "architecture.md").read_text(encoding="utf-8").split())
    if words > MAX_WORDS_OF_ARCHITECTURE:
        yield f"docs/architecture.md: {words} words; at most {MAX_WORDS_OF_ARCHITECTURE}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path, help="the repository")
    root = parser.parse_args().root.resolve()
    complaints = [*decisions(root), *architecture(root)]
    for page in pages(root):
        complaints += [*broken_links(root, page), *missing_paths(root, page)]
    print("\n".join(complaints) or "all pages agree with the tree")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
