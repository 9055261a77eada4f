#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/detail/blocks.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Marks on traces, bound symbols and proxies.
enum class Tag : uint8_t {
  recompute_in_backward,  // recomputed in the backward instead of saved
  recomputed,             // recomputed copy: excluded from CSE
  checkpoint_result,      // result of a checkpoint: saved, even if its producer is recomputed
  backward,
  augmented_forward,
  joint,
  prologue,
  static_memory_location,  // a parameter or another tensor whose memory does not move
  detached,                // carries no gradient
};
/// A set of tags.
class Tags {
 public:
  Tags() = default;
  Tags(std::initializer_list<Tag> tags) {
    for (const Tag t : tags) add(t);
  }
  bool has(Tag t) const { return bits_ >> static_cast<int>(t) & 1; }
  void add(Tag t) { bits_ |= uint32_t{1} << static_cast<int>(t); }
  void remove(Tag t) { bits_ &= ~(uint32_t{1} << static_cast<int>(t)); }
  void add(Tags other) { bits_ |= other.bits_; }
  bool empty() const { return bits_ == 0; }
  friend bool operator==(Tags a, Tags b) { return a.bits_ == b.bits_; }

 private:
  uint32_t bits_ = 0;
};

/// A scalar of a trace that is not fixed, or is fixed by a guard.
struct NumberProxy : detail::Counted {
  enum class Kind : uint8_t { integer, floating, boolean };
  enum class Constraint : uint8_t { dynamic, constrainable, fixed };
  int id = -1;
  std::string name;
  Kind kind = Kind::integer;
  Constraint constraint = Constraint::constrainable;
  int64_t integer = 0;  // the values in the recorded call
  double floating = 0;
  // The source of its value: a call's input, or an operation on other scalars; a scalar with neither is a constant.
  int input = -1;
  detail::NumberOperation operation = detail::NumberOperation::add;
  detail::Ref<const NumberProxy> operands[2];  // the second is null if one is enough
};
inline void retain(const NumberProxy* proxy) { proxy->owners.fetch_add(1, std::memory_order_relaxed); }
void release(const NumberProxy*);

/// An immutable shape shared by its copies: a trace has far more tensors than shapes. Reads as a Shape.
class SharedShape {
 public:
  SharedShape() = default;
  SharedShape(const Shape& sizes) : record_(sizes.empty() ? nullptr : new Record(sizes)) {}

  operator const Shape&() const { return sizes(); }
  operator Dims() const { return sizes(); }
  size_t size() const { return sizes().size(); }
  bool empty() const { return sizes().empty(); }
  const Int* data() const { return sizes().data(); }
  const Int* begin() const { return sizes().begin(); }
  const Int* end() const { return sizes().end(); }
  const Int& operator[](size_t i) const { return sizes()[i]; }
  const Int& back() const { return sizes().back(); }
  bool is_symbolic() const { return sizes().is_symbolic(); }
  Int numel() const { return sizes().numel(); }
  std::vector<int64_t> to_vector() const { return sizes().to_vector(); }
  std::string text() const { return sizes().text(); }
  friend std::ostream& operator<<(std::ostream& out, const SharedShape& shape) { return out << shape.sizes(); }
  friend bool operator==(const SharedShape& a, const SharedShape& b) {
    return a.record_ == b.record_ || a.sizes() == b.sizes();
  }
  friend bool operator==(const SharedShape& a, const Shape& b) { return a.sizes() == b; }

 private:
  struct Record : detail::Counted {
    explicit Record(Shape shape) : sizes(std::move(shape)) {}
    Shape sizes;
  };
  friend void retain(const Record* record) { record->owners.fetch_add(1, std::memory_order_relaxed); }
  friend void release(const Record* record) {
    if (record->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete record;
  }
  const Shape& sizes() const { return record_ ? record_->sizes : of_number(); }

  // A function: data would exist twice in a program that has the library and loads another that is linked with it.
  static const Shape& of_number();
  detail::Ref<const Record> record_;
};

/// A tensor of a trace: its metadata without elements. Immutable.
struct TensorProxy : detail::Counted, detail::InBlocks {
  int id = -1;  // unique in a trace and all traces made from it
  std::string name;
  SharedShape shape;
  Dtype dtype = Dtype::f32;
  Device device;
  bool requires_grad = false;
  Tags tags;
  Tensor concrete;                      // set if a Value carries a real tensor (call(), results of call())
  std::shared_ptr<const void> numbers;  // keeps the proxies alive that `shape` refers to

  operator Tensor() const { return concrete; }
  /// "cpu f32[2, 3]"
  std::string type_text() const;
};
inline void retain(const TensorProxy* proxy) { proxy->owners.fetch_add(1, std::memory_order_relaxed); }
void release(const TensorProxy*);

struct ValueObject;
void retain(const ValueObject*);
void release(const ValueObject*);

/// An argument or result of a bound symbol: a tensor, number, string, dtype, device, list, slice, collection or none.
class Value {
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
    list,
    slice,
    ellipsis,
    collection
  };
  Value() {}  // NOLINT(modernize-use-equals-default): the union has members that are not trivial
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
  Value(const Value& other)
      : kind_(other.kind_), content_(other.content_), has_symbolic_sizes_(other.has_symbolic_sizes_), id_(other.id_) {
    switch (content_) {
      case Content::constant: constant_ = other.constant_; break;
      case Content::number: new (&number_) NumberRef(other.number_); break;
      case Content::tensor: new (&tensor_) TensorRef(other.tensor_); break;
      case Content::object: new (&object_) ObjectRef(other.object_); break;
    }
  }
  Value(Value&& other) noexcept { take(other); }
  Value& operator=(const Value& other) {
    Value copy(other);  // first: `other` may be owned by this value
    drop();
    take(copy);
    return *this;
  }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) {
      Value taken(std::move(other));
      drop();
      take(taken);
    }
    return *this;
  }
  ~Value() { drop(); }

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
  /// True for a tensor proxy or a symbolic scalar.
  bool is_proxy() const { return content_ == Content::tensor || content_ == Content::number; }
  /// The id of a tensor proxy or of a symbolic scalar; -1 for anything else.
  int proxy_id() const { return id_; }
  /// Returns true if it is a tensor with a symbolic size.
  bool has_symbolic_sizes() const { return has_symbolic_sizes_; }

  // Each throws UserError if the value is of another kind.
  const TensorProxy& tensor() const { return *tensor_ref(); }
  const detail::Ref<TensorProxy>& tensor_ref() const {
    if (!is_tensor()) [[unlikely]]
      refuse(Kind::tensor);
    return tensor_;
  }
  Int integer() const;
  Float floating() const;  // integers are converted
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
  using ObjectRef = detail::Ref<const ValueObject>;
  using NumberRef = detail::Ref<const NumberProxy>;
  using TensorRef = detail::Ref<TensorProxy>;
  // The active member of the union: a number, dtype or device as bits; a symbolic scalar; a tensor; a longer object.
  enum class Content : uint8_t { constant, number, tensor, object };
  explicit Value(Kind kind, int64_t constant = 0) : kind_(kind), constant_(constant) {}
  Value(Kind, NumberRef);
  Value(Kind, ObjectRef);
  [[noreturn]] void refuse(Kind wanted) const;

  void drop() {
    switch (content_) {
      case Content::constant: break;
      case Content::number: number_.~NumberRef(); break;
      case Content::tensor: tensor_.~TensorRef(); break;
      case Content::object: object_.~ObjectRef(); break;
    }
  }
  // Moves into a value that owns nothing; `other` is none afterwards.
  void take(Value& other) noexcept {
    kind_ = std::exchange(other.kind_, Kind::none);
    content_ = std::exchange(other.content_, Content::constant);
    has_symbolic_sizes_ = std::exchange(other.has_symbolic_sizes_, false);
    id_ = std::exchange(other.id_, -1);
    switch (content_) {
      case Content::constant: constant_ = other.constant_; break;
      case Content::number: new (&number_) NumberRef(std::move(other.number_)); break;
      case Content::tensor: new (&tensor_) TensorRef(std::move(other.tensor_)); break;
      case Content::object: new (&object_) ObjectRef(std::move(other.object_)); break;
    }
  }

  Kind kind_ = Kind::none;
  Content content_ = Content::constant;
  // Proxy fields cached in Value to avoid a pointer chase.
  bool has_symbolic_sizes_ = false;
  int id_ = -1;
  union {
    int64_t constant_ = 0;
    NumberRef number_;
    TensorRef tensor_;
    ObjectRef object_;
  };
};

/// A parameter of call(): a value, or braces of values for a list. The explicit constructors make g++ 12 reject
/// `{.name = 1}` as clang does.
struct Arg {
  Value value;
  template <class T>
  requires std::constructible_from<Value, const T&> Arg(const T& v) : value(v) {}
  explicit Arg(int v) : value(v) {}
  explicit Arg(long v) : value(v) {}
  explicit Arg(double v) : value(v) {}
  explicit Arg(bool v) : value(v) {}
  explicit Arg(const char* v) : value(v) {}
  Arg(std::initializer_list<Arg> list);
};
/// Runs any operator by its PyTorch name; several results are returned as a list.
Value call(std::string_view op, std::initializer_list<Arg> args,
           std::initializer_list<std::pair<std::string, Arg>> kwargs = {}, SourceLocation at = SourceLocation::here());
Value call(std::string_view op, const std::vector<Value>& args, const std::map<std::string, Value>& kwargs = {},
           SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
