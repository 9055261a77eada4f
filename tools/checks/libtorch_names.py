#!/usr/bin/env python3
"""Makes docs/libtorch_names.md: the names of LibTorch's front-end headers with Fulgurite's.

usage: libtorch_names.py [--write]

Reads the headers that a PyTorch installation carries (run by a Python that has PyTorch). Without --write it compares
the page with what it would write. It also writes tests/everyday/libtorch_counterparts_test.cpp, which names every
counterpart, so that a name that does not exist does not compile.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "libtorch_names.md"
TEST = ROOT / "tests" / "everyday" / "libtorch_counterparts_test.cpp"

COMPLEX = "complex numbers are not supported"
PLAIN = "not needed: a layer is a plain structure"
STATE = "not needed: an optimizer's state are tensors, `state_dict()`"
OPTIONS = "an aggregate: `{.lr = 1e-3}`"

# LibTorch's name: ours, or a sentence. Names that are not listed have the same name.
OTHERS = {
    "nn::CrossMapLRN2d": "nn::CrossMapLRN2d",
    "nn::AnyModule": "nn::AnyLayer",
    "nn::Functional": "any function object: `nn::Sequential(nn::Linear(2, 2), fg::relu)`",
    "nn::ModuleHolder": PLAIN,
    "nn::Cloneable": "nn::clone",
    "nn::parallel::replicate": "not supported: one device",
    "nn::parallel::parallel_apply": "not supported: one device",
    "nn::parallel::data_parallel": "not supported: one device",
    "nn::utils::rnn::invert_permutation": "not needed: `PackedSequence::unsorted_indices`",
    "optim::OptimizerOptions": OPTIONS,
    "optim::OptimizerCloneableOptions": OPTIONS,
    "optim::OptimizerParamState": STATE,
    "optim::OptimizerCloneableParamState": STATE,
    "optim::AdagradParamState": STATE,
    "optim::AdamParamState": STATE,
    "optim::AdamWParamState": STATE,
    "optim::LBFGSParamState": STATE,
    "optim::RMSpropParamState": STATE,
    "optim::SGDParamState": STATE,
    "optim::OptimizerParamGroup": "optim::ParameterGroup",
    "optim::LRScheduler": "optim::Schedule",
    "optim::ReduceLROnPlateauScheduler": "optim::ReduceLROnPlateau",
    "data::BatchDataset": "not needed: a dataset has `size()` and `get(i)`",
    "data::Dataset": "not needed: a dataset has `size()` and `get(i)`",
    "data::MapDataset": "data::map",
    "data::MNIST": "data::MNIST",
    "data::TensorDataset": "data::TensorDataset",
    "data::ChunkDataset": "data::ConcatDataset",
    "data::ChunkDataReader": "data::ConcatDataset",
    "data::SharedBatchDataset": "not needed: copies of a dataset share their tensors",
    "data::StatefulDataset": "a dataset with state of its own",
    "data::DataLoaderBase": "data::DataLoader",
    "data::StatefulDataLoader": "data::DataLoader",
    "data::StatelessDataLoader": "data::DataLoader",
    "data::StreamSampler": "data::SequentialSampler",
    "data::DistributedRandomSampler": "data::DistributedSampler",
    "data::DistributedSequentialSampler": "data::DistributedSampler",
    "data::ChunkDatasetOptions": "not needed: the loader reads ahead, see `DataLoaderOptions::prefetch`",
    "data::CustomBatchRequest": "a sampler of batches of your own",
    "data::BatchSize": "`DataLoaderOptions::batch_size`",
    "data::Stack": "not needed: the loader stacks samples",
    "data::Collate": "`DataLoaderOptions::collate`",
    "data::Transform": "any function object",
    "data::BatchTransform": "any function object",
    "data::Lambda": "any function object",
    "data::BatchLambda": "any function object",
    "data::TensorTransform": "any function object",
    "data::TensorLambda": "any function object",
    "data::Normalize": "data::transforms::Normalize",
    "data::Iterator": "data::DataLoader",
    "get_num_interop_threads": "not supported: there is one pool of threads",
    "set_num_interop_threads": "not supported: there is one pool of threads",
    "init_num_threads": "not needed",
    "serialize::InputArchive": "load_safetensors",
    "serialize::OutputArchive": "save_safetensors",
    "serialize::pickle_save": "not supported: a pickle runs code; use `fg::save`",
    "serialize::pickle_load": "not supported: a pickle runs code; use `fg::load`",
}
CONSTANTS = {
    "kBatchMean": '"batchmean"',
    "kNearestExact": '"nearest-exact"',
    "kFanIn": '"fan_in"',
    "kFanOut": '"fan_out"',
    "kLeakyReLU": '"leaky_relu"',
    "kConv1D": '"conv1d"',
    "kConv2D": '"conv2d"',
    "kConv3D": '"conv3d"',
    "kConvTranspose1D": '"conv_transpose1d"',
    "kConvTranspose2D": '"conv_transpose2d"',
    "kConvTranspose3D": '"conv_transpose3d"',
    "kRNN_TANH": '`nn::RNN` with `.nonlinearity = "tanh"`',
    "kRNN_RELU": '`nn::RNN` with `.nonlinearity = "relu"`',
    "kLSTM": "`nn::LSTM`",
    "kGRU": "`nn::GRU`",
}
# Title, LibTorch's namespace and ours.
GROUPS = (
    ("Layers", "nn", "nn"),
    ("Functions of layers", "nn::functional", "nn"),
    ("Initialisers", "nn::init", "nn::init"),
    ("Utilities of layers", "nn::utils", "nn::utils"),
    ("Sequences", "nn::utils::rnn", "nn::utils::rnn"),
    ("Optimizers and schedules", "optim", "optim"),
    ("Data", "data", "data"),
    ("Special functions", "special", "special"),
    ("Fourier transforms", "fft", ""),
    ("Files", "serialize", ""),
    ("Constants of options", "", ""),
    ("Modes, threads and random numbers", "", ""),
)
FUNCTION = re.compile(r"^(?:template [^\n]*>\s*)?(?:inline |TORCH_API )+[\w:<>, ]+?\s+(\w+)\(", re.MULTILINE)
CLASS = re.compile(r"^(?:class|struct) (?:TORCH_API )?(\w+)\s*(?:final\s*)?(?::|\{)", re.MULTILINE)
# Helpers of the headers themselves.
INTERNAL = ("M", "BatchDataBuffer", "is_optional", "padding_unwrap", "check_param_device")
MODES = ("NoGradGuard", "AutoGradMode", "manual_seed", "get_num_threads", "set_num_threads", "init_num_threads")
MODES += ("get_num_interop_threads", "set_num_interop_threads")


def include_folder() -> pathlib.Path:
    """The folder of LibTorch's front-end headers."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("libtorch_names.py: this Python has no PyTorch; PYTORCH_PYTHON names one that has it")
    return pathlib.Path(spec.origin).parent / "include/torch/csrc/api/include/torch"


def found(pattern: re.Pattern[str], files: list[pathlib.Path]) -> list[str]:
    """The names that a pattern finds in files, without repetition and without those for the headers themselves."""
    names = {name for file in files for name in pattern.findall(file.read_text(encoding="utf-8"))}
    return sorted(n for n in names if n not in INTERNAL and not n.startswith(("_", "operator")) and "detail" not in n)


def names_of(include: pathlib.Path) -> dict[str, list[str]]:
    """LibTorch's names by title of their group."""

    def files(*patterns: str) -> list[pathlib.Path]:
        return [f for p in patterns for f in sorted(include.glob(p)) if "detail" not in f.parts]

    enum = re.compile(r"^TORCH_ENUM_DECLARE\((\w+)\)", re.MULTILINE)
    sequences = [*found(FUNCTION, files("nn/utils/rnn.h")), "PackedSequence"]
    return {
        "Layers": found(re.compile(r"^TORCH_MODULE\((\w+)\);", re.MULTILINE), files("nn/modules/**/*.h"))
        + ["AnyModule", "Module", "Sequential"],
        "Functions of layers": found(FUNCTION, files("nn/functional/*.h")),
        "Initialisers": found(re.compile(r"^TORCH_API [\w:<>, ]+?\s+(\w+)\(", re.MULTILINE), files("nn/init.h")),
        "Utilities of layers": [n for n in found(FUNCTION, files("nn/utils/[!r]*.h")) if n not in sequences],
        "Sequences": sorted(set(sequences)),
        "Optimizers and schedules": found(CLASS, files("optim/*.h", "optim/schedulers/*.h")),
        "Data": sorted(
            {
                *found(
                    CLASS,
                    files("data/datasets/*.h", "data/samplers/*.h", "data/transforms/*.h", "data/dataloader/*.h"),
                )
            }
            | {"DataLoaderOptions", "make_data_loader"}
        ),
        "Special functions": found(FUNCTION, files("special.h")),
        "Fourier transforms": found(FUNCTION, files("fft.h")),
        "Files": ["InputArchive", "OutputArchive", "load", "pickle_load", "pickle_save", "save"],
        "Constants of options": [f"k{n}" for n in found(enum, files("enum.h"))],
        "Modes, threads and random numbers": sorted(MODES),
    }


def counterpart(name: str, theirs: str, ours: str) -> str:
    """Our name, or a sentence, for a name of LibTorch's."""
    qualified = f"{theirs}::{name}" if theirs else name
    if qualified in OTHERS:
        return OTHERS[qualified]
    if name.endswith("Options") and theirs == "optim":
        return f"optim::{name}"
    if theirs == "fft":
        return f"not supported: {COMPLEX}"
    if name.startswith("k") and not theirs:
        return CONSTANTS.get(name, f'"{name[1:].lower()}"')
    return f"{ours}::{name}" if ours else name


def is_name(text: str) -> bool:
    """True for a name of ours, which must exist."""
    return re.fullmatch(r"[\w:]+", text) is not None


def rows(include: pathlib.Path) -> list[tuple[str, str, str]]:
    """Title, LibTorch's name and our counterpart."""
    all_names = names_of(include)
    out = []
    for title, theirs, ours in GROUPS:
        for name in all_names[title]:
            out.append((title, f"{theirs}::{name}" if theirs else name, counterpart(name, theirs, ours)))
    return out


def page_text(table: list[tuple[str, str, str]]) -> str:
    """The page."""
    lines = [
        "# LibTorch's names",
        "",
        "The names of the headers of LibTorch's front end (`torch/csrc/api/include` of PyTorch 2.15), without its",
        "namespace `torch`, and Fulgurite's, without `fulgurite`. Functions and members of tensors have the same names",
        "in both: see [operators.md](operators.md). [From LibTorch](book/from_libtorch.md) has calls with arguments.",
        "`PYTORCH_PYTHON=python3 tools/docs libtorch` makes this page; a test names every counterpart.",
    ]
    title = ""
    for group, name, ours in table:
        if group != title:
            title = group
            lines += ["", f"## {title}", "", "| LibTorch | Fulgurite |", "| --- | --- |"]
        shown = f"`{ours}`" if is_name(ours) or ours.startswith('"') else ours
        lines.append(f"| `{name}` | {shown} |")
    return "\n".join(lines) + "\n"


def test_text(table: list[tuple[str, str, str]]) -> str:
    """A program that names every counterpart."""
    lines = [
        "// Made by tools/docs libtorch: the counterparts of docs/libtorch_names.md exist.",
        "// clang-format off",
        "#include <fulgurite/fulgurite.h>",
        "",
        '#include "support/test.h"',
        "",
    ]
    used = sorted({ours for _, _, ours in table if is_name(ours)})
    spaces = sorted({name.rpartition("::")[0] for name in used})
    for space in spaces:
        own = [name for name in used if name.rpartition("::")[0] == space]
        lines.append(f"namespace of_{space.replace('::', '_') or 'fulgurite'} {{")
        lines += [f"using fulgurite::{name};" for name in own]
        lines.append("}")
    lines += [
        "",
        f'TEST("{len(used)} counterparts of LibTorch\'s names exist") {{ expect(true, "they compile"); }}',
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Writes or compares the page and the test."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table = rows(include_folder())
    wanted = {PAGE: page_text(table), TEST: test_text(table)}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if options.write:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
    missing = sum(not is_name(ours) and ours.startswith("not supported") for _, _, ours in table)
    done = "written" if options.write else "stale"
    print(f"{len(table)} names, {missing} without counterpart, {len(stale)} files {done}")
    return 0 if options.write or not stale else 1


if __name__ == "__main__":
    sys.exit(main())
