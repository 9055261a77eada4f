#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// Puts values in the place of others, by proxy id. What is not named in it stays.
class Substitution {
 public:
  explicit Substitution(int id_count) : replacements_(id_count) {}
  void set(int id, Value replacement) {
    replacements_[id] = std::move(replacement);
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  /// The replacement of a proxy's value; null where it stays.
  const Value* find(int id) const {
    return id >= 0 && !replacements_[id].is_none() ? &replacements_[id] : nullptr;
  }
  Value apply(const Value&) const;
  Shape apply(const Shape&) const;
  /// Arguments, results, subsymbols and the links to the forward.
  void apply(BoundSymbol&) const;

 private:
  bool changes(const Value&) const;
  Int apply(Int) const;
  std::vector<Value> replacements_;  // by id; none: stays
  bool is_empty_ = true;
};

}  // namespace fulgurite
