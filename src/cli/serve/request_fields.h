#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.h"

namespace fulgurite::cli {

/// The members of a request's JSON object. A value of another kind or out of range is an ApiError that names it; null
/// counts as absent.
class RequestFields {
 public:
  explicit RequestFields(const json::Node& object) : object_(object) {}

  /// Returns a member of any kind; null if it is absent.
  const json::Node* find(std::string_view name);
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
  double number(std::string_view name, double low, double high, double otherwise);
  bool boolean(std::string_view name, bool otherwise);
  std::string string(std::string_view name, std::string_view otherwise);
  /// A string, or a list of at most so many; empty if it is absent.
  std::vector<std::string> strings(std::string_view name, size_t most);
  /// Throws ApiError if one of these members has a value other than null, false, 0 and the empty ones.
  void refuse(std::initializer_list<std::string_view> names, std::string_view reason);
  /// These members may have any value, without effect.
  void ignore(std::initializer_list<std::string_view> names);
  /// Throws ApiError if the object has a member that was not asked for.
  void finish() const;

 private:
  const json::Node& object_;
  std::set<std::string, std::less<>> known_{};
};

/// Throws ApiError 400 about a member of a request.
[[noreturn]] void refuse_field(std::string_view name, std::string_view problem);

}  // namespace fulgurite::cli
