#pragma once
#include <array>
#include <cstdint>

#include <fulgurite/hub/image_processor.h>

namespace fulgurite::hub {

/// Pillow's filters, by its numbers.
enum class Filter : int64_t { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

/// Returns an image of other sizes, {rows, columns}, with each pixel that Pillow's Image.resize computes: filters widen
/// where the image shrinks, and both passes round to 8 bits.
Image resample(const Image& image, const std::array<int64_t, 2>& size, Filter filter);

/// Returns the middle of an image, in sizes {rows, columns}. Pixels outside of it are black.
Image center_crop(const Image& image, const std::array<int64_t, 2>& size);

}  // namespace fulgurite::hub
