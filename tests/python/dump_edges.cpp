// Writes results of differentiable operators at edge values, for run_edges.py. usage: dump_edges FOLDER [--only OP]
//   edges.jsonl       an object for each call, with the Python form of the recorded trace
//   edges.safetensors the tensors that it names: inputs, outputs, and the inputs' gradients for cotangents of ones
// Pointwise operators: all pairs (triples) of signed zeros, infinities, NaN, extreme numbers of each floating dtype,
// equal numbers and some between; operators along a dimension: rows of three of them.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include <fulgurite/fulgurite.h>
#include <fulgurite/symbol.h>

#include "support/programs/written_records.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The smallest subnormal, the smallest normal and the largest number of a dtype.
struct Extremes {
  double least, normal, largest;
};
Extremes extremes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return {0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max()};
    case Dtype::f16: return {0x1p-24, 0x1p-14, 65504};
    case Dtype::bf16: return {0x1p-133, 0x1p-126, 0x1.fep127};
    default: return {0x1p-149, 0x1p-126, static_cast<double>(std::numeric_limits<float>::max())};
  }
}

/// The numbers that calls of one, two and three tensors are made of.
std::vector<double> edges(Dtype dtype, size_t tensors) {
  const Extremes e = extremes_of(dtype);
  const double nan = std::nan(""), root = std::sqrt(e.largest) * 2, tiny_root = std::sqrt(e.normal) / 2;
  if (tensors > 2) return {0.0, -0.0, 1, -2.5, infinity, -infinity, nan, e.normal, e.largest, root};
  return {0.0,       -0.0,       1,    -1,       0.5,       -0.5, 2,       -2,       3,        -2.5,
          1e-3,      20,         -30,  infinity, -infinity, nan,  e.least, -e.least, e.normal, -e.normal,
          e.largest, -e.largest, root, -root,    tiny_root, 0.9,  100,     -1000};
}

/// All combinations of the numbers: tensor i of `tensors` at position i, one combination after another.
std::vector<Tensor> combinations(const std::vector<double>& numbers, size_t tensors, Dtype dtype) {
  std::vector<Tensor> out;
  size_t count = 1;
  for (size_t i = 0; i < tensors; ++i) count *= numbers.size();
  size_t repeat = count;
  for (size_t i = 0; i < tensors; ++i) {
    repeat /= numbers.size();
    std::vector<double> column(count);
    for (size_t k = 0; k < count; ++k) column[k] = numbers[k / repeat % numbers.size()];
    out.push_back(tensor(column).to(dtype).requires_grad_());
  }
  return out;
}

struct EdgeCall {
  std::string op;
  size_t tensors = 1;
  std::vector<Arg> more = {};  // arguments behind the tensors
  std::map<std::string, Value> keywords = {};
  bool is_along_rows = false;  // one tensor, a row for each combination of three
  bool number_first = false;   // the arguments stand in front of the tensor
};

size_t tensors_taken(const Symbol& symbol) {
  size_t count = 0;
  bool leading = true;
  for (const Parameter& parameter : symbol.signature.params()) {
    const bool takes = parameter.type == Parameter::Type::tensor || parameter.type == Parameter::Type::operand;
    if (leading && takes && parameter.default_text.empty()) ++count;
    else leading = false;
    if (!leading && parameter.default_text.empty()) return 0;
  }
  return count;
}

std::vector<EdgeCall> edge_calls() {
  std::vector<EdgeCall> out;
  for (const Symbol* symbol : symbols()) {
    const std::string name(symbol->qualified_name());
    const bool is_own =
        name.starts_with("prims.") || name == "torch.where" || name == "torch.masked_fill" || name == "torch.clamp";
    // PyTorch has no gradient by the first argument.
    const bool is_half_known = name == "torch.igamma" || name == "torch.igammac" || name == "torch.special.zeta";
    if (!symbol->traits.pointwise || symbol->traits.not_differentiable || is_own || is_half_known) continue;
    if (const size_t tensors = tensors_taken(*symbol)) out.push_back({name, tensors});
  }
  for (const double exponent : {-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, -2.0, infinity, -infinity, std::nan("")})
    out.push_back({"torch.pow", 1, {exponent}});
  for (const double base : {0.0, 1.0, 2.0, -1.0, infinity}) {
    EdgeCall call{"torch.pow", 1, {base}};
    call.number_first = true;
    out.push_back(call);
  }
  for (const double other : {0.0, 2.0, infinity}) {
    out.push_back({"torch.xlogy", 1, {other}});
    out.push_back({"torch.div", 1, {other}});
    out.push_back({"torch.remainder", 1, {other}});
    out.push_back({"torch.fmod", 1, {other}});
    out.push_back({"torch.clamp_min", 1, {other}});
    out.push_back({"torch.clamp_max", 1, {other}});
    out.push_back({"torch.copysign", 1, {other}});
  }
  out.push_back({"torch.clamp", 1, {-1.0, 2.0}});
  out.push_back({"torch.clamp", 3});
  out.push_back({"torch.addcdiv", 3, {}, {{"value", 2.0}}});
  out.push_back({"torch.addcmul", 3, {}, {{"value", 2.0}}});
  out.push_back({"torch.lerp", 2, {0.25}});
  out.push_back({"torch.lerp", 2, {1.0}});
  out.push_back({"torch.logit", 1, {0.1}});
  for (const int64_t n : {0, 1, 2}) {
    EdgeCall call{"torch.polygamma", 1, {n}};
    call.number_first = true;
    out.push_back(call);
  }
  out.push_back({"torch.nn.functional.gelu", 1, {}, {{"approximate", "tanh"}}});
  out.push_back({"torch.nn.functional.threshold", 1, {0.5, 2.0}});
  out.push_back({"torch.nn.functional.softplus", 1, {2.0, 1.0}});
  for (const char* op : {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "kl_div",
                         "hinge_embedding_loss", "binary_cross_entropy_with_logits", "soft_margin_loss"})
    if (find_symbol(std::string("torch.nn.functional.") + op))
      out.push_back({std::string("torch.nn.functional.") + op, 2, {}, {{"reduction", "none"}}});
  out.push_back({"torch.nn.functional.poisson_nll_loss", 2, {}, {{"reduction", "none"}, {"full", true}}});
  out.push_back({"torch.nn.functional.poisson_nll_loss", 2, {}, {{"reduction", "none"}, {"log_input", false}}});
  out.push_back({"torch.nn.functional.gaussian_nll_loss", 3, {}, {{"reduction", "none"}}});
  const auto along = [&](const char* op, std::vector<Arg> more) {
    EdgeCall call{op, 3, std::move(more)};
    call.is_along_rows = true;
    out.push_back(call);
  };
  for (const char* op : {"logcumsumexp", "cumprod", "cumsum", "softmax", "log_softmax", "logsumexp", "amax", "amin",
                         "prod", "sum", "mean", "std", "var", "cummax", "cummin"})
    along((std::string("torch.") + op).c_str(), {-1});
  along("prims.max_with_indices", {-1});
  along("prims.min_with_indices", {-1});
  for (const double p : {0.0, 0.5, 1.0, 2.0, 3.0, infinity, -infinity}) along("torch.linalg.vector_norm", {p, -1});
  along("torch.nn.functional.normalize", {2.0, -1});
  along("torch.max", {});
  along("torch.min", {});
  return out;
}

std::vector<Tensor> opened(const Value& value) {
  std::vector<Tensor> out;
  if (value.is_tensor()) out.push_back(value);
  if (value.is_list())
    for (const Value& item : value.list()) out.push_back(item);
  return out;
}

std::vector<Tensor> run(const EdgeCall& edge, const std::vector<Tensor>& inputs) {
  std::vector<Value> args;
  const auto add_more = [&] {
    for (const Arg& arg : edge.more) args.push_back(arg.value);
  };
  if (edge.number_first) add_more();
  for (const Tensor& input : inputs) args.emplace_back(input);
  if (!edge.number_first) add_more();
  return opened(call(edge.op, args, edge.keywords));
}

void write_call(WrittenRecords& records, const EdgeCall& edge, Dtype dtype) {
  const std::vector<double> numbers = edges(dtype, edge.tensors);
  std::vector<Tensor> inputs = combinations(numbers, edge.tensors, dtype);
  if (edge.is_along_rows) {
    const NoGrad no_grad;
    inputs = {stack({inputs[0], inputs[1], inputs[2]}, -1).detach().requires_grad_()};
  }
  std::vector<Tensor> outputs, roots, ones, gradients(inputs.size());
  std::string python;
  try {
    const auto recorded = jit([&](std::vector<Tensor> given) { return run(edge, given); }, {.executors = {"eager"}});
    recorded(inputs);
    python = last_traces(recorded).front().python({.source = false});
    outputs = run(edge, inputs);
  } catch (const UserError&) {
    return;  // not for this dtype
  }
  for (const Tensor& output : outputs) {
    if (!output.requires_grad()) continue;
    roots.push_back(output);
    ones.push_back(ones_like(output));
  }
  if (!roots.empty()) gradients = autograd::grad(roots, inputs, ones, {.allow_unused = true});
  records.lines() << "{\"name\": " << json::quote(edge.op) << ", \"dtype\": " << json::quote(std::string(name(dtype)))
                  << ", \"forward\": " << json::quote(python) << records.member("inputs", inputs)
                  << records.member("outputs", outputs) << records.member("gradients", gradients) << "}\n";
}

}  // namespace

int main(int count, char** words) {
  if (count != 2 && !(count == 4 && !std::strcmp(words[2], "--only"))) {
    std::fprintf(stderr, "usage: dump_edges FOLDER [--only OP]\n");
    return 2;
  }
  const std::string only = count == 4 ? words[3] : "";
  try {
    WrittenRecords records(words[1], "edges");
    for (const EdgeCall& edge : edge_calls())
      for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16})
        if (only.empty() || edge.op == only || edge.op.ends_with("." + only)) write_call(records, edge, dtype);
    records.finish();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dump_edges: %s\n", error.what());
    return 2;
  }
}
