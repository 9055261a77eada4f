#pragma once
#include <fulgurite/detail/requirements.h>

#include <optional>

#include <fulgurite/dtype.h>
#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// While alive, operators of this thread run in a chosen dtype where that pays. Scopes end in the reverse of the order in which they began.
class [[nodiscard]] AutocastScope {
 public:
  explicit AutocastScope(std::optional<Dtype> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<Dtype> previous_;
};

/// `auto scope = autocast(Dtype::bf16);` Until the scope ends, matrix products, convolutions and attention take their f32 and f16 operands as
/// bf16; losses, products of all elements and a few others take bf16 and f16 operands as f32; `cat`, `stack` and `index_copy` take the widest
/// of theirs; all other operators run in the dtypes they are given. f64 stays f64. Gradients of what was converted have the original's dtype.
/// Functions that are recorded inside (jit, grad) record the conversions. Of Dtype::f16 likewise; none ends autocasting inside a scope of it.
/// UserError for other dtypes. (torch.autocast on CPU)
AutocastScope autocast(std::optional<Dtype> dtype, SourceLocation at = SourceLocation::here());

/// The dtype of this thread's innermost scope, or none.
std::optional<Dtype> autocast_dtype();

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
