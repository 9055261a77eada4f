#include "support/cases/altered_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "executors/reference.h"

namespace fulgurite::test {

Tensor transposed_copy(const Tensor& t) {
  if (t.ndim() < 2) return t;
  return t.transpose(0, -1).contiguous().transpose(0, -1);
}

Tensor spaced_copy(const Tensor& t) {
  Shape wide;
  for (const Int size : t.shape()) wide.push_back(2 * size + 1);
  if (wide.empty()) wide.push_back(3);
  Tensor view = full(wide, 1, {.dtype = t.dtype()});
  if (t.ndim() == 0) {
    view = view[1];
  } else {
    for (int d = 0; d < t.ndim(); ++d) {
      std::vector<Value> index(static_cast<size_t>(d), Value(Slice()));
      index.emplace_back(Slice(1, {}, 2));
      view = Tensor(call("torch.Tensor.__getitem__", {view, index}));
    }
  }
  view.copy_(t);
  return view;
}

Tensor expanded(const Tensor& t, int64_t dim) {
  if (dim >= t.ndim() || t.size(static_cast<int>(dim)) <= 1) return t;
  return t.narrow(dim, 0, 1).expand(t.shape());
}

Tensor first_element(const Tensor& t) {
  if (t.numel() == 0) return t;
  return t.reshape({-1})[0].clone();
}

Tensor with_specials(const Tensor& t, double large) {
  if (!is_floating(t.dtype())) return t;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double specials[] = {NAN, infinity, -infinity, -0.0, 0.0, large, -large};
  std::vector<double> numbers = elements(t);
  for (size_t i = 0; i < numbers.size() && i < std::size(specials); ++i) numbers[numbers.size() - 1 - i] = specials[i];
  return tensor(numbers).to(t.dtype()).reshape(t.shape());
}

Tensor enlarged(const Tensor& t, int64_t size, int64_t times) {
  Dims repeats;
  for (const Int own : t.shape()) repeats.push_back(own == size ? times : 1);
  return t.repeat(repeats);
}

Tensor emptied(const Tensor& t, int64_t size) {
  Tensor out = t;
  for (int d = 0; d < t.ndim(); ++d)
    if (t.size(d) == size) out = out.narrow(d, 0, 0);
  return out;
}

std::vector<Tensor> plain_inputs(const OperatorCase& c, Dtype dtype) {
  return changed(c.inputs(),
                 [&](const Tensor& t) { return t.detach().to(t.dtype() == Dtype::f64 ? dtype : t.dtype()); });
}

std::vector<int64_t> distinct_sizes(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors)
    for (const Int size : t.shape())
      if (size > 1 && std::find(sizes.begin(), sizes.end(), size.hint()) == sizes.end()) sizes.push_back(size.hint());
  return sizes;
}

Answer answer_of(const OperatorCase& c, const std::vector<Tensor>& inputs) {
  const NoGrad no_grad;
  try {
    return {c.run(inputs), ""};
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
}

std::string difference(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, double tolerance) {
  if (actual.size() != expected.size())
    return std::to_string(actual.size()) + " results, expected " + std::to_string(expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const std::string what = "result " + std::to_string(i) + " ";
    if (actual[i].dtype() != expected[i].dtype() || !(actual[i].shape() == expected[i].shape()))
      return what + "is " + std::string(name(actual[i].dtype())) + actual[i].shape().text() + ", expected " +
             std::string(name(expected[i].dtype())) + expected[i].shape().text();
    const std::vector<double> a = elements(actual[i]), b = elements(expected[i]);
    double largest = 0;
    for (const double number : b)
      if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
    for (size_t e = 0; e < a.size(); ++e) {
      if (tolerance > 0 && std::fabs(a[e] - b[e]) <= tolerance * largest) continue;
      const bool same =
          (std::isnan(a[e]) && std::isnan(b[e])) || (a[e] == b[e] && std::signbit(a[e]) == std::signbit(b[e]));
      if (!same) return what + "element " + std::to_string(e) + " is " + show(a[e]) + ", expected " + show(b[e]);
    }
  }
  return "";
}

}  // namespace fulgurite::test
