#pragma once
#include <fulgurite/detail/requirements.h>

// Names that programs for LibTorch use beside those of tensors and layers.
#include <fulgurite/autograd_modes.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Dtypes and devices: `x.to(kFloat64)`.
/// LibTorch's names of dtypes.
inline constexpr Dtype kFloat64 = Dtype::f64, kDouble = Dtype::f64;
inline constexpr Dtype kFloat32 = Dtype::f32, kFloat = Dtype::f32;
inline constexpr Dtype kBFloat16 = Dtype::bf16, kFloat16 = Dtype::f16, kHalf = Dtype::f16;
inline constexpr Dtype kInt64 = Dtype::i64, kLong = Dtype::i64;
inline constexpr Dtype kInt32 = Dtype::i32, kInt = Dtype::i32;
inline constexpr Dtype kInt16 = Dtype::i16, kShort = Dtype::i16;
inline constexpr Dtype kInt8 = Dtype::i8, kChar = Dtype::i8;
inline constexpr Dtype kUInt8 = Dtype::u8, kByte = Dtype::u8;
inline constexpr Dtype kBool = Dtype::boolean;
inline constexpr Device kCPU{};

/// NoGrad by its name there.
using NoGradGuard = NoGrad;
/// `using namespace indexing;` brings the parts of an index.
namespace indexing {
using fulgurite::Ellipsis;
using fulgurite::None;
using fulgurite::Slice;
}  // namespace indexing

/// True for a tensor of a floating dtype (torch.is_floating_point).
inline bool is_floating_point(const Tensor& tensor) { return is_floating(tensor.dtype()); }

/// Uninitialised elements with these strides, in elements; UserError if they overlap or are negative.
/// (torch.empty_strided)
Tensor empty_strided(const Dims& size, const Dims& stride, const TensorOptions& options = {},
                     SourceLocation at = SourceLocation::here());
/// The numbers from start to end, which is included, step apart, in the default dtype. (torch.range)
Tensor range(double start, double end, double step = 1, const TensorOptions& options = {},
             SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
