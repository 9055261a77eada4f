// A custom fusing executor: groups of additions and multiplications run as a small stack program, element by element.
#include <cstdio>
#include <map>

#include <fulgurite/fulgurite.h>

namespace fg = fulgurite;

namespace {

/// One op of a fusion group: a value from two others, by their positions.
struct Operation {
  bool is_gemm;
  size_t left, right;
};

fg::Fusion fuse(const fg::Region& region) {
  std::map<std::string, size_t> position;  // of each value, by its name
  for (const fg::Value& input : region.inputs) position.emplace(input.tensor().name, position.size());
  std::vector<Operation> program;
  for (const fg::BoundSymbol& line : region.bound_symbols) {
    program.push_back(
        {line.name() == "mul", position.at(line.args[0].tensor().name), position.at(line.args[1].tensor().name)});
    position.emplace(line.outputs[0].tensor().name, position.size());
  }
  std::vector<size_t> results;
  for (const fg::Value& output : region.outputs) results.push_back(position.at(output.tensor().name));

  const auto run = [program, results](const std::vector<fg::Tensor>& inputs) {
    std::vector<fg::Tensor> contiguous, outputs;
    for (const fg::Tensor& input : inputs) contiguous.push_back(input.contiguous());
    for (size_t i = 0; i < results.size(); ++i) outputs.push_back(fg::empty(inputs[0].shape()));
    std::vector<float> values(inputs.size() + program.size());
    const int64_t count = inputs[0].numel();
    for (int64_t at = 0; at < count; ++at) {
      for (size_t i = 0; i < inputs.size(); ++i) values[i] = contiguous[i].data<float>()[at];
      for (size_t i = 0; i < program.size(); ++i) {
        const float a = values[program[i].left], b = values[program[i].right];
        values[inputs.size() + i] = program[i].is_gemm ? a * b : a + b;
      }
      for (size_t i = 0; i < results.size(); ++i) outputs[i].data<float>()[at] = values[results[i]];
    }
    return outputs;
  };
  return {.run = run, .source = region.trace.python({.time = false})};
}

// Two f32 tensors of one shape: what the little machine above can do.
bool is_simple(const fg::Tensor& a, const fg::Tensor& b) {
  return a.dtype() == fg::Dtype::f32 && b.dtype() == fg::Dtype::f32 && a.shape() == b.shape();
}

}  // namespace

int main() {
  fg::FusionExecutor executor("stack");
  executor.register_supported(*fg::find_symbol("mul"), is_simple);
  executor.register_supported(*fg::find_symbol("add"), [](const fg::Tensor& a, const fg::Tensor& b, double factor) {
    return is_simple(a, b) && factor == 1;
  });
  executor.fuse = fuse;
  fg::register_executor(executor);

  const auto function = [](fg::Tensor x, fg::Tensor y) {
    const fg::Tensor product = x * y;
    const fg::Tensor sum = product + x;
    return fg::tanh(sum) * (sum + y);
  };
  const auto f = fg::jit(function, {.executors = {"stack"}});
  fg::manual_seed(1);
  const fg::Tensor x = fg::randn({3, 4}), y = fg::randn({3, 4});
  const fg::Tensor fused = f(x, y), eager = function(x, y);
  std::puts(fg::print(fg::last_traces(f).back(), {.time = false}).c_str());
  const bool is_right = fg::max(fg::abs(fused - eager)).item<float>() < 1e-6f;
  std::puts(is_right ? "the fusions compute what eager mode does" : "wrong");
  return is_right ? 0 : 1;
}
