#include <algorithm>
#include <string_view>

#include "executors/eager/index_error.h"
#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/compute.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// The targets of a loss over classes: for target number i its class, or -1 if it is ignored, and its weight.
template <class T>
struct Targets {
  Scratch<int64_t> classes;
  Scratch<T> weights;
  T total_weight = 0;

  Targets(const Tensor& target, const Tensor& weight, int64_t class_count, int64_t ignored)
      : classes(target.impl()->numel()), weights(target.impl()->numel()) {
    const Tensor whole = contiguous_elements(target);
    const int64_t count = target.impl()->numel();
    visit_index(target.impl()->dtype, [&]<class Index>() {
      const Index* numbers = data_of<Index>(whole);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t number = static_cast<int64_t>(numbers[i]);
        if (number == ignored) classes[i] = -1;
        else if (number >= 0 && number < class_count) classes[i] = number;
        else throw_index_error(number, class_count);
      }
    });
    if (!weight.defined()) {
      for (int64_t i = 0; i < count; ++i) weights[i] = classes[i] >= 0 ? T(1) : T(0);
    } else {
      const int64_t step = strides_of(weight)[0];
      visit_floating(weight.impl()->dtype, [&]<class Element>() {
        const Element* from = data_of<Element>(weight);
        for (int64_t i = 0; i < count; ++i)
          weights[i] = classes[i] >= 0 ? static_cast<T>(widen(from[classes[i] * step])) : T(0);
      });
    }
    double total = 0;
    for (int64_t i = 0; i < count; ++i) total += static_cast<double>(weights[i]);
    total_weight = static_cast<T>(total);
  }
};

std::string_view reduction_of(const Argument& size_average, const Argument& reduce, const Argument& reduction) {
  if (size_average.is_none() && reduce.is_none()) return reduction.string();
  const bool reduces = reduce.is_none() || reduce.boolean(),
             averages = size_average.is_none() || size_average.boolean();
  return !reduces ? "none" : averages ? "mean" : "sum";
}

// The input is [N, C, …], or [C] with a single target.
void nll_loss_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor input = contiguous_elements(arguments[0].tensor());
  const Tensor& target = arguments[1].tensor();
  const Along along(sizes_of(input), sizes_of(input).size() > 1 ? 1 : 0);
  const std::string_view reduction = reduction_of(arguments[3], arguments[5], arguments[6]);
  visit_floating(input.impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Targets<T> targets(target, arguments[2].tensor_or_none(), along.size, arguments[4].integer());
    const Element* from = data_of<Element>(input);
    Element* to = data_of<Element>(results[0]);
    const int64_t count = along.outer * along.inner;
    const auto loss = [&](int64_t i) {
      const int64_t number = targets.classes[i];
      if (number < 0) return T(0);
      const int64_t at = (i / along.inner * along.size + number) * along.inner + i % along.inner;
      return static_cast<T>(-widen(from[at]) * targets.weights[i]);
    };
    if (reduction == "none") {
      for (int64_t i = 0; i < count; ++i) to[i] = narrow<Element>(loss(i));
      return;
    }
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(loss(i));
    to[0] =
        narrow<Element>(static_cast<T>(reduction == "mean" ? sum / static_cast<double>(targets.total_weight) : sum));
  });
}

void nll_loss_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor grad = contiguous_elements(arguments[0].tensor());
  const Tensor& target = arguments[1].tensor();
  const Along along(sizes_of(results[0]), sizes_of(results[0]).size() > 1 ? 1 : 0);
  const bool is_none = arguments[5].string() == "none", is_mean = arguments[5].string() == "mean";
  visit_floating(results[0].impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Targets<T> targets(target, arguments[2].tensor_or_none(), along.size, arguments[4].integer());
    const Element* g = data_of<Element>(grad);
    Element* to = data_of<Element>(results[0]);
    const int64_t slice = along.size * along.inner;
    parallel_for(along.outer, grain_of(slice), [&](int64_t begin, int64_t end) {
      std::fill(to + begin * slice, to + end * slice, narrow<Element>(T(0)));
      for (int64_t i = begin * along.inner; i < end * along.inner; ++i) {
        const int64_t number = targets.classes[i];
        if (number < 0) continue;
        T value = widen(g[is_none ? i : 0]);
        if (is_mean) value /= targets.total_weight;
        to[i / along.inner * slice + number * along.inner + i % along.inner] =
            narrow<Element>(-value * targets.weights[i]);
      }
    });
  });
}

}  // namespace

KernelTable loss_kernels() {
  static constexpr KernelEntry table[] = {
      {&nll_loss_symbol, nll_loss_kernel},
      {&prims_nll_loss_backward_symbol, nll_loss_backward_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
