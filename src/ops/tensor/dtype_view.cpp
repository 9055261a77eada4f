// Views of the same bytes with another dtype.
#include <fulgurite/error.h>
#include <fulgurite/tensor.h>
#include <fulgurite/torch_functions.h>

#include "ops/tensor/tensor_values.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {
namespace {

/// Elements of a tensor as elements of another size.
class Resized {
 public:
  Resized(const TensorImpl& impl, Dtype dtype)
      : sizes(impl.sizes),
        strides(impl.strides),
        offset(impl.offset),
        from_(size_of(impl.dtype)),
        to_(size_of(dtype)) {}

  /// Computes the geometry. Returns what does not fit, an empty text if all does.
  std::string resize() {
    if (sizes.empty())
      return "a tensor of 0 dimensions has none that could become longer or shorter; call unsqueeze(-1)";
    if (strides.back() != 1 && sizes.back() > 1) return "the last dimension is not contiguous; call contiguous()";
    const int64_t bytes = sizes.back() * from_;
    if (bytes % to_ != 0) return text::cat("the ", bytes, " bytes of the last dimension are no multiple of ", to_);
    for (size_t d = 0; d + 1 < sizes.size(); ++d) {
      if (sizes[d] > 1 && strides[d] * from_ % to_ != 0)
        return text::cat("dimension ", d, " has a stride of ", strides[d] * from_, " bytes, no multiple of ", to_,
                         "; call contiguous()");
      strides[d] = strides[d] * from_ / to_;
    }
    if (offset * from_ % to_ != 0)
      return text::cat("the first element has the offset ", offset * from_, " bytes, no multiple of ", to_,
                       "; call clone()");
    offset = offset * from_ / to_;
    sizes.back() = bytes / to_;
    strides.back() = 1;
    return "";
  }
  bool has_equal_size() const { return from_ == to_; }

  Sizes sizes, strides;
  int64_t offset;

 private:
  int64_t from_, to_;
};

}  // namespace

Tensor view(const Tensor& input, Dtype dtype, SourceLocation at) {
  const TensorImpl& impl = demand_elements(input, "view(dtype)", at);
  const auto refuse = [&](const std::string& reason) {
    throw UserError(text::cat("view(", name(dtype), ") of ", type_text(input), ": ", reason), at);
  };
  if (dtype == Dtype::boolean && impl.dtype != dtype)
    refuse("bytes other than 0 and 1 are not bools; compare them: x != 0");
  Resized view(impl, dtype);
  if (!view.has_equal_size())
    if (const std::string reason = view.resize(); !reason.empty()) refuse(reason);
  if (reinterpret_cast<uintptr_t>(impl.data()) % static_cast<uintptr_t>(size_of(dtype)) != 0)
    refuse("its memory is not aligned for this dtype; call clone()");
  return make_view(impl.storage, view.sizes, view.strides, view.offset, dtype);
}

Tensor TensorMembers::view(Dtype dtype, SourceLocation at) const {
  return fulgurite::view(static_cast<const Tensor&>(*this), dtype, at);
}

}  // namespace fulgurite
