#include <algorithm>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/examine.h>
#include <fulgurite/symbol.h>

#include "examine/slice_inputs.h"
#include "ir/print_common.h"
#include "ops/symbols.h"
#include "pipeline/compare_tensors.h"
#include "pipeline/line_by_line.h"
#include "pipeline/slice.h"
#include "support/text.h"

namespace fulgurite::examine {

namespace {

AllowedDifference allowed(Dtype dtype, const Tolerance& tolerance) {
  AllowedDifference out = allowed_difference(dtype);
  if (!is_floating(dtype)) return out;
  if (tolerance.relative) out.relative = *tolerance.relative;
  if (tolerance.absolute) out.absolute = *tolerance.absolute;
  return out;
}

std::string detail_of(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  const auto found = find_difference(actual, expected, allowed(expected.dtype(), tolerance));
  return found ? text::cat("element ", place_text(expected, found->index), " is ", found->actual, ", and ", found->expected, " on the reference")
               : std::string();
}

std::string line_text(const Trace& trace, const BoundSymbol& bound) {
  const Trace slice = slice_of_line(trace, bound);
  const std::string text = cpp_lines(slice).front();
  return text.substr(0, text.find("  // "));
}

/// Finds the first line that computes something else than the reference does.
class Bisection {
 public:
  Bisection(const Trace& trace, const std::vector<Tensor>& inputs, std::vector<std::string> executors, const std::vector<std::string>& reference,
            const Tolerance& tolerance)
      : given_(trace), all_(without_claims(concrete(trace))), inputs_(inputs), executors_(std::move(executors)), tolerance_(tolerance), reference_(reference) {}

  std::optional<Difference> run() {
    const SameDraws draws;
    const std::vector<Tensor> inputs = chosen(given_, all_, inputs_);
    expected_ = LineByLine(executable_slice(all_, reference_), nullptr).values(copies(inputs));
    draws.again();
    const Trace executed = executable_slice(all_, executors_);
    std::vector<Tensor> actual(static_cast<size_t>(executed.next_id));
    for (size_t i = 0; i < inputs.size(); ++i) value_of(actual, all_.args[i]) = inputs[i].detach();
    for (const BoundSymbol& bound : executed.bound_symbols.read()) {
      if (bound.outputs.empty()) continue;
      const Trace line = slice_of_line(executed, bound);
      const std::vector<Tensor> results = run_line(line, actual);
      const std::vector<Value> made = returned_values(line);
      for (size_t i = 0; i < made.size(); ++i) value_of(actual, made[i]) = results[i];
      for (size_t i = 0; i < made.size(); ++i)
        if (const std::string detail = difference(made[i], results[i]); !detail.empty()) return describe(executed, bound, proxy_name(made[i]), detail);
    }
    return {};
  }

 private:
  static Tensor& value_of(std::vector<Tensor>& values, const Value& value) {
    const auto id = static_cast<size_t>(value.tensor().id);
    if (id >= values.size()) values.resize(id + 1);
    return values[id];
  }
  // What the reference made, where it made it: its parts may be others.
  const Tensor* expected(const Value& value) const {
    const auto id = static_cast<size_t>(value.tensor().id);
    // Parts that only one of the sides has may have the other's ids.
    const bool is_common = id < expected_.size() && id < static_cast<size_t>(all_.next_id);
    return is_common && expected_[id].defined() ? &expected_[id] : nullptr;
  }
  std::string difference(const Value& value, const Tensor& actual) const {
    const Tensor* const wanted = expected(value);
    return wanted ? detail_of(actual, *wanted, tolerance_) : std::string();
  }

  std::vector<Tensor> run_line(const Trace& line, std::vector<Tensor>& actual) const {
    std::vector<Tensor> arguments, results;
    for (const Value& arg : line.args) {
      const Tensor* const wanted = expected(arg);
      arguments.push_back(wanted ? *wanted : value_of(actual, arg));
    }
    // What is written must not be what later lines are given.
    if (line.bound_symbols.read()[0].symbol->qualified_name() == "prims.copy_") arguments = copies(arguments);
    Program(line).run(arguments, results);
    return results;
  }

  Difference describe(const Trace& executed, const BoundSymbol& bound, std::string value, std::string detail) {
    Difference out;
    const BoundSymbol* at = &bound;
    if (bound.is_fusion()) {
      out.fusion = bound.name();
      if (const auto inside = line_inside(executed, bound, value, detail)) at = &bound.subsymbols.read()[*inside];
    }
    out.value = std::move(value);
    out.detail = std::move(detail);
    out.text = line_text(executed, *at);
    out.source = at->source.line > 0 ? at->source : bound.source;
    out.line = place_in_given(*at);
    return out;
  }

  // The fewest of a fusion's lines that, compiled as one, go wrong: the last of them is it.
  std::optional<size_t> line_inside(const Trace& executed, const BoundSymbol& fusion, std::string& value, std::string& detail) {
    const std::span<const BoundSymbol> lines = fusion.subsymbols.read();
    Trace opened = without_symbols(executed);
    for (const BoundSymbol& line : lines) opened.bound_symbols.push_back(line);
    BoundSymbol last;
    last.symbol = find_return(executed);
    opened.bound_symbols.push_back(std::move(last));
    for (size_t count = 1; count <= lines.size(); ++count) {
      // All that the lines so far make is asked for.
      Trace part = opened;
      part.bound_symbols = SharedVector<BoundSymbol>(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
      BoundSymbol result = opened.bound_symbols.read().back();
      for (size_t i = 0; i < count; ++i)
        for_each_output(lines[i], [&](const Value& v) {
          if (v.is_tensor()) result.args.push_back(v);
        });
      part.bound_symbols.push_back(std::move(result));
      const Trace slice = slice_of(part, 0, static_cast<int>(count) + 1);
      std::vector<Tensor> inputs, on_reference, on_executors;
      for (const Value& arg : slice.args) {
        const Tensor* const wanted = expected(arg);
        if (!wanted) return {};
        inputs.push_back(*wanted);
      }
      Program(executable_slice(slice, reference_)).run(inputs, on_reference);
      Program(executable_slice(slice, executors_)).run(inputs, on_executors);
      const std::vector<Value> made = returned_values(slice);
      for (size_t i = 0; i < made.size(); ++i)
        if (std::string found = detail_of(on_executors[i], on_reference[i], tolerance_); !found.empty()) {
          value = proxy_name(made[i]);
          detail = std::move(found);
          return count - 1;
        }
    }
    return {};
  }

  static const Symbol* find_return(const Trace& trace) { return trace.bound_symbols.read().back().symbol; }

  // The line of the trace that was given which makes the same, or has it among its parts.
  int place_in_given(const BoundSymbol& made) const {
    const int id = made.outputs.read()[0].proxy_id();
    const auto makes = [&](const auto& self, const BoundSymbol& bound) -> bool {
      for (const Value& output : bound.outputs.read())
        if (output.proxy_id() == id && bound.symbol->qualified_name() != "prims.unpack_sequence") return true;
      return std::ranges::any_of(bound.subsymbols.read(), [&](const BoundSymbol& part) { return self(self, part); });
    };
    const std::span<const BoundSymbol> lines = given_.bound_symbols.read();
    const auto found = std::ranges::find_if(lines, [&](const BoundSymbol& bound) { return makes(makes, bound); });
    return found == lines.end() ? -1 : static_cast<int>(found - lines.begin());
  }

  const Trace& given_;
  const Trace all_;
  const std::vector<Tensor>& inputs_;
  const std::vector<std::string> executors_;
  const Tolerance tolerance_;
  const std::vector<std::string> reference_;
  std::vector<Tensor> expected_;
};

// What a function gives at a stage, whatever the stage returns beside it.
std::vector<Value> outputs_of(const Trace& trace) {
  const BoundSymbol& last = trace.bound_symbols.read().back();
  std::vector<Value> out;
  const auto take = [&](const Value& value) { out.push_back(value); };
  if (trace.tags.has(Tag::joint)) for_each_leaf(keyword(last, "fw_flat_out"), take);
  else if (trace.tags.has(Tag::augmented_forward)) for_each_leaf(keyword(last, "flat_output"), take);
  else return returned_values(trace);
  return out;
}

// Of a joint trace what waits for no cotangent.
Trace without_backward(const Trace& joint) {
  if (!joint.tags.has(Tag::joint)) return joint;
  Trace out = without_symbols(joint);
  out.tags = {};
  std::vector<char> waits(static_cast<size_t>(joint.next_id));
  for (const BoundSymbol& bound : joint.bound_symbols.read()) {
    if (bound.symbol == &prims_return_symbol) {
      BoundSymbol last = bound;
      last.kwargs = {};
      last.args = outputs_of(joint);
      out.bound_symbols.push_back(std::move(last));
      continue;
    }
    bool is_of_backward = bound.symbol == &prims_get_grad_symbol;
    for_each_argument(bound, [&](const Value& value) {
      is_of_backward = is_of_backward || (value.proxy_id() >= 0 && waits[static_cast<size_t>(value.proxy_id())]);
    });
    if (!is_of_backward) {
      out.bound_symbols.push_back(bound);
      continue;
    }
    for_each_output(bound, [&](const Value& value) {
      if (value.proxy_id() >= 0) waits[static_cast<size_t>(value.proxy_id())] = true;
    });
  }
  return out;
}

std::vector<Tensor> run_stage(const Trace& given, const std::vector<Tensor>& inputs) {
  const Trace stage = without_backward(given);
  const Trace slice = concrete(stage);
  const std::vector<Tensor> values = LineByLine(executable_slice(slice, {}), nullptr).values(copies(chosen(stage, slice, inputs)));
  std::vector<Tensor> out;
  for (const Value& output : outputs_of(stage)) out.push_back(output.is_tensor() ? values[static_cast<size_t>(output.tensor().id)] : Tensor());
  return out;
}

}  // namespace

std::optional<Difference> bisect(const Trace& trace, const std::vector<Tensor>& inputs, const std::vector<std::string>& executors,
                                 const std::vector<std::string>& reference, Tolerance tolerance) {
  check_not_recording("bisect");
  const NoGrad no_grad;
  return Bisection(trace, inputs, executors, reference, tolerance).run();
}

int bisect_passes(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, Tolerance tolerance) {
  check_not_recording("bisect_passes");
  const NoGrad no_grad;
  const SameDraws draws;
  std::vector<Tensor> first;
  for (size_t i = 0; i < stages.size(); ++i) {
    draws.again();
    std::vector<Tensor> results = run_stage(stages[i], inputs);
    if (i == 0) first = std::move(results);
    if (i == 0) continue;
    if (results.size() != first.size()) return static_cast<int>(i);
    for (size_t k = 0; k < first.size(); ++k) {
      if (first[k].defined() != results[k].defined()) return static_cast<int>(i);
      if (!first[k].defined()) continue;
      if (type_text(first[k]) != type_text(results[k]) || !detail_of(results[k], first[k], tolerance).empty()) return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace fulgurite::examine
