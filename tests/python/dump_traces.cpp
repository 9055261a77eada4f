// Writes traces with their inputs
// and results, for other programs
// to run. usage: dump_traces
// FOLDER
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>
#include <fulgurite/models/llama.h>

#include "io/json.h"
#include "support/cases/altered_inputs.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// A jitted call that is to be repeated under PyTorch. Every input is an argument of its trace, in this order.
struct Program {
  std::string name;
  std::vector<Tensor> inputs;
  double tolerance = 1;    // times 1e-5
  bool is_exact = false;   // bit for bit
  bool has_source = true;  // also in the C++ form
};

class Dump {
 public:
  explicit Dump(const std::string& folder)
      : folder_(folder), lines_(folder + "/traces.jsonl"), sources_(folder + "/traces.cpp") {
    if (!lines_ || !sources_) throw UserError("cannot write into " + folder);
    sources_ << "#include \"cpp_form.h\"\n\n";
  }

  /// Calls `f(…)`, a jitted function's one call, differentiates its results, and writes all of it.
  void add(const Program& program, const Jitted& jitted, const std::function<std::vector<Tensor>()>& f) {
    name_ = program.name;
    std::vector<std::string> inputs, outputs, cotangents, gradients, after;
    for (const Tensor& input : program.inputs) inputs.push_back(keep("in", input));
    manual_seed(case_seed);
    const std::vector<Tensor> results = f();
    for (const Tensor& result : results) outputs.push_back(keep("out", result));
    for (const Tensor& input : program.inputs) after.push_back(keep("after", input));
    differentiate(program.inputs, results, cotangents, gradients);
    std::string line = "{\"name\": " + json::quote(name_) +
                       ", \"tolerance\": " + json::number(1e-5 * program.tolerance) +
                       ", \"exact\": " + (program.is_exact ? "true" : "false");
    const auto member = [&](const char* key, const std::vector<std::string>& items) {
      line += std::string(", \"") + key + "\": [";
      for (size_t i = 0; i < items.size(); ++i)
        line += (i ? ", " : "") + (items[i].empty() ? "null" : json::quote(items[i]));
      line += "]";
    };
    member("inputs", inputs);
    member("outputs", outputs);
    member("after", after);
    member("cotangents", cotangents);
    member("gradients", gradients);
    member("forward", texts(last_traces(jitted)));
    member("backward", texts(last_backward_traces(jitted)));
    lines_ << line << "}\n";
    if (program.has_source)
      add_source({inputs, outputs, cotangents, gradients}, last_traces(jitted), last_backward_traces(jitted));
  }

  void finish() {
    sources_ << "void cpp_form::check_all() {\n" << checks_ << "}\n";
    if (!sources_.flush()) throw UserError("cannot write into " + folder_);
    save_safetensors(folder_ + "/tensors.safetensors", tensors_);
    if (!lines_.flush()) throw UserError("cannot write into " + folder_);
  }

 private:
  std::string keep(const char* kind, const Tensor& tensor) {
    std::string key = name_ + " " + kind + " " + std::to_string(tensors_.size());
    tensors_[key] = tensor.detach().contiguous().clone();
    return key;
  }

  void differentiate(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results,
                     std::vector<std::string>& cotangents, std::vector<std::string>& gradients) {
    std::vector<Tensor> roots, weights, leaves;
    for (const Tensor& result : results) {
      cotangents.emplace_back();
      if (!result.requires_grad()) continue;
      roots.push_back(result);
      weights.push_back(constants(hints(result.shape())).to(result.dtype()));
      cotangents.back() = keep("cotangent", weights.back());
    }
    if (roots.empty()) return;
    for (const Tensor& input : inputs)
      if (input.requires_grad()) leaves.push_back(input);
    const std::vector<Tensor> found =
        autograd::grad(roots, leaves, weights, {.allow_unused = true, .materialize_grads = true});
    size_t next = 0;
    for (const Tensor& input : inputs)
      gradients.push_back(input.requires_grad() ? keep("gradient", found[next++]) : "");
  }

  void add_source(const std::vector<std::vector<std::string>>& names, const std::vector<Trace>& forward,
                  const std::vector<Trace>& backward) {
    const std::string space = "trace_" + std::to_string(++sources_written_);
    sources_ << "namespace " << space << " {\n" << forward.back().cpp({.depth = 0});
    checks_ += "  check({" + json::quote(name_);
    for (const std::vector<std::string>& list : names) {
      checks_ += ", {";
      for (const std::string& name : list) checks_ += json::quote(name) + ", ";
      checks_ += "}";
    }
    checks_ += "}, " + space + "::" + forward.back().name;
    if (!backward.empty()) {
      sources_ << "\n" << backward.back().cpp({.depth = 0});
      checks_ += ", " + space + "::" + backward.back().name;
    }
    sources_ << "}\n\n";
    checks_ += ");\n";
  }

  static std::vector<int64_t> hints(const Shape& shape) {
    std::vector<int64_t> out;
    for (const Int size : shape) out.push_back(size.hint());
    return out;
  }

  static std::vector<std::string> texts(const std::vector<Trace>& stages) {
    std::vector<std::string> out;
    for (const Trace& stage : stages) out.push_back(stage.python());
    return out;
  }

  std::string folder_, name_;
  std::ofstream lines_, sources_;
  std::string checks_;
  int sources_written_ = 0;
  TensorMap tensors_;
};

Tensor as_f32(const Tensor& tensor) {
  if (tensor.dtype() != Dtype::f64) return tensor;
  return tensor.detach().to(Dtype::f32).requires_grad_(tensor.requires_grad());
}

void dump_operators(Dump& dump) {
  for (const OperatorCase& c : operator_cases()) {
    if (c.no_pytorch) continue;
    std::vector<Tensor> inputs;
    for (const Tensor& input : c.inputs()) inputs.push_back(as_f32(input));
    const std::string_view op = c.symbol->name();
    const bool is_drawn = op.starts_with("rand") || op == "uniform" || op == "dropout";
    const auto f = jit([&c](std::vector<Tensor> tensors) { return c.run(tensors); });
    dump.add({c.name, inputs, 1, is_drawn && !op.starts_with("randn")}, f, [&] { return f(inputs); });
  }
}

/// Operators of which PyTorch's answers to the calls below are refusals, or others for reasons of its own.
const std::map<std::string_view, std::string_view> different_in_pytorch = {
    {"torch.linalg.slogdet", "its sign of a matrix with NaN is a zero"},
    {"torch.linalg.pinv", "refuses numbers that are not finite"},
    {"torch.nn.functional.gelu", "its vector path gives no number for infinity"},
    {"torch.var_mean", "its mean of numbers with an infinity comes from another sum"},
    {"torch.std_mean", "its mean of numbers with an infinity comes from another sum"},
    {"torch.nn.functional.pad", "refuses to reflect sizes of 0"},
    {"torch.nn.functional.cross_entropy", "of no classes"},
    {"torch.nn.functional.scaled_dot_product_attention",
     "does not broadcast where a size is 0; infinities by its scaling of both sides"},
    {"prims.scaled_dot_product_attention_backward", "is told to compute with sums that are not those of its scores"},
    {"prims.embedding_backward", "its Python form cannot count columns of no rows"},
    {"torch.nn.functional.pixel_shuffle", "its backward fails on sizes of 0"},
    {"torch.nn.functional.pixel_unshuffle", "gives sizes of 0 as they are"},
    {"torch.addmv", "gives a tensor without dimensions where a size is 0"},
    {"torch.nn.functional.bilinear", "refuses sizes of 0"},
    {"torch.polygamma", "of infinity is 0, which it does not say for orders above 1"},
    {"torch.i0", "is not a number at infinity there"},
    {"torch.special.i1", "is not a number at infinity there"},
    {"torch.special.bessel_j0", "is not a number at infinity there"},
    {"torch.special.bessel_j1", "is not a number at infinity there"},
    {"torch.special.bessel_y0", "is not a number at infinity there"},
    {"torch.special.bessel_y1", "is not a number at infinity there"},
    {"torch.special.scaled_modified_bessel_k0", "its Python form is a product that overflows"},
    {"torch.special.scaled_modified_bessel_k1", "its Python form is a product that overflows"},
    {"prims.standard_gamma_grad", "is approximated with four digits there"},
    {"torch.nn.functional.gaussian_nll_loss", "refuses negative variances"},
    {"torch.nn.functional.binary_cross_entropy", "refuses what is not a probability"},
    {"torch.nn.functional.batch_norm", "refuses no channels; infinities by another sum"},
    {"torch.nn.functional.instance_norm", "refuses no channels; infinities by another sum"},
    {"torch.nn.functional.group_norm", "refuses no channels; infinities by another sum"},
    {"torch.nn.functional.conv1d", "forgets the rows of a weight without columns"},
    {"torch.nn.functional.conv2d", "forgets the rows of a weight without columns"},
    {"torch.nn.functional.conv_transpose1d", "multiplies what falls outside the result, be it infinite"},
    {"prims.convolution", "multiplies what falls outside the result, be it infinite"},
    {"prims.convolution_weight", "its Python form cannot count rows of no channels"},
    {"prims.adaptive_avg_pool_backward", "refuses sizes of 0"},
    {"torch.nn.functional.unfold", "refuses no channels"},
    {"torch.nn.functional.fold", "refuses sizes of 0"},
    {"torch.channel_shuffle", "takes no groups of no channels"},
    {"torch.nn.functional.interpolate", "goes through all dimensions at once: infinities meet other weights of 0"},
    {"torch.nn.functional.grid_sample", "leaves out what is outside, be its weight infinite"},
    {"torch.sinc", "a gradient that cancels"},
    {"torch.tile", "a gradient that cancels"},
    {"torch.nn.functional.normalize", "a gradient that cancels"},
    {"torch.nn.functional.cosine_similarity", "a gradient that cancels"},
};

// Not a number, infinities and both zeros; dimensions without elements; no dimensions at all.
void dump_altered_operators(Dump& dump) {
  for (const OperatorCase& c : operator_cases()) {
    if (c.no_pytorch || c.contiguous_only || !c.known_gradients.empty() || c.symbol->traits.effects.has(Effect::random))
      continue;
    if (different_in_pytorch.contains(c.symbol->qualified_name())) continue;
    const std::vector<Tensor> original = changed(c.inputs(), as_f32);
    const auto add = [&](const std::string& how, const std::vector<Tensor>& inputs, bool has_gradients) {
      std::vector<Tensor> leaves;
      for (size_t i = 0; i < inputs.size(); ++i)
        leaves.push_back(inputs[i].detach().clone().requires_grad_(has_gradients && original[i].requires_grad()));
      if (!answer_of(c, leaves).error.empty()) return;
      const auto f = jit([&c](std::vector<Tensor> tensors) { return c.run(tensors); });
      dump.add({c.name + " " + how, leaves, 1, false, false}, f, [&] { return f(leaves); });
    };
    add("with specials", changed(original, [](const Tensor& t) { return with_specials(t, 100); }), false);
    for (const int64_t size : distinct_sizes(original))
      add("with size " + std::to_string(size) + " as 0",
          changed(original, [&](const Tensor& t) { return emptied(t, size); }), true);
    add("without dimensions", changed(original, first_element), true);
  }
}

// The example models of the command line.

struct LinearModel {
  nn::Linear linear{100, 10, false};
  Tensor operator()(Tensor x) const { return linear(x); }
};

struct MlpModel {
  nn::Linear first{64, 256}, second{256, 64};
  Tensor operator()(Tensor x) const { return second(gelu(first(x))); }
};

std::vector<Tensor> joined(std::vector<Tensor> tensors, const std::vector<Tensor>& more) {
  tensors.insert(tensors.end(), more.begin(), more.end());
  return tensors;
}

/// The model's defined tensors in the order of its members: its parameters and its buffers.
template <class Model>
std::vector<Tensor> tensors_of(const Model& model) {
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : nn::model_detail::named_tensors(model))
    if (tensor.defined()) tensors.push_back(tensor);
  return tensors;
}

void dump_models(Dump& dump) {
  manual_seed(1337);
  {
    const LinearModel model;
    const Tensor x = randn({10, 100});
    const auto f = jit(model);
    dump.add({"linear", joined({x}, nn::parameters(model))}, f, [&]() -> std::vector<Tensor> { return {f(x)}; });
  }
  {
    const MlpModel model;
    const Tensor x = randn({16, 64});
    const auto f = jit(model);
    dump.add({"mlp", joined({x}, nn::parameters(model))}, f, [&]() -> std::vector<Tensor> { return {f(x)}; });
  }
  for (const double dropout : {0.0, 0.1}) {
    const models::Gpt model = models::make_gpt(
        {.vocabulary = 65, .layers = 2, .heads = 4, .width = 64, .block = 32, .dropout = dropout, .bias = dropout > 0});
    const Tensor tokens = randint(0, 65, {2, 32}), targets = randint(0, 65, {2, 32});
    const auto f = jit([](models::Gpt gpt, Tensor tokens, Tensor targets) { return gpt.loss(tokens, targets); });
    dump.add({dropout > 0 ? "gpt with dropout" : "gpt", joined(nn::parameters(model), {tokens, targets}), 10}, f,
             [&]() -> std::vector<Tensor> { return {f(model, tokens, targets)}; });
  }
  const models::Llama model = models::make_llama(
      {.vocabulary = 65, .layers = 2, .heads = 4, .key_value_heads = 2, .width = 32, .hidden = 48, .block = 16});
  const Tensor tokens = randint(0, 65, {2, 16}), targets = randint(0, 65, {2, 16});
  const auto f = jit([](models::Llama llama, Tensor tokens, Tensor targets) { return llama.loss(tokens, targets); });
  dump.add({"llama", joined(tensors_of(model), {tokens, targets}), 10}, f,
           [&]() -> std::vector<Tensor> { return {f(model, tokens, targets)}; });
}

// Writes through views of arguments and of results.
void dump_writes(Dump& dump) {
  manual_seed(13);
  const Tensor cache = randn({4, 3}), row = randn({3}).requires_grad_(), index = tensor(std::vector<int64_t>{2});
  const auto f = jit([](Tensor cache, Tensor row, Tensor index) {
    cache(1).copy_(row.detach());
    cache.copy_(index_copy(cache, 0, index, unsqueeze(row.detach() * 2, 0)));
    Tensor y = row * cache;
    y.t()(0).mul_(row(0));
    y(Slice(), Slice(0, {}, 2)).add_(1);
    y.diagonal().zero_();
    return y;
  });
  dump.add({"writes through views", {cache, row, index}}, f,
           [&]() -> std::vector<Tensor> { return {f(cache, row, index)}; });
}

// A whole step of training: its gradient is part of the trace, and it writes into its inputs.
void dump_training_step(Dump& dump) {
  manual_seed(11);
  const Tensor x = randn({8, 4}), y = randn({8, 1}), weight = randn({1, 4});
  const Tensor first_moment = zeros({1, 4}), second_moment = zeros({1, 4}), step = zeros({}), rate = tensor(0.01);
  const auto f = jit([](Tensor weight, Tensor m, Tensor v, Tensor step, Tensor rate, Tensor x, Tensor y) {
    const auto loss = [&](Tensor w) { return nn::mse_loss(nn::linear(x, w), y); };
    const auto [value, gradient] = value_and_grad(loss)(weight);
    step.add_(1);
    const auto [new_weight, new_m, new_v] = prims::adamw(weight, gradient, m, v, step, rate, 0.9, 0.99, 1e-8, 0.1);
    weight.copy_(new_weight);
    m.copy_(new_m);
    v.copy_(new_v);
    return value;
  });
  dump.add({"training step", {weight, first_moment, second_moment, step, rate, x, y}}, f,
           [&]() -> std::vector<Tensor> { return {f(weight, first_moment, second_moment, step, rate, x, y)}; });
}

// Gradients of gradients.
void dump_second_order(Dump& dump) {
  manual_seed(12);
  const Tensor x = randn({5, 3}).requires_grad_(), w = randn({2, 3}).requires_grad_();
  const auto f = jit([](Tensor x, Tensor w) {
    const auto norm = [&](Tensor w) { return sum(tanh(nn::linear(x, w))); };
    const Tensor slope = grad(norm)(w);
    return sum(slope * slope);
  });
  dump.add({"gradient of a gradient", {x, w}, 10}, f, [&]() -> std::vector<Tensor> { return {f(x, w)}; });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: dump_traces FOLDER\n");
    return 2;
  }
  try {
    Dump dump(arguments[1]);
    dump_operators(dump);
    dump_altered_operators(dump);
    dump_models(dump);
    dump_training_step(dump);
    dump_writes(dump);
    dump_second_order(dump);
    dump.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dump_traces: %s\n", error.what());
    return 1;
  }
}
