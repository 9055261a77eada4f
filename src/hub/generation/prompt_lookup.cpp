#include "hub/generation/prompt_lookup.h"

#include <algorithm>

namespace fulgurite::generation {

namespace {

// The number of equal tokens before the ends of two texts, at most `limit`.
size_t shared_ending(std::span<const int64_t> a, std::span<const int64_t> b, size_t limit) {
  limit = std::min({limit, a.size(), b.size()});
  size_t length = 0;
  while (length < limit && a[a.size() - 1 - length] == b[b.size() - 1 - length]) ++length;
  return length;
}

}  // namespace

std::vector<int64_t> look_up(std::span<const int64_t> tokens, int64_t max_ngram, int64_t count) {
  const auto limit = static_cast<size_t>(max_ngram);
  size_t longest = 0, end = 0;
  for (size_t candidate = tokens.size(); candidate-- > 1 && longest < limit;) {
    const size_t length = shared_ending(tokens.first(candidate), tokens, limit);
    if (length > longest) {
      longest = length;
      end = candidate;
    }
  }
  if (longest == 0) return {};
  const size_t guessed = std::min(static_cast<size_t>(count), tokens.size() - end);
  const std::span<const int64_t> found = tokens.subspan(end, guessed);
  return {found.begin(), found.end()};
}

}  // namespace fulgurite::generation
