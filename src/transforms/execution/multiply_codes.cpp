#include "transforms/execution/multiply_codes.h"

#include <algorithm>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ir/structural.h"
#include "ir/substitution.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

bool is_dequantization(const BoundSymbol& bound) { return bound.symbol->semantics.dequantization; }

class CodeMultiplier {
 public:
  explicit CodeMultiplier(const Trace& trace)
      : trace_(trace), uses_(trace), tracer_(trace), out_(without_symbols(trace)) {
    const auto count = static_cast<int>(trace.bound_symbols.size());
    is_moved_.resize(static_cast<size_t>(count));
    is_emitted_.resize(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) is_moved_[static_cast<size_t>(i)] = may_move(i);
  }

  Trace run() {
    for (int i = 0; i < static_cast<int>(is_moved_.size()); ++i)
      if (!is_moved(i)) add(i);
    out_.next_id = tracer_.trace().next_id;
    out_.next_name = tracer_.trace().next_name;
    return std::move(out_);
  }

 private:
  const BoundSymbol& op(int i) const { return trace_.bound_symbols.read()[static_cast<size_t>(i)]; }
  bool is_moved(int i) const { return i >= 0 && is_moved_[static_cast<size_t>(i)]; }
  int producer(const Value& value) const { return value.is_tensor() ? uses_.producer(value.tensor().id) : -1; }

  static bool has_known_sizes(const BoundSymbol& bound) {
    bool out = true;
    for_each_argument(bound, [&](const Value& value) {
      if (value.is_tensor() && value.tensor().numbers != nullptr) out = false;
    });
    return out;
  }
  // The numbers of a dequantization rounded to 16 bits.
  bool is_rounding(int i) const {
    const BoundSymbol& bound = op(i);
    if (!bound.symbol->semantics.conversion) return false;
    const int made = producer(bound.args.read()[0]);
    return made >= 0 && is_dequantization(op(made)) && is_moved(made) &&
           op(made).outputs.at(0).tensor().dtype == Dtype::f32 && size_of(bound.outputs.at(0).tensor().dtype) == 2;
  }
  // An op whose result may as well be computed where it is read: nothing is written in between.
  bool may_move(int i) const {
    if (!has_known_sizes(op(i)) || (!is_dequantization(op(i)) && !is_rounding(i))) return false;
    const int last = uses_.last_use(op(i).outputs.at(0).tensor().id);
    for (int next = i; next < last; ++next)
      if (effects_of(op(next)).has(Effect::memory)) return false;
    return true;
  }

  // The dequantization that a value is the result of, perhaps rounded; -1 if it is not of a matrix.
  int matrix_of(const Value& value) const {
    int made = producer(value);
    if (is_moved(made) && !is_dequantization(op(made))) made = producer(op(made).args.read()[0]);
    return is_moved(made) && op(made).args.at(0).tensor().shape.size() == 2 ? made : -1;
  }
  bool is_product_of_codes(const BoundSymbol& bound) const {
    return bound.symbol->semantics.matrix_product == MatrixProduct::transposed && has_known_sizes(bound) &&
           matrix_of(bound.args.read()[1]) >= 0;
  }

  void add(int i) {
    const BoundSymbol& bound = op(i);
    if (is_product_of_codes(bound)) return add_product(bound);
    BoundSymbol changed = bound;
    Substitution copies(trace_.next_id);
    for_each_argument(bound, [&](const Value& value) {
      if (const int made = producer(value); is_moved(made) && copies.find(value.tensor().id) == nullptr)
        add_numbers(made, bound, copies);
    });
    if (!copies.is_empty()) copies.apply(changed);
    out_.bound_symbols.push_back(std::move(changed));
  }

  // Numbers are first read under their own names.
  void add_numbers(int made, const BoundSymbol& reader, Substitution& copies) {
    const bool is_first = !is_emitted_[static_cast<size_t>(made)];
    if (!is_first && reader.symbol->traits.structural) return;
    const int source = is_dequantization(op(made)) ? -1 : producer(op(made).args.read()[0]);
    if (is_first) {
      is_emitted_[static_cast<size_t>(made)] = true;
      if (source >= 0) add_numbers(source, op(made), copies);
      BoundSymbol first = op(made);
      if (!copies.is_empty()) copies.apply(first);
      out_.bound_symbols.push_back(std::move(first));
      return;
    }
    const BoundSymbol& dequantization = op(source >= 0 ? source : made);
    const Dtype dtype = op(made).outputs.at(0).tensor().dtype;
    record(op(made), [&] {
      const Tensor numbers = dequantized(dequantization, dtype);
      copies.set(op(made).outputs.at(0).tensor().id, tracer_.value_of(numbers));
    });
  }

  void add_product(const BoundSymbol& bound) {
    const std::span<const Value> args = bound.args.read();
    const BoundSymbol& made = op(matrix_of(args[1]));
    record(bound, [&] {
      const Tensor input = handle(args[0]), codes = handle(made.args.read()[0]), scales = handle(made.args.read()[1]);
      const Tensor minima = handle(made.args.read()[2]), bias = args.size() > 2 ? handle(args[2]) : Tensor();
      prims::linear_of_codes(input, codes, scales, minima, bias);
    });
    BoundSymbol& product = out_.bound_symbols[out_.bound_symbols.size() - 1];
    Substitution result(tracer_.trace().next_id);
    result.set(product.outputs.at(0).tensor().id, bound.outputs.at(0));
    result.apply(product);
  }

  Tensor handle(const Value& value) { return value.is_tensor() ? tracer_.adopt(value.tensor_ref()) : Tensor(); }
  Tensor dequantized(const BoundSymbol& made, Dtype dtype) {
    const Tensor codes = handle(made.args.read()[0]), scales = handle(made.args.read()[1]);
    const Tensor minima = handle(made.args.read()[2]);
    return prims::dequantize(codes, scales, minima, dtype);
  }

  template <class Record>
  void record(const BoundSymbol& like, const Record& record_ops) {
    const InterpreterScope scope(&tracer_);
    tracer_.begin_scope();
    record_ops();
    for (BoundSymbol recorded : tracer_.end_scope()) {
      recorded.tags = like.tags;
      recorded.sequence = like.sequence;
      recorded.source = like.source;
      recorded.forward = like.forward;
      out_.bound_symbols.push_back(std::move(recorded));
    }
  }

  const Trace& trace_;
  const Uses uses_;
  Tracer tracer_;
  Trace out_;
  std::vector<char> is_moved_, is_emitted_;  // by op
};

}  // namespace

Trace multiply_codes(const Trace& trace) { return CodeMultiplier(trace).run(); }
bool has_codes(const Trace& trace) { return std::ranges::any_of(trace.bound_symbols.read(), is_dequantization); }

}  // namespace fulgurite
