import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, cwd="/")


def test_the_package_needs_neither_pytorch_nor_numpy():
    out = run(
        "-c",
        "import sys, fulgurite as fg; print(sorted({'torch', 'numpy'} & set(sys.modules))); print(fg.tensor([1.0]) * "
        "2)",
    )
    assert out.returncode == 0 and out.stdout.startswith("[]"), out.stderr


def test_the_command_line():
    out = run("-m", "fulgurite", "--version")
    assert out.returncode == 0 and out.stdout.startswith("fulgurite "), out.stderr
    assert "matmul" in run("-m", "fulgurite", "ops").stdout
    assert run("-m", "fulgurite", "nonsense").returncode == 2
    assert "--library needs" in run("-m", "fulgurite", "trace", "f", "--library", "x.so").stderr


def test_the_extension_shows_only_its_entry():
    import fulgurite._core

    out = subprocess.run(["nm", "-D", "--defined-only", fulgurite._core.__file__], capture_output=True, text=True)
    if out.returncode:
        pytest.skip("there is no nm")
    assert [line.split()[-1] for line in out.stdout.splitlines()] == ["PyInit__core"]


def test_one_thread_runtime_beside_pytorch(torch):
    # In a process of its own: other packages, such as scikit-learn, bring copies of libgomp.
    code = (
        "import torch, fulgurite\n"
        "maps = open('/proc/self/maps').read().splitlines()\n"
        "print(len({line.split()[-1] for line in maps if 'libgomp' in line}))"
    )
    out = run("-c", code)
    assert out.returncode == 0, out.stderr
    assert int(out.stdout) <= 1, out.stdout


def test_a_repaired_wheel_brings_what_its_libraries_need():
    import fulgurite

    folder = pathlib.Path(fulgurite.__file__).parent
    (metadata,) = folder.parent.glob("fulgurite-*.dist-info")
    if "manylinux" not in (metadata / "WHEEL").read_text():
        pytest.skip("not installed from the wheel of python/make_wheel")
    assert (folder / "lib" / "libdnnl.so.2").exists()
    brought = [p.name.split("-")[0].split(".")[0] for p in (folder.parent / "fulgurite.libs").glob("*")]
    assert "libgomp" not in brought
    needed = set()
    carried = folder.parent / "fulgurite.libs"
    for library in (folder / "lib" / "libdnnl.so.2", *folder.glob("_core*.so"), *carried.glob("*")):
        out = subprocess.run(["readelf", "-d", library], capture_output=True, text=True)
        needed |= set(re.findall(r"NEEDED.*\[(lib\w+)", out.stdout)) - {"libdnnl"}
    # manylinux allows these to come from the system.
    of_the_system = {"libc", "libm", "libstdc", "libgcc_s", "libgomp", "libpthread", "libdl", "libz"}
    assert needed - of_the_system == set(brought)


def test_a_copy_of_libgomp_is_opened_where_the_system_has_none():
    code = (
        "import fulgurite._thread_runtime as runtime, os, sys\n"
        "runtime._copies = lambda copies=list(runtime._copies()): copies[-1:]\n"
        "runtime.open_copy()\n"
        "print(os.path.relpath(runtime._copies()[0], os.path.dirname(runtime.__file__)))\n"
        "print(any('lib/libgomp/libgomp.so.1' in line for line in open('/proc/self/maps')))"
    )
    out = run("-c", code)
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == ["lib/libgomp/libgomp.so.1", "True"], out.stdout


def test_type_stubs_are_installed():
    import fulgurite

    folder = pathlib.Path(fulgurite.__file__).parent
    assert (folder / "py.typed").exists()
    if (folder / "ops.pyi").exists():
        assert "def softmax(input: Tensor, dim: int" in (folder / "ops.pyi").read_text()


def test_the_example_of_the_readme_runs(torch):
    text = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"## Python\n.*?```python\n(.*?)```", text, flags=re.S)
    names = {}
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102


def test_a_notebooks_cell_has_lines():
    import linecache

    import fulgurite as fg

    text = "def f(x):\n    return fulgurite.ops.exp(x)\n"
    linecache.cache["<cell 7>"] = (len(text), None, text.splitlines(True), "<cell 7>")
    names = {"fulgurite": fg}
    exec(compile(text, "<cell 7>", "exec"), names)
    f = fg.jit(names["f"])
    f(fg.tensor([1.0]))
    assert "<cell 7>:2: return fulgurite.ops.exp(x)" in str(fg.last_traces(f)[-1])
