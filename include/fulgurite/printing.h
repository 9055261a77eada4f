#pragma once
#include <fulgurite/detail/requirements.h>

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fulgurite/distribution.h>
#include <fulgurite/generator.h>
#include <fulgurite/jit.h>
#include <fulgurite/metrics.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>
#include <fulgurite/schedules.h>
#include <fulgurite/tensor.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Texts of what programs hold besides tensors, models and traces, each in one line unless said.

/// "[tensor([1, 2]), tensor(3)]"
std::ostream& operator<<(std::ostream&, const std::vector<Tensor>&);
/// "{a: tensor([1, 2]), b: tensor(3)}"
std::ostream& operator<<(std::ostream&, const std::map<std::string, Tensor>&);
namespace printing_detail {
std::ostream& print_optional(std::ostream&, const Tensor*);
std::ostream& print_tuple(std::ostream&, std::initializer_list<const Tensor*> items);
std::ostream& print_index(std::ostream&, const Index&);
}  // namespace printing_detail
// Templates, so that nothing is converted to these types.
/// The tensor, or "None".
template <std::same_as<Tensor> T>
std::ostream& operator<<(std::ostream& out, const std::optional<T>& tensor) {
  return printing_detail::print_optional(out, tensor ? &*tensor : nullptr);
}
/// "(tensor([1, 2]), tensor(3))"
template <std::same_as<Tensor>... T>
std::ostream& operator<<(std::ostream& out, const std::tuple<Tensor, T...>& items) {
  return std::apply(
      [&out](const auto&... item) -> std::ostream& { return printing_detail::print_tuple(out, {&item...}); }, items);
}
inline std::ostream& operator<<(std::ostream& out, const std::pair<Tensor, Tensor>& items) {
  return printing_detail::print_tuple(out, {&items.first, &items.second});
}

/// "TensorOptions(dtype=f32 (default), device=cpu, requires_grad=false)"
std::ostream& operator<<(std::ostream&, const TensorOptions&);
/// As in Python's brackets: "1:8:2", "...", "None", "[0, 2]".
std::ostream& operator<<(std::ostream&, const Slice&);
template <std::same_as<Index> T>
std::ostream& operator<<(std::ostream& out, const T& index) {
  return printing_detail::print_index(out, index);
}
/// "Generator(seed=1)"
std::ostream& operator<<(std::ostream&, const Generator&);
/// The stages, with empty lines between: `std::cout << last_traces(f)`.
std::ostream& operator<<(std::ostream&, const std::vector<Trace>&);
/// "versions 1, sets of values 0, …", and times and counts of calls.
std::ostream& operator<<(std::ostream&, const CacheStats&);
std::ostream& operator<<(std::ostream&, const CompileStats&);

namespace nn {
/// "all names match", or the missing and unexpected names.
std::ostream& operator<<(std::ostream&, const LoadResult&);
}  // namespace nn
namespace optim {
/// A line with the optimizer's name, and one for each group: its tensors, elements and learning rate.
std::ostream& operator<<(std::ostream&, const Optimizer&);
/// "StepLR(iteration 3, rates 0.1)"
std::ostream& operator<<(std::ostream&, const Schedule&);
}  // namespace optim
namespace metrics {
/// The matrix.
std::ostream& operator<<(std::ostream&, const ConfusionMatrix&);
}  // namespace metrics
namespace distributions {
/// "Normal(batch shape [2], event shape [])"
std::ostream& operator<<(std::ostream&, const Distribution&);
}  // namespace distributions

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
