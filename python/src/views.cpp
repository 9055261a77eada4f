#include "views.h"

namespace fulgurite_python {

namespace {

/// The largest of the other results that `results[place]` is in the memory of, if there is one: of two over the same
/// elements the first. `carries_gradient` as of views_among().
std::optional<size_t> base_among(const std::vector<Value>& results, size_t place,
                                 const std::vector<char>& carries_gradient) {
  const auto carries = [&](size_t i) { return !carries_gradient.empty() && carries_gradient[i] != 0; };
  const Tensor view(results[place]);
  const bool is_base_too = view.is_contiguous();
  std::optional<size_t> base;
  int64_t size = span_of(view);
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == place || !results[i].is_tensor() || (carries(place) && !carries(i))) continue;
    const Tensor other(results[i]);
    const int64_t count = other.numel().hint();
    const bool comes_first = !is_base_too || i < place || (carries(i) && !carries(place));
    const bool is_larger = count > size || (count == size && !base && comes_first);
    if (!is_larger || !other.is_contiguous() || !is_view_of(view, other)) continue;
    base = i;
    size = count;
  }
  return base;
}

/// Returns true if no result has the memory of an argument or of another result, as most do.
bool are_alone(const std::vector<Value>& results, const Arguments& given) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_tensor()) continue;
    const Tensor result(results[i]);
    if (given.shares_memory(result)) return false;
    for (size_t j = 0; j < i; ++j)
      if (results[j].is_tensor() && fg::shares_memory(result, Tensor(results[j]))) return false;
  }
  return true;
}

}  // namespace

std::vector<ViewResult> views_among(const std::vector<Value>& results, const Arguments& given,
                                    const std::vector<char>& carries_gradient,
                                    const std::vector<bool>& needs_gradient) {
  if (are_alone(results, given)) return {};
  std::vector<std::optional<size_t>> bases(results.size());
  std::vector<ViewResult> out;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_tensor()) continue;
    const Tensor view(results[i]);
    if (view.numel().hint() == 0 || given.object_of(view).is_valid()) continue;
    const auto argument = given.base_of(view);
    const bool carries = !carries_gradient.empty() && carries_gradient[i] != 0;
    if (argument && (!carries || needs_gradient[*argument])) out.push_back({i, *argument});
    else bases[i] = base_among(results, i, carries_gradient);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!bases[i]) continue;
    size_t root = *bases[i];
    while (bases[root]) root = *bases[root];
    out.push_back({i, given.tensor_count() + root});
  }
  return out;
}

nb::object as_view(nb::handle object, const Tensor& base, const Tensor& view) {
  const auto address = [](const Tensor& tensor) { return static_cast<char*>(tensor.data_pointer({"", 0})); };
  const auto numbers = [](const auto& values) {
    nb::list out;
    for (const auto& value : values) out.append(static_cast<int64_t>(value));
    return nb::tuple(out);
  };
  const int64_t distance = (address(view) - address(base)) / fg::size_of(base.dtype());
  const int64_t offset = nb::cast<int64_t>(object.attr("storage_offset")()) + distance;
  return object.attr("detach")().attr("as_strided")(numbers(view.shape().to_vector()), numbers(view.strides()), offset);
}

}  // namespace fulgurite_python
