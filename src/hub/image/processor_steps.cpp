#include "hub/image/processor_steps.h"

#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// Smaller images of ConvNeXt are resized to more than their size, and cropped.
constexpr int64_t uncropped_convnext = 384;

using Numbers = std::array<double, 3>;
using Size = std::array<int64_t, 2>;

// The settings that a processor has where its file says nothing.
struct Kind {
  std::string_view name;  // the beginning of "image_processor_type", or of the older "feature_extractor_type"
  bool keeps_shape;       // a single number of "size" is the shortest edge
  Filter filter;
  int64_t size, crop;  // 0: no crop
  Numbers mean, deviation;
};

constexpr Numbers half{0.5, 0.5, 0.5};
constexpr Kind kinds[] = {
    {"ViT", false, Filter::bilinear, 224, 0, half, half},
    {"CLIP",
     true,
     Filter::bicubic,
     224,
     224,
     {0.48145466, 0.4578275, 0.40821073},
     {0.26862954, 0.26130258, 0.27577711}},
    {"ConvNext", true, Filter::bicubic, 384, 0, half, half},
};

const Kind& kind_of(const Config& config) {
  const std::string_view key = config.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
  const std::string type = config.string(key, "");
  for (const Kind& kind : kinds)
    for (const char* ending : {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
      if (type == text::cat(kind.name, ending)) return kind;
  config.refuse(key, "there are ViTImageProcessor, CLIPImageProcessor and ConvNextImageProcessor");
}

int64_t positive(const Config& config, std::string_view key) {
  const int64_t number = config.integer(key);
  if (number < 1) config.refuse(key, "it must be positive");
  return number;
}

Size rows_and_columns(const Config& size) { return {positive(size, "height"), positive(size, "width")}; }

void read_size(ProcessorSteps& steps, const Config& config, const Kind& kind) {
  const auto take = [&](int64_t edge) {
    if (kind.keeps_shape) steps.shortest_edge = edge;
    else steps.size = {edge, edge};
  };
  if (!config.has("size")) return take(kind.size);
  if (!config.is_object("size")) return take(positive(config, "size"));
  const Config size = config.object("size");
  for (const char* key : {"longest_edge", "max_height", "max_width"})
    if (size.has(key)) size.refuse(key, "sizes have height and width, or shortest_edge");
  if (size.has("shortest_edge")) steps.shortest_edge = positive(size, "shortest_edge");
  else steps.size = rows_and_columns(size);
}

Size crop_size(const Config& config, const Kind& kind) {
  if (!config.has("crop_size")) return {kind.crop, kind.crop};
  if (config.is_object("crop_size")) return rows_and_columns(config.object("crop_size"));
  const int64_t edge = positive(config, "crop_size");
  return {edge, edge};
}

void read_crop(ProcessorSteps& steps, const Config& config, const Kind& kind) {
  if (!config.boolean("do_center_crop", kind.crop > 0)) return;
  steps.crop = crop_size(config, kind);
  if ((*steps.crop)[0] < 1) config.refuse("crop_size", "a crop needs a size");
}

void read_convnext(ProcessorSteps& steps, const Config& config) {
  const int64_t edge = steps.shortest_edge;
  if (edge == 0) config.refuse("size", "ConvNextImageProcessor has a shortest_edge");
  if (edge >= uncropped_convnext) {
    steps.shortest_edge = 0;
    steps.size = {edge, edge};
    return;
  }
  const double share = config.number("crop_pct", 224.0 / 256.0);
  if (share <= 0 || share > 1) config.refuse("crop_pct", "it must be above 0 and at most 1");
  steps.shortest_edge = static_cast<int64_t>(static_cast<double>(edge) / share);
  if (steps.crop) config.refuse("do_center_crop", "ConvNextImageProcessor crops by crop_pct");
  steps.crop = Size{edge, edge};
}

Numbers numbers_of(const Config& config, std::string_view key, const Numbers& otherwise) {
  const std::vector<double> numbers = config.numbers(key);
  if (numbers.empty()) return otherwise;
  if (numbers.size() == 1) return {numbers[0], numbers[0], numbers[0]};
  if (numbers.size() != 3) config.refuse(key, "images have three channels");
  return {numbers[0], numbers[1], numbers[2]};
}

Filter filter_of(const Config& config, Filter otherwise) {
  const int64_t number = config.integer("resample", static_cast<int64_t>(otherwise));
  if (number < 0 || number > static_cast<int64_t>(Filter::hamming))
    config.refuse("resample", "there are Pillow's filters 0 to 5");
  return static_cast<Filter>(number);
}

}  // namespace

ProcessorSteps read_steps(const Config& config) {
  const Kind& kind = kind_of(config);
  ProcessorSteps steps;
  if (config.boolean("do_pad", false)) config.refuse("do_pad", "images are not padded");
  steps.resizes = config.boolean("do_resize", true);
  steps.filter = filter_of(config, kind.filter);
  read_size(steps, config, kind);
  read_crop(steps, config, kind);
  if (steps.resizes && kind.name == "ConvNext") read_convnext(steps, config);
  if (config.boolean("do_rescale", true)) steps.scale = config.number("rescale_factor", 1.0 / 255.0);
  steps.normalizes = config.boolean("do_normalize", true);
  steps.mean = numbers_of(config, "image_mean", kind.mean);
  steps.deviation = numbers_of(config, "image_std", kind.deviation);
  return steps;
}

std::array<int64_t, 2> resized_size(const Image& image, const ProcessorSteps& steps) {
  const int64_t edge = steps.shortest_edge;
  if (edge == 0) return steps.size;
  const auto longer = [&](int64_t of, int64_t to) {
    return static_cast<int64_t>(static_cast<double>(edge * of) / static_cast<double>(to));
  };
  if (image.columns <= image.rows) return {longer(image.rows, image.columns), edge};
  return {edge, longer(image.columns, image.rows)};
}

// The rounding of each step is that of transformers: the scaled number is rounded to f32, and so are mean and
// deviation.
std::array<float, 256> channel_values(const ProcessorSteps& steps, size_t channel) {
  std::array<float, 256> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<double>(i) * steps.scale);
    if (steps.normalizes)
      values[i] = (values[i] - static_cast<float>(steps.mean[channel])) / static_cast<float>(steps.deviation[channel]);
  }
  return values;
}

}  // namespace fulgurite::hub
