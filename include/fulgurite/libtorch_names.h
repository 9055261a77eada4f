#pragma once
#include <fulgurite/detail/requirements.h>

// Names that programs for LibTorch use beside those of tensors and layers.
#include <concepts>
#include <cstdint>
#include <vector>

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
namespace autograd {
/// DetectAnomaly by its name there.
using DetectAnomalyGuard = DetectAnomaly;
}  // namespace autograd
/// `using namespace indexing;` brings the parts of an index.
namespace indexing {
using fulgurite::Ellipsis;
using fulgurite::None;
using fulgurite::Slice;
}  // namespace indexing

namespace nn {
/// Functions of layers by their namespace there: `namespace F = fulgurite::nn::functional;`.
namespace functional = fulgurite::nn;
}  // namespace nn

/// True for a tensor of a floating dtype (torch.is_floating_point).
inline bool is_floating_point(const Tensor& tensor) { return is_floating(tensor.dtype()); }

/// Uninitialised elements with these strides, in elements; UserError if they overlap or are negative.
/// (torch.empty_strided)
Tensor empty_strided(const Dims& size, const Dims& stride, const TensorOptions& options = {},
                     SourceLocation at = SourceLocation::here());
/// The numbers from start to end, which is included, step apart, in the default dtype. (torch.range)
Tensor range(double start, double end, double step = 1, const TensorOptions& options = {},
             SourceLocation at = SourceLocation::here());
/// A 0-d tensor of a number. (torch.scalar_tensor)
Tensor scalar_tensor(const Operand& value, const TensorOptions& options = {},
                     SourceLocation at = SourceLocation::here());
/// Integers from 0 to below high. (torch.randint) A template, so that `randint(0, 2, {})` has the arguments of
/// operators.h.
template <int = 0>
Tensor randint(Int high, const Dims& size, const TensorOptions& options = {},
               SourceLocation at = SourceLocation::here()) {
  return randint(0, high, size, options, at);
}

namespace names_detail {
template <class T>
concept DtypeOrDevice = std::same_as<T, Dtype> || std::same_as<T, Device>;
inline TensorOptions options_of(Dtype dtype) { return {.dtype = dtype}; }
inline TensorOptions options_of(const Device& device) { return {.device = device}; }
}  // namespace names_detail

/// Creators with a dtype or a device in the options' place: `ones({2, 3}, kInt64)`.
template <names_detail::DtypeOrDevice T>
Tensor zeros(const Dims& size, const T& type, SourceLocation at = SourceLocation::here()) {
  return zeros(size, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor ones(const Dims& size, const T& type, SourceLocation at = SourceLocation::here()) {
  return ones(size, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor empty(const Dims& size, const T& type, SourceLocation at = SourceLocation::here()) {
  return empty(size, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor rand(const Dims& size, const T& type, SourceLocation at = SourceLocation::here()) {
  return rand(size, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor randn(const Dims& size, const T& type, SourceLocation at = SourceLocation::here()) {
  return randn(size, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor full(const Dims& size, const Operand& value, const T& type, SourceLocation at = SourceLocation::here()) {
  return full(size, value, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor arange(const Operand& end, const T& type, SourceLocation at = SourceLocation::here()) {
  return arange(0, end, 1, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor eye(Int n, const T& type, SourceLocation at = SourceLocation::here()) {
  return eye(n, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor zeros_like(const Tensor& input, const T& type, SourceLocation at = SourceLocation::here()) {
  return zeros_like(input, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor ones_like(const Tensor& input, const T& type, SourceLocation at = SourceLocation::here()) {
  return ones_like(input, names_detail::options_of(type), at);
}
template <names_detail::DtypeOrDevice T>
Tensor tensor(const TensorData& data, const T& type, SourceLocation at = SourceLocation::here()) {
  return tensor(data, names_detail::options_of(type), at);
}

/// default_dtype() by its name there.
inline Dtype get_default_dtype() { return default_dtype(); }
/// The dtype of an operation on two tensors or numbers. (torch.result_type)
Dtype result_type(const Operand& a, const Operand& b, SourceLocation at = SourceLocation::here());
/// True if values of one dtype may be written into another: not from floating to integers, nor from those to bool.
/// (torch.can_cast)
bool can_cast(Dtype from, Dtype to);
/// The sizes of an operation's result. UserError for sizes that do not broadcast. (torch.broadcast_shapes)
Shape broadcast_shapes(const std::vector<Shape>& shapes, SourceLocation at = SourceLocation::here());
template <int = 0>
Shape broadcast_shapes(const Dims& a, const Dims& b, SourceLocation at = SourceLocation::here()) {
  return broadcast_shapes(std::vector<Shape>{a, b}, at);
}
/// The number of elements.
inline Int numel(const Tensor& tensor) { return tensor.numel(); }

/// The limits of a floating dtype. (torch.finfo)
struct FloatingInfo {
  int64_t bits;
  double eps;  // the distance from 1 to the next number
  double max;
  double min;   // -max
  double tiny;  // the smallest normal number above 0
};
/// The limits of an integer dtype. (torch.iinfo)
struct IntegerInfo {
  int64_t bits, max, min;
};
/// UserError for a dtype of another kind.
FloatingInfo finfo(Dtype dtype, SourceLocation at = SourceLocation::here());
IntegerInfo iinfo(Dtype dtype, SourceLocation at = SourceLocation::here());

/// Sets whether this thread's operators record for backward, until it is set again; NoGrad is for a scope.
void set_grad_enabled(bool enabled);
/// is_grad_enabled() and set_grad_enabled() as members.
struct GradMode {
  static bool is_enabled() { return is_grad_enabled(); }
  static void set_enabled(bool enabled) { set_grad_enabled(enabled); }
};

/// Writes the elements and a line end to stdout.
inline void print(const Tensor& tensor, SourceLocation at = SourceLocation::here()) { tensor.print(at); }

/// Questions about GPUs, of which this build has none.
namespace cuda {
/// False, and 0.
inline bool is_available() { return false; }
inline int64_t device_count() { return 0; }
}  // namespace cuda

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
