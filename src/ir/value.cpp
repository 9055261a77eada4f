#include <fulgurite/value.h>

#include <bit>
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

namespace {

detail::Ref<const ValueObject> new_object(std::string text, std::vector<Value> items) {
  auto* object = new ValueObject;
  object->text = std::move(text);
  object->items = std::move(items);
  return detail::Ref<const ValueObject>(object);
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

std::string TensorProxy::type_text() const { return text::cat(device.name(), " ", dtype, shape); }

Value::Value(detail::Ref<TensorProxy> proxy) {
  if (!proxy) return;
  kind_ = Kind::tensor;
  content_ = std::move(proxy);
}
Value::Value(const Tensor& concrete)
    : Value(concrete.defined() ? TensorRef(describe(concrete)) : TensorRef()) {}
Value::Value(Int n) : kind_(Kind::integer) {
  if (n.is_symbolic()) content_ = NumberRef(n.proxy());
  else content_ = n.hint();
}
Value::Value(Float n) : kind_(Kind::floating) {
  if (n.is_symbolic()) content_ = NumberRef(n.proxy());
  else content_ = n.hint();
}
Value::Value(Bool b) : kind_(Kind::boolean) {
  if (b.is_symbolic()) content_ = NumberRef(b.proxy());
  else content_ = int64_t{b.hint()};
}
Value::Value(std::string_view text) : kind_(Kind::string), content_(new_object(std::string(text), {})) {}
Value::Value(Dtype dtype) : kind_(Kind::dtype), content_(static_cast<int64_t>(dtype)) {}
Value::Value(Device device)
    : kind_(Kind::device), content_(static_cast<int64_t>(device.kind) << 16 | int64_t{device.index}) {}
Value::Value(EllipsisType) : kind_(Kind::ellipsis) {}
Value::Value(const Slice& s)
    : kind_(Kind::slice), content_(new_object({}, {open_end(s.start), open_end(s.stop), open_end(s.step)})) {}
Value::Value(std::vector<Value> list) : kind_(Kind::list), content_(new_object({}, std::move(list))) {}
Value::Value(const std::vector<Tensor>& tensors) : Value(to_values(tensors)) {}
Value::Value(const Shape& integers) : Value(to_values(integers)) {}

Value Value::collection(std::string name, std::vector<Value> items) {
  Value value(Kind::collection);
  value.content_ = new_object(std::move(name), std::move(items));
  return value;
}

bool Value::is_proxy() const { return is_tensor() || std::holds_alternative<NumberRef>(content_); }

const detail::Ref<TensorProxy>& Value::tensor_ref() const {
  if (!is_tensor()) wrong_kind(kind_, Kind::tensor);
  return std::get<TensorRef>(content_);
}

const TensorProxy& Value::tensor() const { return *tensor_ref(); }

Int Value::integer() const {
  if (!is_int()) wrong_kind(kind_, Kind::integer);
  if (const auto* symbol = std::get_if<NumberRef>(&content_)) return Int((*symbol)->integer, symbol->get());
  return std::get<int64_t>(content_);
}

Float Value::floating() const {
  if (is_int()) return Float(integer());
  if (!is_float()) wrong_kind(kind_, Kind::floating);
  if (const auto* symbol = std::get_if<NumberRef>(&content_)) return Float((*symbol)->floating, symbol->get());
  return std::get<double>(content_);
}

Bool Value::boolean() const {
  if (!is_bool()) wrong_kind(kind_, Kind::boolean);
  if (const auto* symbol = std::get_if<NumberRef>(&content_)) return Bool((*symbol)->integer != 0, symbol->get());
  return std::get<int64_t>(content_) != 0;
}

const std::string& Value::string() const {
  if (!is_string()) wrong_kind(kind_, Kind::string);
  return std::get<ObjectRef>(content_)->text;
}

Dtype Value::dtype() const {
  if (!is_dtype()) wrong_kind(kind_, Kind::dtype);
  return static_cast<Dtype>(std::get<int64_t>(content_));
}

Device Value::device() const {
  if (!is_device()) wrong_kind(kind_, Kind::device);
  const int64_t packed = std::get<int64_t>(content_);
  Device device;
  device.kind = static_cast<Device::Kind>(packed >> 16);
  device.index = static_cast<int16_t>(packed & 0xffff);
  return device;
}

const std::vector<Value>& Value::list() const {
  if (!is_list() && !is_collection()) wrong_kind(kind_, Kind::list);
  return std::get<ObjectRef>(content_)->items;
}

Slice Value::slice() const {
  if (!is_slice()) wrong_kind(kind_, Kind::slice);
  const std::vector<Value>& ends = std::get<ObjectRef>(content_)->items;
  return {slice_end(ends[0]), slice_end(ends[1]), slice_end(ends[2])};
}

const std::string& Value::collection_name() const {
  if (!is_collection()) wrong_kind(kind_, Kind::collection);
  return std::get<ObjectRef>(content_)->text;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_ || a.content_.index() != b.content_.index()) return false;
  if (a.is_tensor()) return same_tensor(a.tensor(), b.tensor());
  if (const auto* integer = std::get_if<int64_t>(&a.content_)) return *integer == std::get<int64_t>(b.content_);
  // By bits: -0.0 and 0.0 are different constants, and NaN is equal to itself.
  if (const auto* floating = std::get_if<double>(&a.content_))
    return std::bit_cast<int64_t>(*floating) == std::bit_cast<int64_t>(std::get<double>(b.content_));
  if (const auto* symbol = std::get_if<Value::NumberRef>(&a.content_)) {
    const auto& other = std::get<Value::NumberRef>(b.content_);
    return *symbol == other || ((*symbol)->id >= 0 && (*symbol)->id == other->id);
  }
  const auto& x = std::get<Value::ObjectRef>(a.content_);
  const auto& y = std::get<Value::ObjectRef>(b.content_);
  return x == y || (x->text == y->text && x->items == y->items);
}

size_t Value::hash() const {
  const auto kind = static_cast<size_t>(kind_);
  if (is_tensor()) {
    const TensorProxy& proxy = tensor();
    if (proxy.id >= 0) return mix(kind, static_cast<size_t>(proxy.id));
    return mix(kind, std::hash<const void*>()(proxy.concrete.defined() ? static_cast<const void*>(proxy.concrete.impl().get())
                                                                       : static_cast<const void*>(&proxy)));
  }
  if (const auto* integer = std::get_if<int64_t>(&content_)) return mix(kind, static_cast<size_t>(*integer));
  if (const auto* floating = std::get_if<double>(&content_)) return mix(kind, std::bit_cast<size_t>(*floating));
  if (const auto* symbol = std::get_if<NumberRef>(&content_))
    return mix(kind, (*symbol)->id >= 0 ? static_cast<size_t>((*symbol)->id) : std::hash<const void*>()(symbol->get()));
  const ValueObject& object = *std::get<ObjectRef>(content_);
  size_t out = mix(kind, std::hash<std::string>()(object.text));
  for (const Value& item : object.items) out = mix(out, item.hash());
  return out;
}

Arg::Arg(std::initializer_list<Arg> list) {
  std::vector<Value> items;
  items.reserve(list.size());
  for (const Arg& item : list) items.push_back(item.value);
  value = Value(std::move(items));
}

}  // namespace fulgurite
