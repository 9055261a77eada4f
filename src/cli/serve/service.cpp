#include "cli/serve/service.h"

#include <fulgurite/error.h>

#include "cli/serve/text_reply.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

constexpr int64_t largest_context = 1 << 20;  // of models without a limit

json::Node parse_object(const std::string& body) {
  try {
    json::Node node = json::parse(body);
    if (!node.is(json::Node::Kind::object)) throw ApiError(400, "the body must be a JSON object");
    return node;
  } catch (const UserError& error) {
    throw ApiError(400, text::cat("the body is not JSON: ", error.what()));
  }
}

std::string model_json(const std::string& name) {
  return text::cat("{\"id\": ", json::quote(name),
                   ", \"object\": \"model\", \"created\": 0, \"owned_by\": \"fulgurite\"}");
}

[[noreturn]] void refuse_path(const std::string& path) { throw ApiError(404, text::cat("there is no ", path)); }

}  // namespace

Reply error_reply(const ApiError& error) { return {.status = error.status, .body = error_json(error)}; }

void Service::add_text_model(const std::string& name, const std::string& folder, const hub::LoadOptions& options) {
  const hub::Config config = hub::Config::read(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder);
  const hub::CausalLM model = hub::load_causal_lm(folder, options);
  int64_t context = model.max_length();
  if (context == 0) context = config.integer("max_position_embeddings", largest_context);
  if (limits_.context > 0) context = std::min(context, limits_.context);
  text_model_ = TextModel{name, tokenizer, context, config.integer("vocab_size", tokenizer.vocabulary_size())};
  engine_ = std::make_unique<TextEngine>(TokenGenerator(model, tokenizer.end_tokens()), tokenizer, limits_.texts,
                                         limits_.queue);
}

void Service::add_embedder(const std::string& name, const std::string& folder, const hub::LoadOptions& options) {
  embedder_name_ = name;
  embedder_ = TextEmbedder::load(folder, options);
}

Reply Service::post(const std::string& path, const std::string& body) {
  const bool is_chat = path == "/v1/chat/completions";
  if (!is_chat && path != "/v1/completions" && path != "/v1/embeddings") refuse_path(path);
  const json::Node request = parse_object(body);
  if (path == "/v1/embeddings") return embed(request);
  if (!text_model_) throw ApiError(400, "the server has no language model; /v1/embeddings has vectors");
  return generate(is_chat ? read_chat_request(request, *text_model_) : read_completion_request(request, *text_model_));
}

Reply Service::get(const std::string& path) const {
  std::vector<std::string> names;
  if (text_model_) names.push_back(text_model_->name);
  if (embedder_) names.push_back(embedder_name_);
  if (path == "/health")
    return {.body = text::cat("{\"status\": \"ok\", \"unfinished\": ", engine_ ? engine_->unfinished() : 0, "}")};
  if (path == "/v1/models")
    return {.body = text::cat("{\"object\": \"list\", \"data\": [", text::join(names, model_json), "]}")};
  for (const std::string& name : names)
    if (path == "/v1/models/" + name) return {.body = model_json(name)};
  if (path.starts_with("/v1/models/"))
    throw ApiError(404, text::cat("there is no model ", path.substr(11)), "model", "model_not_found");
  refuse_path(path);
}

Reply Service::generate(const GenerateRequest& request) {
  return text_reply(request, *text_model_, engine_->submit(request.texts));
}

Reply Service::embed(const json::Node& body) {
  if (!embedder_) throw ApiError(400, "the server has no model of vectors; see --embedder");
  const int64_t width = embedder_->width();
  const EmbeddingRequest request = read_embedding_request(body, embedder_name_, width);
  try {
    int64_t tokens = 0;
    const EncodeOptions options{.max_length = embedder_->options().max_tokens};
    for (const std::string& text : request.texts)
      tokens += static_cast<int64_t>(embedder_->tokenizer().encode(text, options).ids.size());
    const std::lock_guard lock(embedder_mutex_);
    return {.body = embedding_json(embedder_->embed(request.texts), request.is_base64, embedder_name_, tokens)};
  } catch (const UserError& error) {
    throw ApiError(400, error.what(), "input");
  }
}

}  // namespace fulgurite::cli
