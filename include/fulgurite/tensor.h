#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/detail/elements.h>
#include <fulgurite/detail/ref.h>
#include <fulgurite/dtype.h>
#include <fulgurite/shape.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor_members.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

struct TensorImpl;
void retain(const TensorImpl*);
void release(const TensorImpl*);
class Node;
class Tensor;
class Operand;
class Index;
class Hook;
class HookHandle;
struct BackwardOptions;

/// An n-dimensional array: a handle to shared, strided storage. While a function is traced the same handle stands for a
/// proxy. Copying the handle shares the array; every operator whose first argument is a tensor is also a method.
class Tensor : public TensorMembers {
 public:
  Tensor() = default;
  explicit Tensor(detail::Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// `x(0, Slice()) = value` writes into the view; `x(mask) = value`, and likewise tensors and lists as indices,
  /// scatters into the indexed elements.
  void operator=(const Operand& value) &&;

  bool defined() const { return static_cast<bool>(impl_); }
  /// The handle becomes undefined.
  void reset() { impl_ = {}; }
  Shape shape() const;
  /// The strides, in elements.
  std::vector<Int> strides() const;
  /// Elements along `dim`; negative dims count from the end.
  Int size(int dim) const;
  int64_t ndim() const;
  int64_t dim() const { return ndim(); }
  Shape sizes() const;
  Int numel() const;
  Dtype dtype() const;
  Device device() const;
  bool is_contiguous() const;

  /// The one element's value, converted to T: fractions are truncated. Throws unless numel() is 1 and the value fits
  /// into T.
  template <class T = double>
  T item(SourceLocation at = SourceLocation::here()) const {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_same_v<T, bool>) return item_as_double(at) != 0;
    else if constexpr (std::is_same_v<T, float>) return static_cast<T>(item_as_double(Limits::max(), at));
    else if constexpr (!std::is_integral_v<T>) return static_cast<T>(item_as_double(at));
    else if constexpr (sizeof(T) < sizeof(int64_t))
      return static_cast<T>(item_as_integer(Limits::min(), Limits::max(), at));
    else return static_cast<T>(item_as_integer(Limits::min(), INT64_MAX, at));
  }
  /// The elements in row-major order; throws if T is not the tensor's type (bool for boolean; float for f32 …).
  template <class T>
  std::vector<std::remove_cv_t<T>> to_vector(SourceLocation at = SourceLocation::here()) const {
    detail::check_stored<T>();
    if constexpr (std::is_same_v<std::remove_cv_t<T>, detail::Element<T>>) {
      return stored_elements<detail::Element<T>>(at);
    } else if constexpr (detail::has_dtype<T>) {
      const auto elements = stored_elements<detail::Element<T>>(at);
      return {elements.begin(), elements.end()};
    }
  }
  /// Pointer to the first element in the storage; throws on another dtype.
  template <class T>
  T* data(SourceLocation at = SourceLocation::here()) const {
    detail::check_stored<T>();
    if constexpr (detail::has_dtype<T>) return reinterpret_cast<T*>(stored_data<detail::Element<T>>(at));
  }
  template <class T>
  T* data_ptr(SourceLocation at = SourceLocation::here()) const {
    return data<T>(at);
  }
  void* data_pointer(SourceLocation at = SourceLocation::here()) const;

  /// Sets the tensor's name in printed traces.
  Tensor set_name(std::string name) const;
  std::string name() const;
  Tensor to(Dtype, SourceLocation at = SourceLocation::here()) const;
  Tensor to(Device, SourceLocation at = SourceLocation::here()) const;
  Tensor to(Device, Dtype, SourceLocation at = SourceLocation::here()) const;
  /// The dtype and device of `other`, or those that the options have.
  Tensor to(const Tensor& other, SourceLocation at = SourceLocation::here()) const;
  Tensor to(const TensorOptions& options, SourceLocation at = SourceLocation::here()) const;
  /// The same values without history.
  Tensor detach(SourceLocation at = SourceLocation::here()) const;
  /// Makes this handle's tensor share `source`'s storage and geometry (torch.Tensor.set_data).
  void set_data(const Tensor& source) const;

  bool requires_grad() const;
  Tensor requires_grad_(bool value = true) const;
  bool is_leaf() const;
  Tensor grad(SourceLocation at = SourceLocation::here()) const;
  void set_grad(const Tensor&, SourceLocation at = SourceLocation::here()) const;
  void backward(const Tensor& gradient = {}, SourceLocation at = SourceLocation::here()) const;
  void backward(const Tensor& gradient, const BackwardOptions&, SourceLocation at = SourceLocation::here()) const;
  /// The same with the options as LibTorch takes them.
  template <std::same_as<bool> Retain>
  void backward(const Tensor& gradient, Retain retain_graph, bool create_graph = false,
                SourceLocation at = SourceLocation::here()) const {
    run_backward(gradient, retain_graph, create_graph, at);
  }
  std::shared_ptr<Node> grad_fn() const;
  /// Runs `hook` on this tensor's gradient when it is complete; its return value replaces the gradient. See autograd.h.
  HookHandle register_hook(const Hook& hook, SourceLocation at = SourceLocation::here()) const;
  /// Runs `hook` on this leaf after a gradient was accumulated into its grad().
  HookHandle register_post_accumulate_grad_hook(std::function<void(Tensor)> hook,
                                                SourceLocation at = SourceLocation::here()) const;
  /// Makes backward() store the gradient of a tensor that is not a leaf in grad().
  void retain_grad(SourceLocation at = SourceLocation::here()) const;

  Tensor operator()(const Index&) const;
  Tensor operator()(const Index&, const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&, const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&, const Index&, const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&, const Index&, const Index&, const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&, const Index&, const Index&, const Index&,
                    const Index&) const;
  Tensor operator()(const Index&, const Index&, const Index&, const Index&, const Index&, const Index&, const Index&,
                    const Index&) const;
  Tensor operator[](const Index&) const;
  /// Reads the value of the one element. `!x`, `a && b` and `a || b` are C++'s operators on such values; `~x`, `a & b`
  /// and `a | b` work element by element.
  explicit operator bool() const;

  const detail::Ref<TensorImpl>& impl() const { return impl_; }
  /// Returns true if two handles refer to one tensor object.
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

 private:
  template <class T>
  std::vector<T> stored_elements(SourceLocation) const;
  template <class T>
  T* stored_data(SourceLocation) const;
  void run_backward(const Tensor& gradient, bool retain_graph, bool create_graph, SourceLocation) const;
  double item_as_double(SourceLocation) const;
  // Throw if the value does not fit into the limits.
  double item_as_double(double most, SourceLocation) const;
  int64_t item_as_integer(int64_t least, int64_t most, SourceLocation) const;
  detail::Ref<TensorImpl> impl_;
};
std::ostream& operator<<(std::ostream&, const Tensor&);
bool operator==(const std::vector<Tensor>&, const std::vector<Tensor>&) = delete;

/// A tensor or a number, and its source location. Only used as a parameter, by const reference.
class Operand {
 public:
  enum class Kind : uint8_t { none, tensor, integer, floating, boolean };
  Operand() {}  // NOLINT(modernize-use-equals-default): the union has members that are not trivial
  Operand(const Tensor& t, SourceLocation at = SourceLocation::here())
      : kind_(t.defined() ? Kind::tensor : Kind::none), tensor_(&t), at_(at) {}
  template <CppInteger T>
  Operand(const T& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(n), at_(at) {}
  template <std::floating_point T>
  Operand(const T& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::floating), floating_(n), at_(at) {}
  template <std::same_as<bool> T>
  Operand(const T& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::boolean), boolean_(n), at_(at) {}
  Operand(const Int& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(n), at_(at) {}
  Operand(const Float& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::floating), floating_(n), at_(at) {}
  Operand(const Bool& n, SourceLocation at = SourceLocation::here()) : kind_(Kind::boolean), boolean_(n), at_(at) {}

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  const Tensor& tensor() const { return *tensor_; }
  Int integer() const { return integer_; }
  Float floating() const { return floating_; }
  Bool boolean() const { return boolean_; }
  SourceLocation at() const { return at_; }

 private:
  Kind kind_ = Kind::none;
  union {
    const Tensor* tensor_ = nullptr;
    Int integer_;
    Float floating_;
    Bool boolean_;
  };
  SourceLocation at_;
};

/// `start:stop:step`; `{}` leaves an end open. `Slice()` is everything. A negative step counts backwards, as in NumPy:
/// the result is a copy, and an assignment to it writes back.
struct Slice {
  std::optional<Int> start, stop, step;
  Slice() = default;
  Slice(std::optional<Int> start, std::optional<Int> stop, std::optional<Int> step = {})
      : start(start), stop(stop), step(step) {}
};
/// Types of the constants below.
struct EllipsisType {};
struct NoneType {
  operator std::optional<Int>() const { return {}; }  // Slice(1, None)
};
/// In an index: as many full slices as fit; a new dimension of size 1. `newaxis` is None by a name that no window
/// system defines as a macro.
inline constexpr EllipsisType Ellipsis{};
inline constexpr NoneType None{};
inline constexpr NoneType newaxis{};

/// One index of `x(…)`. Only used as a parameter. The explicit constructors make g++ 12 reject `x({.name = 1})` as
/// clang does, which it would read as `x(1)`.
class Index {
 public:
  enum class Kind : uint8_t { integer, slice, ellipsis, none, tensor, integers };
  template <CppInteger T>
  Index(const T& i, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(i), at_(at) {}
  Index(const Int& i, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(i), at_(at) {}
  explicit Index(Int& i, SourceLocation at = SourceLocation::here()) : Index(std::as_const(i), at) {}
  explicit Index(Int&& i, SourceLocation at = SourceLocation::here()) : Index(std::as_const(i), at) {}
  explicit Index(int i, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(i), at_(at) {}
  explicit Index(long i, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(i), at_(at) {}
  explicit Index(unsigned i, SourceLocation at = SourceLocation::here()) : kind_(Kind::integer), integer_(i), at_(at) {}
  explicit Index(unsigned long i, SourceLocation at = SourceLocation::here())
      : kind_(Kind::integer), integer_(i), at_(at) {}
  Index(const Slice& s, SourceLocation at = SourceLocation::here()) : kind_(Kind::slice), slice_(s), at_(at) {}
  Index(EllipsisType, SourceLocation at = SourceLocation::here()) : kind_(Kind::ellipsis), at_(at) {}
  Index(NoneType, SourceLocation at = SourceLocation::here()) : kind_(Kind::none), at_(at) {}
  /// "..." is an ellipsis; UserError for another text.
  Index(const char* ellipsis, SourceLocation at = SourceLocation::here());
  Index(const Tensor& t, SourceLocation at = SourceLocation::here()) : kind_(Kind::tensor), tensor_(&t), at_(at) {}
  Index(std::initializer_list<Int> list, SourceLocation at = SourceLocation::here())
      : kind_(Kind::integers), integers_(list), at_(at) {}
  /// A list of integers, as in braces: `x(rows)` with `std::vector<int64_t> rows`.
  template <CppInteger T>
  Index(const std::vector<T>& list, SourceLocation at = SourceLocation::here()) : kind_(Kind::integers), at_(at) {
    for (const T i : list) integers_.push_back(i);
  }

  Kind kind() const { return kind_; }
  Int integer() const { return integer_; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return *tensor_; }
  const Shape& integers() const { return integers_; }
  SourceLocation at() const { return at_; }

 private:
  Kind kind_;
  Int integer_;
  Slice slice_;
  const Tensor* tensor_ = nullptr;
  Shape integers_;
  SourceLocation at_;
};

/// Options of the creation operators besides the shape; members are given in this order.
struct TensorOptions {
  std::optional<Dtype> dtype = {};
  Device device = {};
  bool requires_grad = false;
};

/// The argument of `tensor()`: nested braces of numbers, or vectors and arrays, which may be nested too. The explicit
/// constructors make g++ 12 reject `tensor({.name = 1})` as clang does.
class TensorData {
 public:
  template <CppInteger T>
  TensorData(T value) : dtype_(Dtype::i64), integers_{detail::exact_integer(value)} {}
  template <std::floating_point T>
  TensorData(T value) : is_default_floating_(true), doubles_{static_cast<double>(value)} {}
  template <std::same_as<bool> T>
  TensorData(T value) : dtype_(Dtype::boolean), integers_{value} {}
  TensorData() : TensorData(nullptr, 0) {}
  explicit TensorData(int value) { *this = value; }
  explicit TensorData(long value) { *this = value; }
  explicit TensorData(double value) { *this = value; }
  explicit TensorData(float value) { *this = value; }
  explicit TensorData(bool value) { *this = value; }
  TensorData(std::initializer_list<TensorData> rows) : TensorData(rows.begin(), rows.size()) {}
  template <class T>
  TensorData(const std::vector<T>& values) {
    *this = of_range(values);
  }
  template <class T, size_t N>
  TensorData(const std::array<T, N>& values) {
    *this = of_range(values);
  }

  const Shape& shape() const { return shape_; }
  Dtype dtype() const { return is_default_floating_ ? default_dtype() : dtype_; }
  bool is_floating() const { return !doubles_.empty() || (fulgurite::is_floating(dtype_)); }
  const std::vector<int64_t>& integers() const { return integers_; }
  const std::vector<double>& doubles() const { return doubles_; }

 private:
  TensorData(const TensorData* rows, size_t count);
  template <class T>
  static TensorData of_elements(const std::vector<T>& values);

  template <class Range>
  static TensorData of_range(const Range& values) {
    using T = typename Range::value_type;
    if constexpr (detail::is_nested<T>) {
      const std::vector<TensorData> rows(values.begin(), values.end());
      TensorData joined(rows.data(), rows.size());
      if (rows.empty()) joined.set_element_type(detail::dtype_of_element<detail::InnermostElement<T>>());
      return joined;
    } else {
      detail::check_source<T>();
      if constexpr (std::is_same_v<Range, std::vector<detail::Element<T>>>) return of_elements(values);
      else if constexpr (detail::has_dtype<T> || detail::becomes_i64<T>)
        return of_elements(std::vector<detail::Element<T>>(values.begin(), values.end()));
    }
  }
  void set_element_type(Dtype dtype) {
    dtype_ = dtype;
    is_default_floating_ = false;
  }

  Shape shape_;
  Dtype dtype_ = Dtype::f32;
  bool is_default_floating_ = false;
  std::vector<int64_t> integers_;
  std::vector<double> doubles_;
};
/// A tensor from nested braces, or from vectors or arrays (of vectors or arrays …) of numbers. Floating braces become
/// the default dtype, integers i64, bools boolean; a vector or array of T keeps T.
Tensor tensor(const TensorData&, const TensorOptions& = {}, SourceLocation at = SourceLocation::here());

/// Seeds the generator of all random operators. In a traced function it causes a graph break, as item() does.
void manual_seed(uint64_t seed, SourceLocation at = SourceLocation::here());
/// Sets the number of threads that operators may use; also FULGURITE_NUM_THREADS. In a traced function it causes a
/// graph break, as item() does.
void set_num_threads(int, SourceLocation at = SourceLocation::here());
int num_threads();
inline int get_num_threads() { return num_threads(); }

Tensor operator+(const Operand&, const Operand&);
Tensor operator-(const Operand&, const Operand&);
Tensor operator*(const Operand&, const Operand&);
Tensor operator/(const Operand&, const Operand&);
/// The remainder rounded down, as in Python: it has the divisor's sign.
Tensor operator%(const Operand&, const Operand&);
/// Bitwise; for booleans the logical operator.
Tensor operator&(const Operand&, const Operand&);
Tensor operator|(const Operand&, const Operand&);
Tensor operator^(const Operand&, const Operand&);
Tensor operator~(const Operand&);
/// The bits of integers, moved.
Tensor operator<<(const Tensor&, const Operand&);
Tensor operator>>(const Tensor&, const Operand&);
Tensor operator-(const Operand&);
Tensor operator==(const Operand&, const Operand&);
Tensor operator!=(const Operand&, const Operand&);
Tensor operator<(const Operand&, const Operand&);
Tensor operator<=(const Operand&, const Operand&);
Tensor operator>(const Operand&, const Operand&);
Tensor operator>=(const Operand&, const Operand&);
Tensor& operator+=(Tensor&, const Operand&);
Tensor& operator-=(Tensor&, const Operand&);
Tensor& operator*=(Tensor&, const Operand&);
Tensor& operator/=(Tensor&, const Operand&);
Tensor& operator%=(Tensor&, const Operand&);
Tensor& operator&=(Tensor&, const Operand&);
Tensor& operator|=(Tensor&, const Operand&);
Tensor& operator^=(Tensor&, const Operand&);
Tensor& operator<<=(Tensor&, const Operand&);
Tensor& operator>>=(Tensor&, const Operand&);
// On an indexed tensor: x(0) += 1 writes into the view, x(mask) += 1 into the indexed elements. An element indexed
// twice counts once.
Tensor operator+=(Tensor&&, const Operand&);
Tensor operator-=(Tensor&&, const Operand&);
Tensor operator*=(Tensor&&, const Operand&);
Tensor operator/=(Tensor&&, const Operand&);
Tensor operator%=(Tensor&&, const Operand&);
Tensor operator&=(Tensor&&, const Operand&);
Tensor operator|=(Tensor&&, const Operand&);
Tensor operator^=(Tensor&&, const Operand&);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
