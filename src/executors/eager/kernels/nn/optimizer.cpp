#include <algorithm>

#include "executors/eager/kernels/common/streamed.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

double read_number(const Tensor& t) {
  double value = 0;
  visit_dtype(t.impl()->dtype, [&]<class Element>() { value = static_cast<double>(widen(*data_of<Element>(t))); });
  return value;
}

/// One pass over parameter, gradient and moments.
template <class Element>
struct AdamW {
  using T = Compute<Element>;
  const Element *parameter, *gradient, *first, *second;
  Element *new_parameter, *new_first, *new_second;
  T keep, first_rate, second_keep, second_rate, root_correction, eps, step_size;

  void run(int64_t begin, int64_t end) const {
    const Wides<T> kept(keep), rate(first_rate), square_kept(second_keep), square_rate(second_rate);
    const Wides<T> correction(root_correction), smallest(eps), size(step_size);
    for (int64_t i = begin; i < end; i += lanes) {
      const int64_t some = end - i;
      for (const Element* stream : {parameter, gradient, first, second}) prefetch_ahead(stream + i, 1024);
      const Wides<T> g = load_up_to(gradient + i, some), m0 = load_up_to(first + i, some);
      const Wides<T> m = multiply_add(g - m0, rate, m0);
      const Wides<T> v = multiply_add(g * g, square_rate, load_up_to(second + i, some) * square_kept);
      const Wides<T> denominator = sqrt(v) / correction + smallest;
      const Wides<T> p = load_up_to(parameter + i, some) * kept - m / denominator * size;
      store_up_to(new_parameter + i, p, some);
      store_up_to(new_first + i, m, some);
      store_up_to(new_second + i, v, some);
    }
  }
};

template <class Element>
void step(Arguments arguments, const Tensor (&inputs)[4], const Tensor (&outputs)[3]) {
  const double count = read_number(arguments[4].tensor()), rate = read_number(arguments[5].tensor());
  const double beta1 = arguments[6].floating(), beta2 = arguments[7].floating();
  AdamW<Element> adamw;
  using T = typename AdamW<Element>::T;
  adamw.parameter = data_of<Element>(inputs[0]);
  adamw.gradient = data_of<Element>(inputs[1]);
  adamw.first = data_of<Element>(inputs[2]);
  adamw.second = data_of<Element>(inputs[3]);
  adamw.new_parameter = data_of<Element>(outputs[0]);
  adamw.new_first = data_of<Element>(outputs[1]);
  adamw.new_second = data_of<Element>(outputs[2]);
  adamw.keep = static_cast<T>(1 - rate * arguments[9].floating());
  adamw.first_rate = static_cast<T>(1 - beta1);
  adamw.second_keep = static_cast<T>(beta2);
  adamw.second_rate = static_cast<T>(1 - beta2);
  adamw.root_correction = static_cast<T>(__builtin_sqrt(1 - __builtin_pow(beta2, count)));
  adamw.eps = static_cast<T>(static_cast<double>(arguments[8].floating()));
  adamw.step_size = static_cast<T>(rate / (1 - __builtin_pow(beta1, count)));
  const int64_t numel = inputs[0].impl()->numel();
  constexpr int64_t block = 1024;
  parallel_for((numel + block - 1) / block, 4,
               [&](int64_t begin, int64_t end) { adamw.run(begin * block, std::min(numel, end * block)); });
}

void adamw_kernel(Arguments arguments, std::span<const Tensor> results) {
  Tensor inputs[4], outputs[3] = {results[0], results[1], results[2]};
  const Dtype dtype = results[0].impl()->dtype;
  bool is_uniform = true;
  for (int i = 0; i < 4; ++i) {
    inputs[i] = contiguous_elements(arguments[i].tensor());
    is_uniform = is_uniform && inputs[i].impl()->dtype == dtype;
  }
  if (!is_uniform) {  // everything in the type that the step is computed in
    const Dtype computed = compute_dtype(dtype);
    for (Tensor& t : inputs) {
      const Tensor copy = make_tensor(sizes_of(t), computed);
      copy_elements(t, copy);
      t = copy;
    }
    for (Tensor& t : outputs) t = make_tensor(sizes_of(t), computed);
  }
  visit_floating(outputs[0].impl()->dtype, [&]<class Element>() { step<Element>(arguments, inputs, outputs); });
  if (!is_uniform)
    for (int i = 0; i < 3; ++i) copy_elements(outputs[i], results[i]);
}

}  // namespace

KernelTable optimizer_kernels() {
  static constexpr KernelEntry table[] = {{&prims_adamw_symbol, adamw_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
