#pragma once
#include <fulgurite/detail/requirements.h>

#include <optional>

#include <fulgurite/dtype.h>
#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// While alive, operators of this thread run in a chosen dtype where that is profitable. Scopes end in the reverse
/// order of their beginning.
class [[nodiscard]] AutocastScope {
 public:
  explicit AutocastScope(std::optional<Dtype> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<Dtype> previous_;
};

/// `auto scope = autocast(Dtype::bf16);` Until the scope ends, matmuls, convolutions and attention convert their f32
/// and f16 operands to bf16; losses, products of all elements and a few others convert bf16 and f16 operands to f32;
/// `cat`, `stack` and `index_copy` convert to the widest of their operands' dtypes; all other operators run in the
/// dtypes of their operands. f64 stays f64. Gradients of converted tensors have the original dtype. Functions recorded
/// inside (jit, grad) record the conversions. Dtype::f16 works likewise; none disables autocast inside such a scope.
/// UserError for other dtypes. (torch.autocast on CPU)
AutocastScope autocast(std::optional<Dtype> dtype, SourceLocation at = SourceLocation::here());

/// The dtype of this thread's innermost scope, or none.
std::optional<Dtype> autocast_dtype();

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
