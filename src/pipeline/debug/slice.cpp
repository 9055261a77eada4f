#include "pipeline/debug/slice.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/note.h"
#include "ir/printing/print_common.h"
#include "ir/symbolic/specialize_symbols.h"
#include "ops/generated/symbols.h"
#include "ir/structural.h"
#include "pipeline/pipeline.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

bool is_bookkeeping(const BoundSymbol& bound) {
  const Symbol* symbol = bound.symbol;
  return is_return(*symbol) || is_del(*symbol) || is_clear(*symbol) || is_unpack(*symbol) || is_note(bound);
}

/// A set of proxy ids.
class Ids {
 public:
  explicit Ids(const Trace& trace) : has_(static_cast<size_t>(trace.next_id)) {}
  /// Returns true if `id` is new.
  bool add(int id) {
    if (static_cast<size_t>(id) >= has_.size()) has_.resize(static_cast<size_t>(id) + 1);
    return !std::exchange(has_[static_cast<size_t>(id)], true);
  }
  bool has(int id) const { return static_cast<size_t>(id) < has_.size() && has_[static_cast<size_t>(id)]; }

 private:
  std::vector<char> has_;
};

/// A trace of some ops of another.
class SelectedOps {
 public:
  explicit SelectedOps(const Trace& trace) : made_(trace), given_(trace) {
    out_ = without_symbols(trace);
    out_.name = "slice";
    out_.args.clear();
    out_.tags = {};
    out_.provenance.clear();
    out_.milliseconds = 0;
  }
  void add(const BoundSymbol& bound) {
    for_each_argument(bound, [&](const Value& value) { need(value); });
    for_each_output(bound, [&](const Value& value) {
      if (value.is_tensor()) made_.add(value.tensor().id);
    });
    out_.bound_symbols.push_back(bound);
  }
  bool makes(const Value& value) const { return value.is_tensor() && made_.has(value.tensor().id); }
  Trace finish(const std::vector<Value>& results) {
    BoundSymbol last;
    last.symbol = &prims_return_symbol;
    for (const Value& result : results) {
      need(result);
      last.args.push_back(result);
    }
    out_.bound_symbols.push_back(std::move(last));
    return has_numbers(out_) ? with_hints(out_) : std::move(out_);
  }

 private:
  void need(const Value& value) {
    if (value.is_tensor() && !made_.has(value.tensor().id) && given_.add(value.tensor().id)) out_.args.push_back(value);
  }
  static Trace with_hints(const Trace& trace) {
    SymbolValues hints;
    return specialize_symbols(trace, hints);
  }

  Trace out_;
  Ids made_, given_;
};

}  // namespace

Trace slice_of(const Trace& trace, int first, int last) {
  const std::span<const BoundSymbol> ops = trace.bound_symbols.read();
  const int count = static_cast<int>(ops.size());
  if (first < 0 || last < first || last > count)
    throw UserError(text::cat("lines [", first, ", ", last, ") of ", trace.name, ", which has ", count, " lines"));
  SelectedOps slice(trace);
  std::vector<Value> made, results;
  for (int i = first; i < last; ++i) {
    if (is_bookkeeping(ops[i])) continue;
    slice.add(ops[i]);
    for_each_output(ops[i], [&](const Value& value) {
      if (value.is_tensor()) made.push_back(value);
    });
  }
  const auto add_tensors = [&](const std::vector<Value>& values, bool only_made) {
    for (const Value& value : values)
      if (value.is_tensor() && (!only_made || slice.makes(value))) results.push_back(value);
  };
  if (last == count) {
    add_tensors(returned_values(trace), false);
    return slice.finish(results);
  }
  Ids used(trace);
  for (int i = last; i + 1 < count; ++i)
    if (!is_bookkeeping(ops[i]))
      for_each_argument(ops[i], [&](const Value& value) {
        if (value.is_tensor()) used.add(value.tensor().id);
      });
  for (const Value& value : returned_values(trace))
    if (value.is_tensor()) used.add(value.tensor().id);
  for (const Value& value : made)
    if (used.has(value.tensor().id) && std::ranges::find(results, value) == results.end()) results.push_back(value);
  return slice.finish(results);
}

Trace slice_of_op(const Trace& trace, const BoundSymbol& op) {
  SelectedOps slice(trace);
  slice.add(op);
  std::vector<Value> results;
  for_each_output(op, [&](const Value& value) {
    if (value.is_tensor()) results.push_back(value);
  });
  return slice.finish(results);
}

std::string op_text(const Trace& trace, const BoundSymbol& op) {
  const std::string text = cpp_lines(slice_of_op(trace, op)).front();
  return text.substr(0, text.find("  // "));
}

Trace without_claims(const Trace& trace) {
  Trace out = without_symbols(trace);
  const auto add = [&](BoundSymbol bound) {
    bound.implementation = nullptr;
    out.bound_symbols.push_back(std::move(bound));
  };
  for (const BoundSymbol& bound : trace.bound_symbols.read()) {
    if (!bound.is_fusion()) {
      add(bound);
      continue;
    }
    for (const BoundSymbol& op : bound.subsymbols.read()) add(op);
  }
  return out;
}

Trace executable_slice(const Trace& slice, const std::vector<std::string>& executors) {
  PipelineOptions options;
  options.executors = executors;
  options.fuses_all = !executors.empty();
  return prepare_for_execution(executors.empty() ? slice : without_claims(slice), options);
}

}  // namespace fulgurite
