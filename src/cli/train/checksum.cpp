#include "cli/train/checksum.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace fulgurite::cli {

namespace {

// Eight bytes at a time; a change of any byte changes the result.
uint64_t hash(const void* data, size_t bytes) {
  constexpr uint64_t factor = 0x9E3779B97F4A7C15u;
  uint64_t state = bytes * factor + 1;
  const auto mix = [&](uint64_t word) {
    state = (state ^ word) * factor;
    state ^= state >> 29;
  };
  const char* next = static_cast<const char*>(data);
  for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), next += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, next, sizeof word);
    mix(word);
  }
  uint64_t rest = 0;
  if (bytes > 0) std::memcpy(&rest, next, bytes);
  mix(rest);
  return state;
}

}  // namespace

std::string checksum(const TensorMap& tensors) {
  uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors) {
    const Tensor elements = tensor.detach().contiguous();
    sum += hash(elements.data_pointer(),
                static_cast<size_t>(elements.numel()) * static_cast<size_t>(size_of(elements.dtype())));
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

}  // namespace fulgurite::cli
