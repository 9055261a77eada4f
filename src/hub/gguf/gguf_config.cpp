#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include <fulgurite/error.h>

#include "hub/gguf/gguf_model.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub::gguf {

namespace {

struct Architecture {
  const char* name;  // in GGUF, and the model_type of transformers
  const char* class_name;
};

constexpr Architecture architectures[] = {
    {"llama", "LlamaForCausalLM"}, {"qwen2", "Qwen2ForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"}};

const Architecture& architecture_of(const GgufFile& file) {
  const std::string name = file.string("general.architecture", "");
  for (const Architecture& architecture : architectures)
    if (name == architecture.name) return architecture;
  throw UserError(text::cat("the architecture \"", printable(name),
                            "\" of a GGUF file is not supported; there are "
                            "llama, qwen2 and qwen3"));
}

// Reads "llama.block_count" and the like.
class Keys {
 public:
  Keys(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}
  int64_t needed(std::string_view key) const {
    const int64_t value = file_.integer(prefix_ + "." + std::string(key), -1);
    if (value < 0) throw UserError(text::cat("the GGUF file has no \"", prefix_, ".", key, "\""));
    return value;
  }
  int64_t integer(std::string_view key, int64_t otherwise) const {
    return file_.integer(prefix_ + "." + std::string(key), otherwise);
  }
  double number(std::string_view key, double otherwise) const {
    return file_.number(prefix_ + "." + std::string(key), otherwise);
  }
  std::string string(std::string_view key) const { return file_.string(prefix_ + "." + std::string(key), ""); }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

// The factor by which LLaMA 3.1 and its successors divide a frequency.
double llama3_divisor(double frequency, double factor) {
  constexpr double original = 8192, low = 1, high = 4;
  const double wave_length = 2 * std::numbers::pi / frequency;
  if (wave_length < original / high) return 1;
  if (wave_length > original / low) return factor;
  const double smooth = (original / wave_length - low) / (high - low);
  return 1 / ((1 - smooth) / factor + smooth);
}

// GGUF has the divisors as a tensor; transformers has the numbers that they come from.
std::string llama3_scaling(const GgufFile& file, double base) {
  const std::vector<float> divisors = file.load("rope_freqs.weight").to(Dtype::f32).to_vector<float>();
  const double factor = divisors.empty() ? 1 : *std::max_element(divisors.begin(), divisors.end());
  for (size_t i = 0; i < divisors.size(); ++i) {
    const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(divisors.size()));
    if (std::abs(llama3_divisor(frequency, factor) - divisors[i]) > 1e-3 * divisors[i])
      throw UserError("the GGUF file's rope_freqs.weight are not those of LLaMA 3, which is not supported");
  }
  return text::cat(R"({"rope_type": "llama3", "factor": )", json::number(factor),
                   R"(, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
}

std::string rotary_scaling(const GgufFile& file, const Keys& keys, double base) {
  if (file.contains("rope_freqs.weight")) return llama3_scaling(file, base);
  const std::string type = keys.string("rope.scaling.type");
  if (type.empty() || type == "none") return "null";
  const std::string factor = json::number(keys.number("rope.scaling.factor", 1));
  if (type == "linear") return text::cat(R"({"rope_type": "linear", "factor": )", factor, "}");
  if (type == "yarn")
    return text::cat(R"({"rope_type": "yarn", "factor": )", factor, R"(, "original_max_position_embeddings": )",
                     keys.needed("rope.scaling.original_context_length"), "}");
  throw UserError(text::cat("the GGUF file's rope.scaling.type \"", printable(type), "\" is not supported"));
}

std::string_view dtype_name(Dtype dtype) {
  if (dtype == Dtype::bf16) return "bfloat16";
  return dtype == Dtype::f16 ? "float16" : "float32";
}

// The shortest text of a number that is f32 in the file.
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr};
}

std::string special_ids(const GgufFile& file) {
  std::string out;
  for (const char* role : {"bos", "eos"})
    if (const int64_t id = file.integer(text::cat("tokenizer.ggml.", role, "_token_id"), -1); id >= 0)
      out += text::cat("  \"", role, "_token_id\": ", id, ",\n");
  return out;
}

}  // namespace

std::string config_text(const GgufFile& file, Dtype dtype) {
  const Architecture& architecture = architecture_of(file);
  const Keys keys(file, architecture.name);
  const int64_t heads = keys.needed("attention.head_count"), width = keys.needed("embedding_length");
  const int64_t head_width = keys.integer("attention.key_length", heads > 0 ? width / heads : 0);
  if (const int64_t rotated = keys.integer("rope.dimension_count", head_width); rotated != head_width)
    throw UserError(
        text::cat("the GGUF file rotates ", rotated, " of ", head_width, " features, which is not supported"));
  const double base = keys.number("rope.freq_base", 10000);
  const GgufInfo& embedding = file.info("token_embd.weight");
  return text::cat(
      "{\n  \"architectures\": [\"", architecture.class_name, "\"],\n", special_ids(file), "  \"dtype\": \"",
      dtype_name(dtype), "\",\n  \"head_dim\": ", head_width,
      ",\n  \"hidden_act\": \"silu\",\n  \"hidden_size\": ", width,
      ",\n  \"intermediate_size\": ", keys.needed("feed_forward_length"),
      ",\n  \"max_position_embeddings\": ", keys.needed("context_length"), ",\n  \"model_type\": \"", architecture.name,
      "\",\n  \"num_attention_heads\": ", heads, ",\n  \"num_hidden_layers\": ", keys.needed("block_count"),
      ",\n  \"num_key_value_heads\": ", keys.integer("attention.head_count_kv", heads),
      ",\n  \"rms_norm_eps\": ", shortest(keys.number("attention.layer_norm_rms_epsilon", 1e-6)),
      ",\n  \"rope_scaling\": ", rotary_scaling(file, keys, base), ",\n  \"rope_theta\": ", json::number(base),
      ",\n  \"tie_word_embeddings\": ", file.contains("output.weight") ? "false" : "true",
      ",\n  \"vocab_size\": ", embedding.shape.empty() ? 0 : embedding.shape[0], "\n}\n");
}

}  // namespace fulgurite::hub::gguf
