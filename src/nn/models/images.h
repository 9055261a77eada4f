#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fulgurite/convolution_layers.h>
#include <fulgurite/tensor.h>

namespace fulgurite::models {

/// Rows and columns.
using Grid = std::array<int64_t, 2>;

/// The whole patches of an image. UserError if there are none.
Grid grid_of(const Grid& image, const Grid& patch);

/// UserError naming the model unless images are [batch, channels, rows, columns] with the channels of a convolution's
/// weight and, if given, of this size.
void check_images(std::string_view model, const Tensor& images, const Tensor& weight, const std::optional<Grid>& size);

/// The features of patches in rows, [batch, patches, width], in the dtype of the projection.
Tensor patch_rows(const nn::Conv2d& projection, const Tensor& images);

}  // namespace fulgurite::models
