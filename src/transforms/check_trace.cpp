#include <algorithm>
#include <string>
#include <unordered_set>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ops/core/dispatch.h"
#include "ir/structural.h"
#include "tracing/argument_pack.h"

namespace fulgurite {

namespace {

class Check final : public ArgumentPack::Resolver {
 public:
  explicit Check(const Trace& trace) : trace_(trace), is_known_(trace.next_id, false), handles_(trace.next_id) {}

  void run() {
    for (const Value& input : input_values(trace_))
      if (proxy_id(input) >= 0) know(input, "the arguments");
    if (trace_.bound_symbols.empty()) fail("it has no return");
    for (size_t i = 0; i < trace_.bound_symbols.size(); ++i) {
      const BoundSymbol& bound = trace_.bound_symbols[i];
      op_ = static_cast<int>(i);
      if (!bound.symbol) fail("it has no symbol");
      if (is_return(bound) != (i + 1 == trace_.bound_symbols.size()))
        fail(is_return(bound) ? "symbols follow the return" : "the last symbol is not the return");
      check(bound, is_known_);
      for_each_output(bound, [&](const Value& output) {
        if (proxy_id(output) >= 0 && !is_unpack(bound) && !passes_through(bound, output))
          know(output, "a symbol before it");
      });
    }
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    Tensor& handle = handles_[proxy->id];
    if (!handle.defined()) handle = make_proxy_tensor(proxy, 0, {});
    return handle;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    std::string where;
    if (op_ >= 0) {
      const Symbol* symbol = trace_.bound_symbols[op_].symbol;
      where = text::cat(", symbol ", op_, symbol ? text::cat(" (", symbol->qualified_name(), ")") : std::string());
    }
    throw InternalError(text::cat("the trace ", trace_.name, " is broken", where, ": ", what));
  }

  int checked_id(const Value& value) const {
    const int id = proxy_id(value);
    if (id >= trace_.next_id) fail(text::cat(proxy_name(value), " has id ", id, ", next_id is ", trace_.next_id));
    return id;
  }

  void know(const Value& value, const char* before) {
    const int id = checked_id(value);
    if (is_known_[id]) fail(text::cat(proxy_name(value), " was made by ", before, " already"));
    is_known_[id] = true;
    if (!names_.insert(proxy_name(value)).second) fail(text::cat("two values are named ", proxy_name(value)));
  }

  // A symbol of several results may return an argument.
  static bool passes_through(const BoundSymbol& bound, const Value& output) {
    bool found = false;
    for_each_argument(bound, [&](const Value& value) { found = found || value == output; });
    return found;
  }

  // Arguments must be known and results agree with the op's rule, and likewise for the subsymbols, which must compute
  // the results.
  void check(const BoundSymbol& bound, std::vector<char>& known) {
    if (is_unpack(bound)) return;
    for_each_argument(bound, [&](const Value& value) {
      const int id = checked_id(value);
      if (id >= 0 && !known[id]) fail(text::cat(proxy_name(value), " is used before it is made"));
    });
    if (is_del(bound)) {
      for_each_argument(bound, [&](const Value& value) {
        if (const int id = proxy_id(value); id >= 0) known[id] = false;
      });
      return;
    }
    check_results(bound);
    if (bound.subsymbols.empty()) return;
    std::vector<int> made;  // inside, and so unknown outside
    for (const BoundSymbol& subsymbol : bound.subsymbols) {
      if (!subsymbol.symbol) fail("a subsymbol has no symbol");
      check(subsymbol, known);
      for_each_output(subsymbol, [&](const Value& output) {
        const int id = checked_id(output);
        if (id < 0) return;
        if (passes_through(subsymbol, output)) return;
        if (known[id]) fail(text::cat(proxy_name(output), " is made twice inside a symbol"));
        known[id] = true;
        made.push_back(id);
      });
    }
    for_each_output(bound, [&](const Value& output) {
      const int id = checked_id(output);
      if (id >= 0 && !known[id]) fail(text::cat("its subsymbols do not make ", proxy_name(output)));
    });
    for (const int id : made) known[id] = false;
  }

  static bool is_symbolic(const Value& value) {
    return value.is_tensor() ? bool(value.tensor().numbers) : value.is_proxy();
  }

  // Without the guards that comparing symbols would add.
  static bool same_sizes(const Shape& a, const Shape& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Int x, Int y) { return x.hint() == y.hint(); });
  }

  void check_results(const BoundSymbol& bound) {
    const Symbol& symbol = *bound.symbol;
    // Inferring over sizes that are symbols would record arithmetic.
    bool symbolic = false;
    for_each_argument(bound, [&](const Value& value) { symbolic = symbolic || is_symbolic(value); });
    if (!symbol.infer || symbol.traits.structural || symbolic) return;
    InferredTypes types;
    try {
      const InterpreterScope nothing_records(nullptr);
      const ArgumentPack pack(bound, *this);
      infer_types(symbol, pack.arguments(), types);
    } catch (const RuleError& error) {
      fail(text::cat("its shape rule refuses the arguments: ", error.message));
    }
    if (types.size() != bound.outputs.size())
      fail(text::cat("its rule gives ", types.size(), " results, the trace has ", bound.outputs.size()));
    for (size_t i = 0; i < types.size(); ++i) {
      if (!bound.outputs[i].is_tensor()) fail("a result is not a tensor");
      const TensorProxy& actual = bound.outputs[i].tensor();
      if (types[i].dtype == actual.dtype && types[i].device == actual.device &&
          same_sizes(types[i].shape, actual.shape))
        continue;
      TensorProxy expected;
      expected.shape = types[i].shape;
      expected.dtype = types[i].dtype;
      expected.device = types[i].device;
      fail(text::cat(actual.name, " is ", actual.type_text(), ", its rule says ", expected.type_text()));
    }
  }

  const Trace& trace_;
  std::vector<char> is_known_;   // by proxy id: defined, and not deleted
  std::vector<Tensor> handles_;  // by proxy id
  std::unordered_set<std::string_view> names_;
  int op_ = -1;
};

}  // namespace

/// Throws InternalError with the first rule that a trace breaks:
///   every value is defined once, before it is used, and is not used after del;
///   names are unique; the return is the last symbol, and there is one;
///   results have the types that the symbol's shape rule returns for its arguments;
///   a symbol's subsymbols use its arguments and compute its results.
void check_trace(const Trace& trace) { Check(trace).run(); }

}  // namespace fulgurite
