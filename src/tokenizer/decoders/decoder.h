#pragma once
#include <memory>
#include <string>
#include <vector>

#include "io/json.h"

namespace fulgurite::tokenization {

/// Changes the texts of tokens so that they join to the decoded text.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void decode(std::vector<std::string>& tokens) const = 0;
};

/// Makes the decoder that tokenizer.json describes. UserError for kinds that there are not.
std::unique_ptr<const Decoder> make_decoder(const json::Node& component);

}  // namespace fulgurite::tokenization
