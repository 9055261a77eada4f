#include "cli/python_check.h"

#include <cmath>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "io/json.h"
#include "ir/analysis/trace_values.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::cli {

namespace {

constexpr std::string_view beginning = R"(

# Inputs of small elements, the function's results for them on PyTorch, and elements of these that Fulgurite computed.
def made(i, dtype, *sizes):
  count = torch.arange(torch.Size(sizes).numel())
  numbers = (count + i) % 2 if not dtype.is_floating_point else ((37 * count + 11 * i) % 97 - 48).double() / 480
  return numbers.to(dtype).reshape(sizes)


if __name__ == "__main__":
)";

constexpr std::string_view end = R"(  result = FUNCTION(*inputs)
  results = (result[0] if isinstance(result, tuple) else result)["flat_output"]
  agrees = len(results) == len(expected)
  for i, (result, (places, wanted)) in enumerate(zip(results, expected)):
    got, wanted = result.reshape(-1)[places].double(), torch.tensor(wanted, dtype=torch.float64)
    fits = torch.allclose(got, wanted, rtol=1e-3, atol=1e-4 * max(1.0, float(wanted.abs().nan_to_num().max())), equal_nan=True)
    agrees = agrees and fits
    print(f"result {i}: {list(result.shape)} begins with {got[:4].tolist()};", "agrees with Fulgurite" if fits else f"Fulgurite has {wanted[:4].tolist()}")
  raise SystemExit(0 if agrees else 1)
)";

// The same elements as the Python function's.
Tensor made(int64_t i, const TensorProxy& proxy) {
  Shape sizes;
  for (const Int size : proxy.shape) sizes.push_back(size.hint());
  const Tensor count = arange(sizes.numel().hint());
  if (!is_floating(proxy.dtype)) return remainder(count + i, 2).to(proxy.dtype).reshape(sizes);
  const Tensor whole = remainder(count * 37 + 11 * i, 97) - 48;
  return (whole.to(Dtype::f64) / 480.0).to(proxy.dtype).reshape(sizes);
}

std::string torch_dtype(Dtype dtype) {
  static constexpr const char* names[dtype_count] = {"float64", "float32", "bfloat16", "float16", "int64",
                                                     "int32",   "int16",   "int8",     "uint8",   "bool"};
  return text::cat("torch.", names[static_cast<int>(dtype)]);
}

std::string input_text(int64_t i, const TensorProxy& proxy) {
  std::string out = text::cat("    made(", i, ", ", torch_dtype(proxy.dtype));
  for (const Int size : proxy.shape) out += text::cat(", ", size.hint());
  return out + "),  # " + proxy.name + "\n";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  return text::cat(value);
}

// Some elements of a result, evenly chosen.
std::string expected_text(const Tensor& tensor) {
  constexpr size_t most = 16;
  const std::vector<double> elements = tensor.to(Dtype::f64).contiguous().to_vector<double>();
  const size_t count = std::min(elements.size(), most);
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i)
    places.push_back(elements.size() <= most ? i : i * (elements.size() - 1) / (most - 1));
  return text::cat("    ([", text::join(places, [](size_t place) { return place; }), "], [",
                   text::join(places, [&](size_t place) { return number_text(elements[place]); }), "]),\n");
}

// The names between "'flat_output': (" and ")" of the function's text.
std::vector<std::string> result_names(const std::string& function) {
  constexpr std::string_view marker = "'flat_output': (";
  std::vector<std::string> names;
  const size_t begin = function.rfind(marker);
  if (begin == std::string::npos) return names;
  const size_t stop = function.find(')', begin + marker.size());
  std::string name;
  for (size_t at = begin + marker.size(); at <= stop && at < function.size(); ++at) {
    const char c = function[at];
    if (c != ',' && c != ')') {
      if (c != ' ') name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, ""));
    }
  }
  return names;
}

std::string check_of(const Trace& forward) {
  const NoGrad no_grad;
  std::vector<Tensor> inputs;
  std::string out = text::cat(beginning, "  inputs = [\n");
  for (const Value& arg : forward.args) {
    if (!arg.is_tensor()) throw UserError("its arguments are not all tensors");
    const auto i = static_cast<int64_t>(inputs.size());
    inputs.push_back(made(i, arg.tensor()));
    out += input_text(i, arg.tensor());
  }
  const std::map<std::string, Tensor> values = examine::run_lines(forward, inputs);
  out += "  ]\n  expected = [\n";
  for (const std::string& name : result_names(forward.python({.depth = 0}))) {
    const auto found = values.find(name);
    if (found == values.end()) throw UserError("its results are not all tensors");
    out += expected_text(found->second);
  }
  std::string rest(end);
  rest.replace(rest.find("FUNCTION"), std::string_view("FUNCTION").size(), forward.name);
  return text::cat(out, "  ]\n", rest);
}

}  // namespace

std::string python_check(const Trace& forward) {
  try {
    return check_of(forward);
  } catch (const UserError& error) {
    return text::cat("\n# No check is written here: ", printable(error.what()), "\n");
  }
}

}  // namespace fulgurite::cli
