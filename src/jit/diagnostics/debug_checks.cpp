#include <algorithm>
#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>

#include "jit/jit_state.h"
#include "ops/core/dispatch.h"
#include "pipeline/debug/compare_tensors.h"
#include "support/context.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

// The elements as doubles, whatever the dtype.
std::vector<double> elements(const Tensor& tensor) {
  return tensor.detach().to(Dtype::f64).contiguous().to_vector<double>();
}

// The tolerance for results of ops.
AllowedDifference allowed(Dtype dtype, const std::vector<Trace>& recorded) {
  AllowedDifference out = allowed_difference(dtype);
  for (const Trace& trace : recorded) {
    const AllowedDifference of_ops = allowed_difference(dtype, trace.bound_symbols.read());
    out = {std::max(out.relative, of_ops.relative), std::max(out.absolute, of_ops.absolute)};
  }
  return out;
}

void compare(size_t number, const Tensor& compiled, const Tensor& eager, const std::vector<Trace>& recorded,
             SourceLocation at) {
  const auto fail = [&](const std::string& what) {
    throw UserError(text::cat("verify_against_eager: result ", number, ": ", what,
                              "; the cache entry does not do what the C++ function does now (was a captured variable "
                              "assigned to, or does the function depend on something else that changed?)"),
                    at);
  };
  if (compiled.defined() != eager.defined())
    fail(compiled.defined() ? "eager gives no tensor" : "compiled gives no tensor");
  if (!compiled.defined()) return;
  if (type_text(compiled) != type_text(eager))
    fail(text::cat("compiled is ", type_text(compiled), ", eager is ", type_text(eager)));
  const std::vector<double> a = elements(compiled), b = elements(eager);
  const AllowedDifference difference = allowed(eager.dtype(), recorded);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= difference.absolute + difference.relative * std::abs(b[i])) continue;
    fail(text::cat("element ", i, " is ", a[i], " compiled and ", b[i], " eager"));
  }
}

}  // namespace

EagerRun prepare_eager_run(const FlatArguments& flat) {
  EagerRun run;
  for (const Tensor* tensor : flat.tensors())
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
                          const EagerRun& eager, const CallResult& result, const std::vector<Trace>& recorded,
                          SourceLocation at) {
  const NoGrad no_grad;
  Replay replay{eager.tensors.data(), at, {}};
  // The eager run draws the numbers that the compiled one drew.
  GeneratorState& generator = context().generator;
  const RandomState after = generator.state();
  generator.set_state(eager.random);
  table.run(callable, arguments, replay);
  generator.set_state(after);
  if (replay.results.size() != result.tensors.size())
    throw UserError(text::cat("verify_against_eager: ", result.tensors.size(), " tensors compiled, ",
                              replay.results.size(), " eager"),
                    at);
  for (size_t i = 0; i < replay.results.size(); ++i) compare(i, result.tensors[i], replay.results[i], recorded, at);
}

}  // namespace fulgurite::detail
