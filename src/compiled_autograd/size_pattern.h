#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace fulgurite {

/// The sizes of a backward that are symbols of its capture. Sizes that were equal in all calls share one symbol; those
/// that never changed may be constants.
class SizePattern {
 public:
  /// `dynamic`: all sizes but 0 and 1 are symbols from the start; else none.
  SizePattern(std::vector<int64_t> sizes, bool dynamic);
  /// A pattern that serves these sizes as well.
  SizePattern widened(const std::vector<int64_t>& sizes) const;
  /// A pattern of the same sizes without symbols.
  SizePattern without_symbols() const;

  bool has_symbols() const { return symbols_ > 0; }
  size_t symbols() const { return symbols_; }
  /// The symbol of a size; -1 for a constant.
  int symbol(size_t size) const { return of_sizes_[size]; }
  int64_t size(size_t position) const { return sizes_[position]; }

  /// The values of the symbols for these sizes; nullopt if the pattern does not serve them.
  std::optional<std::vector<uint64_t>> values(const std::vector<int64_t>& sizes) const;

 private:
  SizePattern() = default;
  std::vector<int64_t> sizes_;  // as captured
  std::vector<int> of_sizes_;
  size_t symbols_ = 0;
};

}  // namespace fulgurite
