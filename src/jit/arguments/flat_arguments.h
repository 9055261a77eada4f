#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <fulgurite/detail/callable.h>

#include "support/containers/small_vector.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::detail {

/// One item of a key, for messages.
struct KeyItem {
  enum class Kind : uint8_t {
    modes,
    structure,
    structure_text,
    sharing,  // layout of a tensor in the storage of an earlier one
    tensor,
    no_tensor,
    integer,
    floating,
    boolean,
    text,
    device
  };
  Kind kind = Kind::modes;
  std::string text;            // "cpu f32[2, 3]", "3", "2 items"; of a text, the text itself
  uint64_t bits = 0;           // of a number
  bool requires_grad = false;  // of a tensor
  int shares_with = -1;        // of a tensor: the first tensor leaf that shares its storage
  bool is_same = false;        // and is the same tensor object
  bool is_leaf() const { return kind >= Kind::tensor; }
};
/// A size of a tensor leaf of the callable that is a symbol because it has changed.
struct PromotedSize {
  uint32_t leaf, dim;
  friend bool operator==(const PromotedSize&, const PromotedSize&) = default;
};

/// The leaves of a call's arguments in order, and their packed key: the state that a cache entry depends on, the
/// elements of tensors excepted.
///
/// The key is a sequence of words. Each item starts with a word whose low four bits say what it is; a tensor's sizes, a
/// number's bits, a text's bytes follow it.
class FlatArguments {
 public:
  /// Begins the key with the modes that traces depend on and the callable's table.
  /// With `allow_proxies`, tensors may be values of a trace being recorded: the key is then not one to look up. With
  /// `symbols`, the sizes of arguments, and the Int and Float among them, are symbols, and those of `promoted`; else
  /// only the sizes that mark_dynamic() made some.
  explicit FlatArguments(const CallableTable& table, bool allow_proxies = false, bool symbols = false,
                         const std::vector<PromotedSize>* promoted = nullptr);

  void add(const Tensor&);
  void add_number(KeyItem::Kind, uint64_t bits);
  void add_text(KeyItem::Kind, std::string_view);
  void add_structure(size_t count);
  void add_symbol(Int);
  void add_symbol(Float);
  /// Starts the callable's members, in which only marked sizes are symbols.
  void begin_members() { is_argument_ = false; }
  /// Adds to the key which tensors share storage or are one object. Call once, after the last leaf.
  void finish();

  const SmallVector<uint64_t, 64>& key() const { return key_; }
  uint64_t hash() const;
  /// Every tensor leaf, undefined ones included.
  const SmallVector<const Tensor*, 16>& tensors() const { return tensors_; }
  /// The offsets of the key's symbolic words, ascending.
  const SmallVector<uint32_t, 16>& symbols() const { return symbols_; }
  const std::vector<PromotedSize>* promoted() const { return promoted_; }
  bool has_symbols() const { return symbols_.size() > 0; }
  /// The offset of a tensor leaf's item in the key; its sizes follow.
  uint32_t header(size_t leaf) const { return headers_[leaf]; }
  /// The key with one word in place of all symbolic ones.
  SmallVector<uint64_t, 64> key_without_symbols() const;
  /// The values of the symbols, in order.
  std::vector<uint64_t> symbol_values() const;

 private:
  void note_alias(size_t later, size_t earlier);
  void add_sharing(size_t later, size_t earlier);
  void note_symbols(const TensorImpl&);
  void drop_symbols(size_t leaf);

  bool allow_proxies_, are_symbols_, is_argument_ = true;
  const std::vector<PromotedSize>* promoted_;
  SmallVector<uint32_t, 16> symbols_;
  SmallVector<uint64_t, 64> key_;
  SmallVector<const Tensor*, 16> tensors_;
  SmallVector<uint32_t, 16> headers_;  // offset of each tensor's item in the key
};

uint64_t hash_of(const SmallVector<uint64_t, 64>& words);

std::vector<KeyItem> read_key(const uint64_t* words, size_t count);

/// The part of a key that describes one tensor: dtype, device, requires_grad and sizes.
/// The tensor that has the history which this one and all views of it share a part of.
const TensorImpl* family_of(const TensorImpl&);
void append_tensor_key(const TensorImpl&, SmallVector<uint64_t, 64>& key);

}  // namespace fulgurite::detail
