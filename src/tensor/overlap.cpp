#include "tensor/overlap.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fulgurite {

bool repeats_elements(const Sizes& sizes, const Sizes& strides) {
  bool repeats = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    repeats = repeats || (strides[d] == 0 && sizes[d] > 1);
  }
  return repeats;
}

bool may_overlap_itself(const Sizes& sizes, const Sizes& strides) {
  SmallVector<std::pair<int64_t, int64_t>, 6> steps;  // strides and sizes, the closest first
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] > 1) steps.push_back({strides[d], sizes[d]});
  }
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;  // of the dimensions so far
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

namespace {

// The offset of an element by its row-major index.
int64_t offset_of(const TensorImpl& tensor, int64_t number) {
  int64_t offset = 0;
  for (size_t d = tensor.sizes.size(); d-- > 0;) {
    offset += number % tensor.sizes[d] * tensor.strides[d];
    number /= tensor.sizes[d];
  }
  return offset;
}

}  // namespace

bool agrees_where_it_overlaps(const Tensor& values, const Tensor& destination) {
  const TensorImpl &from = *values.impl(), &to = *destination.impl();
  const auto width = static_cast<int64_t>(size_of(from.dtype));
  std::unordered_map<int64_t, const char*> written;
  const int64_t count = to.numel();
  for (int64_t i = 0; i < count; ++i) {
    const char* const element = from.data() + offset_of(from, i) * width;
    const auto [known, is_new] = written.emplace(offset_of(to, i), element);
    if (!is_new && std::memcmp(known->second, element, static_cast<size_t>(width)) != 0) return false;
  }
  return true;
}

}  // namespace fulgurite
