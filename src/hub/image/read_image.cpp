#include <fulgurite/error.h>
#include <fulgurite/hub/image_processor.h>

#include "hub/files.h"
#include "hub/image/decoders.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view jpeg_signature = "\xff\xd8\xff";

}  // namespace

void check_size(int64_t rows, int64_t columns) {
  if (rows < 1 || columns < 1 || rows > max_pixels / columns)
    throw UserError(
        text::cat("the image has ", rows, " x ", columns, " pixels; images of 1 to ", max_pixels, " pixels are read"));
}

Image decode_image(std::string_view bytes) {
  if (bytes.starts_with(png_signature)) return decode_png(bytes);
  if (bytes.starts_with(jpeg_signature)) return decode_jpeg(bytes);
  throw UserError("the file is not a PNG or JPEG image; convert it to one of them");
}

Image read_image(const std::string& path) {
  const std::string bytes = read_text(path);
  try {
    return decode_image(bytes);
  } catch (const UserError& error) {
    throw UserError(text::cat("\"", path, "\" cannot be read: ", error.what()));
  }
}

}  // namespace fulgurite::hub
