#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <fulgurite/source_location.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The type of a tensor's elements.
enum class Dtype : uint8_t { f64, f32, bf16, f16, i64, i32, i16, i8, u8, boolean };
inline constexpr int dtype_count = 10;

/// "f32", "bf16", "i64", "bool": as in traces.
std::string_view name(Dtype);
/// The inverse of name(); throws UserError for anything else.
Dtype dtype_from_name(std::string_view);
std::ostream& operator<<(std::ostream&, Dtype);

/// Return true for floating, integer and boolean dtypes.
constexpr bool is_floating(Dtype d) { return d <= Dtype::f16; }
constexpr bool is_integer(Dtype d) { return d >= Dtype::i64 && d <= Dtype::u8; }
constexpr bool is_boolean(Dtype d) { return d == Dtype::boolean; }
/// Bytes of one element.
constexpr int64_t size_of(Dtype d) {
  constexpr int64_t sizes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return sizes[static_cast<int>(d)];
}

/// The result type of an operation on two tensors of at least one dimension each (torch.promote_types).
Dtype promote_types(Dtype, Dtype);

/// Sets the dtype of floating tensors made without one: initially f32 (torch.set_default_dtype). Must be floating. In a
/// traced function it causes a graph break, as item() does.
void set_default_dtype(Dtype, SourceLocation at = SourceLocation::here());
Dtype default_dtype();

/// The device of a tensor. This build has only "cpu".
struct Device {
  enum class Kind : uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int16_t index = 0;

  constexpr Device() = default;
  /// "cpu", "cuda" or "cuda:0"; throws UserError otherwise.
  Device(std::string_view text);
  Device(const char* text) : Device(std::string_view(text)) {}
  std::string name() const;
  friend constexpr bool operator==(Device a, Device b) { return a.kind == b.kind && a.index == b.index; }
};
std::ostream& operator<<(std::ostream&, Device);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
