#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include <fulgurite/hub/config.h>

#include "hub/image/resample.h"

namespace fulgurite::hub {

/// The steps of an image processor, in their order.
struct ProcessorSteps {
  bool resizes = true;
  Filter filter = Filter::bilinear;
  int64_t shortest_edge = 0;          // of the resized image; 0: `size` is
  std::array<int64_t, 2> size{0, 0};  // rows and columns
  std::optional<std::array<int64_t, 2>> crop{};
  double scale = 1;  // of pixels
  bool normalizes = false;
  std::array<double, 3> mean{0, 0, 0}, deviation{1, 1, 1};
};

/// Reads the steps from a preprocessor_config.json. UserError for what the library does not have.
ProcessorSteps read_steps(const Config& config);

/// Rows and columns of an image after resizing.
std::array<int64_t, 2> resized_size(const Image& image, const ProcessorSteps& steps);

/// The number that each value of a channel's pixels becomes.
std::array<float, 256> channel_values(const ProcessorSteps& steps, size_t channel);

}  // namespace fulgurite::hub
