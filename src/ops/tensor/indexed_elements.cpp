#include "ops/tensor/indexed_elements.h"

#include <algorithm>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/call_error.h"
#include "ops/generated/symbols.h"
#include "ops/indexing/indexing_rules.h"
#include "ops/tensor/in_place.h"
#include "support/thread_state.h"

namespace fulgurite {

/// The current note, and a spare empty object for the next one: indexing does not allocate.
struct IndexedElementsMemory {
  std::shared_ptr<IndexedElements> noted, spare;
};

namespace {

void end_notes(void* memory) {
  thread_state.is_ending = true;
  thread_state.indexed_elements = nullptr;
  before_next_call(nullptr);
  delete static_cast<IndexedElementsMemory*>(memory);
}

IndexedElementsMemory& memory() {
  if (thread_state.indexed_elements == nullptr) {
    thread_state.indexed_elements = new IndexedElementsMemory;
    at_thread_end(end_notes, thread_state.indexed_elements);
  }
  return *thread_state.indexed_elements;
}

/// Returns true if this thread has noted elements and does not end.
bool has_note() { return thread_state.indexed_elements != nullptr && thread_state.indexed_elements->noted; }

// The value in the dtype of the written tensor.
Tensor converted(const Operand& value, const Tensor& x, SourceLocation at) {
  if (!value.is_tensor()) return full({}, value, {.dtype = x.dtype(), .device = x.device()}, at);
  return value.tensor().to(x.dtype(), at);
}

}  // namespace

Argument argument_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::integer: return index.integer();
    case Index::Kind::slice: return index.slice();
    case Index::Kind::ellipsis: return Ellipsis;
    case Index::Kind::none: return {};
    case Index::Kind::tensor:
      if (!index.tensor().defined())
        throw UserError("x(…): an index is an undefined tensor; None makes a new dimension", index.at());
      return index.tensor();
    case Index::Kind::integers: return index.integers();
  }
  return {};
}

IndexedElements& IndexedElements::start_note(const Tensor& x, const Tensor& result,
                                             std::shared_ptr<const IndexedElements> outer) {
  forget();
  const auto elements = memory().spare ? std::exchange(memory().spare, nullptr) : std::make_shared<IndexedElements>();
  elements->x_ = x;
  elements->result_ = result;
  elements->outer_ = std::move(outer);
  memory().noted = elements;
  before_next_call(forget);
  return *elements;
}

void IndexedElements::note(const Tensor& x, std::span<const Index* const> indices, const Tensor& result,
                           std::shared_ptr<const IndexedElements> outer) {
  if (thread_state.is_ending) return;
  IndexedElements& elements = start_note(x, result, std::move(outer));
  for (const Index* index : indices) {
    Kept kept{index->kind(), {}, {}, {}, {}};
    if (kept.kind == Index::Kind::integer) kept.integer = index->integer();
    if (kept.kind == Index::Kind::slice) kept.slice = index->slice();
    if (kept.kind == Index::Kind::tensor) kept.tensor = index->tensor();
    if (kept.kind == Index::Kind::integers) kept.integers = index->integers();
    elements.indices_.push_back(std::move(kept));
  }
}

void IndexedElements::note_flipped(const Tensor& view, const Dims& dims, const Tensor& result,
                                   std::shared_ptr<const IndexedElements> outer) {
  if (thread_state.is_ending) return;
  start_note(view, result, std::move(outer)).flipped_ = dims;
}

std::shared_ptr<const IndexedElements> IndexedElements::take(const Tensor& result) {
  if (!has_note() || !memory().noted->result_.is_same(result)) return nullptr;
  before_next_call(nullptr);
  return std::exchange(memory().noted, nullptr);
}

void IndexedElements::forget() {
  if (!has_note()) return;
  IndexedElements& elements = *memory().noted;
  elements.x_ = elements.result_ = Tensor();
  elements.indices_.clear();
  elements.flipped_ = {};
  elements.outer_ = nullptr;
  memory().spare = std::exchange(memory().noted, nullptr);
}

Argument IndexedElements::argument(const Kept& kept) const {
  switch (kept.kind) {
    case Index::Kind::integer: return kept.integer;
    case Index::Kind::slice: return kept.slice;
    case Index::Kind::ellipsis: return Ellipsis;
    case Index::Kind::none: return {};
    case Index::Kind::tensor: return kept.tensor;
    case Index::Kind::integers: return kept.integers;
  }
  return {};
}

// Otherwise it is a view of x, and writes into it reach x.
bool IndexedElements::is_copy() const {
  return !flipped_.empty() || std::ranges::any_of(indices_, [](const Kept& kept) {
    return kept.kind == Index::Kind::tensor || kept.kind == Index::Kind::integers;
  });
}

void IndexedElements::assign(const Operand& value, SourceLocation at) const {
  if (!is_copy()) {
    copy_(result_, value, at);
  } else if (!flipped_.empty()) {
    const Tensor given = converted(value, x_, at);
    const Tensor spread = expand(given, x_.shape(), at);
    const Tensor forward = flip(spread, flipped_, at);
    copy_(x_, forward, at);
  } else {
    SmallVector<Argument, 6> list;
    for (const Kept& kept : indices_) list.push_back(argument(kept));
    const Argument indices{std::span<const Argument>(list.data(), list.size())};
    const Argument call[] = {x_, indices};
    try {
      const IndexedView indexed = indexed_view(x_, indices.list(), at);
      index_put_(indexed.view, indexed.indices, converted(value, x_, at), false, at);
    } catch (const RuleError& error) {
      throw CallError(call_text(getitem_symbol, call), error.message, at);
    }
  }
  if (outer_) outer_->write_back(at);
}

void IndexedElements::write_back(SourceLocation at) const {
  if (is_copy()) assign(result_, at);
  else if (outer_) outer_->write_back(at);
}

}  // namespace fulgurite
