// Writes random programs with their gradients, for run_programs.py. usage: dump_programs FOLDER COUNT SEED
//   programs.jsonl       an object for each program, with the Python form of what was recorded
//   programs.safetensors the tensors that it names
// Gradients of first and second order are computed in three ways: eagerly; by backward from a jitted call; by grad()
// inside a jitted function. Those of every 20th program are compared with central differences here.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/cases/operator_cases.h"
#include "support/gradcheck.h"
#include "support/programs/random_program.h"
#include "support/programs/written_records.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int differences_every = 20;
constexpr int second_order_salt = 5;

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// The gradients of a program's leaves: of its weighted results, and of the weighted sum of those.
struct Gradients {
  std::vector<Tensor> first, second;
};

/// The inputs that have gradients, each once.
std::vector<Tensor> leaves_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < 3; ++i)
    if (inputs[i].requires_grad()) leaves.push_back(inputs[i]);
  return leaves;
}

Tensor weighted(const std::vector<Tensor>& tensors, int salt) {
  Tensor total = zeros({}, {.dtype = Dtype::f64});
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined() || !is_floating(tensors[i].dtype())) continue;
    total = total + sum(tensors[i] * weights_like(tensors[i], static_cast<int>(i) + salt));
  }
  return total;
}

/// By the engine, from the results of a call.
Gradients differentiate(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
  const std::vector<Tensor> leaves = leaves_of(inputs);
  std::vector<Tensor> roots, weights;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].requires_grad()) continue;
    roots.push_back(results[i]);
    weights.push_back(weights_like(results[i], static_cast<int>(i)));
  }
  Gradients out;
  out.first =
      autograd::grad(roots, leaves, weights, {.retain_graph = true, .create_graph = true, .allow_unused = true});
  const Tensor total = weighted(out.first, second_order_salt);
  if (total.requires_grad()) out.second = autograd::grad({total}, leaves, {}, {.allow_unused = true});
  else out.second.resize(leaves.size());
  return out;
}

/// The gradients of distinct arguments as those of the leaves: a tensor given twice adds up.
std::vector<Tensor> by_leaf(const std::vector<Tensor>& inputs, const std::vector<Tensor>& gradients) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < 3; ++i) {
    if (!inputs[i].requires_grad()) continue;
    const bool is_repeated = i == 0 && inputs.size() > 6;
    out.push_back(is_repeated ? gradients[0] + gradients[6] : gradients[i]);
  }
  return out;
}

/// By grad() inside jit.
Gradients differentiate_inside(const RandomProgram& program, const std::vector<Tensor>& inputs) {
  const auto loss = [&program](std::vector<Tensor> tensors) { return weighted(program(tensors), 0); };
  const auto slope = [loss, &inputs](std::vector<Tensor> tensors) {
    return weighted(by_leaf(inputs, grad(loss)(tensors)), second_order_salt);
  };
  const auto first = jit([loss](std::vector<Tensor> tensors) { return grad(loss)(tensors); });
  const auto second = jit([slope](std::vector<Tensor> tensors) { return grad(slope)(tensors); });
  const NoGrad no_grad;
  Gradients out;
  manual_seed(case_seed);
  out.first = by_leaf(inputs, first(inputs));
  manual_seed(case_seed);
  out.second = by_leaf(inputs, second(inputs));
  return out;
}

void compare_differences(const RandomProgram& program, const std::vector<Tensor>& inputs) {
  const TensorFunction function = [&](const std::vector<Tensor>& leaves) {
    manual_seed(case_seed);
    return program(leaves);
  };
  const std::string wrong = gradcheck(function, inputs);
  if (!wrong.empty()) throw UserError(wrong);
}

void add_program(WrittenRecords& records, unsigned number) {
  const RandomProgram program = draw_random_program(number);
  const std::vector<Tensor> inputs = program.inputs();
  const auto f = jit([&program](std::vector<Tensor> tensors) { return program(tensors); });
  manual_seed(case_seed);
  const std::vector<Tensor> results = f(inputs);
  std::string line = "{\"name\": " + json::quote("program " + std::to_string(number)) +
                     ", \"text\": " + json::quote(last_traces(f).front().python({.source = false}));
  const auto member = [&](const std::string& key, const std::vector<Tensor>& tensors) {
    line += records.member(key, tensors);
  };
  const auto gradients = [&](const std::string& way, const Gradients& found) {
    member(way + " 1", found.first);
    member(way + " 2", found.second);
  };
  line += ", \"has gradient\": [";
  for (size_t i = 0; i < 3; ++i) line += std::string(i ? ", " : "") + (inputs[i].requires_grad() ? "true" : "false");
  line += "]";
  member("inputs", inputs);
  member("outputs", results);
  std::vector<Tensor> weights, slope_weights;
  for (size_t i = 0; i < results.size(); ++i)
    weights.push_back(results[i].requires_grad() ? weights_like(results[i], static_cast<int>(i)) : Tensor());
  const std::vector<Tensor> leaves = leaves_of(inputs);
  for (size_t i = 0; i < leaves.size(); ++i)
    slope_weights.push_back(weights_like(leaves[i], static_cast<int>(i) + second_order_salt));
  member("weights", weights);
  member("slope weights", slope_weights);
  gradients("jit and backward", differentiate(inputs, results));
  manual_seed(case_seed);
  gradients("eager", differentiate(inputs, program(inputs)));
  gradients("grad inside jit", differentiate_inside(program, inputs));
  records.lines() << line << "}\n";
  // A detached value moves with its input all the same.
  const bool is_detached = line.find("torch.detach") != std::string::npos;
  if (number % differences_every == 0 && !is_detached) compare_differences(program, inputs);
}

}  // namespace

int main(int count, char** arguments) {
  return write_records("dump_programs", "programs", count, arguments, add_program);
}
