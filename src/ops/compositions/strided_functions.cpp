// Views with any sizes and strides of the memory of a tensor.
#include <algorithm>
#include <numeric>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/torch_functions.h>

#include "ops/core/dispatch.h"
#include "ops/core/recorder.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

/// The dimensions in the order of their strides, the largest first: so permuted, a tensor without gaps is contiguous.
std::vector<int64_t> order_in_memory(const Tensor& x) {
  const std::vector<Int> strides = x.strides();
  std::vector<int64_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)].hint() > strides[static_cast<size_t>(b)].hint();
  });
  return order;
}

Dims inverse_of(const std::vector<int64_t>& order) {
  Shape back;
  back.resize(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return Dims(back);
}

/// The distance from a view's first element to its last one.
struct Window {
  int64_t last = 0;
  bool is_empty = false;
};
Window window_of(const char* name, const Dims& size, const Dims& stride, SourceLocation at) {
  if (size.size() != stride.size())
    throw UserError(text::cat(name, ": size has ", size.size(), " numbers and stride ", stride.size()), at);
  Window out;
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d].hint() < 0 || stride[d].hint() < 0)
      throw UserError(
          text::cat(name, ": sizes and strides must not be negative: ", size.text(), " and ", stride.text()), at);
    if (size[d].hint() == 0) out.is_empty = true;
    else out.last += (size[d].hint() - 1) * stride[d].hint();
  }
  return out;
}

/// A contiguous tensor that contains the view, and the place of the view's first element in it.
struct Memory {
  Tensor elements;
  int64_t offset = 0;
};

bool contains(const Memory& memory, const Window& window) {
  if (!memory.elements.is_contiguous() || memory.offset < 0) return false;
  return window.is_empty || memory.offset + window.last < memory.elements.numel();
}

/// The tensor with its dimensions in the order of memory.
Memory own_memory(const Tensor& input, std::optional<int64_t> storage_offset, SourceLocation at) {
  Memory own{input.is_contiguous() ? input : permute(input, Dims(order_in_memory(input)), at)};
  if (storage_offset) own.offset = *storage_offset - (is_proxy(input) ? 0 : input.impl()->offset);
  return own;
}

/// The tensor that a view of eager mode is a view of, where no gradient is asked for.
Memory viewed_memory(const Tensor& input, std::optional<int64_t> storage_offset) {
  if (is_proxy(input) || !input.impl()->base || (grad_enabled() && input.requires_grad())) return {input, -1};
  TensorImplRef root = input.impl()->base;
  while (root->base) root = root->base;
  const int64_t first = storage_offset.value_or(input.impl()->offset) - root->offset;
  return {Tensor(std::move(root)), first};
}

void check_input(const char* name, const Tensor& input, std::optional<int64_t> storage_offset, SourceLocation at) {
  if (!input.defined()) throw UserError(text::cat(name, ": the input is an undefined tensor"), at);
  if (!storage_offset) return;
  if (*storage_offset < 0)
    throw UserError(text::cat(name, ": storage_offset must not be negative: ", *storage_offset), at);
  if (const Recorder* const recording = is_proxy(input) ? recording_of(input) : nullptr;
      recording && !recording->is_contiguous(input))
    throw UserError(text::cat(name,
                              ": the position of an argument or a view in its storage is not known inside a traced "
                              "function; leave storage_offset out to begin at the tensor's first element"),
                    at);
}

[[noreturn]] void refuse(const char* name, const Tensor& input, const Window& window, const Memory& own,
                         SourceLocation at) {
  if (!own.elements.is_contiguous())
    throw UserError(text::cat(name, ": ", type_text(input), " has gaps or repeated elements",
                              grad_enabled() && input.requires_grad() ? ", through which no gradient passes" : "",
                              "; call it on the tensor that this one is a view of"),
                    at);
  throw UserError(text::cat(name, ": the view spans the elements from ", own.offset, " to ", own.offset + window.last,
                            " of the ", Int(input.numel()).hint(), " of ", type_text(input)),
                  at);
}

Memory memory_around(const char* name, const Tensor& input, const Window& window, std::optional<int64_t> storage_offset,
                     SourceLocation at) {
  check_input(name, input, storage_offset, at);
  Memory own = own_memory(input, storage_offset, at);
  if (contains(own, window)) return own;
  Memory viewed = viewed_memory(input, storage_offset);
  if (!contains(viewed, window)) refuse(name, input, window, own, at);
  return viewed;
}

Tensor strided(const char* name, const Tensor& input, const Dims& size, const Dims& stride,
               std::optional<int64_t> storage_offset, SourceLocation at) {
  const Window window = window_of(name, size, stride, at);
  const Memory memory = memory_around(name, input, window, storage_offset, at);
  return prims::as_strided(memory.elements, size, stride, memory.offset, at);
}

}  // namespace

Tensor as_strided(const Tensor& input, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset,
                  SourceLocation at) {
  return strided("as_strided", input, size, stride, storage_offset, at);
}

Tensor as_strided_copy(const Tensor& input, const Dims& size, const Dims& stride, std::optional<int64_t> storage_offset,
                       SourceLocation at) {
  return strided("as_strided_copy", input, size, stride, storage_offset, at).clone(at);
}

// The copy has the order of the input's dimensions in memory, in which the strides count.
Tensor as_strided_scatter(const Tensor& input, const Tensor& source, const Dims& size, const Dims& stride,
                          std::optional<int64_t> storage_offset, SourceLocation at) {
  const char* const name = "as_strided_scatter";
  const Window window = window_of(name, size, stride, at);
  check_input(name, input, storage_offset, at);
  if (!source.defined()) throw UserError("as_strided_scatter: the source is an undefined tensor", at);
  if (!(source.shape() == static_cast<const Shape&>(size)))
    throw UserError(
        text::cat(name, ": the source has the shape of the view, ", size.text(), ", not ", source.shape().text()), at);
  const Memory own = own_memory(input, storage_offset, at);
  if (!contains(own, window)) refuse(name, input, window, own, at);
  const Tensor copy = own.elements.clone(at);
  const Tensor written = prims::as_strided(copy, size, stride, own.offset, at);
  written.copy_(source, at);
  return input.is_contiguous() ? copy : permute(copy, inverse_of(order_in_memory(input)), at);
}

}  // namespace fulgurite
