#include <fulgurite/error.h>

#include "hub/image/decoders.h"

namespace fulgurite::hub {

// Builds without the libraries of images have these functions instead of png.cpp and jpeg.cpp.
namespace {

[[noreturn]] void refuse() {
  throw UserError("this build of fulgurite does not read images; build it with -DFULGURITE_IMAGES=ON");
}

}  // namespace

Image decode_png(std::string_view) { refuse(); }
Image decode_jpeg(std::string_view) { refuse(); }

}  // namespace fulgurite::hub
