#pragma once
#include <fulgurite/detail/requirements.h>

// A small convolutional network with batch norm, for images.
#include <cstdint>

#include <fulgurite/convolution_layers.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Sizes of a Convnet.
struct ConvnetOptions {
  int64_t channels = 1;  // of the images
  int64_t width = 16;    // channels after the first convolution; twice as many after the second
  int64_t classes = 10;
};

/// Convolution, batch norm, relu, and halving of the rows and columns.
struct ConvnetStage {
  nn::Conv2d convolution;
  nn::BatchNorm2d norm;
  nn::MaxPool2d pool{2};
  Tensor operator()(const Tensor& x) const { return pool(relu(norm(convolution(x)))); }
};

/// Two stages of convolution, batch norm and pooling, and a linear layer: images [N, C, H, W] to logits [N, classes].
struct Convnet {
  ConvnetStage first, second;
  nn::AdaptiveAvgPool2d average{1};
  nn::Linear output;

  /// Maps images [batch, channels, rows, columns] to the scores of the classes: [batch, classes].
  Tensor operator()(const Tensor& images) const { return output(flatten(average(second(first(images))), 1)); }
  /// The mean cross entropy of predicting `classes` [batch]. In training it updates the running statistics.
  Tensor loss(const Tensor& images, const Tensor& classes) const { return nn::cross_entropy((*this)(images), classes); }
};

/// Returns a model with fresh parameters.
inline Convnet make_convnet(const ConvnetOptions& o) {
  Convnet model;
  model.first.convolution = nn::Conv2d(o.channels, o.width, 3, 1, 1);
  model.first.norm = nn::BatchNorm2d(o.width);
  model.second.convolution = nn::Conv2d(o.width, 2 * o.width, 3, 1, 1);
  model.second.norm = nn::BatchNorm2d(2 * o.width);
  model.output = nn::Linear(2 * o.width, o.classes);
  return model;
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
