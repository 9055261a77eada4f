#include <cstring>

#include <png.h>

#include <fulgurite/error.h>

#include "hub/image/decoders.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// libpng reports errors by a jump to the caller of setjmp: between both there are no objects with destructors, and all
// state is in members.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, &on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw UserError("memory for decoding the PNG image could not be allocated");
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Red, green, blue and opacity.
  std::vector<uint8_t> read() {
    if (!read_header()) fail();
    check_size(rows(), columns());
    pixels_.resize(static_cast<size_t>(rows() * columns() * 4));
    for (int64_t row = 0; row < rows(); ++row)
      row_pointers_.push_back(&pixels_[static_cast<size_t>(row * columns() * 4)]);
    if (!read_pixels()) fail();
    return std::move(pixels_);
  }
  int64_t rows() const { return png_get_image_height(png_, info_); }
  int64_t columns() const { return png_get_image_width(png_, info_); }

 private:
  static void on_error(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->message_, message, sizeof reader->message_ - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void on_read(png_structp png, png_bytep to, size_t count) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (reader->rest_.size() < count) png_error(png, "the file is cut short");
    std::memcpy(to, reader->rest_.data(), count);
    reader->rest_.remove_prefix(count);
  }
  [[noreturn]] void fail() const { throw UserError(text::cat("the PNG image is damaged: ", message_)); }

  // Any kind of pixels becomes four channels of 8 bits.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, &on_read);
    png_set_user_limits(png_, 1'000'000, 1'000'000);
    png_read_info(png_, info_);
    png_set_strip_16(png_);
    png_set_expand(png_);
    png_set_gray_to_rgb(png_);
    png_set_add_alpha(png_, 0xff, PNG_FILLER_AFTER);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_pixels() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, row_pointers_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char message_[256] = "";
  std::vector<uint8_t> pixels_;
  std::vector<png_bytep> row_pointers_;
};

// A color of some opacity over white, rounded as Pillow's alpha_composite does.
uint8_t over_white(int color, int opacity) {
  const int sum = (color * opacity + 255 * (255 - opacity)) * 128 + (128 << 7);
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> 7);
}

}  // namespace

Image decode_png(std::string_view bytes) {
  PngReader reader(bytes);
  const std::vector<uint8_t> pixels = reader.read();
  Image image{reader.rows(), reader.columns(), {}};
  image.pixels.reserve(pixels.size() / 4 * 3);
  for (size_t i = 0; i < pixels.size(); i += 4)
    for (size_t channel = 0; channel < 3; ++channel)
      image.pixels.push_back(over_white(pixels[i + channel], pixels[i + 3]));
  return image;
}

}  // namespace fulgurite::hub
