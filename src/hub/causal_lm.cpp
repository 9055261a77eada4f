#include <fulgurite/hub/causal_lm.h>

namespace fulgurite::hub {

namespace {

template <class Model>
CausalLM load_family(const std::string& folder, const LoadOptions& options) {
  return {load<Model>(folder, options)};
}

struct Family {
  const char* model_type;
  CausalLM (*load)(const std::string& folder, const LoadOptions& options);
};

constexpr Family families[] = {
    {"llama", &load_family<models::Llama>},   {"mistral", &load_family<models::Llama>},
    {"qwen2", &load_family<models::Llama>},   {"qwen3", &load_family<models::Llama>},
    {"smollm3", &load_family<models::Llama>}, {"olmo2", &load_family<models::Llama>},
    {"granite", &load_family<models::Llama>}, {"gpt2", &load_family<models::Gpt2>},
    {"gemma", &load_family<models::Gemma>},   {"gemma2", &load_family<models::Gemma>},
    {"gemma3", &load_family<models::Gemma>},  {"gemma3_text", &load_family<models::Gemma>},
    {"phi", &load_family<models::Phi>},       {"phi3", &load_family<models::Phi3>},
};

}  // namespace

CausalLM load_causal_lm(const std::string& folder, const LoadOptions& options) {
  const Config config = Config::read(folder);
  const std::string type = config.model_type();
  std::string known;
  for (const Family& family : families) {
    if (type == family.model_type) return family.load(folder, options);
    known += std::string(known.empty() ? "" : ", ") + family.model_type;
  }
  config.refuse("model_type", "language models are loaded of the families " + known);
}

}  // namespace fulgurite::hub
