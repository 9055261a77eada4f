#include "tokenizer/models/word_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace fulgurite::tokenization {

WordCache::Key::Key(std::string_view word) : size(word.size()) { std::memcpy(words, word.data(), word.size()); }

uint64_t WordCache::Key::hash() const {
  constexpr uint64_t factor = 0x9E3779B97F4A7C15U;
  uint64_t hash = size;
  for (const uint64_t word : words) {
    hash = (hash ^ word) * factor;
    hash ^= hash >> 29;
  }
  return hash * factor >> 32;
}

WordCache::WordCache(int64_t tokens)
    : mask_(std::clamp<size_t>(std::bit_ceil(2 * static_cast<size_t>(tokens)), 256, 16384) - 1),
      entries_(std::make_unique<Entry[]>(mask_ + 1)) {}

bool WordCache::append(std::string_view word, uint32_t offset, std::vector<Token>& out) const {
  if (word.empty() || word.size() > max_bytes) return false;
  const Key key(word);
  const Entry& found = entry(key);
  const uint32_t version = found.version.load(std::memory_order_acquire);
  if (version % 2 == 1 || found.size.load(std::memory_order_acquire) != key.size) return false;
  for (size_t i = 0; i < std::size(key.words); ++i)
    if (found.words[i].load(std::memory_order_acquire) != key.words[i]) return false;
  const size_t count = found.count.load(std::memory_order_acquire), before = out.size();
  for (size_t i = 0; i < count; ++i) {
    const uint64_t token = found.tokens[i].load(std::memory_order_acquire);
    out.push_back({static_cast<int64_t>(token & 0xFFFFFFFF), offset + static_cast<uint16_t>(token >> 32),
                   offset + static_cast<uint16_t>(token >> 48)});
  }
  if (found.version.load(std::memory_order_relaxed) == version) return true;
  out.resize(before);
  return false;
}

void WordCache::keep(std::string_view word, uint32_t offset, std::span<const Token> tokens) {
  if (word.empty() || word.size() > max_bytes || tokens.size() > max_tokens) return;
  const Key key(word);
  Entry& kept = entry(key);
  uint32_t version = kept.version.load(std::memory_order_relaxed);
  if (version % 2 == 1 || !kept.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire))
    return;
  kept.size.store(static_cast<uint16_t>(key.size), std::memory_order_release);
  kept.count.store(static_cast<uint16_t>(tokens.size()), std::memory_order_release);
  for (size_t i = 0; i < std::size(key.words); ++i) kept.words[i].store(key.words[i], std::memory_order_release);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint64_t begin = tokens[i].begin - offset, end = tokens[i].end - offset;
    kept.tokens[i].store(end << 48 | begin << 32 | static_cast<uint32_t>(tokens[i].id), std::memory_order_release);
  }
  kept.version.store(version + 2, std::memory_order_release);
}

}  // namespace fulgurite::tokenization
