#include <fulgurite/hub/seq2seq.h>

namespace fulgurite::hub {

Seq2SeqLM load_seq2seq(const std::string& folder, const LoadOptions& options) {
  const Config config = Config::read(folder);
  const std::string type = config.model_type();
  if (type == "t5" || type == "mt5") return {load<models::T5>(folder, options)};
  config.refuse("model_type", "models with an encoder and a decoder are loaded of the families t5, mt5");
}

}  // namespace fulgurite::hub
