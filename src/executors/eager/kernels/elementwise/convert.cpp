#include "executors/eager/kernels/common/elements.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

template <class From, class To>
constexpr bool is_vectorized_by_hand = (std::is_same_v<From, float> &&
                                        (std::is_same_v<To, BFloat16> || std::is_same_v<To, Float16>)) ||
                                       (std::is_same_v<To, float> &&
                                        (std::is_same_v<From, BFloat16> || std::is_same_v<From, Float16>));

/// As words, which compilers vectorise.
template <class To>
void repeat(To value, To* to, int64_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; i += sizeof(To)) std::memcpy(reinterpret_cast<char*>(&word) + i, &value, sizeof(To));
  const int64_t bytes = count * static_cast<int64_t>(sizeof(To));
  char* const out = reinterpret_cast<char*>(to);
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8) std::memcpy(out + i, &word, 8);
  std::memcpy(out + i, &word, static_cast<size_t>(bytes - i));
}

template <class From, class To>
void convert(const void* source, int64_t stride, void* destination, int64_t count) {
  const From* from = static_cast<const From*>(source);
  To* to = static_cast<To*>(destination);
  if (stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, from, count * sizeof(To));
    } else if constexpr (is_vectorized_by_hand<From, To>) {
      int64_t i = 0;
      for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
      if (i < count) store_some(to + i, load_some(from + i, count - i), count - i);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = element_of<To>(number_of(from[i]));
    }
  } else if (stride == 0) {
    repeat(element_of<To>(number_of(*from)), to, count);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = element_of<To>(number_of(from[i * stride]));
  }
}

template <class From>
Convert conversion_from(Dtype to) {
  return visit_element_type(to, [](auto type) -> Convert { return convert<From, typename decltype(type)::type>; });
}

}  // namespace

Convert find_conversion(Dtype from, Dtype to) {
  return visit_element_type(from, [to](auto type) { return conversion_from<typename decltype(type)::type>(to); });
}

}  // namespace fulgurite::FULGURITE_KERNELS
