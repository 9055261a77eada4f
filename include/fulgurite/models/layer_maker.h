#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>

#include <fulgurite/convolution_layers.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Makes the layers of a model, whose parameters require gradients. A model that is loaded from files needs no initial
/// values: its tensors are then allocated, but their memory is not touched.
struct LayerMaker {
  bool initialize = true;
  Dtype dtype = Dtype::f32;

  /// weight: normal with this deviation; bias: zeros.
  nn::Linear linear(int64_t in, int64_t out, bool bias = false, double deviation = 0.02) const;
  nn::Embedding embedding(int64_t rows, int64_t width, double deviation = 0.02) const;
  nn::RMSNorm rms_norm(int64_t width, double eps) const;
  nn::LayerNorm layer_norm(int64_t width, double eps, bool bias = true) const;
  /// kernel: rows and columns; stride and padding: one number for both, or two.
  nn::Conv2d conv2d(int64_t in, int64_t out, const nn::WindowSizes& kernel, const nn::WindowSizes& stride,
                    const nn::WindowSizes& padding, bool bias = false, double deviation = 0.02) const;
  nn::Conv1d conv1d(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding, bool bias = false,
                    double deviation = 0.02) const;
  /// Running means of 0 and variances of 1.
  nn::BatchNorm2d batch_norm2d(int64_t channels) const;
  /// A normal parameter; constant where `deviation` is 0.
  Tensor parameter(const Shape& shape, double deviation, double mean = 0) const;
};

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
