#pragma once
#include <memory>
#include <string>

#include "cli/serve/service.h"

namespace fulgurite::cli {

/// Options of HttpServer.
struct HttpOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;  // 0: any that is free
  int64_t body_bytes = 4 << 20;
  int64_t connections = 64;  // that are served at a time; others wait
  std::string key{};         // that clients must send; empty: none
  bool is_quiet = false;     // prints no line for each request
};

/// A server of HTTP/1.1 in threads of its own.
class HttpServer {
 public:
  /// UserError if the address cannot be used.
  HttpServer(Service& service, const HttpOptions& options);
  /// Finishes the answers in progress. New requests meanwhile get the status 503.
  ~HttpServer();

  int64_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fulgurite::cli
