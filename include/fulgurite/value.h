#pragma once
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fulgurite/tensor.h>

namespace [[gnu::visibility("default")]] fulgurite {

/// Marks on traces, bound symbols and proxies.
enum class Tag : uint8_t {
  recompute_in_backward,
  backward,
  augmented_forward,
  joint,
  prologue,
  static_memory_location,  // a parameter or another tensor that stays where it is
  detached,                // carries no gradient
};
class Tags {
 public:
  Tags() = default;
  Tags(std::initializer_list<Tag> tags) { for (const Tag t : tags) add(t); }
  bool has(Tag t) const { return bits_ >> static_cast<int>(t) & 1; }
  void add(Tag t) { bits_ |= uint64_t{1} << static_cast<int>(t); }
  void remove(Tag t) { bits_ &= ~(uint64_t{1} << static_cast<int>(t)); }
  void add(Tags other) { bits_ |= other.bits_; }
  bool empty() const { return bits_ == 0; }
  friend bool operator==(Tags a, Tags b) { return a.bits_ == b.bits_; }

 private:
  uint64_t bits_ = 0;
};

/// A number of a trace that is not fixed, or is fixed by a guard.
struct NumberProxy : detail::Counted {
  enum class Kind : uint8_t { integer, floating, boolean };
  enum class Constraint : uint8_t { dynamic, constrainable, fixed };
  int id = -1;
  std::string name;
  Kind kind = Kind::integer;
  Constraint constraint = Constraint::constrainable;
  int64_t integer = 0;  // the values in the call that was recorded
  double floating = 0;
};
void retain(const NumberProxy*);
void release(const NumberProxy*);

/// A tensor of a trace: what is known of it without its elements. Never changed once made.
struct TensorProxy : detail::Counted {
  int id = -1;  // unique in a trace and all traces made from it
  std::string name;
  Shape shape;
  Dtype dtype = Dtype::f32;
  Device device;
  bool requires_grad = false;
  Tags tags;
  Tensor concrete;                            // set where a Value carries a real tensor (call(), results of call())
  std::shared_ptr<const void> numbers;        // keeps the proxies alive that `shape` refers to

  operator Tensor() const { return concrete; }
  /// "cpu f32[2, 3]"
  std::string type_text() const;
};
void retain(const TensorProxy*);
void release(const TensorProxy*);

struct ValueObject;
void retain(const ValueObject*);
void release(const ValueObject*);

/// An argument or result of a bound symbol: a tensor, number, string, dtype, device, list, slice, collection or none.
class Value {
 public:
  enum class Kind : uint8_t { none, tensor, integer, floating, boolean, string, dtype, device, list, slice, ellipsis, collection };
  Value() = default;
  Value(NoneType) {}
  Value(detail::Ref<TensorProxy> proxy);
  Value(const Tensor& concrete);
  template <CppInteger T>
  Value(T n) : Value(Int(n)) {}
  template <std::floating_point T>
  Value(T n) : Value(Float(n)) {}
  template <std::same_as<bool> T>
  Value(T b) : Value(Bool(b)) {}
  Value(Int);
  Value(Float);
  Value(Bool);
  Value(std::string_view);
  Value(const char* text) : Value(std::string_view(text)) {}
  Value(const std::string& text) : Value(std::string_view(text)) {}
  Value(Dtype);
  Value(Device);
  Value(EllipsisType);
  Value(const Slice&);
  Value(std::vector<Value> list);
  Value(const std::vector<Tensor>& tensors);
  Value(const Shape& integers);
  static Value collection(std::string name, std::vector<Value> items);
  Value(const Value&) = default;
  Value(Value&& other) noexcept : kind_(std::exchange(other.kind_, Kind::none)), content_(std::move(other.content_)) {}
  Value& operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    content_.swap(other.content_);
    return *this;
  }

  Kind kind() const { return kind_; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_int() const { return kind_ == Kind::integer; }
  bool is_float() const { return kind_ == Kind::floating; }
  bool is_bool() const { return kind_ == Kind::boolean; }
  bool is_number() const { return is_int() || is_float() || is_bool(); }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_dtype() const { return kind_ == Kind::dtype; }
  bool is_device() const { return kind_ == Kind::device; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_slice() const { return kind_ == Kind::slice; }
  bool is_ellipsis() const { return kind_ == Kind::ellipsis; }
  bool is_collection() const { return kind_ == Kind::collection; }
  /// A tensor proxy, or a number that is a symbol.
  bool is_proxy() const;

  // Each throws UserError when the value is of another kind.
  const TensorProxy& tensor() const;
  const detail::Ref<TensorProxy>& tensor_ref() const;
  Int integer() const;
  Float floating() const;  // of an integer: converted
  Bool boolean() const;
  const std::string& string() const;
  Dtype dtype() const;
  Device device() const;
  const std::vector<Value>& list() const;  // also a collection's items
  Slice slice() const;
  const std::string& collection_name() const;
  /// The concrete tensor of a value made from one.
  operator Tensor() const { return tensor(); }

  /// Same kind and same proxies or equal constants; nested. For maps and structural comparison.
  friend bool operator==(const Value&, const Value&);
  size_t hash() const;

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  using ObjectRef = detail::Ref<const ValueObject>;
  using NumberRef = detail::Ref<const NumberProxy>;
  using TensorRef = detail::Ref<TensorProxy>;
  Kind kind_ = Kind::none;
  // Numbers, dtypes and devices; number symbols; tensors; everything longer.
  std::variant<int64_t, double, NumberRef, TensorRef, ObjectRef> content_;
};

/// A parameter of call(): a value, or braces of values for a list.
struct Arg {
  Value value;
  template <class T>
    requires std::constructible_from<Value, const T&>
  Arg(const T& v) : value(v) {}
  Arg(std::initializer_list<Arg> list);
};
/// Runs any operator by its PyTorch name; several results come back as a list.
Value call(std::string_view op, std::initializer_list<Arg> args,
           std::initializer_list<std::pair<std::string, Arg>> kwargs = {}, SourceLocation at = SourceLocation::here());
Value call(std::string_view op, const std::vector<Value>& args, const std::map<std::string, Value>& kwargs = {},
           SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
