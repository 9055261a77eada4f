#include "cli/serve/answers.h"

#include <chrono>
#include <random>

#include "cli/serve/api_error.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

int64_t now() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

std::string new_id(bool is_chat) {
  std::random_device random;
  char digits[25];
  std::snprintf(digits, sizeof digits, "%08x%08x%08x", random(), random(), random());
  return text::cat(is_chat ? "chatcmpl-" : "cmpl-", digits);
}

std::string reason(FinishReason finish) {
  if (finish == FinishReason::none) return "null";
  return finish == FinishReason::stop ? "\"stop\"" : "\"length\"";
}

// -infinity, the score of a token that cannot occur, is not a number of JSON.
std::string number(double logprob) { return json::number(std::max(logprob, -9999.0)); }

}  // namespace

std::string error_json(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? "null" : json::quote(text); };
  const std::string type = error.status >= 500   ? "server_error"
                           : error.status == 429 ? "rate_limit_error"
                           : error.status == 401 ? "authentication_error"
                                                 : "invalid_request_error";
  return text::cat("{\"error\": {\"message\": ", json::quote(error.what()), ", \"type\": ", json::quote(type),
                   ", \"param\": ", text_or_null(error.parameter), ", \"code\": ", text_or_null(error.code), "}}");
}

AnswerWriter::AnswerWriter(const GenerateRequest& request, const TextModel& model)
    : model_(model),
      is_chat_(request.is_chat),
      with_logprobs_(request.with_logprobs),
      prompt_tokens_(request.prompt_tokens),
      created_(now()),
      id_(new_id(request.is_chat)) {}

std::string AnswerWriter::answer(const std::vector<Choice>& choices) const {
  std::vector<std::string> items;
  int64_t generated = 0;
  for (const Choice& choice : choices) {
    const std::string content = json::quote(choice.text);
    const std::string body =
        is_chat_ ? text::cat("\"message\": {\"role\": \"assistant\", \"content\": ", content, ", \"refusal\": null}")
                 : text::cat("\"text\": ", content);
    items.push_back(text::cat("{\"index\": ", items.size(), ", ", body, ", \"logprobs\": ", logprobs(choice.tokens, 0),
                              ", \"finish_reason\": ", reason(choice.finish), "}"));
    generated += choice.generated;
  }
  const auto same = [](const std::string& item) { return item; };
  return object(is_chat_ ? "chat.completion" : "text_completion", text::join(items, same), usage(generated));
}

std::string AnswerWriter::first_part(size_t index) const {
  if (!is_chat_) return "";
  return chunk(index, "\"role\": \"assistant\", \"content\": \"\"", "null", FinishReason::none);
}

std::string AnswerWriter::part(const TextEvent& event, size_t offset) const {
  std::vector<GeneratedToken> tokens;
  if (event.token) tokens.push_back(*event.token);
  const std::string content = json::quote(event.text);
  return chunk(event.index, is_chat_ ? "\"content\": " + content : content, logprobs(tokens, offset),
               FinishReason::none);
}

std::string AnswerWriter::last_part(const TextEvent& event) const {
  return chunk(event.index, is_chat_ ? "" : "\"\"", "null", event.finish);
}

std::string AnswerWriter::usage_part(int64_t generated) const {
  return object(is_chat_ ? "chat.completion.chunk" : "text_completion", "", usage(generated));
}

std::string AnswerWriter::chunk(size_t index, const std::string& content, const std::string& logprobs,
                                FinishReason finish) const {
  const std::string body = is_chat_ ? text::cat("\"delta\": {", content, "}") : text::cat("\"text\": ", content);
  return object(is_chat_ ? "chat.completion.chunk" : "text_completion",
                text::cat("{\"index\": ", index, ", ", body, ", \"logprobs\": ", logprobs,
                          ", \"finish_reason\": ", reason(finish), "}"),
                "");
}

std::string AnswerWriter::object(const std::string& kind, const std::string& choices, const std::string& usage) const {
  return text::cat("{\"id\": ", json::quote(id_), ", \"object\": ", json::quote(kind), ", \"created\": ", created_,
                   ", \"model\": ", json::quote(model_.name), ", \"choices\": [", choices, "]",
                   usage.empty() ? "" : ", \"usage\": " + usage, "}");
}

std::string AnswerWriter::usage(int64_t generated) const {
  return text::cat("{\"prompt_tokens\": ", prompt_tokens_, ", \"completion_tokens\": ", generated,
                   ", \"total_tokens\": ", prompt_tokens_ + generated, "}");
}

std::string AnswerWriter::logprobs(const std::vector<GeneratedToken>& tokens, size_t offset) const {
  if (!with_logprobs_) return "null";
  return is_chat_ ? chat_logprobs(tokens) : completion_logprobs(tokens, offset);
}

std::string AnswerWriter::chat_logprobs(const std::vector<GeneratedToken>& tokens) const {
  const auto item = [&](const GeneratedToken& token) {
    const auto top = [&](const TokenLogprob& each) { return text::cat("{", token_json(each), "}"); };
    return text::cat("{", token_json({token.id, token.logprob}), ", \"top_logprobs\": [", text::join(token.top, top),
                     "]}");
  };
  return text::cat("{\"content\": [", text::join(tokens, item), "], \"refusal\": null}");
}

std::string AnswerWriter::completion_logprobs(const std::vector<GeneratedToken>& tokens, size_t offset) const {
  std::vector<std::string> texts, numbers, tops, offsets;
  for (const GeneratedToken& token : tokens) {
    const std::string text = text_of(token.id);
    const auto top = [&](const TokenLogprob& each) {
      return text::cat(json::quote(text_of(each.id)), ": ", number(each.logprob));
    };
    texts.push_back(json::quote(text));
    numbers.push_back(number(token.logprob));
    tops.push_back(token.top.empty() ? "null" : text::cat("{", text::join(token.top, top), "}"));
    offsets.push_back(std::to_string(offset));
    offset += text.size();
  }
  const auto same = [](const std::string& item) { return item; };
  return text::cat("{\"tokens\": [", text::join(texts, same), "], \"token_logprobs\": [", text::join(numbers, same),
                   "], \"top_logprobs\": [", text::join(tops, same), "], \"text_offset\": [", text::join(offsets, same),
                   "]}");
}

std::string AnswerWriter::token_json(const TokenLogprob& token) const {
  const std::string text = text_of(token.id);
  const bool is_whole = text.find("\uFFFD") == std::string::npos;
  const auto byte = [](char c) { return std::to_string(static_cast<unsigned char>(c)); };
  return text::cat("\"token\": ", json::quote(text), ", \"logprob\": ", number(token.logprob),
                   ", \"bytes\": ", is_whole ? text::cat("[", text::join(text, byte), "]") : "null");
}

std::string AnswerWriter::text_of(int64_t token) const {
  return model_.tokenizer.decode({token}, {.skip_special_tokens = false});
}

}  // namespace fulgurite::cli
