#pragma once
#include "tensor/tensor_impl.h"

namespace fulgurite {

// Messages about a view that a custom function's forward() returned: the gradient of such a view is the function's own,
// and a write through the view, or into what it views, cannot be combined with it.

inline constexpr char function_view_written[] =
    "the tensor written is a view that forward() of a custom function returned, and its gradient is that function's: "
    "return a clone() from forward(), or write into a copy";
inline constexpr char function_view_outdated[] =
    "a view that forward() of a custom function returned is used after a write into the memory that it shares, and its "
    "gradient is that function's: return a clone() from forward(), or write into a copy";

/// Marks a result of forward() as a view of `viewed` with the function's own gradient.
inline void mark_function_view(TensorImpl& view, const TensorImplRef& viewed) {
  view.base = viewed->base ? viewed->base : viewed;
  view.base_history = view.base->history;
  view.of_custom_function = true;
}

}  // namespace fulgurite
