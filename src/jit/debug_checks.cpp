#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>

#include "jit/jit_state.h"
#include "ops/dispatch.h"
#include "support/context.h"
#include "support/text.h"

namespace fulgurite::detail {

namespace {

// The elements as doubles, whatever the dtype.
std::vector<double> elements(const Tensor& tensor) {
  return tensor.detach().to(Dtype::f64).contiguous().to_vector<double>();
}

struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return {1e-9, 1e-11};
    case Dtype::f32: return {1e-4, 1e-5};
    case Dtype::bf16:
    case Dtype::f16: return {2e-2, 1e-2};
    default: return {0, 0};
  }
}

void compare(size_t number, const Tensor& compiled, const Tensor& eager, SourceLocation at) {
  const auto fail = [&](const std::string& what) {
    throw UserError(
        text::cat("verify_against_eager: result ", number, ": ", what,
                  "; the compiled version does not do what the C++ function does now (was a captured variable "
                  "assigned to, or does the function depend on something else that changed?)"),
        at);
  };
  if (compiled.defined() != eager.defined())
    fail(compiled.defined() ? "eager gives no tensor" : "compiled gives no tensor");
  if (!compiled.defined()) return;
  if (type_text(compiled) != type_text(eager))
    fail(text::cat("compiled is ", type_text(compiled), ", eager is ", type_text(eager)));
  const std::vector<double> a = elements(compiled), b = elements(eager);
  const Tolerance allowed = tolerance_of(eager.dtype());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= allowed.absolute + allowed.relative * std::abs(b[i])) continue;
    fail(text::cat("element ", i, " is ", a[i], " compiled and ", b[i], " eager"));
  }
}

}  // namespace

EagerRun prepare_eager_run(const Leaves& leaves) {
  EagerRun run;
  for (const Tensor* tensor : leaves.tensors())
    run.tensors.push_back(tensor->defined() ? tensor->detach().clone() : Tensor());
  run.random = context().generator.state();
  return run;
}

void check_for_nan(const CallResult& result, SourceLocation at) {
  for (size_t i = 0; i < result.tensors.size(); ++i) {
    const Tensor& tensor = result.tensors[i];
    if (!tensor.defined() || !is_floating(tensor.dtype())) continue;
    const std::vector<double> values = elements(tensor);
    for (size_t k = 0; k < values.size(); ++k)
      if (std::isnan(values[k]))
        throw UserError(text::cat("check_nan: element ", k, " of result ", i, " (", type_text(tensor), ") is NaN"), at);
  }
}

void verify_against_eager(const CallableTable& table, void* callable, const void* const* arguments,
                          const EagerRun& eager, const CallResult& result, SourceLocation at) {
  const NoGrad no_grad;
  Replay replay{eager.tensors.data(), at, {}};
  // The eager run draws the numbers that the compiled one drew.
  Generator& generator = context().generator;
  const RandomState after = generator.state();
  generator.set_state(eager.random);
  table.run(callable, arguments, replay);
  generator.set_state(after);
  if (replay.results.size() != result.tensors.size())
    throw UserError(text::cat("verify_against_eager: ", result.tensors.size(), " tensors compiled, ",
                              replay.results.size(), " eager"),
                    at);
  for (size_t i = 0; i < replay.results.size(); ++i) compare(i, result.tensors[i], replay.results[i], at);
}

}  // namespace fulgurite::detail
