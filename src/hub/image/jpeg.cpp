#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <fulgurite/error.h>

#include "hub/image/decoders.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// libjpeg reports errors by a function that must not return: it jumps to the caller of setjmp. Between both there are
// no objects with destructors, and all state is in members.
class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : bytes_(bytes) {
    jpeg_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = &on_error;
    errors_.base.emit_message = &on_message;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  Image read() {
    if (!read_header()) fail();
    check_size(jpeg_.output_height, jpeg_.output_width);
    channels_ = jpeg_.output_components;
    row_.resize(static_cast<size_t>(jpeg_.output_width) * static_cast<size_t>(channels_));
    image_ = {jpeg_.output_height, jpeg_.output_width, {}};
    image_.pixels.resize(static_cast<size_t>(image_.rows * image_.columns * 3));
    if (!read_rows()) fail();
    return std::move(image_);
  }

 private:
  struct Errors {
    jpeg_error_mgr base;  // the first member: libjpeg has a pointer to it
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };

  static Errors& errors_of(j_common_ptr jpeg) { return *static_cast<Errors*>(static_cast<void*>(jpeg->err)); }
  static void on_error(j_common_ptr jpeg) {
    Errors& errors = errors_of(jpeg);
    errors.base.format_message(jpeg, errors.message);
    std::longjmp(errors.jump, 1);
  }
  // The rest of a file that is cut short would be gray.
  static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF) on_error(jpeg);
  }
  [[noreturn]] void fail() const { throw UserError(text::cat("the JPEG image is damaged: ", errors_.message)); }

  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    const auto* begin = static_cast<const unsigned char*>(static_cast<const void*>(bytes_.data()));
    jpeg_mem_src(&jpeg_, begin, bytes_.size());
    jpeg_read_header(&jpeg_, TRUE);
    const bool is_four = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = is_four ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(&jpeg_);
    return true;
  }
  bool read_rows() {
    if (setjmp(errors_.jump) != 0) return false;
    while (jpeg_.output_scanline < jpeg_.output_height) {
      uint8_t* to = &image_.pixels[jpeg_.output_scanline * static_cast<size_t>(jpeg_.output_width) * 3];
      uint8_t* row = row_.data();
      jpeg_read_scanlines(&jpeg_, &row, 1);
      copy_row(to);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }
  // Files of four channels have the complements of cyan, magenta, yellow and black, by Adobe's convention.
  void copy_row(uint8_t* to) const {
    for (size_t i = 0; i < row_.size(); i += static_cast<size_t>(channels_))
      for (size_t channel = 0; channel < 3; ++channel)
        *to++ = channels_ == 3 ? row_[i + channel] : without_ink(row_[i + channel], row_[i + 3]);
  }
  static uint8_t without_ink(int complement, int light) {
    const int product = (255 - complement) * light + 128;
    return static_cast<uint8_t>(light - (((product >> 8) + product) >> 8));
  }

  std::string_view bytes_;
  jpeg_decompress_struct jpeg_{};
  Errors errors_{};
  int channels_ = 3;
  std::vector<uint8_t> row_;
  Image image_;
};

}  // namespace

Image decode_jpeg(std::string_view bytes) { return JpegReader(bytes).read(); }

}  // namespace fulgurite::hub
