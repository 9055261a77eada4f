#pragma once
#include <string_view>

#include <fulgurite/hub/image_processor.h>

namespace fulgurite::hub {

/// An image of more pixels is refused, as by Pillow: a small file may claim any size.
inline constexpr int64_t max_pixels = 178'956'970;

/// UserError if an image of these sizes is empty or has too many pixels.
void check_size(int64_t rows, int64_t columns);

/// Decodes the bytes of a PNG or JPEG file. UserError if they are damaged, and in a build without the library.
Image decode_png(std::string_view bytes);
Image decode_jpeg(std::string_view bytes);

}  // namespace fulgurite::hub
