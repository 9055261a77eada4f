#pragma once
#include <fulgurite/detail/requirements.h>

// Images from files, prepared for a model as a folder's preprocessor_config.json says.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/config.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// An image of red, green and blue in 8 bits each.
struct Image {
  int64_t rows = 0, columns = 0;
  std::vector<uint8_t> pixels;  // [rows, columns, 3]
};

/// Reads a PNG or JPEG file. Gray images become colored ones, transparent pixels are laid over white, and of 16 bits
/// the upper 8 remain; a camera's orientation and color profiles are not applied. UserError naming the path for a file
/// that is none of these or is damaged, and in a build without the libraries of images (-DFULGURITE_IMAGES=OFF).
Image read_image(const std::string& path);
/// Reads an image from the bytes of a PNG or JPEG file. UserError as read_image.
Image decode_image(std::string_view bytes);

/// Prepares images as the processors ViTImageProcessor, CLIPImageProcessor and ConvNextImageProcessor of transformers:
/// resized by Pillow's filters with 8-bit rounding, cropped, scaled and normalized.
class ImageProcessor {
 public:
  /// Reads preprocessor_config.json of a folder, or the object "image_processor" of processor_config.json. UserError if
  /// there is neither, or for a processor or a step that the library does not have.
  static ImageProcessor load(const std::string& folder);
  /// The processor that the text of a preprocessor_config.json describes.
  explicit ImageProcessor(const Config& config);

  /// Returns pixels for a model: [1, 3, rows, columns] of f32. UserError if the pixels do not fit the image's sizes.
  Tensor operator()(const Image& image) const;
  /// Returns pixels for a model: [images, 3, rows, columns] of f32. UserError if there are no images, or if they are
  /// prepared to different sizes.
  Tensor operator()(const std::vector<Image>& images) const;

 private:
  struct Steps;
  std::shared_ptr<const Steps> steps_;
};

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
