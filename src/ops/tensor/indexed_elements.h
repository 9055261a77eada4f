#pragma once
#include <memory>
#include <vector>

#include "ops/core/dispatch.h"

namespace fulgurite {

/// The elements selected by an index of a tensor, remembered until this thread's next operator call: x(mask) is a copy,
/// and an assignment to it writes back into x.
class IndexedElements {
 public:
  /// Notes that x(indices…) returned `result`. `outer` is the result of take() for x itself: x(mask)(0) = value writes
  /// back twice.
  static void note(const Tensor& x, std::span<const Index* const> indices, const Tensor& result,
                   std::shared_ptr<const IndexedElements> outer);
  /// Notes that `result` is flip(view, dims), where `view` shares memory with x.
  static void note_flipped(const Tensor& view, const Dims& dims, const Tensor& result,
                           std::shared_ptr<const IndexedElements> outer);
  /// Removes and returns the note for this result; null for other tensors.
  static std::shared_ptr<const IndexedElements> take(const Tensor& result);
  /// Discards the note.
  static void forget();

  /// Writes a value into the elements: a number, or a tensor that is broadcast and converted.
  void assign(const Operand& value, SourceLocation at) const;
  /// The same for a result that was changed in place.
  void write_back(SourceLocation at) const;

 private:
  struct Kept {
    Index::Kind kind;
    Int integer;
    Slice slice;
    Tensor tensor;
    Shape integers;
  };
  Argument argument(const Kept&) const;
  bool is_copy() const;
  static IndexedElements& start_note(const Tensor& x, const Tensor& result,
                                     std::shared_ptr<const IndexedElements> outer);

  Tensor x_, result_;
  std::vector<Kept> indices_;
  Dims flipped_;  // for note_flipped(): there are no indices
  std::shared_ptr<const IndexedElements> outer_;
};

/// The argument of an index in a call of Tensor.__getitem__.
Argument argument_of(const Index&);

}  // namespace fulgurite
