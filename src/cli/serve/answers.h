#pragma once
#include <string>
#include <vector>

#include <fulgurite/hub.h>

#include "cli/serve/requests.h"
#include "cli/serve/text_engine.h"

namespace fulgurite::cli {

/// A text of an answer, as far as it has been generated.
struct Choice {
  std::string text{};
  std::vector<GeneratedToken> tokens{};  // with log-probabilities only
  int64_t generated = 0;
  FinishReason finish = FinishReason::none;
};

/// Writes the JSON of the answers to one request.
class AnswerWriter {
 public:
  AnswerWriter(const GenerateRequest& request, const TextModel& model);

  /// The whole answer.
  std::string answer(const std::vector<Choice>& choices) const;
  /// The first part of a streamed choice; empty if its kind of answer has none.
  std::string first_part(size_t index) const;
  /// A part of a streamed choice. Its text is at `offset` of the choice's text.
  std::string part(const TextEvent& event, size_t offset) const;
  /// The last part of a streamed choice.
  std::string last_part(const TextEvent& event) const;
  /// The part of a stream with the numbers of tokens.
  std::string usage_part(int64_t generated) const;

 private:
  std::string object(const std::string& kind, const std::string& choices, const std::string& usage) const;
  std::string chunk(size_t index, const std::string& content, const std::string& logprobs, FinishReason finish) const;
  std::string usage(int64_t generated) const;
  std::string logprobs(const std::vector<GeneratedToken>& tokens, size_t offset) const;
  std::string chat_logprobs(const std::vector<GeneratedToken>& tokens) const;
  std::string completion_logprobs(const std::vector<GeneratedToken>& tokens, size_t offset) const;
  std::string token_json(const TokenLogprob& token) const;
  std::string text_of(int64_t token) const;

  const TextModel& model_;
  bool is_chat_, with_logprobs_;
  int64_t prompt_tokens_, created_;
  std::string id_;
};

/// The answer to a request for vectors [texts, width], f32.
std::string embedding_json(const Tensor& vectors, bool is_base64, const std::string& model, int64_t tokens);

}  // namespace fulgurite::cli
