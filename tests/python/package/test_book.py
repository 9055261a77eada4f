"""The Python programs of the book: those of a page are one session, and print what the page says."""

import contextlib
import io
import pathlib
import re

import pytest

BOOK = pathlib.Path(__file__).resolve().parents[3] / "docs" / "book"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def agree(expected, printed):
    """True where the texts are equal: "…" stands for any text."""
    pattern = re.escape(expected.strip()).replace(re.escape("…"), ".*")
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


@pytest.mark.parametrize("page", ["python", "pytorch_models"])
def test_the_programs_of_a_page(page, tmp_path, monkeypatch):
    if page == "pytorch_models":
        torch = pytest.importorskip("torch")
        import fulgurite.torch as backend

        torch._dynamo.reset()
        backend.reset()
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((BOOK / f"{page}.md").read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    session = {"__name__": "a_page_of_the_book"}
    for number, (code, expected) in enumerate(blocks):
        file = tmp_path / f"{page}_{number}.py"  # traces show the lines of a file
        file.write_text(code, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(file), "exec"), session)
        assert agree(expected, out.getvalue()), (
            f"the program\n{code}prints\n{out.getvalue()}and the page says\n{expected}"
        )
