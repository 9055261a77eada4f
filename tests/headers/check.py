#!/usr/bin/env python3
"""Includes the headers as other programs do, with g++ and with clang++ where it is installed.

Headers behind other projects' macros; compiler modes that cannot work; calls that both compilers must accept with one
meaning, and calls that both must refuse."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"}

# Options of the compiler, and the required text of its first error.
WRONG_MODES = [
    (["-std=c++17"], "Fulgurite is a C++20 library: compile with -std=c++20"),
    (["-std=c++14"], "Fulgurite is a C++20 library: compile with -std=c++20"),
    (["-std=c++20", "-fno-exceptions"], "compile without -fno-exceptions"),
    (["-std=c++20", "-D_GLIBCXX_DEBUG"], "another layout than those of _GLIBCXX_DEBUG"),
    (["-std=c++20", "-D_GLIBCXX_USE_CXX11_ABI=0"], "compile without _GLIBCXX_USE_CXX11_ABI=0"),
]

# Expressions and outputs. x is arange(12).reshape({3, 4}), image is [1, 1, 6, 6], n is Int(2), shape is Shape{3, 4}.
ACCEPTED = [
    ("conv(nn::Conv2d(1, 4, 3))", "stride 1 padding 0 dilation 1 groups 1 bias 1 [1, 4, 4, 4]"),
    ("conv(nn::Conv2d(1, 4, 3, {}))", "stride 1 padding 0 dilation 1 groups 1 bias 1 [1, 4, 4, 4]"),
    ("conv(nn::Conv2d(1, 4, 3, {.padding = 2}))", "stride 1 padding 2 dilation 1 groups 1 bias 1 [1, 4, 8, 8]"),
    ("conv(nn::Conv2d(1, 4, 3, {.stride = 2}))", "stride 2 padding 0 dilation 1 groups 1 bias 1 [1, 4, 2, 2]"),
    (
        "conv(nn::Conv2d(1, 4, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .dilation = 1, .groups = 1, .bias = "
        "false}))",
        "stride 2 1 padding 1 0 dilation 1 groups 1 bias 0 [1, 4, 3, 5]",
    ),
    ('conv(nn::Conv2d(1, 4, 3, {.padding = "same"}))', "stride 1 padding same dilation 1 groups 1 bias 1 [1, 4, 6, 6]"),
    ("nn::conv2d(image, image, {}, {.stride = 2, .padding = 1}).shape()", "[1, 1, 2, 2]"),
    ("nn::conv2d(image, image, {}, {2, 1}, {1, 0}).shape()", "[1, 1, 2, 1]"),
    ("conv(nn::Conv2d(1, 4, 3, 2, 1))", "stride 2 padding 1 dilation 1 groups 1 bias 1 [1, 4, 3, 3]"),
    ("conv(nn::Conv2d(1, 4, 3, {2, 1}, {1, 0}))", "stride 2 1 padding 1 0 dilation 1 groups 1 bias 1 [1, 4, 3, 4]"),
    ('conv(nn::Conv2d(1, 4, 3, 1, "same"))', "stride 1 padding same dilation 1 groups 1 bias 1 [1, 4, 6, 6]"),
    ("nn::ConvTranspose2d(1, 2, 3, {.stride = 2, .padding = 1, .output_padding = 1})(image).shape()", "[1, 2, 12, 12]"),
    ("nn::ConvTranspose2d(1, 2, 3, 2, 1, 1)(image).shape()", "[1, 2, 12, 12]"),
    ("nn::MaxPool2d(2, {.stride = 1})(image).shape()", "[1, 1, 5, 5]"),
    ("nn::MaxPool2d(2, {})(image).shape()", "[1, 1, 3, 3]"),
    ("nn::MaxPool2d({3, 2})(image).shape()", "[1, 1, 2, 3]"),
    ("nn::MaxPool2d(2, 1, 1)(image).shape()", "[1, 1, 7, 7]"),
    ("nn::MaxPool2d(2, {}, 1)(image).shape()", "[1, 1, 4, 4]"),
    ("nn::AvgPool2d(2, {}, 1, true)(image).shape()", "[1, 1, 4, 4]"),
    ("nn::RMSNorm(4, {}, false).weight.defined()", "0"),
    ("nn::Embedding(5, 2, {}, {.dtype = Dtype::f64}).weight.dtype()", "f64"),
    ("nn::AvgPool2d(3, {.padding = 1, .ceil_mode = true})(image).shape()", "[1, 1, 3, 3]"),
    ("nn::AdaptiveAvgPool2d({2, 3})(image).shape()", "[1, 1, 2, 3]"),
    ("nn::BatchNorm2d(3, {.momentum = 0.5}).momentum.value()", "0.5"),
    ("nn::BatchNorm2d(3, {}).eps", "1e-05"),
    ("nn::BatchNorm2d(3, 1e-3).eps", "0.001"),
    ("nn::LayerNorm({3, 4})(x.to(Dtype::f32)).shape()", "[3, 4]"),
    ("nn::LayerNorm(4, {.eps = 0.5, .bias = false}).eps", "0.5"),
    ("nn::LayerNorm({4}, 0.25).eps", "0.25"),
    ("nn::RMSNorm({4}).normalized_shape.size()", "1"),
    ("nn::Linear(2, 3, {.bias = false}).bias.defined()", "0"),
    ("nn::Linear(2, 3, {}).bias.defined()", "1"),
    ("nn::Linear(2, 3, false).bias.defined()", "0"),
    ("nn::Linear(2, 3, true, {.dtype = Dtype::f64}).weight.dtype()", "f64"),
    ("nn::Embedding(5, 2, {.padding_idx = 1}).padding_idx.value()", "1"),
    ("nn::Embedding(5, 2, 1).padding_idx.value()", "1"),
    ('nn::mse_loss(x.to(Dtype::f32), x + 1.0, {.reduction = "sum"}).item<double>()', "12"),
    ('nn::mse_loss(x.to(Dtype::f32), x + 1.0, {}, {}, "sum").item<double>()', "12"),
    ("nn::mse_loss(x.to(Dtype::f32), x + 1.0, false).item<double>()", "12"),
    ('nn::binary_cross_entropy_with_logits(zeros({4}), ones({4}), {.reduction = "none"}).shape()', "[4]"),
    ('nn::binary_cross_entropy_with_logits(zeros({4}), ones({4}), {}, {}, {}, "none").shape()', "[4]"),
    (
        "nn::cross_entropy(zeros({2, 4}), tensor({1, 2}), {.weight = tensor({0., 1., 1., 0.}), .reduction = "
        '"none"}).shape()',
        "[2]",
    ),
    ("sum(x, 1).shape()", "[3]"),
    ("sum(x, {0, 1}).shape()", "[]"),
    ("sum(x, n - 1).shape()", "[3]"),
    ("sum(x, {n - 1, 0}, true).shape()", "[1, 1]"),
    ("sum(x, std::vector<int64_t>{0}).shape()", "[4]"),
    ("reshape(x, shape).shape()", "[3, 4]"),
    ("reshape(x, {-1, n}).shape()", "[6, 2]"),
    ("x({0, 2}).shape()", "[2, 4]"),
    ("x({0}).shape()", "[1, 4]"),
    ("x(0).shape()", "[4]"),
    ("x(newaxis, n).shape()", "[1, 4]"),
    ("tensor({1, 2}).shape()", "[2]"),
    ("tensor({{1}, {2}}).shape()", "[2, 1]"),
    ("tensor(3).shape()", "[]"),
    ("nn::interpolate(image, {}, 2.0).shape()", "[1, 1, 12, 12]"),
    ("nn::interpolate(image, {}, {2.0, 1.5}).shape()", "[1, 1, 12, 9]"),
    ("nn::pad(x, {1, 1}).shape()", "[3, 6]"),
]

# Calls that g++ 12 would accept as other calls if these parameters had constructors from initializer lists.
REFUSED = [
    "nn::Conv2d(1, 4, {.kernel_size = 3})",
    "nn::Conv2d(1, 4, 3, 1, {.padding = 2})",
    'nn::Conv2d(1, 4, 3, 1, {.padding = "same"})',
    "nn::Conv2d(1, 4, 3, {.paddings = 2})",
    "nn::Conv2d(1, 4, 3, {.stride = {.x = 2}})",
    "nn::Conv2d(1, 4, 3, 1, 0, {.dilation = 2})",
    "nn::MaxPool2d({.kernel_size = 2})",
    "nn::MaxPool2d(2, 1, {.padding = 1})",
    "nn::AdaptiveAvgPool2d({.output_size = 1})",
    "nn::LayerNorm({.normalized_shape = 4})",
    "nn::LayerNorm({.first = 3, .second = 4})",
    "nn::BatchNorm2d(3, 1e-5, {.momentum = 0.5})",
    "nn::Linear(2, 3, {.has_bias = false})",
    "sum(x, {.dim = 1})",
    "sum(x, {.dim = {0, 1}})",
    "sum(x, {.first = 0, .second = 1})",
    "reshape(x, {.shape = -1})",
    "zeros({.rows = 2, .columns = 3})",
    "x({.start = 1})",
    "x({.start = n + 0})",
    "x({.start = 1, .stop = 2})",
    "tensor({.value = 1})",
    "tensor({.value = 1.5})",
    "tensor({{.value = true}})",
    "nn::interpolate(image, {}, {.scale_factor = 2.0})",
    "nn::conv2d(image, image, {}, 1, {.padding = 2})",
    "nn::linear(x, x, {.bias = x})",
    'nn::mse_loss(x, x, "sum")',
    'nn::cross_entropy(x, x, {}, "sum")',
    "nn::mse_loss(x, x, {.size_average = true})",
    "autograd::grad({.outputs = x}, x)",
    'call("sum", {{.x = 1}})',
    "add(x, {.other = 1})",
    "Dims({.dim = 1})",
    "Padding({.size = 1})",
]

PROGRAM = """#include <cstdio>
#include <iostream>
#include <fulgurite/fulgurite.h>
using namespace fulgurite;
[[maybe_unused]] static std::string conv(const nn::Conv2d& layer) {
  std::string out;
  const auto list = [&](const char* name, const nn::WindowSizes& sizes) {
    out += name;
    for (const int64_t size : sizes) out += ' ' + std::to_string(size);
    out += ' ';
  };
  list("stride", layer.stride);
  if (layer.padding_name.empty()) list("padding", layer.padding);
  else out += "padding " + layer.padding_name + ' ';
  list("dilation", layer.dilation);
  out += "groups " + std::to_string(layer.groups) + " bias " + (layer.bias.defined() ? "1 " : "0 ");
  return out + layer(zeros({1, 1, 6, 6})).shape().text();
}
"""
VALUES = """  const Tensor x = arange(12).reshape({3, 4}), image = zeros({1, 1, 6, 6});
  const Int n = 2;
  const Shape shape{3, 4};
  (void)x, (void)image, (void)n, (void)shape;
"""


# They need headers of other libraries, and are compiled by tests/interop.
INTEROP_HEADERS = ("dlpack.h", "eigen.h", "mdspan.h")


def standard_headers(folders):
    """Returns the standard headers that the library's headers include, sorted."""
    found = set()
    for folder in folders:
        for path in pathlib.Path(folder).rglob("*.h"):
            if path.name in INTEROP_HEADERS:
                continue
            found.update(re.findall(r"^#include <(\w+)>", path.read_text(), re.M))
    return sorted(found)


class Checks:
    def __init__(self, options):
        self.include = [flag for folder in options.include for flag in ("-I", folder)]
        self.library = options.library
        self.built_by = options.built_by
        self.compilers = [compiler for compiler in options.compilers if shutil.which(compiler)]
        self.passed, self.failed = 0, []
        # The standard library's own headers do not survive windows.h's min and max: they come first.
        self.standard = "".join(f"#include <{name}>\n" for name in standard_headers(options.include))

    def expect(self, condition, message):
        if condition:
            self.passed += 1
        else:
            self.failed.append(message)

    def run(self, command, text=None):
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=ENVIRONMENT)
        return done.returncode, done.stdout, done.stderr

    def compile(self, compiler, text, *flags):
        status, _, errors = self.run([compiler, "-fsyntax-only", *self.include, *flags, "-x", "c++", "-"], text)
        first = next((line for line in errors.splitlines() if re.search(r"\berror: ", line)), errors[:500])
        return status, first

    def each(self, function, cases):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(function, cases))

    def precompile(self, compiler, header, *flags):
        """Returns the options with which a file begins with `header`, which is read once for all of them."""
        is_gnu = "g++" in compiler and "clang" not in compiler
        precompiled = header.with_suffix(".h.gch" if is_gnu else ".h.pch")
        self.run([compiler, *flags, *self.include, "-x", "c++-header", str(header), "-o", str(precompiled)])
        return ["-include", str(header)] if is_gnu else ["-include-pch", str(precompiled)]

    def macros(self, compiler, headers, folder):
        flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
        standard = folder / "standard.h"
        standard.write_text(self.standard)
        use = self.precompile(compiler, standard, *flags)

        def one(header):
            text = f'#include "{HERE}/macros.h"\n#include <{header}>\n#include "{HERE}/after.h"\n'
            status, first = self.compile(compiler, text, *flags, *use)
            self.expect(status == 0, f"{compiler}: <{header}> behind other projects' macros: {first}")

        self.each(one, headers)
        xlib = "#include <X11/Xlib.h>\n"
        if self.compile(compiler, xlib)[0]:
            return
        use = (
            "using namespace fulgurite;\nint main() { SymBool yes = true; return yes && ones({2})(newaxis).numel() "
            "== 2 ? 0 : 1; }\n"
        )
        for text in (
            f"{xlib}#include <fulgurite/fulgurite.h>\n{use}",
            f"#include <fulgurite/fulgurite.h>\n{xlib}{use}",
        ):
            status, first = self.compile(compiler, text, "-std=c++20")
            self.expect(status == 0, f"{compiler}: with Xlib: {first}")

    def wrong_modes(self, compiler):
        def one(case):
            flags, expected = case
            status, first = self.compile(compiler, "#include <fulgurite/fulgurite.h>\n", *flags)
            self.expect(
                status != 0 and expected in first,
                f'{compiler} {" ".join(flags)}: expected "{expected}", the first error is {first}',
            )

        self.each(one, WRONG_MODES)

    def accepted(self, compiler, folder):
        lines = "".join(f"  std::cout << {expression} << '\\n';\n" for expression, _ in ACCEPTED)
        source, program = folder / "accepted.cpp", folder / "accepted"
        source.write_text(f"{PROGRAM}int main() {{\n{VALUES}{lines}}}\n")
        link = ["-L", self.library, f"-Wl,-rpath,{self.library}", "-lfulgurite"]
        status, _, errors = self.run(
            [
                compiler,
                "-std=c++20",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                *self.include,
                str(source),
                "-o",
                str(program),
                *link,
            ]
        )
        if status:
            self.failed.append(f"{compiler}: calls that must compile do not:\n{errors[:3000]}")
            return
        # clang++ expects its callers to extend small arguments, which g++ does not: docs/book/limits.md.
        if "clang" in self.built_by and "clang" not in compiler:
            return
        _, output, errors = self.run([str(program)])
        printed = output.splitlines()
        for i, (expression, expected) in enumerate(ACCEPTED):
            actual = printed[i] if i < len(printed) else f"nothing ({errors.strip()})"
            self.expect(actual == expected, f"{compiler}: {expression} is {actual}, expected {expected}")

    def refused(self, compiler, folder):
        # Each call is compiled alone, behind headers that are read once.
        header = folder / "calls.h"
        header.write_text(PROGRAM)
        use = self.precompile(compiler, header, "-std=c++20")

        def one(expression):
            text = f"int main() {{\n{VALUES}  (void)({expression});\n}}\n"
            status, _ = self.compile(compiler, text, "-std=c++20", *use)
            self.expect(status != 0, f"{compiler} accepts {expression}")

        self.expect(
            self.compile(compiler, f"int main() {{\n{VALUES}  (void)sum(x, 1);\n}}\n", "-std=c++20", *use)[0] == 0,
            f"{compiler} does not compile the frame of the refused calls",
        )
        self.each(one, REFUSED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", action="append", required=True, help="folders of the public headers")
    parser.add_argument("--library", required=True, help="the folder of libfulgurite.so")
    parser.add_argument("--built-by", default="g++", help="the compiler of the library")
    parser.add_argument("--compilers", nargs="*", default=["g++", "clang++"])
    options = parser.parse_args()
    checks = Checks(options)
    root = pathlib.Path(options.include[0])
    fragments = ("hide_macros.h", "restore_macros.h", *INTEROP_HEADERS)
    headers = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.h") if path.name not in fragments)
    for compiler in checks.compilers:
        with tempfile.TemporaryDirectory() as folder:
            # Macros meet each header the same way in both compilers: the second one reads the header of all of them.
            first = compiler == checks.compilers[0]
            checks.macros(compiler, headers if first else ["fulgurite/fulgurite.h"], pathlib.Path(folder))
            checks.wrong_modes(compiler)
            checks.accepted(compiler, pathlib.Path(folder))
            checks.refused(compiler, pathlib.Path(folder))
    for message in checks.failed:
        print(message)
    print(f"{checks.passed} passed, {len(checks.failed)} failed, with {', '.join(checks.compilers)}")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
