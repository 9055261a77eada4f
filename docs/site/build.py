"""Builds the site of the documents: the book, the reference pages, the decisions, and the C++ reference.

usage: build.py OUT (tools/docs site OUT runs it)
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import api_pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = pathlib.Path(__file__).resolve().parent
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "src/README.md"]
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
DEVELOPERS = ["docs/architecture.md", "src/README.md", "CONTRIBUTING.md", "docs/dependencies.md", "CHANGELOG.md"]


def title(page: pathlib.Path) -> str:
    return re.match(r"# (.*)", page.read_text(encoding="utf-8"))[1]


def stage(folder: pathlib.Path) -> None:
    """Copies the pages, and the files to which they link, in the repository's layout."""
    for page in [*(ROOT / name for name in PAGES), *(ROOT / "docs").rglob("*.md")]:
        copy = folder / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text(encoding="utf-8")
        shown = text.replace("```cpp error\n", '```cpp title="does not compile"\n')
        copy.write_text(shown.replace("```cpp compiled\n", "```cpp\n"), encoding="utf-8")
        for target in LINK.findall(text):
            linked = (page.parent / target).resolve()
            if ":" not in target and linked.is_file() and linked.suffix != ".md":
                (folder / linked.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(linked, folder / linked.relative_to(ROOT))
    shutil.copy(SITE / "style.css", folder)


def api(folder: pathlib.Path) -> list[str]:
    with tempfile.TemporaryDirectory() as out:
        settings = (SITE / "Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {out}\n"
        subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, check=True)
        return api_pages.write(pathlib.Path(out) / "xml", ROOT, folder)


def book() -> list[str]:
    """The book's pages in the order of its table of contents."""
    contents = (ROOT / "docs/book/README.md").read_text(encoding="utf-8")
    return [f"docs/book/{name}" for name in LINK.findall(contents) if (ROOT / "docs/book" / name).exists()]


def navigation(folder: pathlib.Path) -> list:
    listed = {*DEVELOPERS, "README.md"}
    reference = sorted(
        p.relative_to(folder).as_posix()
        for p in (folder / "docs").glob("*.md")
        if p.relative_to(folder).as_posix() not in listed
    )
    headers = sorted(p.relative_to(folder).as_posix() for p in (folder / "api").glob("*.md") if p.name != "index.md")
    return [
        {"Home": "README.md"},
        {"Book": ["docs/book/README.md", *book()]},
        {"Reference": reference},
        {"C++ reference": ["api/index.md", *({title(folder / name): name} for name in headers)]},
        {"Developers": DEVELOPERS},
        {
            "Decisions": [
                "docs/decisions/README.md",
                *(
                    {title(p): p.relative_to(folder).as_posix()}
                    for p in sorted((folder / "docs" / "decisions").glob("0*.md"))
                ),
            ]
        },
    ]


def main() -> int:
    out = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "pages"
        stage(folder)
        if complaints := api(folder / "api"):
            print("\n".join(complaints), file=sys.stderr)
            return 1
        settings = json.loads((SITE / "mkdocs.json").read_text(encoding="utf-8"))
        settings |= {"docs_dir": str(folder), "site_dir": str(out), "nav": navigation(folder)}
        # JSON is YAML.
        (pathlib.Path(work) / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")
        # --quiet would hide warnings from --strict.
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", f"{work}/mkdocs.yml"]
        done = subprocess.run(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(done.stdout, file=sys.stderr)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
