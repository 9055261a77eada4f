#include <cstdio>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/models/models.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

constexpr int64_t cache_tokens = 1024;

struct Report {
  std::string model_type, reason, dtypes;  // the reason why it is not supported; empty if it is
  int64_t parameters = 0, weight_bytes = 0, cache_bytes = 0;
  // Parameters, gradients and the two moments of AdamW.
  int64_t training_bytes() const { return 16 * parameters; }
};

int64_t bytes_of(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype()));
  return bytes;
}

void measure(const hub::CausalLM& model, Report& report) {
  std::map<std::string, int64_t> by_dtype;
  for (const Tensor& tensor : nn::parameters(model)) {
    report.parameters += tensor.numel();
    report.weight_bytes += bytes_of({tensor});
    by_dtype[std::string(name(tensor.dtype()))] += tensor.numel();
  }
  for (const auto& [dtype, count] : by_dtype) report.dtypes += (report.dtypes.empty() ? "" : ", ") + dtype;
  const models::KeyValueCache cache = make_cache(model, cache_tokens, 1);
  report.cache_bytes = bytes_of(cache.keys) + bytes_of(cache.values);
}

Report report_on(const std::string& folder) {
  Report report;
  report.model_type = hub::Config::read(folder).model_type();
  try {
    measure(hub::load_causal_lm(folder), report);  // maps the files
  } catch (const UserError& error) {
    report.reason = error.what();
  }
  return report;
}

std::string in_megabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

void print_lines(const Report& report) {
  std::printf("model        %s\nsupported    %s\n", report.model_type.c_str(),
              report.reason.empty() ? "yes" : ("no: " + report.reason).c_str());
  if (!report.reason.empty()) return;
  std::printf("parameters   %lld (%s)\n", static_cast<long long>(report.parameters), report.dtypes.c_str());
  std::printf("memory       weights %s, mapped from the files\n", in_megabytes(report.weight_bytes).c_str());
  std::printf("             cache of %lld tokens %s\n", static_cast<long long>(cache_tokens),
              in_megabytes(report.cache_bytes).c_str());
  std::printf("             training in f32 with AdamW %s, and a step's activations\n",
              in_megabytes(report.training_bytes()).c_str());
}

void print_json(const Report& report) {
  std::printf("%s\n",
              text::cat("{\"model_type\": ", json::quote(report.model_type),
                        ", \"supported\": ", report.reason.empty() ? "true" : "false",
                        ", \"reason\": ", report.reason.empty() ? "null" : json::quote(report.reason),
                        ", \"parameters\": ", report.parameters, ", \"dtype\": ", json::quote(report.dtypes),
                        ", \"weight_bytes\": ", report.weight_bytes, ", \"cache_bytes\": ", report.cache_bytes,
                        ", \"cache_tokens\": ", cache_tokens, ", \"training_bytes\": ", report.training_bytes(), "}")
                  .c_str());
}

}  // namespace

int inspect(const std::vector<std::string>& arguments) {
  std::string folder;
  bool json = false;
  Flags flags("fulgurite inspect FOLDER [--json]", {"fulgurite inspect smollm2"});
  flags.positional("FOLDER", folder, "a folder of a Hugging Face model");
  flags.toggle("json", json, "print one JSON object");
  if (!flags.parse(arguments)) return 0;
  if (folder.empty()) throw WrongUse("a folder is missing; see --help");
  const Report report = report_on(folder);
  json ? print_json(report) : print_lines(report);
  return report.reason.empty() ? 0 : 1;
}

}  // namespace fulgurite::cli
