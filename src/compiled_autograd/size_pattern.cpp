#include "compiled_autograd/size_pattern.h"

#include <array>
#include <map>

namespace fulgurite {

SizePattern::SizePattern(std::vector<int64_t> sizes, bool dynamic)
    : sizes_(std::move(sizes)), of_sizes_(sizes_.size(), -1) {
  if (!dynamic) return;
  std::map<int64_t, int> known;
  for (size_t i = 0; i < sizes_.size(); ++i)
    if (sizes_[i] > 1) of_sizes_[i] = known.try_emplace(sizes_[i], static_cast<int>(known.size())).first->second;
  symbols_ = known.size();
}

SizePattern SizePattern::widened(const std::vector<int64_t>& sizes) const {
  SizePattern out;
  out.sizes_ = sizes;
  out.of_sizes_.assign(sizes.size(), -1);
  std::map<std::array<int64_t, 3>, int> known;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (of_sizes_[i] < 0 && sizes_[i] == sizes[i]) continue;
    out.of_sizes_[i] =
        known.try_emplace({of_sizes_[i], sizes_[i], sizes[i]}, static_cast<int>(known.size())).first->second;
  }
  out.symbols_ = known.size();
  return out;
}

SizePattern SizePattern::without_symbols() const { return SizePattern(sizes_, false); }

std::optional<std::vector<uint64_t>> SizePattern::values(const std::vector<int64_t>& sizes) const {
  std::vector<uint64_t> values(symbols_);
  std::vector<char> is_known(symbols_);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (of_sizes_[i] < 0) {
      if (sizes[i] != sizes_[i]) return std::nullopt;
      continue;
    }
    const auto symbol = static_cast<size_t>(of_sizes_[i]);
    const auto value = static_cast<uint64_t>(sizes[i]);
    if (!is_known[symbol]) values[symbol] = value, is_known[symbol] = true;
    else if (values[symbol] != value) return std::nullopt;
  }
  return values;
}

}  // namespace fulgurite
