#include "arguments.h"

#include <algorithm>

namespace fulgurite_python {

int64_t span_of(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor.numel().hint();
  int64_t last = 0;
  const auto strides = tensor.strides();
  const fg::Shape sizes = tensor.shape();
  for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d].hint() - 1) * strides[d].hint();
  return last + 1;
}

namespace {

struct Range {
  char *begin, *end;
  size_t tensor;
};

std::optional<Range> range_of(const Tensor& tensor, size_t place) {
  if (!tensor.defined() || tensor.numel().hint() == 0) return {};
  auto* begin = static_cast<char*>(tensor.data_pointer({"", 0}));
  return Range{begin, begin + span_of(tensor) * fg::size_of(tensor.dtype()), place};
}

}  // namespace

bool is_view_of(const Tensor& view, const Tensor& base) {
  if (!fg::shares_memory(view, base) || view.dtype() != base.dtype()) return false;
  const auto part = range_of(view, 0), whole = range_of(base, 0);
  return part && whole && whole->begin <= part->begin && part->end <= whole->end;
}

namespace {

Tensor moved_into(const fg::OutsideMemory& memory, const char* start, const Tensor& tensor) {
  const int64_t distance = static_cast<const char*>(tensor.data_pointer({"", 0})) - start;
  const int64_t size = fg::size_of(tensor.dtype());
  if (distance % size != 0)
    throw nb::value_error(
        "tensors that share memory lie at a distance that is no multiple of their elements: copy one of them");
  std::vector<int64_t> strides;
  for (const fg::Int stride : tensor.strides()) strides.push_back(stride);
  return memory.tensor(tensor.shape().to_vector(), strides, distance / size, tensor.dtype(), {"", 0});
}

}  // namespace

Arguments::Arguments(nb::handle arguments, nb::handle members) {
  const size_t count = nb::len(arguments) + nb::len(members);
  values_.reserve(count);
  tensors_.reserve(count);
  objects_.reserve(count);
  std::vector<size_t> places;  // of the arguments that are tensors
  for (nb::handle object : arguments) {
    values_.push_back(to_value(object));
    if (!values_.back().is_tensor()) continue;
    places.push_back(values_.size() - 1);
    add(object, Tensor(values_.back()));
  }
  for (nb::handle object : members) {
    members_.push_back(import_tensor(object));
    add(object, members_.back());
  }
  if (fg::detail::is_tracing()) return;
  if (join_overlapping()) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (i < places.size()) values_[places[i]] = Value(tensors_[i]);
      else members_[i - places.size()] = tensors_[i];
    }
  }
  counts_.reserve(count);
  for (const Tensor& tensor : tensors_) counts_.push_back(tensor.defined() ? fg::write_count(tensor, {"", 0}) : 0);
}

void Arguments::add(nb::handle object, const Tensor& tensor) {
  tensors_.push_back(tensor);
  objects_.push_back(object);
}

// Tensors of other libraries that share memory become views of one storage: a write into one is
// seen in the other. Returns true if there are such.
bool Arguments::join_overlapping() {
  std::vector<Range> ranges;
  ranges.reserve(tensors_.size());
  bool has_joined = false;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!nb::isinstance<Tensor>(objects_[i]))
      if (const auto range = range_of(tensors_[i], i)) ranges.push_back(*range);
  std::ranges::sort(ranges, {}, &Range::begin);
  for (size_t first = 0; first < ranges.size();) {
    char* end = ranges[first].end;
    size_t next = first + 1;
    while (next < ranges.size() && ranges[next].begin < end) end = std::max(end, ranges[next++].end);
    if (next - first > 1) {
      has_joined = true;
      std::vector<Tensor> owners;
      for (size_t i = first; i < next; ++i) owners.push_back(tensors_[ranges[i].tensor]);
      char* const start = ranges[first].begin;
      const auto memory = fg::OutsideMemory::adopt(start, end - start, [owners] {}, {"", 0});
      for (size_t i = first; i < next; ++i)
        tensors_[ranges[i].tensor] = moved_into(memory, start, tensors_[ranges[i].tensor]);
    }
    first = next;
  }
  return has_joined;
}

std::optional<size_t> Arguments::base_of(const Tensor& view) const {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].defined() && is_view_of(view, tensors_[i])) return i;
  return {};
}

bool Arguments::shares_memory(const Tensor& tensor) const {
  return std::ranges::any_of(tensors_, [&](const Tensor& given) { return fg::shares_memory(tensor, given); });
}

nb::object Arguments::object_of(const Tensor& result) const {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].defined() && fg::is_same_view(result, tensors_[i])) return nb::borrow(objects_[i]);
  return {};
}

nb::list Arguments::written() const {
  nb::list out;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].defined() && fg::write_count(tensors_[i], {"", 0}) != counts_[i]) out.append(i);
  return out;
}

}  // namespace fulgurite_python
