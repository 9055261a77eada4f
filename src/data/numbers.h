#pragma once
#include <cstdint>

namespace fulgurite::data::data_detail {

/// SplitMix64: numbers of 64 bits from a counter.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  /// Even from 0 to below `limit`.
  uint64_t below(uint64_t limit) {
    const uint64_t rest = (~limit + 1) % limit;  // of 2^64: smaller draws would favour some results
    uint64_t drawn = next();
    while (drawn < rest) drawn = next();
    return drawn % limit;
  }
  /// Even from 0 to below 1.
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// A seed that depends on both numbers.
inline uint64_t mixed(uint64_t a, uint64_t b) {
  return Numbers(a ^ (b * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du)).next();
}

}  // namespace fulgurite::data::data_detail
