// The values that the blocks of a GPT save for backward: bytes by the trace, resident memory above the idle process
// (with the kernels' own workspace), and the arithmetic added by recomputing. Prints a JSON line. usage:
// bench_saved_memory everything|default|checkpoint
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "ir/analysis/trace_values.h"

using namespace fulgurite;

namespace {

constexpr int64_t batch = 4, length = 256, width = 768;

struct Blocks {
  std::vector<models::GptBlock> blocks;
  bool checkpointed = false;
  Tensor operator()(Tensor x) const {
    for (const models::GptBlock& block : blocks)
      x = checkpointed ? checkpoint([&block](Tensor t) { return block(t); })(x) : block(x);
    return x;
  }
};

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t elements(const Value& value) {
  int64_t count = 1;
  for (const Int size : value.tensor().shape) count *= size.hint();
  return count;
}

// Multiplications and additions of matrix products; everything else counts eight for each element it writes.
double arithmetic(const BoundSymbol& bound) {
  if (bound.symbol->traits.structural || bound.symbol->traits.view) return 0;
  double total = 0;
  for_each_output(bound, [&](const Value& v) {
    if (v.is_tensor()) total += 8.0 * static_cast<double>(elements(v));
  });
  if (bound.symbol->traits.matmul) {
    const Shape& left = bound.args[0].tensor().shape;
    total = 2.0 * static_cast<double>(elements(bound.outputs[0]) * left[left.size() - 1].hint());
  } else if (bound.symbol->name().starts_with("scaled_dot_product_attention")) {
    const double products = bound.symbol->name().ends_with("backward") ? 5 : 2;
    total = products * static_cast<double>(elements(bound.args[0])) * 2.0 * length;
  }
  return total;
}

double arithmetic(const Trace& trace) {
  double total = 0;
  for (const BoundSymbol& bound : trace.bound_symbols) total += arithmetic(bound);
  return total;
}

void measure(const std::string& way) {
  Blocks model;
  models::Gpt gpt =
      models::make_gpt({.vocabulary = 64, .layers = 12, .heads = 12, .width = width, .block = length, .bias = true});
  for (const Tensor& parameter : nn::parameters(gpt)) Tensor(parameter).requires_grad_();
  model.blocks = gpt.blocks;
  model.checkpointed = way == "checkpoint";
  JitOptions options;
  if (way == "everything") options.skip_transforms = std::set<std::string>{"recomputation"};
  const auto f = jit(std::ref(model), options);
  const Tensor x = randn({batch, length, width}).requires_grad_();
  // The first call: afterwards freed blocks stay with the allocator, and the process's memory no longer shows the saved
  // bytes.
  const int64_t idle = resident_bytes();
  const Tensor out = f(x);
  const int64_t kept = resident_bytes() - idle;
  sum(out).backward();

  const Trace forward = last_traces(f).back(), backward = last_backward_traces(f).back();
  const int64_t bytes = examine::memory(forward).saved_made_bytes;
  std::printf("{\"way\": \"%s\", \"saved_bytes\": %lld, \"resident_bytes\": %lld, \"arithmetic\": %.4g}\n", way.c_str(),
              static_cast<long long>(bytes), static_cast<long long>(kept), arithmetic(forward) + arithmetic(backward));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string way = count == 2 ? arguments[1] : "";
  if (way != "everything" && way != "default" && way != "checkpoint") {
    std::fprintf(stderr, "usage: bench_saved_memory everything|default|checkpoint\n");
    return 2;
  }
  measure(way);
}
