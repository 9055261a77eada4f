#include <fulgurite/models/layer_maker.h>
#include <fulgurite/operators.h>

namespace fulgurite::models {

Tensor LayerMaker::parameter(const Shape& shape, double deviation, double mean) const {
  const TensorOptions options{.dtype = dtype};
  if (!initialize) return empty(Dims(shape), options).requires_grad_();
  if (deviation == 0) return full(Dims(shape), mean, options).requires_grad_();
  const Tensor drawn = empty(Dims(shape), options);
  nn::normal_(drawn, mean, deviation);
  return drawn.requires_grad_();
}

nn::Linear LayerMaker::linear(int64_t in, int64_t out, bool bias, double deviation) const {
  nn::Linear layer;
  layer.weight = parameter({out, in}, deviation);
  if (bias) layer.bias = parameter({out}, 0);
  return layer;
}

nn::Embedding LayerMaker::embedding(int64_t rows, int64_t width, double deviation) const {
  nn::Embedding layer;
  layer.weight = parameter({rows, width}, deviation);
  return layer;
}

nn::RMSNorm LayerMaker::rms_norm(int64_t width, double eps) const {
  nn::RMSNorm layer;
  layer.weight = parameter({width}, 0, 1);
  layer.normalized_shape = {width};
  layer.eps = eps;
  return layer;
}

nn::LayerNorm LayerMaker::layer_norm(int64_t width, double eps, bool bias) const {
  nn::LayerNorm layer;
  layer.weight = parameter({width}, 0, 1);
  if (bias) layer.bias = parameter({width}, 0);
  layer.normalized_shape = {width};
  layer.eps = eps;
  return layer;
}

nn::Conv2d LayerMaker::conv2d(int64_t in, int64_t out, const nn::WindowSizes& kernel, const nn::WindowSizes& stride,
                              const nn::WindowSizes& padding, bool bias, double deviation) const {
  nn::Conv2d layer;
  layer.weight = parameter({out, in, kernel.at(0), kernel.at(1)}, deviation);
  if (bias) layer.bias = parameter({out}, 0);
  layer.stride = stride;
  layer.padding = padding;
  return layer;
}

nn::Conv1d LayerMaker::conv1d(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool bias,
                              double deviation) const {
  nn::Conv1d layer;
  layer.weight = parameter({out, in, kernel}, deviation);
  if (bias) layer.bias = parameter({out}, 0);
  layer.stride = {stride};
  layer.padding = {padding};
  return layer;
}

nn::BatchNorm2d LayerMaker::batch_norm2d(int64_t channels) const {
  nn::BatchNorm2d layer;
  layer.weight = parameter({channels}, 0, 1);
  layer.bias = parameter({channels}, 0);
  layer.running_mean = zeros({channels}, {.dtype = dtype});
  layer.running_var = ones({channels}, {.dtype = dtype});
  layer.num_batches_tracked = zeros({}, {.dtype = Dtype::i64});
  return layer;
}

}  // namespace fulgurite::models
