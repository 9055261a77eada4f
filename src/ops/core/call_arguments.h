#pragma once
#include <deque>
#include <map>

#include "ops/core/dispatch.h"

namespace fulgurite {

/// The arguments of a call by name: values matched with a signature's parameters, checked, with defaults filled in.
/// Owns the referenced objects.
class CallArguments {
 public:
  /// Returns false, with a message in error(), if the values do not match the signature.
  bool bind(const Symbol&, const std::vector<Value>& args, const std::map<std::string, Value>& kwargs);
  const std::string& error() const { return error_; }
  Arguments arguments() const { return {arguments_.data(), arguments_.size()}; }

 private:
  bool convert(const Parameter&, const Value&, Argument&);
  Argument index_item(const Value&);
  Argument default_of(const Parameter&);
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }

  // Deques: their elements do not move.
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> tensor_lists_;
  std::deque<std::vector<Int>> integer_lists_;
  std::deque<std::vector<Float>> floating_lists_;
  std::deque<std::vector<Argument>> lists_;
  std::deque<std::string> strings_;
  std::deque<Slice> slices_;
  std::vector<Argument> arguments_;
  std::string error_;
};

/// Operators within a small edit distance of `name`: three at most, the likeliest first.
std::vector<std::string_view> similar_operators(std::string_view name);

}  // namespace fulgurite
