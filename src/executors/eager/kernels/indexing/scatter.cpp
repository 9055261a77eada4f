#include "executors/eager/kernels/common/indexed.h"
#include "ops/generated/symbols.h"

// Scatters. In the order of the indices, on one thread: of two writes to one element the later one stays, and sums do
// not depend on the number of threads.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

template <class Element>
FULGURITE_INLINE void add_to(Element& to, Element value) {
  if constexpr (std::is_same_v<Element, Boolean>) to.byte = to.byte != 0 || value.byte != 0;
  else if constexpr (std::is_integral_v<Element>)
    to = static_cast<Element>(static_cast<uint64_t>(to) + static_cast<uint64_t>(value));
  else to = narrow<Element>(widen(to) + widen(value));
}

template <class Element>
Element element_of_number(const Argument& number) {
  if (number.is_floating()) return element_of<Element>(static_cast<double>(number.floating()));
  return element_of<Element>(static_cast<int64_t>(number.integer()));
}

// A program may pass the input's own memory as the result.
void copy_unless_there(const Tensor& input, const Tensor& result) {
  if (input.impl()->data() != result.impl()->data()) copy_elements(input, result);
}

void scatter_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  const Argument& source = arguments[3];
  copy_unless_there(arguments[0].tensor(), result);
  const Tensor& index = arguments[2].tensor();
  const OffsetsAlong places(result, arguments[1].integer(), index, source.is_tensor() ? source.tensor() : index);
  if (places.is_empty()) return;
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    Element* to = data_of<Element>(result);
    if (!source.is_tensor()) {
      const Element value = element_of_number<Element>(source);
      places.visit_rows(
          [&](int64_t at, int64_t, int64_t step, int64_t, const auto& place, int64_t count) {
            for (int64_t j = 0; j < count; ++j) to[at + j * step + place(j)] = value;
          },
          false);
      return;
    }
    const Element* from = data_of<Element>(source.tensor());
    places.visit_rows(
        [&](int64_t at, int64_t other, int64_t step, int64_t other_step, const auto& place, int64_t count) {
          for (int64_t j = 0; j < count; ++j) to[at + j * step + place(j)] = from[other + j * other_step];
        },
        false);
  });
}

void scatter_add_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &result = results[0], &source = arguments[3].tensor();
  copy_unless_there(arguments[0].tensor(), result);
  const OffsetsAlong places(result, arguments[1].integer(), arguments[2].tensor(), source);
  if (places.is_empty()) return;
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    Element* to = data_of<Element>(result);
    const Element* from = data_of<Element>(source);
    places.visit_rows(
        [&](int64_t at, int64_t other, int64_t step, int64_t other_step, const auto& place, int64_t count) {
          for (int64_t j = 0; j < count; ++j) add_to(to[at + j * step + place(j)], from[other + j * other_step]);
        },
        false);
  });
}

void index_put_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &input = arguments[0].tensor(), &result = results[0];
  const std::span<const Tensor> indices = arguments[1].tensors();
  const bool accumulate = arguments[3].boolean();
  copy_unless_there(input, result);
  const IndexedOffsets places(result, indices);
  if (places.is_empty()) return;
  // The values in the order of the indices, one for each, or one for all.
  const Tensor& given = arguments[2].tensor();
  const bool is_single = given.impl()->numel() == 1;
  Tensor values = given;
  if (!is_single) {
    values = make_tensor(places.shape(), given.impl()->dtype);
    copy_elements(given, values);
  }
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    Element* to = data_of<Element>(result);
    const Element* from = data_of<Element>(values);
    places.visit_in_order([&](int64_t at, int64_t step, int64_t first, int64_t count) {
      for (int64_t j = 0; j < count; ++j) {
        const Element value = from[is_single ? 0 : first + j];
        if (accumulate) add_to(to[at + j * step], value);
        else to[at + j * step] = value;
      }
    });
  });
}

}  // namespace

KernelTable scatter_kernels() {
  static constexpr KernelEntry table[] = {
      {&scatter_symbol, scatter_kernel},
      {&scatter_add_symbol, scatter_add_kernel},
      {&prims_index_put_symbol, index_put_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
