#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::generation {

/// Ends a text that comes in parts at the first of several stop texts.
class StopFilter {
 public:
  /// UserError for an empty stop text.
  explicit StopFilter(std::vector<std::string> stops);
  /// Returns the new text that is certainly before a stop text; the rest is held back.
  std::string put(std::string_view part);
  /// Returns the text that was held back.
  std::string finish();
  bool is_stopped() const { return is_stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace fulgurite::generation
