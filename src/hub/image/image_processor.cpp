#include <filesystem>

#include <fulgurite/error.h>
#include <fulgurite/hub/image_processor.h>
#include <fulgurite/operators.h>

#include "hub/files.h"
#include "hub/image/processor_steps.h"
#include "support/text/text.h"

namespace fulgurite::hub {

struct ImageProcessor::Steps : ProcessorSteps {};

namespace {

namespace fs = std::filesystem;

void check(const Image& image) {
  const auto wanted = image.rows * image.columns * 3;
  if (image.rows < 1 || image.columns < 1 || static_cast<int64_t>(image.pixels.size()) != wanted)
    throw UserError(text::cat("ImageProcessor: an image of ", image.rows, " x ", image.columns,
                              " pixels needs 3 numbers for each, it has ", image.pixels.size(), " numbers"));
}

Image prepared(const Image& image, const ProcessorSteps& steps) {
  check(image);
  Image out = image;
  if (steps.resizes) out = resample(out, resized_size(out, steps), steps.filter);
  if (steps.crop) out = center_crop(out, *steps.crop);
  return out;
}

// Numbers of pixels in the order of channels. Each of the 256 values of a channel is computed once.
void append_channels(std::vector<float>& out, const Image& image, const ProcessorSteps& steps) {
  for (size_t channel = 0; channel < 3; ++channel) {
    const std::array<float, 256> values = channel_values(steps, channel);
    for (size_t i = channel; i < image.pixels.size(); i += 3) out.push_back(values[image.pixels[i]]);
  }
}

}  // namespace

ImageProcessor::ImageProcessor(const Config& config)
    : steps_(std::make_shared<const Steps>(Steps{read_steps(config)})) {}

ImageProcessor ImageProcessor::load(const std::string& folder) {
  const std::string path = join_path(folder, "preprocessor_config.json");
  if (fs::exists(path)) return ImageProcessor(Config(hub::read_text(path), path));
  const std::string whole = join_path(folder, "processor_config.json");
  if (fs::exists(whole)) {
    const Config config(hub::read_text(whole), whole);
    if (config.has("image_processor")) return ImageProcessor(config.object("image_processor"));
  }
  throw UserError(text::cat("\"", folder, "\" has no preprocessor_config.json, which says how images are prepared"));
}

Tensor ImageProcessor::operator()(const Image& image) const { return (*this)(std::vector<Image>{image}); }

Tensor ImageProcessor::operator()(const std::vector<Image>& images) const {
  if (images.empty()) throw UserError("ImageProcessor: there are no images");
  std::vector<float> numbers;
  int64_t rows = 0, columns = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const Image image = prepared(images[i], *steps_);
    if (i > 0 && (image.rows != rows || image.columns != columns))
      throw UserError(text::cat("ImageProcessor: image ", i, " is prepared to ", image.rows, " x ", image.columns,
                                " pixels, those before it to ", rows, " x ", columns, "; prepare them one by one"));
    rows = image.rows;
    columns = image.columns;
    append_channels(numbers, image, *steps_);
  }
  return reshape(tensor(numbers), {static_cast<int64_t>(images.size()), 3, rows, columns});
}

}  // namespace fulgurite::hub
