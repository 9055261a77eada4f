// A fusing executor made with the public interface alone, which does what the built-in ones do: it groups elementwise
// ops across the graph, adds epilogues to GEMMs, weighs costs, and stores into planned memory. Its kernels are
// interpreted.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace row_fuser {

namespace fg = fulgurite;

using Function = float (*)(float, float);  // of one operand: both are it

inline const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"add", [](float a, float b) { return a + b; }},
      {"sub", [](float a, float b) { return a - b; }},
      {"mul", [](float a, float b) { return a * b; }},
      {"neg", [](float a, float) { return -a; }},
      {"exp", [](float a, float) { return std::exp(a); }},
      {"tanh", [](float a, float) { return std::tanh(a); }},
      {"sigmoid", [](float a, float) { return 1 / (1 + std::exp(-a)); }},
  };
  return all;
}

/// A fusion group as a program on rows. Values are numbered: the inputs, then numbers and results.
class RowProgram {
 public:
  explicit RowProgram(const fg::Region& region) {
    for (const fg::Value& input : region.inputs) number_of(input);
    for (const fg::BoundSymbol& op : region.bound_symbols) {
      const size_t left = number_of(op.args[0]), right = number_of(op.args[op.args.size() > 1 ? 1 : 0]);
      const size_t result = number_of(op.outputs[0]);
      if (op.name() == "matmul") gemm_ = {nullptr, left, right, result};
      else steps_.push_back({functions().at(op.name()), left, right, result});
    }
    for (const fg::Value& output : region.outputs) outputs_.push_back(number_of(output));
  }

  bool multiplies(size_t input) const { return gemm_.result > 0 && (input == gemm_.left || input == gemm_.right); }

  void run(const std::vector<fg::Tensor>& inputs, const std::vector<fg::Tensor>& outputs) const {
    const fg::Shape shape = outputs[0].shape();
    const int64_t columns = shape.empty() ? 1 : shape.back().hint(), count = outputs[0].numel();
    std::vector<fg::Tensor> rows(inputs.size()), factors(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (multiplies(i)) factors[i] = inputs[i].contiguous();
      const auto reads = [&](const Step& step) { return step.left == i || step.right == i; };
      if (std::ranges::any_of(steps_, reads)) rows[i] = inputs[i].expand(shape).contiguous();
    }
    std::vector<std::vector<float>> memory(size_, std::vector<float>(static_cast<size_t>(columns)));
    for (const auto& [value, number] : numbers_) std::ranges::fill(memory[value], number);
    for (int64_t first = 0; first < count; first += columns) {
      for (size_t i = 0; i < inputs.size(); ++i)
        if (rows[i].defined()) std::copy_n(rows[i].data<float>() + first, columns, memory[i].begin());
      if (gemm_.result > 0) multiply(factors[gemm_.left], factors[gemm_.right], first / columns, memory[gemm_.result]);
      for (const Step& step : steps_)
        std::ranges::transform(memory[step.left], memory[step.right], memory[step.result].begin(), step.function);
      for (size_t i = 0; i < outputs.size(); ++i)
        std::ranges::copy(memory[outputs_[i]], outputs[i].data<float>() + first);
    }
  }

 private:
  struct Step {
    Function function = nullptr;
    size_t left = 0, right = 0, result = 0;
  };

  size_t number_of(const fg::Value& value) {
    if (!value.is_tensor()) numbers_.emplace_back(size_, static_cast<float>(value.floating().hint()));
    else if (const auto [known, is_new] = known_.emplace(value.tensor().name, size_); !is_new) return known->second;
    return size_++;
  }

  static void multiply(const fg::Tensor& left, const fg::Tensor& right, int64_t row, std::vector<float>& sums) {
    const int64_t depth = left.size(1), columns = right.size(1);
    std::ranges::fill(sums, 0.0f);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += left.data<float>()[row * depth + k] * right.data<float>()[k * columns + j];
  }

  size_t size_ = 0;
  std::map<std::string, size_t> known_;            // by the names of values
  std::vector<std::pair<size_t, float>> numbers_;  // and their values
  std::vector<Step> steps_;
  Step gemm_;  // without one its result is 0
  std::vector<size_t> outputs_;
};

/// The ops of a group have results of one shape, and at most one is a GEMM, which reads no results of the others.
inline std::string missed_reason(const fg::ProposedGroup& group) {
  std::set<std::string> results;
  bool has_gemm = false;
  for (const fg::BoundSymbol* op : group.ops) {
    if (op->outputs[0].tensor().shape != group.ops[0]->outputs[0].tensor().shape)
      return "their results differ in shape";
    if (op->name() == "matmul") {
      if (std::exchange(has_gemm, true)) return "both are GEMMs";
      for (const fg::Value& factor : op->args)
        if (results.contains(factor.tensor().name)) return "a GEMM reads whole columns";
    }
    results.insert(op->outputs[0].tensor().name);
  }
  return "";
}

/// The cost model: a fusion moves fewer elements than its ops one by one.
inline bool is_profitable(const fg::Region& region) {
  int64_t spared = 0;
  const auto count = [&](const auto& values, int64_t sign) {
    for (const fg::Value& value : values)
      if (value.is_tensor()) spared += sign * value.tensor().shape.numel().hint();
  };
  for (const fg::BoundSymbol& op : region.bound_symbols) count(op.args, 1), count(op.outputs, 1);
  count(region.inputs, -1);
  count(region.outputs, -1);
  return spared > 0;
}

inline bool are_f32(const fg::Operand& a, const fg::Operand& b) {
  const auto fits = [](const fg::Operand& x) {
    return x.is_tensor() ? x.tensor().dtype() == fg::Dtype::f32 : x.kind() != fg::Operand::Kind::boolean;
  };
  return (a.is_tensor() || b.is_tensor()) && fits(a) && fits(b);
}

/// The executor under a name, to be registered.
inline fg::FusionExecutor make(const std::string& name) {
  fg::FusionExecutor executor(name);
  for (const char* op : {"add", "sub"})
    executor.register_supported(*fg::find_symbol(op), [](fg::Operand a, fg::Operand b, fg::Operand alpha) {
      return are_f32(a, b) && alpha.kind() == fg::Operand::Kind::integer && alpha.integer() == 1;
    });
  executor.register_supported(*fg::find_symbol("mul"), are_f32);
  for (const char* op : {"neg", "exp", "tanh", "sigmoid"})
    executor.register_supported(*fg::find_symbol(op), [](fg::Tensor x) { return x.dtype() == fg::Dtype::f32; });
  executor.register_supported(*fg::find_symbol("matmul"), [](fg::Tensor a, fg::Tensor b) {
    return are_f32(a, b) && a.ndim() == 2 && b.ndim() == 2;
  });
  executor.missed_reason = missed_reason;
  executor.is_profitable = is_profitable;
  executor.fuse = [](const fg::Region& region) -> fg::Fusion {
    const auto program = std::make_shared<const RowProgram>(region);
    return {.run_into = [program](const std::vector<fg::Tensor>& inputs,
                                  const std::vector<fg::Tensor>& outputs) { program->run(inputs, outputs); },
            .may_overwrite = [program](size_t, size_t input) { return !program->multiplies(input); },
            .source = region.trace.python({.time = false})};
  };
  return executor;
}

}  // namespace row_fuser
