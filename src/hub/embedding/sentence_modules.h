#pragma once
#include <string>

#include <fulgurite/hub/text_embedder.h>

namespace fulgurite::hub {

/// The content of the files of a folder of sentence-transformers.
struct SentenceModules {
  std::string model_folder;  // of config.json
  EmbedOptions options;
};

/// Reads modules.json and the files that it names; a folder without it has the mean of all tokens. UserError for a
/// module, or a pooling, that the library does not have.
SentenceModules read_sentence_modules(const std::string& folder);

}  // namespace fulgurite::hub
