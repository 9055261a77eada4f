// Activations and other layers without parameters.
#include <fulgurite/activation_layers.h>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

Tensor Identity::operator()(const Tensor& x, SourceLocation) const { return x; }
Tensor ReLU::operator()(const Tensor& x, SourceLocation at) const { return relu(x, at); }
Tensor ReLU6::operator()(const Tensor& x, SourceLocation at) const { return relu6(x, false, at); }
Tensor SiLU::operator()(const Tensor& x, SourceLocation at) const { return silu(x, at); }
Tensor Mish::operator()(const Tensor& x, SourceLocation at) const { return mish(x, false, at); }
Tensor Sigmoid::operator()(const Tensor& x, SourceLocation at) const { return fulgurite::sigmoid(x, at); }
Tensor Tanh::operator()(const Tensor& x, SourceLocation at) const { return fulgurite::tanh(x, at); }
Tensor SELU::operator()(const Tensor& x, SourceLocation at) const { return selu(x, false, at); }
Tensor Softsign::operator()(const Tensor& x, SourceLocation at) const { return softsign(x, at); }
Tensor Tanhshrink::operator()(const Tensor& x, SourceLocation at) const { return tanhshrink(x, at); }
Tensor LogSigmoid::operator()(const Tensor& x, SourceLocation at) const { return logsigmoid(x, at); }
Tensor Hardswish::operator()(const Tensor& x, SourceLocation at) const { return hardswish(x, false, at); }
Tensor Hardsigmoid::operator()(const Tensor& x, SourceLocation at) const { return hardsigmoid(x, false, at); }
Tensor Softmax2d::operator()(const Tensor& x, SourceLocation at) const {
  if (x.defined() && x.ndim() != 3 && x.ndim() != 4)
    throw UserError(text::cat("Softmax2d: the input has 3 or 4 dimensions, not ", type_text(x)), at);
  return softmax(x, -3, {}, at);
}
Tensor GELU::operator()(const Tensor& x, SourceLocation at) const { return gelu(x, approximate, at); }
Tensor LeakyReLU::operator()(const Tensor& x, SourceLocation at) const {
  return leaky_relu(x, negative_slope, false, at);
}
Tensor rrelu(const Tensor& input, double lower, double upper, bool training, SourceLocation at) {
  if (!input.defined() || !is_floating(input.dtype()))
    throw UserError("rrelu: the input must be a floating tensor", at);
  if (!(lower <= upper))
    throw UserError(text::cat("rrelu: lower must not be above upper: ", lower, " and ", upper), at);
  if (!training) return leaky_relu(input, (lower + upper) / 2, false, at);
  const Tensor state = prims::random_state(input.numel(), at);
  const Tensor slopes = prims::uniform(state, Dims(input.shape()), lower, upper, input.dtype(), at);
  return where(gt(input, 0, at), input, mul(input, slopes, at), at);
}
Tensor RReLU::operator()(const Tensor& x, SourceLocation at) const { return rrelu(x, lower, upper, training, at); }
Tensor ELU::operator()(const Tensor& x, SourceLocation at) const { return elu(x, alpha, false, at); }
Tensor CELU::operator()(const Tensor& x, SourceLocation at) const { return celu(x, alpha, false, at); }
Tensor Softplus::operator()(const Tensor& x, SourceLocation at) const { return softplus(x, beta, threshold, at); }
Tensor Softshrink::operator()(const Tensor& x, SourceLocation at) const { return softshrink(x, lambd, at); }
Tensor Hardshrink::operator()(const Tensor& x, SourceLocation at) const { return hardshrink(x, lambd, at); }
Tensor Hardtanh::operator()(const Tensor& x, SourceLocation at) const {
  return hardtanh(x, min_val, max_val, false, at);
}
Tensor Threshold::operator()(const Tensor& x, SourceLocation at) const {
  return nn::threshold(x, threshold, value, false, at);
}
Tensor Softmax::operator()(const Tensor& x, SourceLocation at) const { return softmax(x, dim, {}, at); }
Tensor LogSoftmax::operator()(const Tensor& x, SourceLocation at) const { return log_softmax(x, dim, {}, at); }
Tensor Softmin::operator()(const Tensor& x, SourceLocation at) const { return softmin(x, dim, {}, at); }
Tensor GLU::operator()(const Tensor& x, SourceLocation at) const { return glu(x, dim, at); }

PReLU::PReLU(int64_t num_parameters, double init, SourceLocation at)
    : weight(full({num_parameters}, init, {.dtype = default_dtype(), .requires_grad = true}, at)) {}
Tensor PReLU::operator()(const Tensor& x, SourceLocation at) const { return prelu(x, weight, at); }

Tensor Flatten::operator()(const Tensor& x, SourceLocation at) const { return flatten(x, start_dim, end_dim, at); }
Tensor Unflatten::operator()(const Tensor& x, SourceLocation at) const { return unflatten(x, dim, sizes, at); }
Tensor PixelShuffle::operator()(const Tensor& x, SourceLocation at) const {
  return pixel_shuffle(x, upscale_factor, at);
}
Tensor PixelUnshuffle::operator()(const Tensor& x, SourceLocation at) const {
  return pixel_unshuffle(x, downscale_factor, at);
}
Tensor ChannelShuffle::operator()(const Tensor& x, SourceLocation at) const { return channel_shuffle(x, groups, at); }
Tensor Upsample::operator()(const Tensor& x, SourceLocation at) const {
  return interpolate(x, options.size.all(), options.scale_factor.all(), options.mode, options.align_corners, {}, false,
                     at);
}

}  // namespace fulgurite::nn
