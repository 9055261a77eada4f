#include "cli/serve/http_server.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include <httplib.h>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite::cli {

struct HttpServer::State {
  State(Service& the_service, HttpOptions the_options) : service(the_service), options(std::move(the_options)) {
    server.set_payload_max_length(static_cast<size_t>(options.body_bytes));
    server.set_tcp_nodelay(true);
    server.set_read_timeout(std::chrono::seconds(30));
    server.set_write_timeout(std::chrono::seconds(30));
    server.new_task_queue = [count = options.connections] {
      return new httplib::ThreadPool(static_cast<size_t>(count));
    };
    server.Get(".*", [this](const auto& request, auto& response) { answer(request, response, false); });
    server.Post(".*", [this](const auto& request, auto& response) { answer(request, response, true); });
    server.set_error_handler([](const httplib::Request&, httplib::Response& response) { complete_error(response); });
    if (!options.is_quiet) server.set_logger(print_request);
  }

  void answer(const httplib::Request& request, httplib::Response& response, bool has_body) {
    // Held until the response is written.
    const auto in_progress = std::shared_ptr<void>(nullptr, [this](void*) { --requests; });
    ++requests;
    try {
      check(request, has_body);
      put(has_body ? service.post(request.path, request.body) : service.get(request.path), response, in_progress);
    } catch (const ApiError& error) {
      put(error_reply(error), response, in_progress);
    } catch (const std::exception& error) {
      put(error_reply({500, error.what()}), response, in_progress);
    }
  }

  // A page of another site that a browser shows can post texts, but not JSON.
  void check(const httplib::Request& request, bool has_body) const {
    if (is_ending) throw ApiError(503, "the server is shutting down");
    if (!options.key.empty() && request.path != "/health" && !has_key(request))
      throw ApiError(401, "the key of --api-key is missing or wrong", "", "invalid_api_key");
    if (has_body && !request.get_header_value("Content-Type").starts_with("application/json"))
      throw ApiError(415, "the Content-Type must be application/json");
  }

  // The time does not depend on how many characters are right.
  bool has_key(const httplib::Request& request) const {
    const std::string given = request.get_header_value("Authorization"), wanted = "Bearer " + options.key;
    size_t difference = given.size() ^ wanted.size();
    for (size_t i = 0; i < given.size(); ++i) difference |= static_cast<size_t>(given[i] ^ wanted[i % wanted.size()]);
    return difference == 0;
  }

  static void put(Reply reply, httplib::Response& response, const std::shared_ptr<void>& in_progress) {
    response.status = reply.status;
    if (reply.status == 429 || reply.status == 503) response.set_header("Retry-After", "1");
    if (!reply.write) {
      response.set_content(reply.body, reply.type);
      return;
    }
    if (reply.type == "text/event-stream") response.set_header("Cache-Control", "no-cache");
    const auto write = [in_progress, reply](size_t, httplib::DataSink& sink) {
      const Connection connection{[&](std::string_view part) { return sink.write(part.data(), part.size()); },
                                  sink.is_writable};
      if (!reply.write(connection)) return false;
      sink.done();
      return true;
    };
    response.set_chunked_content_provider(reply.type, write);
  }

  // Errors that the HTTP library finds have no body.
  static void complete_error(httplib::Response& response) {
    if (!response.body.empty()) return;
    const std::string message =
        response.status == 413 ? "the body is too large; see --max-body" : text::cat("HTTP error ", response.status);
    response.set_content(error_json({response.status, message}), "application/json");
  }

  static void print_request(const httplib::Request& request, const httplib::Response& response) {
    const std::string line =
        text::cat(request.remote_addr, " ", request.method, " ", request.path, " ", response.status, "\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  Service& service;
  HttpOptions options;
  httplib::Server server{};
  int port = 0;
  std::atomic<bool> is_ending = false;
  std::atomic<int64_t> requests = 0;
  std::thread listener{};
};

HttpServer::HttpServer(Service& service, const HttpOptions& options)
    : state_(std::make_unique<State>(service, options)) {
  State& state = *state_;
  const int wanted = static_cast<int>(options.port);
  if (wanted == 0) state.port = state.server.bind_to_any_port(options.host);
  else state.port = state.server.bind_to_port(options.host, wanted) ? wanted : -1;
  if (state.port < 0)
    throw UserError(text::cat("serve: the address ", options.host, ":", options.port, " cannot be used"));
  state.listener = std::thread([&state] { state.server.listen_after_bind(); });
  while (!state.server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

HttpServer::~HttpServer() {
  state_->is_ending = true;
  while (state_->requests > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  state_->server.stop();
  state_->listener.join();
}

int64_t HttpServer::port() const { return state_->port; }

}  // namespace fulgurite::cli
