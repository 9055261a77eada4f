#include <fulgurite/value.h>

#include <functional>
#include <utility>

#include <fulgurite/error.h>

#include "support/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

/// What does not fit into a Value itself. A slice keeps its ends as three items.
struct ValueObject : detail::Counted {
  std::string text;
  std::vector<Value> items;
};

namespace {

template <class T>
void add_owner(const T* object) {
  object->owners.fetch_add(1, std::memory_order_relaxed);
}
template <class T>
void drop_owner(const T* object) {
  if (object->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object;
}

constexpr const char* kind_names[] = {"none",  "a tensor", "an integer", "a float", "a bool",      "a string",
                                      "a dtype", "a device", "a list",     "a slice", "an ellipsis", "a collection"};

[[noreturn]] void wrong_kind(Value::Kind is, Value::Kind wanted) {
  throw UserError(text::cat("a value is ", kind_names[static_cast<int>(is)], " where ", kind_names[static_cast<int>(wanted)],
                            " is needed"));
}

// Ids are unique over a trace and all traces made from it; concrete tensors have none.
bool same_tensor(const TensorProxy& a, const TensorProxy& b) {
  if (&a == &b) return true;
  if (a.id >= 0 || b.id >= 0) return a.id == b.id;
  return a.concrete.defined() && a.concrete.is_same(b.concrete);
}

size_t mix(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2)); }

TensorProxy* describe(const Tensor& tensor) {
  auto* proxy = tensor.impl()->proxy ? new TensorProxy(*tensor.impl()->proxy) : new TensorProxy;
  if (!tensor.impl()->proxy) {
    proxy->name = tensor.name();
    proxy->shape = tensor.shape();
    proxy->dtype = tensor.dtype();
    proxy->device = tensor.device();
    proxy->requires_grad = tensor.requires_grad();
  }
  proxy->concrete = tensor;
  return proxy;
}

}  // namespace

void retain(const NumberProxy* proxy) { add_owner(proxy); }
void release(const NumberProxy* proxy) { drop_owner(proxy); }
void retain(const TensorProxy* proxy) { add_owner(proxy); }
void release(const TensorProxy* proxy) { drop_owner(proxy); }
void retain(const ValueObject* object) { add_owner(object); }
void release(const ValueObject* object) { drop_owner(object); }

std::string TensorProxy::type_text() const { return text::cat(device.name(), " ", dtype, shape); }

Value::Value(detail::Ref<TensorProxy> proxy) {
  if (!proxy) return;
  kind_ = Kind::tensor;
  object_ = proxy.get();
  retain(proxy.get());
}

Value::Value(const Tensor& concrete) : Value(concrete.defined() ? detail::Ref(describe(concrete)) : nullptr) {}

Value::Value(Int n) : kind_(Kind::integer), is_symbolic_(n.is_symbolic()) {
  if (!is_symbolic_) {
    integer_ = n.hint();
    return;
  }
  object_ = n.proxy();
  retain(n.proxy());
}

Value::Value(Float n) : kind_(Kind::floating), is_symbolic_(n.is_symbolic()) {
  if (!is_symbolic_) {
    floating_ = n.hint();
    return;
  }
  object_ = n.proxy();
  retain(n.proxy());
}

Value::Value(Bool b) : kind_(Kind::boolean), is_symbolic_(b.is_symbolic()) {
  if (!is_symbolic_) {
    integer_ = b.hint();
    return;
  }
  object_ = b.proxy();
  retain(b.proxy());
}

namespace {

const ValueObject* new_object(std::string text, std::vector<Value> items) {
  auto* object = new ValueObject;
  object->text = std::move(text);
  object->items = std::move(items);
  retain(object);
  return object;
}

template <class T>
std::vector<Value> to_values(const T& items) {
  std::vector<Value> out;
  out.reserve(items.size());
  for (const auto& item : items) out.emplace_back(item);
  return out;
}

Value open_end(const std::optional<Int>& end) { return end ? Value(*end) : Value(); }
std::optional<Int> slice_end(const Value& end) { return end.is_none() ? std::nullopt : std::optional<Int>(end.integer()); }

}  // namespace

Value::Value(std::string_view text) : kind_(Kind::string) { object_ = new_object(std::string(text), {}); }
Value::Value(Dtype dtype) : kind_(Kind::dtype) { integer_ = static_cast<int64_t>(dtype); }
Value::Value(Device device) : kind_(Kind::device) { integer_ = static_cast<int64_t>(device.kind) << 16 | device.index; }
Value::Value(EllipsisType) : kind_(Kind::ellipsis) {}
Value::Value(const Slice& s) : kind_(Kind::slice) {
  object_ = new_object({}, {open_end(s.start), open_end(s.stop), open_end(s.step)});
}
Value::Value(std::vector<Value> list) : kind_(Kind::list) { object_ = new_object({}, std::move(list)); }
Value::Value(const std::vector<Tensor>& tensors) : Value(to_values(tensors)) {}
Value::Value(const Shape& integers) : Value(to_values(integers)) {}

Value Value::collection(std::string name, std::vector<Value> items) {
  Value value(Kind::collection);
  value.object_ = new_object(std::move(name), std::move(items));
  return value;
}

Value::Value(const Value& other) : kind_(other.kind_), is_symbolic_(other.is_symbolic_) {
  integer_ = other.integer_;
  switch (kind_) {
    case Kind::tensor:
      object_ = other.object_;
      retain(static_cast<const TensorProxy*>(object_));
      break;
    case Kind::integer:
    case Kind::boolean:
    case Kind::floating:
      if (is_symbolic_) {
        object_ = other.object_;
        retain(static_cast<const NumberProxy*>(object_));
      } else if (kind_ == Kind::floating) {
        floating_ = other.floating_;
      }
      break;
    case Kind::string:
    case Kind::list:
    case Kind::slice:
    case Kind::collection:
      object_ = other.object_;
      retain(static_cast<const ValueObject*>(object_));
      break;
    default: break;
  }
}

Value::Value(Value&& other) noexcept { *this = std::move(other); }

Value& Value::operator=(Value other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(is_symbolic_, other.is_symbolic_);
  // The members have one size; the bytes are what is exchanged.
  static_assert(sizeof integer_ == sizeof floating_ && sizeof integer_ == sizeof object_);
  const int64_t mine = std::bit_cast<int64_t>(integer_);
  integer_ = other.integer_;
  other.integer_ = mine;
  return *this;
}

Value::~Value() {
  switch (kind_) {
    case Kind::tensor: release(static_cast<const TensorProxy*>(object_)); break;
    case Kind::integer:
    case Kind::floating:
    case Kind::boolean:
      if (is_symbolic_) release(static_cast<const NumberProxy*>(object_));
      break;
    case Kind::string:
    case Kind::list:
    case Kind::slice:
    case Kind::collection: release(static_cast<const ValueObject*>(object_)); break;
    default: break;
  }
}

bool Value::is_proxy() const { return is_tensor() || is_symbolic_; }

const TensorProxy& Value::tensor() const {
  if (!is_tensor()) wrong_kind(kind_, Kind::tensor);
  return *static_cast<const TensorProxy*>(object_);
}

detail::Ref<TensorProxy> Value::tensor_ref() const {
  return detail::Ref<TensorProxy>(const_cast<TensorProxy*>(&tensor()));
}

}  // namespace fulgurite
