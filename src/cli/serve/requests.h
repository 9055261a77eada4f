#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub.h>

#include "cli/serve/text_engine.h"
#include "io/json.h"

namespace fulgurite::cli {

/// A language model as requests refer to it.
struct TextModel {
  std::string name;
  Tokenizer tokenizer;
  int64_t context;     // the most tokens of a text
  int64_t vocabulary;  // the tokens that the model has
};

/// A request for texts.
struct GenerateRequest {
  std::vector<TextRequest> texts;  // `choices` for each prompt
  int64_t choices = 1;
  bool is_chat = false;
  bool is_streamed = false;
  bool with_usage = false;  // at the end of a stream
  bool with_logprobs = false;
  int64_t prompt_tokens = 0;
};

/// A request for the vectors of texts.
struct EmbeddingRequest {
  std::vector<std::string> texts;
  bool is_base64 = false;
};

// The bodies of requests, as OpenAI's interface defines them. ApiError for what they must not be.
GenerateRequest read_chat_request(const json::Node& body, const TextModel& model);
GenerateRequest read_completion_request(const json::Node& body, const TextModel& model);
EmbeddingRequest read_embedding_request(const json::Node& body, const std::string& model, int64_t width);

}  // namespace fulgurite::cli
