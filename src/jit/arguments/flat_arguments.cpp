#include "jit/arguments/flat_arguments.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fulgurite/error.h>
#include <fulgurite/value.h>

#include "ops/core/autocast.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

using Kind = KeyItem::Kind;

constexpr uint64_t kind_bits = 4;
// A tensor's first word: kind 4, dtype 4, requires_grad 1, device kind 3, number of dimensions 8, device index 12, then
// 1 for "same object" and 31 for the first leaf that shares its storage, plus one.
constexpr int same_object_shift = 32, alias_shift = 33;
constexpr int autocast_shift = 8;  // of the modes: gradients 1, default dtype, autocast dtype plus one

constexpr uint64_t word(Kind kind, uint64_t payload = 0) { return static_cast<uint64_t>(kind) | payload << kind_bits; }

}  // namespace

FlatArguments::FlatArguments(const CallableTable& table, bool allow_proxies, bool symbols,
                             const std::vector<PromotedSize>* promoted)
    : allow_proxies_(allow_proxies), are_symbols_(symbols), promoted_(promoted) {
  const uint64_t autocast = autocast_dtype() ? static_cast<uint64_t>(*autocast_dtype()) + 1 : 0;
  const uint64_t modes =
      static_cast<uint64_t>(grad_enabled()) | static_cast<uint64_t>(default_dtype()) << 1 | autocast << autocast_shift;
  key_.push_back(word(Kind::modes, modes));
  key_.push_back(reinterpret_cast<uintptr_t>(&table));
}

void append_tensor_key(const TensorImpl& tensor, SmallVector<uint64_t, 64>& key) {
  bool requires_grad = tensor.requires_grad;
  if (tensor.base && tensor.base->history != tensor.base_history) [[unlikely]]
    requires_grad = Tensor(TensorImplRef(const_cast<TensorImpl*>(&tensor))).requires_grad();
  const uint64_t payload = static_cast<uint64_t>(tensor.dtype) | static_cast<uint64_t>(requires_grad) << 4 |
                           static_cast<uint64_t>(tensor.device.kind) << 5 |
                           static_cast<uint64_t>(tensor.sizes.size() & 0xff) << 8 |
                           static_cast<uint64_t>(tensor.device.index & 0xfff) << 16;
  key.push_back(word(Kind::tensor, payload));
  for (const int64_t size : tensor.sizes) key.push_back(static_cast<uint64_t>(size));
}

void FlatArguments::add(const Tensor& tensor) {
  tensors_.push_back(&tensor);
  headers_.push_back(static_cast<uint32_t>(key_.size()));
  if (!tensor.defined()) {
    key_.push_back(word(Kind::no_tensor));
    return;
  }
  if (tensor.impl()->proxy) [[unlikely]] {
    if (allow_proxies_) {
      key_.push_back(word(Kind::tensor));
      return;
    }
    throw UserError(
        text::cat("an argument is ", tensor.impl()->proxy->name,
                  ", a tensor of a trace that has ended; return it from the traced function instead of keeping it"),
        tensor.impl()->born);
  }
  if (are_symbols_ || tensor.impl()->dynamic_dims) [[unlikely]]
    note_symbols(*tensor.impl());
  append_tensor_key(*tensor.impl(), key_);
}

void FlatArguments::note_symbols(const TensorImpl& tensor) {
  const size_t first = key_.size() + 1;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    const bool is_marked = d < 16 && (tensor.dynamic_dims >> d & 1);
    const PromotedSize size{static_cast<uint32_t>(tensors_.size() - 1), static_cast<uint32_t>(d)};
    const bool is_promoted = promoted_ && std::ranges::find(*promoted_, size) != promoted_->end();
    if (is_marked || is_promoted || (are_symbols_ && is_argument_))
      symbols_.push_back(static_cast<uint32_t>(first + d));
  }
}

void FlatArguments::add_symbol(Int n) {
  if (are_symbols_ && is_argument_) symbols_.push_back(static_cast<uint32_t>(key_.size() + 1));
  add_number(Kind::integer, static_cast<uint64_t>(allow_proxies_ ? n.hint() : static_cast<int64_t>(n)));
}

void FlatArguments::add_symbol(Float n) {
  if (are_symbols_ && is_argument_) symbols_.push_back(static_cast<uint32_t>(key_.size() + 1));
  add_number(Kind::floating, std::bit_cast<uint64_t>(allow_proxies_ ? n.hint() : static_cast<double>(n)));
}

SmallVector<uint64_t, 64> FlatArguments::key_without_symbols() const {
  constexpr uint64_t symbol = 0xfff9'5379'6d62'6f6c;  // no size
  SmallVector<uint64_t, 64> key = key_;
  for (const uint32_t at : symbols_) key[at] = symbol;
  return key;
}

std::vector<uint64_t> FlatArguments::symbol_values() const {
  std::vector<uint64_t> values;
  values.reserve(symbols_.size());
  for (const uint32_t at : symbols_) values.push_back(key_[at]);
  return values;
}

// How memory is shared is a matter of sizes and strides together: those stay constants.
void FlatArguments::drop_symbols(size_t leaf) {
  const uint32_t header = headers_[leaf];
  const auto end = static_cast<uint32_t>(header + tensors_[leaf]->impl()->sizes.size());
  SmallVector<uint32_t, 16> kept;
  for (const uint32_t at : symbols_)
    if (at <= header || at > end) kept.push_back(at);
  symbols_ = kept;
}

void FlatArguments::add_number(Kind kind, uint64_t bits) {
  key_.push_back(word(kind));
  key_.push_back(bits);
}

void FlatArguments::add_text(Kind kind, std::string_view text) {
  key_.push_back(word(kind, text.size()));
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, std::min(sizeof bytes, text.size() - at));
    key_.push_back(bytes);
  }
}

void FlatArguments::add_structure(size_t count) { key_.push_back(word(Kind::structure, count)); }

void FlatArguments::note_alias(size_t later, size_t earlier) {
  uint64_t& header = key_[headers_[later]];
  header |= static_cast<uint64_t>(earlier + 1) << alias_shift;
  if (tensors_[later]->is_same(*tensors_[earlier])) header |= uint64_t{1} << same_object_shift;
  else add_sharing(later, earlier);
}

const TensorImpl* family_of(const TensorImpl& tensor) { return tensor.base ? tensor.base.get() : &tensor; }

// A trace of writes into shared memory holds for one way of sharing it.
void FlatArguments::add_sharing(size_t later, size_t earlier) {
  if (has_symbols()) {
    drop_symbols(later);
    drop_symbols(earlier);
  }
  const TensorImpl &a = *tensors_[later]->impl(), &b = *tensors_[earlier]->impl();
  key_.push_back(word(Kind::sharing, a.strides.size() + b.strides.size() + 1));
  const bool is_view = family_of(a) == family_of(b);
  key_.push_back(static_cast<uint64_t>(a.offset - b.offset) << 1 | static_cast<uint64_t>(is_view));
  for (const int64_t stride : a.strides) key_.push_back(static_cast<uint64_t>(stride));
  for (const int64_t stride : b.strides) key_.push_back(static_cast<uint64_t>(stride));
}

void FlatArguments::finish() {
  const auto storage_of = [&](size_t i) -> const Storage* {
    const TensorImpl* impl = tensors_[i]->impl().get();
    return impl ? impl->storage.get() : nullptr;
  };
  const size_t count = tensors_.size();
  if (count <= 16) {
    for (size_t i = 1; i < count; ++i)
      for (size_t j = 0; j < i; ++j)
        if (storage_of(i) && storage_of(i) == storage_of(j)) {
          note_alias(i, j);
          break;
        }
    return;
  }
  // Many tensors: a small open hash table from storages to the first leaf that has them.
  const size_t slots = std::bit_ceil(2 * count);
  SmallVector<int32_t, 512> first(slots);
  for (size_t i = 0; i < slots; ++i) first[i] = -1;
  for (size_t i = 0; i < count; ++i) {
    const Storage* storage = storage_of(i);
    if (!storage) continue;
    size_t slot = (reinterpret_cast<uintptr_t>(storage) * 0x9e3779b97f4a7c15u >> 32) & (slots - 1);
    while (first[slot] >= 0 && storage_of(first[slot]) != storage) slot = (slot + 1) & (slots - 1);
    if (first[slot] < 0) first[slot] = static_cast<int32_t>(i);
    else note_alias(i, first[slot]);
  }
}

uint64_t hash_of(const SmallVector<uint64_t, 64>& words) {
  uint64_t hash = words.size();
  for (const uint64_t w : words) hash = (hash ^ w) * 0x9e3779b97f4a7c15u ^ hash >> 29;
  return hash;
}

uint64_t FlatArguments::hash() const { return hash_of(key_); }

namespace {

KeyItem read_tensor(uint64_t header, const uint64_t* sizes) {
  KeyItem item;
  item.kind = Kind::tensor;
  const uint64_t payload = header >> kind_bits;
  item.requires_grad = payload >> 4 & 1;
  Device device;
  device.kind = static_cast<Device::Kind>(payload >> 5 & 7);
  device.index = static_cast<int16_t>(payload >> 16 & 0xfff);
  const size_t ndim = payload >> 8 & 0xff;
  std::string shape;
  for (size_t i = 0; i < ndim; ++i) shape += text::cat(i ? ", " : "", static_cast<int64_t>(sizes[i]));
  item.text = text::cat(device.name(), " ", name(static_cast<Dtype>(payload & 15)), "[", shape, "]");
  item.shares_with = static_cast<int>(header >> alias_shift) - 1;
  item.is_same = header >> same_object_shift & 1;
  return item;
}

std::string read_text(const uint64_t* words, size_t length) {
  return std::string(reinterpret_cast<const char*>(words), length);
}

}  // namespace

std::vector<KeyItem> read_key(const uint64_t* words, size_t count) {
  std::vector<KeyItem> items;
  for (size_t i = 0; i < count;) {
    const uint64_t header = words[i++];
    KeyItem item;
    item.kind = static_cast<Kind>(header & 15);
    const uint64_t payload = header >> kind_bits;
    switch (item.kind) {
      case Kind::modes:
        item.text = text::cat("gradients ", payload & 1 ? "on" : "off", ", default dtype ",
                              name(static_cast<Dtype>(payload >> 1 & ((1 << (autocast_shift - 1)) - 1))));
        if (const uint64_t autocast = payload >> autocast_shift)
          item.text += text::cat(", autocasting to ", name(static_cast<Dtype>(autocast - 1)));
        ++i;  // the table
        break;
      case Kind::structure: item.text = text::cat(payload, payload == 1 ? " item" : " items"); break;
      case Kind::structure_text:
      case Kind::text:
        item.text = read_text(words + i, payload);
        i += (payload + sizeof(uint64_t) - 1) / sizeof(uint64_t);
        break;
      case Kind::sharing:
        item.text = text::cat("memory shared from element ", static_cast<int64_t>(words[i]) >> 1, " on");
        if (!(words[i] & 1)) item.text += ", without a common history";
        for (uint64_t k = 1; k < payload; ++k)
          item.text += text::cat(k == 1 ? ", strides " : ", ", static_cast<int64_t>(words[i + k]));
        i += payload;
        break;
      case Kind::tensor:
        item = read_tensor(header, words + i);
        i += payload >> 8 & 0xff;
        break;
      case Kind::no_tensor: item.text = "None"; break;
      case Kind::integer:
        item.bits = words[i++];
        item.text = text::cat(static_cast<int64_t>(item.bits));
        break;
      case Kind::floating:
        item.bits = words[i++];
        item.text = text::cat(std::bit_cast<double>(item.bits));
        break;
      case Kind::boolean:
        item.bits = words[i++];
        item.text = item.bits ? "true" : "false";
        break;
      case Kind::device: {
        Device device;
        device.kind = static_cast<Device::Kind>(words[i] >> 16);
        device.index = static_cast<int16_t>(words[i++] & 0xffff);
        item.text = device.name();
        break;
      }
    }
    items.push_back(std::move(item));
  }
  return items;
}

void read_leaf(FlatArguments& flat, const Tensor& tensor) { flat.add(tensor); }
void read_leaf(FlatArguments& flat, int64_t value) { flat.add_number(Kind::integer, static_cast<uint64_t>(value)); }
void read_leaf(FlatArguments& flat, double value) { flat.add_number(Kind::floating, std::bit_cast<uint64_t>(value)); }
void read_leaf(FlatArguments& flat, Int value) { flat.add_symbol(value); }
void read_leaf(FlatArguments& flat, Float value) { flat.add_symbol(value); }
void begin_members(FlatArguments& flat) { flat.begin_members(); }
void read_leaf(FlatArguments& flat, bool value) { flat.add_number(Kind::boolean, value); }
void read_leaf(FlatArguments& flat, std::string_view value) { flat.add_text(Kind::text, value); }
void read_leaf(FlatArguments& flat, Device device) {
  flat.add_number(Kind::device, static_cast<uint64_t>(device.kind) << 16 | static_cast<uint16_t>(device.index));
}
void read_structure(FlatArguments& flat, size_t count) { flat.add_structure(count); }
void read_structure(FlatArguments& flat, std::string_view key) { flat.add_text(Kind::structure_text, key); }

}  // namespace fulgurite::detail
