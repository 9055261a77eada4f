#include <fulgurite/hub/seq2seq.h>

namespace fulgurite::hub {

bool is_seq2seq(const Config& config) {
  const std::string type = config.model_type();
  return type == "t5" || type == "mt5";
}

Seq2SeqLM load_seq2seq(const std::string& folder, const LoadOptions& options) {
  const Config config = Config::read(folder);
  if (is_seq2seq(config)) return {load<models::T5>(folder, options)};
  config.refuse("model_type", "models with an encoder and a decoder are loaded of the families t5, mt5");
}

}  // namespace fulgurite::hub
