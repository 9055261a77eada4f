#pragma once
#include "executors/reference.h"
#include "ops/core/dispatch.h"

namespace fulgurite::test {

/// The results of a symbol's kernel and, computed in f64, of its decomposition.
struct KernelAndDecomposition {
  Results kernel, decomposition;
};
inline KernelAndDecomposition run_both(const Symbol& symbol, std::vector<Argument> arguments) {
  KernelAndDecomposition both;
  dispatch(symbol, arguments, SourceLocation::here(), both.kernel);
  std::vector<Tensor> wide(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_tensor() || !is_floating(arguments[i].tensor().dtype())) continue;
    wide[i] = arguments[i].tensor().to(Dtype::f64);
    arguments[i] = Argument(wide[i]);
  }
  symbol.decompose(arguments, both.decomposition, SourceLocation::here());
  return both;
}

/// A symbol's kernel agrees with its decomposition.
inline void expect_as_decomposed(const Symbol& symbol, const std::vector<Argument>& arguments, double tolerance,
                                 SourceLocation at = SourceLocation::here()) {
  const KernelAndDecomposition both = run_both(symbol, arguments);
  expect_equal(both.kernel.size(), both.decomposition.size(), at);
  for (size_t i = 0; i < both.kernel.size(); ++i) {
    expect_equal(both.kernel[i].shape().text(), both.decomposition[i].shape().text(), at);
    expect_near(elements(both.kernel[i]), elements(both.decomposition[i]), tolerance, at);
  }
}

/// The bytes of a computation's result are the same for one, two and three threads.
inline void expect_same_bits(const std::function<std::vector<Tensor>()>& run,
                             SourceLocation at = SourceLocation::here()) {
  const int before = num_threads();
  std::vector<std::vector<double>> first;
  for (int threads = 1; threads <= 3; ++threads) {
    set_num_threads(threads);
    std::vector<std::vector<double>> values;
    for (const Tensor& t : run()) values.push_back(elements(t));
    if (threads == 1) first = values;
    else expect(first == values, "the result depends on the number of threads", at);
  }
  set_num_threads(before);
}

}  // namespace fulgurite::test
