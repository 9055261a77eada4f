#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/jit.h>

namespace fulgurite::detail {

/// One difference of a call from the one that the newest entry was compiled for.
struct Change {
  enum class Kind : uint8_t { size, number, guard, other };
  std::string what;  // "t_0", "captured t_1", "gradients and default dtype"
  std::string text;  // "t_0: cpu f32[4] instead of cpu f32[3]"
  Kind kind = Kind::other;
};
std::string text_of(const std::vector<Change>&);

/// Counts the compiles of a function and their causes, and warns when they get many.
class RecompileWatch {
 public:
  RecompileWatch(const CacheLimits& limits, SourceLocation made_at) : limits_(limits), made_at_(made_at) {}

  /// Throws UserError if the limits allow no further compile; else counts it. Returns the report of the changes that
  /// keep causing recompiles when it is due.
  std::optional<std::string> count(const std::vector<Change>&, SourceLocation called_at);
  /// The same for a subgraph of the function that begins at `start`.
  std::optional<std::string> count_subgraph(SourceLocation start, SourceLocation called_at);

 private:
  struct Changed {
    int64_t times = 0;
    Change newest;
  };

  const CacheLimits limits_;
  const SourceLocation made_at_;
  std::mutex mutex_;  // of the following members
  int64_t compiles_ = 0;
  std::map<std::string, Changed> changed_;                    // by cause
  std::map<std::pair<std::string, int>, int64_t> subgraphs_;  // by their start
  bool has_warned_ = false;
};

}  // namespace fulgurite::detail
