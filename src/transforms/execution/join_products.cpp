#include "transforms/execution/join_products.h"

#include <algorithm>
#include <map>

#include <fulgurite/operators.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "tracing/tracer.h"
#include "transforms/execution/plain_sum.h"

namespace fulgurite {

namespace {

/// A sum and its terms, in the order of the additions.
struct Sum {
  std::vector<Value> left, right;  // the operands of the products
  std::vector<Value> others;       // terms that are not products
  std::vector<int> dropped;        // the products and all additions but the last, which has the result
};

class ProductJoiner {
 public:
  ProductJoiner(const Trace& trace, int64_t min_bytes) : trace_(trace), uses_(trace) {
    std::vector<char> is_inside(trace.bound_symbols.size());
    for (int i = static_cast<int>(is_inside.size()) - 1; i >= 0; --i) {
      if (is_inside[static_cast<size_t>(i)] || !is_sum(i) || bytes_of(result(i)) < min_bytes) continue;
      Sum sum;
      collect(i, i, sum);
      for (const int term : sum.dropped) is_inside[static_cast<size_t>(term)] = true;
      if (is_profitable(sum, result(i)) && nothing_is_written(sum, i)) sums_.emplace(i, std::move(sum));
    }
  }

  bool is_empty() const { return sums_.empty(); }

  Trace run() const {
    std::vector<char> is_dropped(trace_.bound_symbols.size());
    for (const auto& [at, sum] : sums_)
      for (const int term : sum.dropped) is_dropped[static_cast<size_t>(term)] = true;
    Tracer tracer(trace_);
    Trace out = without_symbols(trace_);
    for (size_t i = 0; i < is_dropped.size(); ++i) {
      const BoundSymbol& bound = op(static_cast<int>(i));
      if (const auto sum = sums_.find(static_cast<int>(i)); sum != sums_.end()) {
        for (BoundSymbol& joined : record(tracer, sum->second, bound)) out.bound_symbols.push_back(std::move(joined));
      } else if (!is_dropped[i]) {
        out.bound_symbols.push_back(bound);
      }
    }
    out.next_id = tracer.trace().next_id;
    out.next_name = tracer.trace().next_name;
    return eliminate_dead_code(out);
  }

 private:
  const BoundSymbol& op(int i) const { return trace_.bound_symbols.read()[static_cast<size_t>(i)]; }
  const TensorProxy& result(int i) const { return op(i).outputs.at(0).tensor(); }
  static int64_t bytes_of(const TensorProxy& proxy) { return proxy.shape.numel().hint() * size_of(proxy.dtype); }

  bool is_sum(int i) const {
    return is_plain_sum(op(i)) && result(i).numbers == nullptr && result(i).shape.size() == 2;
  }
  bool is_product(int i) const {
    const BoundSymbol& bound = op(i);
    if (bound.symbol->semantics.matrix_product != MatrixProduct::plain || !bound.kwargs.read().empty()) return false;
    const std::span<const Value> args = bound.args.read();
    return args.size() == 2 && args[0].tensor().shape.size() == 2 && args[1].tensor().shape.size() == 2 &&
           args[0].tensor().numbers == nullptr && args[1].tensor().numbers == nullptr;
  }
  // Computed for this sum alone, and no part of another program.
  bool belongs_to(int term, const Value& value, int sum) const {
    return term >= 0 && uses_.consumers(value.tensor().id).size() == 1 && op(term).sequence == op(sum).sequence &&
           op(term).tags == op(sum).tags;
  }

  void collect(int at, int root, Sum& sum) const {
    for (const size_t side : {0, 1}) {
      const Value& term = op(at).args.read()[side];
      const int made = uses_.producer(term.tensor().id);
      if (!belongs_to(made, term, root)) {
        sum.others.push_back(term);
      } else if (is_sum(made)) {
        sum.dropped.push_back(made);
        collect(made, root, sum);
      } else if (is_product(made)) {
        sum.dropped.push_back(made);
        sum.left.push_back(op(made).args.read()[0]);
        sum.right.push_back(op(made).args.read()[1]);
      } else {
        sum.others.push_back(term);
      }
    }
  }

  // Compares the elements of gradients and of operands that are read and written.
  static bool is_profitable(const Sum& sum, const TensorProxy& result) {
    const auto count = static_cast<int64_t>(sum.left.size());
    const int64_t rows = result.shape[0].hint(), columns = result.shape[1].hint();
    int64_t depth = 0;
    for (const Value& right : sum.right) depth += right.tensor().shape[0].hint();
    return count > 1 && depth * (rows + columns) < (count - 1) * rows * columns;
  }
  // The operands are read later than before.
  bool nothing_is_written(const Sum& sum, int root) const {
    for (int i = std::ranges::min(sum.dropped); i < root; ++i)
      if (effects_of(op(i)).has(Effect::memory)) return false;
    return true;
  }

  // Matrices that are views are transposed as a rule: their own transposes are contiguous.
  bool are_views(const std::vector<Value>& values) const {
    return std::ranges::all_of(values, [&](const Value& value) {
      const int made = uses_.producer(value.tensor().id);
      return made >= 0 && op(made).symbol->traits.view;
    });
  }

  static Tensor handle(Tracer& tracer, const Value& value) { return tracer.adopt(value.tensor_ref()); }
  static Tensor joined(Tracer& tracer, const std::vector<Value>& parts, int64_t dim) {
    std::vector<Tensor> tensors;
    for (const Value& part : parts) tensors.push_back(handle(tracer, part));
    return cat(tensors, dim);
  }
  Tensor joined_left(Tracer& tracer, const std::vector<Value>& left) const {
    if (!are_views(left)) return joined(tracer, left, 1);
    std::vector<Tensor> rows;
    for (const Value& part : left) rows.push_back(permute(handle(tracer, part), {1, 0}));
    return permute(cat(rows, 0), {1, 0});
  }

  std::vector<BoundSymbol> record(Tracer& tracer, const Sum& sum, const BoundSymbol& last) const {
    const InterpreterScope scope(&tracer);
    tracer.begin_scope();
    const Tensor left = joined_left(tracer, sum.left), right = joined(tracer, sum.right, 0);
    Tensor total = matmul(left, right);
    for (const Value& other : sum.others) total = add(total, handle(tracer, other));
    const SharedVector<BoundSymbol> recorded = tracer.end_scope();
    std::vector<BoundSymbol> out(recorded.begin(), recorded.end());
    for (BoundSymbol& bound : out) {
      bound.tags = last.tags;
      bound.sequence = last.sequence;
      bound.source = last.source;
      bound.forward = last.forward;
    }
    out.back().outputs = last.outputs;
    return out;
  }

  const Trace& trace_;
  const Uses uses_;
  std::map<int, Sum> sums_;  // by the last addition
};

}  // namespace

Trace join_products(const Trace& trace, int64_t min_bytes) { return ProductJoiner(trace, min_bytes).run(); }
bool has_sums_of_products(const Trace& trace, int64_t min_bytes) {
  const auto is_product = [](const BoundSymbol& bound) {
    return bound.symbol->semantics.matrix_product == MatrixProduct::plain;
  };
  return std::ranges::count_if(trace.bound_symbols.read(), is_product) > 1 &&
         !ProductJoiner(trace, min_bytes).is_empty();
}

}  // namespace fulgurite
