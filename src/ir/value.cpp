#include <fulgurite/value.h>

#include <bit>
#include <functional>
#include <utility>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

const Shape& SharedShape::of_number() {
  static const Shape none;
  return none;
}

/// Contents that do not fit into a Value. A slice stores its bounds and step as three items.
struct ValueObject : detail::Counted {
  std::string text;
  std::vector<Value> items;
};

namespace {

template <class T>
void drop_owner(const T* object) {
  if (object->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object;
}

constexpr const char* kind_names[] = {"none",    "a tensor", "an integer", "a float", "a bool",      "a string",
                                      "a dtype", "a device", "a list",     "a slice", "an ellipsis", "a collection"};

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

void release(const NumberProxy* proxy) { drop_owner(proxy); }
void release(const TensorProxy* proxy) { drop_owner(proxy); }
void retain(const ValueObject* object) { object->owners.fetch_add(1, std::memory_order_relaxed); }
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
std::optional<Int> slice_end(const Value& end) {
  return end.is_none() ? std::nullopt : std::optional<Int>(end.integer());
}

}  // namespace

std::string TensorProxy::type_text() const { return text::cat(device.name(), " ", dtype, shape); }

Value::Value(detail::Ref<TensorProxy> proxy) {
  if (!proxy) return;
  kind_ = Kind::tensor;
  content_ = Content::tensor;
  has_symbolic_sizes_ = proxy->numbers != nullptr;
  id_ = proxy->id;
  new (&tensor_) TensorRef(std::move(proxy));
}
Value::Value(Kind kind, NumberRef number) : kind_(kind), content_(Content::number), id_(number->id) {
  new (&number_) NumberRef(std::move(number));
}
Value::Value(Kind kind, ObjectRef object) : kind_(kind), content_(Content::object) {
  new (&object_) ObjectRef(std::move(object));
}
Value::Value(const Tensor& concrete) : Value(concrete.defined() ? TensorRef(describe(concrete)) : TensorRef()) {}
Value::Value(Int n)
    : Value(n.is_symbolic() ? Value(Kind::integer, NumberRef(n.proxy())) : Value(Kind::integer, n.hint())) {}
Value::Value(Float n)
    : Value(n.is_symbolic() ? Value(Kind::floating, NumberRef(n.proxy()))
                            : Value(Kind::floating, std::bit_cast<int64_t>(n.hint()))) {}
Value::Value(Bool b)
    : Value(b.is_symbolic() ? Value(Kind::boolean, NumberRef(b.proxy())) : Value(Kind::boolean, int64_t{b.hint()})) {}
Value::Value(std::string_view text) : Value(Kind::string, new_object(std::string(text), {})) {}
Value::Value(Dtype dtype) : Value(Kind::dtype, static_cast<int64_t>(dtype)) {}
Value::Value(Device device) : Value(Kind::device, static_cast<int64_t>(device.kind) << 16 | int64_t{device.index}) {}
Value::Value(EllipsisType) : Value(Kind::ellipsis) {}
Value::Value(const Slice& s)
    : Value(Kind::slice, new_object({}, {open_end(s.start), open_end(s.stop), open_end(s.step)})) {}
Value::Value(std::vector<Value> list) : Value(Kind::list, new_object({}, std::move(list))) {}
Value::Value(const std::vector<Tensor>& tensors) : Value(to_values(tensors)) {}
Value::Value(const Shape& integers) : Value(to_values(integers)) {}

Value Value::collection(std::string name, std::vector<Value> items) {
  return Value(Kind::collection, new_object(std::move(name), std::move(items)));
}

void Value::refuse(Kind wanted) const {
  throw UserError(text::cat("a value is ", kind_names[static_cast<int>(kind_)], " where ",
                            kind_names[static_cast<int>(wanted)], " is needed"));
}

Int Value::integer() const {
  if (!is_int()) refuse(Kind::integer);
  if (content_ == Content::number) return Int(number_->integer, number_.get());
  return constant_;
}

Float Value::floating() const {
  if (is_int()) return Float(integer());
  if (!is_float()) refuse(Kind::floating);
  if (content_ == Content::number) return Float(number_->floating, number_.get());
  return std::bit_cast<double>(constant_);
}

Bool Value::boolean() const {
  if (!is_bool()) refuse(Kind::boolean);
  if (content_ == Content::number) return Bool(number_->integer != 0, number_.get());
  return constant_ != 0;
}

const std::string& Value::string() const {
  if (!is_string()) refuse(Kind::string);
  return object_->text;
}

Dtype Value::dtype() const {
  if (!is_dtype()) refuse(Kind::dtype);
  return static_cast<Dtype>(constant_);
}

Device Value::device() const {
  if (!is_device()) refuse(Kind::device);
  const int64_t packed = constant_;
  Device device;
  device.kind = static_cast<Device::Kind>(packed >> 16);
  device.index = static_cast<int16_t>(packed & 0xffff);
  return device;
}

const std::vector<Value>& Value::list() const {
  if (!is_list() && !is_collection()) refuse(Kind::list);
  return object_->items;
}

Slice Value::slice() const {
  if (!is_slice()) refuse(Kind::slice);
  const std::vector<Value>& ends = object_->items;
  return {slice_end(ends[0]), slice_end(ends[1]), slice_end(ends[2])};
}

const std::string& Value::collection_name() const {
  if (!is_collection()) refuse(Kind::collection);
  return object_->text;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_ || a.content_ != b.content_) return false;
  switch (a.content_) {
    // Floats by bits: -0.0 and 0.0 are different constants, and NaN is equal to itself.
    case Value::Content::constant: return a.constant_ == b.constant_;
    case Value::Content::number:
      return a.number_ == b.number_ || (a.number_->id >= 0 && a.number_->id == b.number_->id);
    case Value::Content::tensor: return a.id_ == b.id_ && (a.id_ >= 0 || same_tensor(*a.tensor_, *b.tensor_));
    case Value::Content::object: break;
  }
  return a.object_ == b.object_ || (a.object_->text == b.object_->text && a.object_->items == b.object_->items);
}

size_t Value::hash() const {
  const auto kind = static_cast<size_t>(kind_);
  switch (content_) {
    case Content::constant: return mix(kind, static_cast<size_t>(constant_));
    case Content::number:
      return mix(kind, number_->id >= 0 ? static_cast<size_t>(number_->id) : std::hash<const void*>()(number_.get()));
    case Content::tensor: {
      if (id_ >= 0) return mix(kind, static_cast<size_t>(id_));
      const TensorProxy& proxy = *tensor_;
      return mix(kind, std::hash<const void*>()(proxy.concrete.defined()
                                                    ? static_cast<const void*>(proxy.concrete.impl().get())
                                                    : static_cast<const void*>(&proxy)));
    }
    case Content::object: break;
  }
  size_t out = mix(kind, std::hash<std::string>()(object_->text));
  for (const Value& item : object_->items) out = mix(out, item.hash());
  return out;
}

Arg::Arg(std::initializer_list<Arg> list) {
  std::vector<Value> items;
  items.reserve(list.size());
  for (const Arg& item : list) items.push_back(item.value);
  value = Value(std::move(items));
}

}  // namespace fulgurite
