#pragma once
#include <string>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

namespace fulgurite::test {

/// sin(0.7 i + phase) for each element i, as f64.
inline Tensor wave(const Dims& sizes, double phase = 0) {
  const Tensor places = arange(sizes.numel(), {.dtype = Dtype::f64});
  return sin(places * 0.7 + phase).reshape(sizes);
}

/// Gives each parameter of a layer half a wave whose phase is its number.
template <class Layer>
void fill(const Layer& layer) {
  const NoGrad no_grad;
  double phase = 0;
  for (const auto& [name, parameter] : nn::named_parameters(layer))
    copy_(parameter, wave(parameter.shape(), phase++) * 0.5);
}

template <class Layer>
std::vector<std::string> names_of(const Layer& layer) {
  std::vector<std::string> out;
  for (const auto& [name, parameter] : nn::named_parameters(layer)) out.push_back(name);
  return out;
}

inline std::vector<double> values(const Tensor& x) {
  return x.detach().to(Dtype::f64).contiguous().to_vector<double>();
}

}  // namespace fulgurite::test
