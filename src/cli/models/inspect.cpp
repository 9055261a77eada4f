#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

// Numbers that a model does not have are 0.
struct Report {
  std::string model_type, kind, reason, dtypes;              // the reason why it is not supported; empty if it is
  int64_t parameters = 0, weight_bytes = 0, code_bytes = 0;  // code_bytes: a part of weight_bytes
  int64_t cache_bytes = 0, cache_tokens = 1024;
  int64_t max_tokens = 0, vector_size = 0, labels = 0;
  std::array<int64_t, 2> image{0, 0};  // rows and columns
  std::array<int64_t, 2> sound{0, 0};  // bins and frames
  bool takes_images = false;
  std::string preparation_reason;  // the reason why images or sound are not prepared; empty if they are
  // Parameters, gradients and the two moments of AdamW; 0 for weights that are not trained.
  int64_t training_bytes() const { return code_bytes > 0 ? 0 : 16 * parameters; }
};

int64_t bytes_of(const Tensor& tensor) { return tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype())); }

template <class Model>
void measure_weights(const Model& model, Report& report) {
  std::map<std::string, int64_t> by_dtype;
  for (const Tensor& tensor : nn::parameters(model)) {
    report.parameters += tensor.numel();
    report.weight_bytes += bytes_of(tensor);
    by_dtype[std::string(name(tensor.dtype()))] += tensor.numel();
  }
  Model handles = model;
  for (const hub::detail::NamedLinear& linear : hub::detail::collect(handles).layers) {
    if (!linear.layer->quantized) continue;
    const nn::QuantizedWeight& weight = *linear.layer->quantized;
    const int64_t count = weight.in_features() * weight.out_features();
    report.parameters += count;
    by_dtype[weight.codes.dtype() == Dtype::i8 ? "int8" : "int4"] += count;
    for (const Tensor& part : {weight.codes, weight.scales, weight.minima})
      if (part.defined()) report.code_bytes += bytes_of(part);
  }
  for (const hub::detail::Slot& slot : hub::detail::slots_of(handles))
    if (!slot.tensor->requires_grad()) report.weight_bytes += bytes_of(*slot.tensor);
  for (const auto& [dtype, count] : by_dtype) report.dtypes += (report.dtypes.empty() ? "" : ", ") + dtype;
}

// The library loads a model without its head.
std::string without_head(const hub::Config& config, const std::string& kind) {
  const std::string architecture = architecture_of(config);
  return architecture.find("For") == std::string::npos ? kind : kind + ", without the head of " + architecture;
}

void measure_bert(const std::string& folder, const hub::Config& config, const hub::LoadOptions& options,
                  Report& report) {
  report.kind = without_head(config, "encoder of texts");
  const auto model = hub::load<models::Bert>(folder, options);
  measure_weights(model, report);
  report.vector_size = model.embeddings.LayerNorm.weight.size(0);
  report.max_tokens = model.embeddings.position_embeddings.weight.size(0) - model.embeddings.first_position;
}

template <class Classifier>
void measure_classifier(const Classifier& model, Report& report) {
  report.kind = "classifier of images";
  report.labels = static_cast<int64_t>(model.labels.size());
  measure_weights(model, report);
}

void measure_vit(const std::string& folder, const hub::Config& config, const hub::LoadOptions& options,
                 Report& report) {
  report.takes_images = true;
  if (is_image_classifier(config)) {
    const auto model = hub::load<models::VitClassifier>(folder, options);
    measure_classifier(model, report);
    report.image = model.vit.embeddings.image;
    return;
  }
  report.kind = without_head(config, "encoder of images");
  const auto model = hub::load<models::Vit>(folder, options);
  measure_weights(model, report);
  report.image = model.embeddings.image;
  report.vector_size = model.layernorm.weight.size(0);
}

void measure_resnet(const std::string& folder, const hub::Config& config, const hub::LoadOptions& options,
                    Report& report) {
  report.takes_images = true;
  if (is_image_classifier(config))
    return measure_classifier(hub::load<models::ResnetClassifier>(folder, options), report);
  report.kind = without_head(config, "encoder of images");
  const auto model = hub::load<models::Resnet>(folder, options);
  measure_weights(model, report);
  report.vector_size = model.encoder.stages.back().layers.back().layer.back().convolution.weight.size(0);
}

void measure_clip(const std::string& folder, const hub::Config& config, const hub::LoadOptions& options,
                  Report& report) {
  report.takes_images = true;
  report.kind = without_head(config, "encoder of texts and images");
  const auto model = hub::load<models::Clip>(folder, options);
  measure_weights(model, report);
  report.image = model.vision_model.embeddings.image;
  report.max_tokens = model.text_model.embeddings.position_embedding.weight.size(0);
  report.vector_size = model.text_projection.weight.size(0);
}

template <class Model>
void measure_cache(const Model& model, Report& report) {
  const models::KeyValueCache cache = make_cache(model, report.cache_tokens, 1);
  for (const Tensor& tensor : cache.keys) report.cache_bytes += bytes_of(tensor);
  for (const Tensor& tensor : cache.values) report.cache_bytes += bytes_of(tensor);
}

// Loading maps the files.
void measure_language_model(const std::string& folder, const hub::Config&, const hub::LoadOptions& options,
                            Report& report) {
  report.kind = "language model";
  const hub::CausalLM model = hub::load_causal_lm(folder, options);
  measure_weights(model, report);
  report.max_tokens = model.max_length();
  measure_cache(model, report);
}

void measure_seq2seq(const std::string& folder, const hub::Config&, const hub::LoadOptions& options, Report& report) {
  report.kind = "encoder and decoder of texts";
  const hub::Seq2SeqLM model = hub::load_seq2seq(folder, options);
  measure_weights(model, report);
  measure_cache(model, report);
}

// The cache has the keys and values of the encoded sound too.
void measure_whisper(const std::string& folder, const hub::Config&, const hub::LoadOptions& options, Report& report) {
  report.kind = "encoder of speech and decoder of texts";
  const auto model = hub::load<models::Whisper>(folder, options);
  measure_weights(model, report);
  report.sound = model.feature_size();
  report.max_tokens = model.max_length();
  report.cache_tokens = report.max_tokens + report.sound[1] / 2;
  measure_cache(model, report);
}

using Measure = void (*)(const std::string& folder, const hub::Config& config, const hub::LoadOptions& options,
                         Report& report);

struct Family {
  const char* model_type;
  Measure measure;
};

constexpr Family families[] = {
    {"bert", &measure_bert},  {"roberta", &measure_bert},  {"xlm-roberta", &measure_bert},
    {"vit", &measure_vit},    {"resnet", &measure_resnet}, {"clip", &measure_clip},
    {"t5", &measure_seq2seq}, {"mt5", &measure_seq2seq},   {"whisper", &measure_whisper},
};

Measure measure_of(const std::string& model_type) {
  for (const Family& family : families)
    if (model_type == family.model_type) return family.measure;
  return &measure_language_model;
}

// The error of an unknown family lists those of language models only.
std::string reason_of(const std::string& error) {
  if (error.find("\"model_type\" is ") == std::string::npos) return error;
  std::string others;
  for (const Family& family : families) others += text::cat(others.empty() ? "" : ", ", family.model_type);
  return error + ", other models of " + others;
}

template <class Processor>
std::string preparation_reason_of(const std::string& folder) {
  try {
    Processor::load(folder);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

Report report_on(const std::string& folder, const hub::LoadOptions& options) {
  const hub::Config config = hub::Config::read(folder);
  Report report;
  report.model_type = config.model_type();
  try {
    measure_of(report.model_type)(folder, config, options, report);
  } catch (const UserError& error) {
    report.reason = reason_of(error.what());
  }
  if (report.takes_images) report.preparation_reason = preparation_reason_of<hub::ImageProcessor>(folder);
  if (report.sound[1] > 0) report.preparation_reason = preparation_reason_of<hub::AudioProcessor>(folder);
  return report;
}

std::string in_megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

void print_line(std::string_view name, const std::string& value) {
  std::printf("%-13s%s\n", std::string(name).c_str(), value.c_str());
}

void print_inputs(const Report& report) {
  if (report.max_tokens > 0) print_line("texts", text::cat("at most ", report.max_tokens, " tokens"));
  if (report.takes_images)
    print_line("images",
               report.image[0] > 0 ? text::cat(report.image[0], " x ", report.image[1], " pixels") : "any size");
  if (report.sound[1] > 0) print_line("sound", text::cat(report.sound[1], " frames of ", report.sound[0], " bins"));
  if (!report.preparation_reason.empty())
    print_line("", text::cat("not prepared by the library: ", report.preparation_reason));
  if (report.vector_size > 0) print_line("vectors", text::cat(report.vector_size, " numbers"));
  if (report.labels > 0) print_line("labels", text::cat(report.labels));
}

void print_weights(const Report& report) {
  const std::string bytes = in_megabytes(report.weight_bytes);
  if (report.code_bytes == 0) return print_line("memory", text::cat("weights ", bytes, ", mapped from the files"));
  print_line("memory", text::cat("weights ", bytes, ", of which ", in_megabytes(report.code_bytes), " are codes"));
}

void print_lines(const Report& report) {
  print_line("model", report.model_type);
  print_line("supported", report.reason.empty() ? "yes" : "no: " + report.reason);
  if (!report.reason.empty()) return;
  print_line("kind", report.kind);
  print_inputs(report);
  print_line("parameters", text::cat(report.parameters, " (", report.dtypes, ")"));
  print_weights(report);
  if (report.cache_bytes > 0)
    print_line("", text::cat("cache of ", report.cache_tokens, report.sound[1] > 0 ? " positions " : " tokens ",
                             in_megabytes(report.cache_bytes)));
  if (report.code_bytes == 0)
    print_line("", text::cat("training in f32 with AdamW ", in_megabytes(report.training_bytes()),
                             ", and a step's activations"));
}

// Numbers that a model does not have are null.
std::string json_number(int64_t number) { return number > 0 ? std::to_string(number) : "null"; }
std::string json_text(const std::string& text) { return text.empty() ? "null" : json::quote(text); }

void print_json(const Report& report) {
  const bool is_supported = report.reason.empty();
  std::string out =
      text::cat("{\"model_type\": ", json::quote(report.model_type),
                ", \"supported\": ", is_supported ? "true" : "false", ", \"reason\": ", json_text(report.reason));
  out += text::cat(
      ", \"kind\": ", json_text(report.kind), ", \"max_tokens\": ", json_number(report.max_tokens),
      ", \"image_rows\": ", json_number(report.image[0]), ", \"image_columns\": ", json_number(report.image[1]),
      ", \"sound_bins\": ", json_number(report.sound[0]), ", \"sound_frames\": ", json_number(report.sound[1]));
  out +=
      text::cat(", \"preparation_reason\": ", json_text(report.preparation_reason),
                ", \"vector_size\": ", json_number(report.vector_size), ", \"labels\": ", json_number(report.labels));
  out += text::cat(", \"parameters\": ", report.parameters, ", \"dtype\": ", json::quote(report.dtypes),
                   ", \"weight_bytes\": ", report.weight_bytes, ", \"code_bytes\": ", report.code_bytes,
                   ", \"cache_bytes\": ", report.cache_bytes);
  out += text::cat(", \"cache_tokens\": ", report.cache_tokens, ", \"training_bytes\": ", report.training_bytes(), "}");
  std::printf("%s\n", out.c_str());
}

}  // namespace

int inspect(const std::vector<std::string>& arguments) {
  std::string folder, weights = "files";
  bool json = false;
  Flags flags("fulgurite inspect FOLDER [--json]", {"fulgurite inspect smollm2"});
  flags.positional("FOLDER", folder, "a folder of a Hugging Face model");
  flags.choice("weights", weights, {"files", "int8", "int4"}, "the linear layers' weights, in few bits");
  flags.toggle("json", json, "print one JSON object");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("a folder is missing; see --help");
  const Report report = report_on(folder, {.weights = hub::weights_from_name(weights)});
  json ? print_json(report) : print_lines(report);
  return report.reason.empty() ? 0 : 1;
}

}  // namespace fulgurite::cli
