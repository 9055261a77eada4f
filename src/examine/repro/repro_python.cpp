#include <algorithm>
#include <cmath>

#include "examine/repro/repro_program.h"
#include "ir/printing/print_common.h"
#include "pipeline/debug/compare_tensors.h"
#include "runtime/program.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

constexpr std::string_view helpers = R"(

def mixed(x):
  x = (x ^ (x >> 16)) * 0x7feb352d & 0xffffffff
  x = (x ^ (x >> 15)) * 0x846ca68b & 0xffffffff
  return x ^ (x >> 16)


def numbers(count, dtype, start):
  random = mixed((torch.arange(count) + start) & 0xffffffff)
  if dtype.is_floating_point:
    return ((random >> 8).to(torch.float32) * 2.0 ** -22 - 2).to(dtype)
  return (random & 1).to(dtype)


def make(described, seed):
  storages, tensors = {}, []
  for i, (name, shape, strides, offset, dtype, shares_with) in enumerate(described):
    if not shares_with:
      start = mixed((seed * 0x9e3779b9 + i) & 0xffffffff)
      storages[name] = numbers(extents[name], dtype, start)
    tensors.append(torch.as_strided(storages[shares_with or name], shape, strides, offset))
  return tensors

)";

constexpr std::string_view loader = R"(
def load(path):
  import json
  with open(path, "rb") as file:
    content = bytearray(file.read())
  length = int.from_bytes(content[:8], "little")
  dtypes = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "I64": torch.int64,
            "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
  out = {}
  for name, entry in json.loads(content[8:8 + length]).items():
    if name != "__metadata__":
      begin, end = entry["data_offsets"]
      data = content[8 + length + begin:8 + length + end]
      tensor = torch.frombuffer(data, dtype=dtypes[entry["dtype"]]) if data else torch.empty(0, dtype=dtypes[entry["dtype"]])
      out[name] = tensor.reshape(entry["shape"])
  return out

)";

constexpr std::string_view checks = R"(
import sys
import time

agrees = True
results = reference(*inputs)
results = list(results) if isinstance(results, (tuple, list)) else [] if results is None else [results]
results += [inputs[i] for i in written]
for i, (result, (shape, places, wanted, relative, absolute)) in enumerate(zip(results, expected)):
  if list(result.shape) != shape:
    print(f"  result {i}: {list(result.shape)}, and {shape} there")
    agrees = False
    continue
  got = result.reshape(-1)[places].to(torch.float64)
  there = torch.tensor(wanted, dtype=torch.float64)
  finite = there[torch.isfinite(there)].abs()
  scale = max(float(finite.max()) if finite.numel() else 0.0, 1e-3)
  fits = (got == there) | (got.isnan() & there.isnan()) | ((got - there).abs() <= absolute * scale + relative * there.abs())
  if fits.all():
    print(f"  result {i}: {shape}, agrees in {len(places)} elements")
    continue
  at = int((~fits).nonzero()[0])
  print(f"  result {i}: {shape}, differs: element {places[at]} is {got[at].item():.9g}, and {wanted[at]:.9g} there")
  agrees = False
if runs:
  times = []
  for _ in range(runs):
    start = time.perf_counter()
    reference(*inputs)
    times.append(time.perf_counter() - start)
  print(f"  PyTorch {sorted(times)[runs // 2] * 1e6:.1f} us")
print("agrees" if agrees else "differs")
sys.exit(0 if agrees else 1)
)";

std::string dtype_text(Dtype dtype) {
  static constexpr const char* names[dtype_count] = {"float64", "float32", "bfloat16", "float16", "int64",
                                                     "int32",   "int16",   "int8",     "uint8",   "bool"};
  return text::cat("torch.", names[static_cast<int>(dtype)]);
}

std::string list_text(const Shape& sizes) {
  return text::cat("[", text::join(sizes, [](Int size) { return size.hint(); }), "]");
}

std::string number_text(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return text::cat(value);
}

int64_t extent(const FusionInput& input) {
  int64_t last = input.offset;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    if (input.shape[d].hint() == 0) return input.offset;
    last += (input.shape[d].hint() - 1) * input.strides[d].hint();
  }
  return last + 1;
}

// Some elements of each result, evenly chosen.
std::string expected_text(const Tensor& tensor, const Tolerance& tolerance) {
  constexpr size_t most = 256;
  const std::vector<double> elements = elements_of(tensor);
  const size_t count = std::min(elements.size(), most);
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i)
    places.push_back(elements.size() <= most ? i : i * (elements.size() - 1) / (most - 1));
  AllowedDifference allowed = allowed_difference(tensor.dtype());
  if (is_floating(tensor.dtype()))
    allowed = {tolerance.relative.value_or(allowed.relative), tolerance.absolute.value_or(allowed.absolute)};
  std::string shape;
  for (const int64_t size : tensor.impl()->sizes) shape += text::cat(shape.empty() ? "" : ", ", size);
  return text::cat("    ([", shape, "], [", text::join(places, [](size_t place) { return place; }), "],\n     [",
                   text::join(places, [&](size_t place) { return number_text(elements[place]); }), "], ",
                   allowed.relative, ", ", allowed.absolute, "),\n");
}

}  // namespace

std::string python_program(const ReproProgram& program) {
  const std::vector<Tensor> inputs = program.make_inputs();
  std::vector<Tensor> results;
  Program(program.executed).run(inputs, results);
  const std::vector<size_t> written = program.written();
  for (const size_t i : written) results.push_back(inputs[i]);

  std::string out = text::cat("# python3 ", program.file, ".py\n#\n# ", program.title,
                              " on PyTorch, compared with what Fulgurite gave.\n",
                              program.lines.python({.time = false, .depth = 0}), helpers);
  if (!program.options.data.empty()) out += loader;
  out += "\n# name, shape, strides, offset, dtype, whose storage it shares\ndescribed = [\n";
  for (const FusionInput& input : program.inputs)
    out += text::cat("    (", quoted(input.name, '"'), ", ", list_text(input.shape), ", ", list_text(input.strides),
                     ", ", input.offset, ", ", dtype_text(input.dtype), ", ", quoted(input.shares_with, '"'), "),\n");
  out += "]\nextents = {\n";
  for (const FusionInput& input : program.inputs) {
    if (!input.shares_with.empty()) continue;
    int64_t bytes = 0;
    for (const FusionInput& other : program.inputs)
      if (&other == &input || other.shares_with == input.name)
        bytes = std::max(bytes, extent(other) * size_of(other.dtype));
    out += text::cat("    ", quoted(input.name, '"'), ": ", (bytes + size_of(input.dtype) - 1) / size_of(input.dtype),
                     ",\n");
  }
  out += text::cat("}\ninputs = make(described, ", static_cast<int64_t>(program.options.seed), ")\n");
  if (!program.options.data.empty())
    out += text::cat("saved = load(", quoted(program.options.data, '"'),
                     ")\nfor (name, *_), tensor in zip(described, inputs):\n", "  tensor.copy_(saved[name])\n");
  out += text::cat("written = [", text::join(written, [](size_t i) { return i; }), "]\nruns = ", program.options.runs,
                   "\n# Of each result: its shape, places of elements, what they were there, and how far they may be "
                   "apart.\nexpected = [\n");
  for (const Tensor& result : results) out += expected_text(result, program.options.tolerance);
  return text::cat(out, "]\nprint(", quoted(program.title, '"'), ")\n", checks);
}

}  // namespace fulgurite::examine
