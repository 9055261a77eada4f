#include "cli/serve/requests.h"

#include <algorithm>
#include <charconv>
#include <random>

#include <fulgurite/error.h>

#include "cli/serve/api_error.h"
#include "cli/serve/request_fields.h"
#include "hub/generation/sampler.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

using Kind = json::Node::Kind;

constexpr int64_t max_choices = 16, max_prompts = 64, max_inputs = 2048;
constexpr size_t max_stops = 16;

void check_model(RequestFields& fields, const std::string& name) {
  const std::string asked = fields.string("model", name);
  if (asked != name)
    throw ApiError(404, text::cat("there is no model ", asked, "; this server has ", name), "model", "model_not_found");
}

uint64_t any_seed() {
  std::random_device random;
  const uint64_t high = random();
  return high << 32 | random();
}

std::vector<std::pair<int64_t, double>> read_bias(RequestFields& fields) {
  std::vector<std::pair<int64_t, double>> out;
  const json::Node* const value = fields.find("logit_bias");
  if (!value) return out;
  if (!value->is(Kind::object)) refuse_field("logit_bias", "must be an object of tokens and numbers");
  for (const json::Member& member : value->members) {
    int64_t token = 0;
    const char* const end = member.name.data() + member.name.size();
    const auto [at, error] = std::from_chars(member.name.data(), end, token);
    if (error != std::errc() || at != end || !member.value.is_number())
      refuse_field("logit_bias", "must be an object of tokens and numbers");
    out.emplace_back(token, member.value.floating);
  }
  return out;
}

// The members that chats and completions share.
GenerateOptions read_options(RequestFields& fields) {
  GenerateOptions options;
  options.temperature = fields.number("temperature", 0, 2, 1);
  options.top_p = fields.number("top_p", 0, 1, 1);
  options.top_k = std::max<int64_t>(fields.integer("top_k", -1, 1 << 30).value_or(0), 0);
  options.min_p = fields.number("min_p", 0, 1, 0);
  options.typical_p = fields.number("typical_p", 0, 1, 1);
  options.repetition_penalty = fields.number("repetition_penalty", 0, 100, 1);
  options.frequency_penalty = fields.number("frequency_penalty", -2, 2, 0);
  options.presence_penalty = fields.number("presence_penalty", -2, 2, 0);
  options.min_tokens = fields.integer("min_tokens", 0, 1 << 30).value_or(0);
  options.token_bias = read_bias(fields);
  options.stop = fields.strings("stop", max_stops);
  const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  options.seed = seed ? static_cast<uint64_t>(*seed) : any_seed();
  if (std::count(options.stop.begin(), options.stop.end(), "")) refuse_field("stop", "has an empty text");
  try {
    generation::check_options(options);
  } catch (const UserError& error) {
    throw ApiError(400, error.what());
  }
  return options;
}

void read_stream(RequestFields& fields, GenerateRequest& request) {
  request.is_streamed = fields.boolean("stream", false);
  const json::Node* const options = fields.find("stream_options");
  if (!options) return;
  if (!options->is(Kind::object)) refuse_field("stream_options", "must be an object");
  if (!request.is_streamed) refuse_field("stream_options", "needs stream");
  RequestFields of_stream(*options);
  request.with_usage = of_stream.boolean("include_usage", false);
  of_stream.ignore({"include_obfuscation"});
  of_stream.finish();
}

void finish(RequestFields& fields) {
  fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});
  fields.finish();
}

void check_prompt(const std::vector<int64_t>& prompt, const TextModel& model) {
  const auto length = static_cast<int64_t>(prompt.size());
  if (length == 0) throw ApiError(400, "the prompt has no tokens");
  if (length >= model.context)
    throw ApiError(400, text::cat("the prompt has ", length, " tokens, and a text at most ", model.context), "",
                   "context_length_exceeded");
  for (const int64_t token : prompt)
    if (token < 0 || token >= model.vocabulary)
      throw ApiError(400, text::cat("the prompt has the token ", token, ", which the model does not have"));
}

void check_length(const GenerateOptions& options, size_t prompt, const TextModel& model) {
  if (options.max_tokens <= model.context - static_cast<int64_t>(prompt)) return;
  throw ApiError(400,
                 text::cat("the prompt has ", prompt, " tokens and ", options.max_tokens,
                           " are to be generated, but a text has at most ", model.context),
                 "max_tokens", "context_length_exceeded");
}

// The choices of one prompt draw differently.
void add_prompt(GenerateRequest& request, const std::vector<int64_t>& prompt, const GenerateOptions& options) {
  for (int64_t i = 0; i < request.choices; ++i) {
    request.texts.push_back({prompt, options});
    request.texts.back().options.seed += static_cast<uint64_t>(i);
  }
  request.prompt_tokens += static_cast<int64_t>(prompt.size());
}

std::string text_of_content(const json::Node& content) {
  if (content.is(Kind::string)) return content.string;
  std::string out;
  for (const json::Node& part : content.items) {
    const json::Node* const type = part.find("type");
    const json::Node* const text = part.find("text");
    if (!type || type->string != "text" || !text || !text->is(Kind::string))
      refuse_field("messages", "has a part that is not text");
    out += text->string;
  }
  return out;
}

ChatMessage read_message(const json::Node& message) {
  if (!message.is(Kind::object)) refuse_field("messages", "must be a list of objects");
  const json::Node* const role = message.find("role");
  const json::Node* const content = message.find("content");
  if (!role || !role->is(Kind::string)) refuse_field("messages", "has a message without a role");
  if (!content || !(content->is(Kind::string) || content->is(Kind::array)))
    refuse_field("messages", "has a message whose content is not text");
  return {role->string == "developer" ? "system" : role->string, text_of_content(*content)};
}

std::vector<int64_t> tokens_of_chat(RequestFields& fields, const Tokenizer& tokenizer) {
  const json::Node* const list = fields.find("messages");
  if (!list || !list->is(Kind::array) || list->items.empty()) refuse_field("messages", "must be a list of messages");
  std::vector<ChatMessage> messages;
  for (const json::Node& each : list->items) messages.push_back(read_message(each));
  try {
    const std::string prompt = tokenizer.apply_chat_template(messages, {.add_generation_prompt = true});
    return tokenizer.encode(prompt, {.add_special_tokens = false}).ids;
  } catch (const UserError& error) {
    throw ApiError(400, error.what(), "messages");
  }
}

std::vector<int64_t> tokens_of_list(const json::Node& list) {
  std::vector<int64_t> out;
  for (const json::Node& item : list.items) {
    if (!item.is(Kind::integer)) refuse_field("prompt", "has a list that is not of tokens");
    out.push_back(item.integer);
  }
  return out;
}

std::vector<int64_t> tokens_of_text(const std::string& text, const Tokenizer& tokenizer) {
  try {
    return tokenizer.encode(text).ids;
  } catch (const UserError& error) {
    throw ApiError(400, error.what(), "prompt");
  }
}

// A text, a list of texts, a list of tokens, or a list of lists of tokens.
std::vector<std::vector<int64_t>> read_prompts(RequestFields& fields, const Tokenizer& tokenizer) {
  const json::Node* const value = fields.find("prompt");
  if (!value || !(value->is(Kind::string) || value->is(Kind::array)))
    refuse_field("prompt", "must be a text, a list of texts, or tokens");
  if (value->is(Kind::string)) return {tokens_of_text(value->string, tokenizer)};
  if (!value->items.empty() && value->items[0].is(Kind::integer)) return {tokens_of_list(*value)};
  if (value->items.size() > static_cast<size_t>(max_prompts))
    refuse_field("prompt", text::cat("has more than ", max_prompts, " texts"));
  std::vector<std::vector<int64_t>> out;
  for (const json::Node& item : value->items)
    if (item.is(Kind::string)) out.push_back(tokens_of_text(item.string, tokenizer));
    else if (item.is(Kind::array)) out.push_back(tokens_of_list(item));
    else refuse_field("prompt", "must be a text, a list of texts, or tokens");
  return out;
}

// Answers that are not plain text.
void refuse_other_answers(RequestFields& fields) {
  fields.refuse({"tools", "functions", "audio", "prediction", "reasoning_effort", "web_search_options"},
                "is not supported");
  fields.ignore({"tool_choice", "function_call", "parallel_tool_calls"});  // nothing without tools
  if (const json::Node* const format = fields.find("response_format")) {
    const json::Node* const type = format->find("type");
    if (!type || type->string != "text") refuse_field("response_format", "other than text is not supported");
  }
  for (const std::string& each : fields.strings("modalities", 2))
    if (each != "text") refuse_field("modalities", "other than text are not supported");
}

}  // namespace

GenerateRequest read_chat_request(const json::Node& body, const TextModel& model) {
  RequestFields fields(body);
  check_model(fields, model.name);
  GenerateRequest request{.texts = {}, .is_chat = true};
  GenerateOptions options = read_options(fields);
  read_stream(fields, request);
  request.choices = fields.integer("n", 1, max_choices).value_or(1);
  request.with_logprobs = fields.boolean("logprobs", false);
  options.top_logprobs = fields.integer("top_logprobs", 0, 20).value_or(0);
  if (options.top_logprobs > 0 && !request.with_logprobs) refuse_field("top_logprobs", "needs logprobs");
  const auto older_limit = fields.integer("max_tokens", 1, 1 << 30);
  const auto limit = fields.integer("max_completion_tokens", 1, 1 << 30);
  refuse_other_answers(fields);
  const std::vector<int64_t> prompt = tokens_of_chat(fields, model.tokenizer);
  finish(fields);
  check_prompt(prompt, model);
  const int64_t rest = model.context - static_cast<int64_t>(prompt.size());
  options.max_tokens = limit ? *limit : older_limit.value_or(rest);
  check_length(options, prompt.size(), model);
  add_prompt(request, prompt, options);
  return request;
}

GenerateRequest read_completion_request(const json::Node& body, const TextModel& model) {
  RequestFields fields(body);
  check_model(fields, model.name);
  GenerateRequest request;
  GenerateOptions options = read_options(fields);
  read_stream(fields, request);
  request.choices = fields.integer("n", 1, max_choices).value_or(1);
  const auto logprobs = fields.integer("logprobs", 0, 20);
  request.with_logprobs = logprobs.has_value();
  options.top_logprobs = logprobs.value_or(0);
  options.max_tokens = fields.integer("max_tokens", 0, 1 << 30).value_or(16);
  if (const auto best_of = fields.integer("best_of", 1, max_choices); best_of && *best_of != request.choices)
    refuse_field("best_of", "other than n is not supported");
  fields.refuse({"echo", "suffix"}, "is not supported");
  const std::vector<std::vector<int64_t>> prompts = read_prompts(fields, model.tokenizer);
  finish(fields);
  if (prompts.empty()) refuse_field("prompt", "is empty");
  for (const std::vector<int64_t>& prompt : prompts) {
    check_prompt(prompt, model);
    check_length(options, prompt.size(), model);
    add_prompt(request, prompt, options);
  }
  return request;
}

EmbeddingRequest read_embedding_request(const json::Node& body, const std::string& model, int64_t width) {
  RequestFields fields(body);
  check_model(fields, model);
  EmbeddingRequest request;
  const std::string encoding = fields.string("encoding_format", "float");
  if (encoding != "float" && encoding != "base64") refuse_field("encoding_format", "must be float or base64");
  request.is_base64 = encoding == "base64";
  if (const auto dimensions = fields.integer("dimensions", 1, 1 << 30); dimensions && *dimensions != width)
    refuse_field("dimensions", text::cat("must be ", width, ", the width of the model's vectors"));
  request.texts = fields.strings("input", max_inputs);
  finish(fields);
  if (request.texts.empty()) refuse_field("input", "must be a text or a list of texts");
  return request;
}

}  // namespace fulgurite::cli
