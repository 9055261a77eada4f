#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub.h>

#include "cli/serve/answers.h"
#include "cli/serve/api_error.h"
#include "cli/serve/requests.h"
#include "cli/serve/text_engine.h"

namespace fulgurite::cli {

/// The connection to a client, as far as an answer that is written in parts needs it.
struct Connection {
  std::function<bool(std::string_view)> write;  // false: the client is gone
  std::function<bool()> is_open;
};

/// The reply to a request: a body, or a function that writes it and returns false if it could not.
struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::function<bool(const Connection&)> write{};
};

/// The most texts at a time, and of a text.
struct ServiceLimits {
  int64_t texts = 8;    // computed together
  int64_t queue = 64;   // that may wait
  int64_t context = 0;  // tokens of a text; 0: the model's limit
};

/// Answers the requests of OpenAI's interface with a language model, a model of vectors, or both. Threads may call it
/// concurrently.
class Service {
 public:
  explicit Service(const ServiceLimits& limits) : limits_(limits) {}
  /// Serves the language model of a folder.
  void add_text_model(const std::string& name, const std::string& folder, const hub::LoadOptions& options);
  /// Serves the vectors of a BERT's folder.
  void add_embedder(const std::string& name, const std::string& folder, const hub::LoadOptions& options);

  /// The reply to a request that has a body.
  Reply post(const std::string& path, const std::string& body);
  /// The reply to a request without a body.
  Reply get(const std::string& path) const;

 private:
  Reply generate(const GenerateRequest& request);
  Reply embed(const json::Node& body);

  ServiceLimits limits_;
  std::optional<TextModel> text_model_{};
  std::unique_ptr<TextEngine> engine_{};
  std::string embedder_name_{};
  std::optional<TextEmbedder> embedder_{};
  std::mutex embedder_mutex_{};
};

/// The reply that an error is.
Reply error_reply(const ApiError& error);

}  // namespace fulgurite::cli
