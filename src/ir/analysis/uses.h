#pragma once
#include <span>

#include "ir/analysis/trace_values.h"

namespace fulgurite {

/// Calls visit(id) for each proxy in a value: lists and collections flattened, symbols in slices included.
template <class Visit>
void for_each_proxy(const Value& value, Visit&& visit) {
  for_each_leaf(value, [&](const Value& leaf) {
    if (leaf.is_slice()) {
      const Slice slice = leaf.slice();
      for (const std::optional<Int>& end : {slice.start, slice.stop, slice.step})
        if (end && end->proxy()) visit(end->proxy()->id);
    } else if (const int id = proxy_id(leaf); id >= 0) {
      visit(id);
    }
  });
}

namespace detail {
/// The scalars that a composite's subsymbols need: they are computed before it.
template <class Visit>
void for_each_number_inside(const BoundSymbol& composite, Visit&& visit) {
  for (const BoundSymbol& bound : composite.subsymbols) {
    for_each_argument(bound, [&](const Value& value) {
      if (!value.is_tensor()) for_each_proxy(value, visit);
    });
    for_each_output(bound, [&](const Value& output) {
      if (!output.has_symbolic_sizes()) return;
      for (const Int size : output.tensor().shape)
        if (size.proxy()) visit(size.proxy()->id);
    });
    for_each_number_inside(bound, visit);
  }
}
}  // namespace detail

/// Calls visit(id) for each proxy that a bound symbol uses: those among its arguments and the symbols in its results'
/// sizes.
template <class Visit>
void for_each_use(const BoundSymbol& bound, Visit&& visit) {
  bool has_symbols = false;
  const auto visit_argument = [&](const Value& value) {
    for_each_proxy(value, visit);
    has_symbols = has_symbols || value.has_symbolic_sizes() || (value.is_proxy() && !value.is_tensor());
  };
  for (const Value& value : bound.args) visit_argument(value);
  for (const auto& [name, value] : bound.kwargs) visit_argument(value);
  for_each_output(bound, [&](const Value& output) {
    if (!output.has_symbolic_sizes()) return;
    has_symbols = true;
    for (const Int size : output.tensor().shape)
      if (size.proxy()) visit(size.proxy()->id);
  });
  if (has_symbols) detail::for_each_number_inside(bound, visit);
}

/// Def-use table by proxy id: the producer and the consumers of each value. Positions are indices into bound_symbols;
/// -1 if there is none.
class Uses {
 public:
  explicit Uses(const Trace&);
  /// -1 for the trace's arguments.
  int producer(int id) const { return producer_[id]; }
  int last_use(int id) const { return last_use_[id]; }
  /// The consumers in order, each once.
  std::span<const int> consumers(int id) const {
    return {consumers_.data() + first_[id], static_cast<size_t>(first_[id + 1] - first_[id])};
  }

 private:
  std::vector<int> producer_, last_use_, first_, consumers_;
};

/// Returns true if effects_of() the op is not empty: it stays even if its results are unused, and is neither merged nor
/// repeated.
bool has_effect(const BoundSymbol&);

}  // namespace fulgurite
