#pragma once
#include <stdexcept>
#include <string>

namespace fulgurite::cli {

/// An error that a client gets, in the form of OpenAI's interface.
struct ApiError : std::runtime_error {
  ApiError(int http_status, const std::string& message, std::string parameter_name = "", std::string code_name = "")
      : std::runtime_error(message),
        status(http_status),
        parameter(std::move(parameter_name)),
        code(std::move(code_name)) {}
  int status;
  std::string parameter;  // of the request; empty: none
  std::string code;       // a word for programs; empty: none
};

/// The body of an error: {"error": {"message", "type", "param", "code"}}.
std::string error_json(const ApiError& error);

}  // namespace fulgurite::cli
