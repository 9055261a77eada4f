#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Substitutes values by proxy id; unmapped values are unchanged.
class Substitution {
 public:
  explicit Substitution(int id_count = 0) : replacements_(id_count) {}
  /// Grows the table if the id is beyond it.
  void set(int id, Value replacement) {
    if (id >= static_cast<int>(replacements_.size())) replacements_.resize(id + 1 + id / 2);
    replacements_[id] = std::move(replacement);
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  /// The replacement of a proxy's value; null if it is unchanged.
  const Value* find(int id) const {
    const bool is_inside = id >= 0 && id < static_cast<int>(replacements_.size());
    return is_inside && !replacements_[id].is_none() ? &replacements_[id] : nullptr;
  }
  Value apply(const Value&) const;
  Shape apply(const Shape&) const;
  /// Substitutes in arguments, results, subsymbols and the links to the forward.
  void apply(BoundSymbol&) const;

 private:
  bool changes(const Value&) const;
  bool changes(const BoundSymbol&) const;
  void apply(SharedVector<Value>&) const;
  Int apply(Int) const;
  std::vector<Value> replacements_;  // by id; none: unchanged
  bool is_empty_ = true;
};

}  // namespace fulgurite
