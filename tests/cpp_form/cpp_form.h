#pragma once
// The runtime of the file of traces that dump_traces writes: calls a trace's functions and compares.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace cpp_form {

using fulgurite::Tensor;
using Names = std::vector<const char*>;

inline int passed = 0, failed = 0;

/// A call and the names of its tensors in the file.
struct Call {
  const char* name;
  Names inputs, outputs, cotangents, gradients;
};

inline fulgurite::TensorMap& tensors() {
  static fulgurite::TensorMap map;
  return map;
}

inline std::vector<Tensor> named(const Names& names) {
  std::vector<Tensor> out;
  for (const char* name : names) out.push_back(*name ? tensors().at(name).clone() : Tensor());
  return out;
}

inline void flatten(const Tensor& t, std::vector<Tensor>& out) { out.push_back(t); }
inline void flatten(const std::vector<Tensor>& t, std::vector<Tensor>& out) {
  out.insert(out.end(), t.begin(), t.end());
}
template <class... T>
void flatten(const std::tuple<T...>& t, std::vector<Tensor>& out) {
  std::apply([&](const auto&... items) { (flatten(items, out), ...); }, t);
}

// The same kernels ran: 1e-6 of the largest element is for the order of sums alone.
inline bool is_close(const Tensor& actual, const Tensor& expected) {
  if (!expected.defined()) return true;
  const Tensor a = actual.defined() ? actual : fulgurite::zeros_like(expected);
  if (a.dtype() != expected.dtype() || !(a.shape() == expected.shape())) return false;
  const std::vector<double> x = a.detach().to(fulgurite::Dtype::f64).contiguous().to_vector<double>();
  const std::vector<double> y = expected.to(fulgurite::Dtype::f64).contiguous().to_vector<double>();
  double largest = 0;
  for (const double value : y)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])) && !(std::fabs(x[i] - y[i]) <= 1e-6 * largest))
      return false;
  return true;
}

inline bool compare(const Call& call, const char* what, const std::vector<Tensor>& actual, const Names& expected) {
  const std::vector<Tensor> wanted = named(expected);
  bool same = actual.size() == wanted.size();
  for (size_t i = 0; same && i < wanted.size(); ++i) same = is_close(actual[i], wanted[i]);
  if (!same) std::printf("FAILED %s: %s differ from the jitted call's\n", call.name, what);
  return same;
}

/// For a program: it omits results that alias an argument or another result, which are views built after it.
inline bool compare_made(const Call& call, const std::vector<Tensor>& actual) {
  const std::vector<Tensor> wanted = named(call.outputs);
  size_t found = 0;
  for (size_t i = 0; i < wanted.size() && found < actual.size(); ++i) found += is_close(actual[found], wanted[i]);
  if (found < actual.size()) std::printf("FAILED %s: results differ from the jitted call's\n", call.name);
  return found == actual.size();
}

template <class Result, class... A>
Result invoke(Result (*function)(A...), const std::vector<Tensor>& inputs) {
  return [&]<size_t... I>(std::index_sequence<I...>) { return function(inputs.at(I)...); }
  (std::index_sequence_for<A...>());
}

template <class Function>
void check(const Call& call, Function function) {
  fulgurite::manual_seed(7);
  std::vector<Tensor> results;
  if constexpr (std::is_void_v<decltype(invoke(function, named(call.inputs)))>) invoke(function, named(call.inputs));
  else flatten(invoke(function, named(call.inputs)), results);
  ++(compare_made(call, results) ? passed : failed);
}

template <class Function, class Backward>
void check(const Call& call, Function forward, Backward backward) {
  fulgurite::manual_seed(7);
  const fulgurite::AugmentedForward result = invoke(forward, named(call.inputs));
  const std::vector<Tensor> gradients = backward(result.saved_for_backward, named(call.cotangents));
  const bool same = compare_made(call, result.output);
  ++(compare(call, "gradients", gradients, call.gradients) && same ? passed : failed);
}

/// Defined in the file of traces.
void check_all();

}  // namespace cpp_form
