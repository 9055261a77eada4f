#pragma once
#include <optional>
#include <span>
#include <string_view>

#include <fulgurite/tensor.h>

#include "support/containers/small_vector.h"

namespace fulgurite {

/// An argument of an operator call on its way to an interpreter: a non-owning view on the stack.
class Argument {
 public:
  enum class Kind : uint8_t {
    none,
    tensor,
    integer,
    floating,
    boolean,
    string,
    dtype,
    device,
    tensors,
    integers,
    floatings,
    list,
    slice,
    ellipsis
  };
  constexpr Argument() : integer_() {}
  Argument(const Tensor& t) : kind_(t.defined() ? Kind::tensor : Kind::none), tensor_(&t) {}
  Argument(Int n) : kind_(Kind::integer), integer_(n) {}
  Argument(Float n) : kind_(Kind::floating), floating_(n) {}
  Argument(Bool b) : kind_(Kind::boolean), boolean_(b) {}
  Argument(bool b) : kind_(Kind::boolean), boolean_(b) {}
  Argument(std::string_view s) : kind_(Kind::string), string_{s.data(), s.size()} {}
  Argument(Dtype d) : kind_(Kind::dtype), dtype_(d) {}
  Argument(Device d) : kind_(Kind::device), device_(d) {}
  Argument(std::span<const Tensor> t) : kind_(Kind::tensors), tensors_{t.data(), t.size()} {}
  Argument(const std::vector<Tensor>& t) : kind_(Kind::tensors), tensors_{t.data(), t.size()} {}
  Argument(std::span<const Int> n) : kind_(Kind::integers), integers_{n.data(), n.size()} {}
  Argument(const Shape& n) : kind_(Kind::integers), integers_{n.data(), n.size()} {}
  Argument(std::span<const Float> n) : kind_(Kind::floatings), floatings_{n.data(), n.size()} {}
  Argument(const Numbers& n) : kind_(Kind::floatings), floatings_{n.data(), n.size()} {}
  Argument(const Padding& p) : integer_() {
    if (p.name().empty()) *this = Argument(p.sizes());
    else *this = Argument(p.name());
  }
  Argument(std::span<const Argument> a) : kind_(Kind::list), list_{a.data(), a.size()} {}
  Argument(const Slice& s) : kind_(Kind::slice), slice_(&s) {}
  Argument(EllipsisType) : kind_(Kind::ellipsis), integer_() {}
  Argument(const Operand& o) : integer_() {
    switch (o.kind()) {
      case Operand::Kind::none: break;
      case Operand::Kind::tensor: *this = Argument(o.tensor()); break;
      case Operand::Kind::integer: *this = Argument(o.integer()); break;
      case Operand::Kind::floating: *this = Argument(o.floating()); break;
      case Operand::Kind::boolean: *this = Argument(o.boolean()); break;
    }
  }
  template <class T>
  Argument(const std::optional<T>& o) : integer_() {
    if (o) *this = Argument(*o);
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_number() const { return kind_ == Kind::integer || kind_ == Kind::floating || kind_ == Kind::boolean; }
  bool is_integer() const { return kind_ == Kind::integer; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_boolean() const { return kind_ == Kind::boolean; }

  // Checked if a signature allows two kinds (Operand: a tensor or a number); otherwise the signature has been checked
  // before rules and kernels read arguments.
  const Tensor& tensor() const {
    if (kind_ != Kind::tensor) [[unlikely]]
      refuse("a tensor");
    return *tensor_;
  }
  /// The tensor, or an undefined one if omitted.
  const Tensor& tensor_or_none() const;
  Int integer() const;     // a boolean converts to 0 or 1
  Float floating() const;  // integers and booleans are converted
  Bool boolean() const {
    if (kind_ != Kind::boolean) [[unlikely]]
      refuse("a bool");
    return boolean_;
  }
  std::string_view string() const { return {string_.data, string_.size}; }
  Dtype dtype() const { return dtype_; }
  Device device() const { return device_; }
  std::span<const Tensor> tensors() const { return {tensors_.data, tensors_.size}; }
  /// Empty if omitted. A single integer counts as a list of one.
  std::span<const Int> integers() const;
  Shape shape() const {
    const auto n = integers();
    return Shape(n.data(), n.size());
  }
  /// Empty if omitted. A number, or a list of integers or of both kinds, counts as a list of floating numbers.
  SmallVector<Float, 3> floatings() const;
  std::span<const Argument> list() const { return {list_.data, list_.size}; }
  const Slice& slice() const { return *slice_; }
  /// The argument as an operand, for passing it on to an operator.
  Operand operand(SourceLocation at = {}) const;
  std::optional<Dtype> optional_dtype() const { return is_none() ? std::nullopt : std::optional(dtype_); }
  std::optional<Int> optional_integer() const { return is_none() ? std::nullopt : std::optional(integer()); }
  std::optional<Float> optional_floating() const { return is_none() ? std::nullopt : std::optional(floating()); }

 private:
  [[noreturn, gnu::cold]] void refuse(const char* wanted) const;
  struct Text {
    const char* data;
    size_t size;
  };
  struct TensorSpan {
    const Tensor* data;
    size_t size;
  };
  struct IntSpan {
    const Int* data;
    size_t size;
  };
  struct FloatSpan {
    const Float* data;
    size_t size;
  };
  struct List {
    const Argument* data;
    size_t size;
  };
  Kind kind_ = Kind::none;
  union {
    const Tensor* tensor_;
    Int integer_;
    Float floating_;
    Bool boolean_;
    Text string_;
    Dtype dtype_;
    Device device_;
    TensorSpan tensors_;
    IntSpan integers_;
    FloatSpan floatings_;
    List list_;
    const Slice* slice_;
  };
};

/// A call's arguments, one for each parameter of the signature, with defaults filled in.
using Arguments = std::span<const Argument>;
using Tensors = SmallVector<Tensor, 3>;

}  // namespace fulgurite
