#include "pipeline/op_interpreter.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "pipeline/debug/slice.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"

namespace fulgurite {

struct OpInterpreter::Op {
  const BoundSymbol* bound = nullptr;
  std::unique_ptr<Program> program;  // null if nothing runs
  std::vector<int> arguments;        // of the program, by id
  std::vector<int> results;
  // For a write: values read later that may alias the memory that it overwrites.
  std::vector<int> read_later;
};

namespace {

size_t id_of(const Value& value) { return static_cast<size_t>(value.tensor().id); }

bool is_deletion(const BoundSymbol& bound) { return is_del(bound) || is_clear(bound); }

bool runs(const BoundSymbol& bound) { return !is_deletion(bound) && !is_return(bound) && !is_unpack(bound); }

}  // namespace

OpInterpreter::OpInterpreter(Trace trace, std::shared_ptr<const ExecutionObserver> watch)
    : trace_(std::move(trace)), watch_(std::move(watch)) {
  const std::span<const BoundSymbol> symbols = trace_.bound_symbols.read();
  for (size_t i = 0; i < symbols.size(); ++i) {
    const BoundSymbol& bound = symbols[i];
    Op& op = ops_.emplace_back();
    op.bound = &bound;
    if (!runs(bound)) continue;
    const Trace slice = slice_of_op(trace_, bound);
    op.program = std::make_unique<Program>(slice);
    for (const Value& input : slice.args) op.arguments.push_back(input.tensor().id);
    for (const Value& result : returned_values(slice)) op.results.push_back(result.tensor().id);
    if (!is_write(bound)) continue;
    for (size_t later = i + 1; later < symbols.size(); ++later) {
      if (!runs(symbols[later])) continue;
      const auto keep = [&](const Value& value) {
        if (value.is_tensor()) op.read_later.push_back(value.tensor().id);
      };
      if (is_write(symbols[later])) keep(symbols[later].args.read()[0]);
      else for_each_argument(symbols[later], keep);
    }
  }
}

OpInterpreter::~OpInterpreter() = default;

void OpInterpreter::run(std::span<const Tensor> inputs, std::vector<Tensor>& results) const {
  std::vector<Tensor> values;
  run_ops(values, inputs, false);
  results.clear();
  for (const Value& result : returned_values(trace_))
    results.push_back(result.is_tensor() ? values[id_of(result)] : Tensor());
}

std::vector<Tensor> OpInterpreter::values(std::span<const Tensor> inputs) const {
  std::vector<Tensor> values;
  run_ops(values, inputs, true);
  return values;
}

void OpInterpreter::run_ops(std::vector<Tensor>& values, std::span<const Tensor> inputs, bool keeps_all) const {
  values.resize(static_cast<size_t>(trace_.next_id));
  const std::vector<Value> expected = input_values(trace_);
  if (expected.size() != inputs.size())
    throw UserError(text::cat(trace_.name, " takes ", expected.size(), " inputs, got ", inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!expected[i].is_tensor()) continue;
    const bool fits = inputs[i].defined() && type_text(inputs[i]) == expected[i].tensor().type_text();
    if (!fits)
      throw UserError(text::cat(trace_.name, ": input ", i, ", ", proxy_name(expected[i]), ", is ",
                                inputs[i].defined() ? type_text(inputs[i]) : "nothing", ", not ",
                                expected[i].tensor().type_text()));
    values[id_of(expected[i])] = inputs[i];
  }
  for (const Op& op : ops_) {
    if (op.program) {
      run_op(op, values, keeps_all);
    } else if (is_unpack(*op.bound)) {
      std::vector<Value> from, to;
      for_each_argument(*op.bound, [&](const Value& value) { from.push_back(value); });
      for_each_output(*op.bound, [&](const Value& value) { to.push_back(value); });
      for (size_t i = 0; i < to.size(); ++i)
        if (to[i].is_tensor()) values[id_of(to[i])] = values[id_of(from.at(i))];
    } else if (!keeps_all && is_del(*op.bound)) {
      for_each_argument(*op.bound, [&](const Value& value) {
        if (value.is_tensor()) values[id_of(value)] = Tensor();
      });
    }
  }
}

void OpInterpreter::run_op(const Op& op, std::vector<Tensor>& values, bool keeps_all) const {
  std::vector<Tensor> arguments, results;
  for (const int id : op.arguments) arguments.push_back(values[static_cast<size_t>(id)]);
  if (is_write(*op.bound)) keep_old_values(op, values, keeps_all);
  if (watch_) watch_->before(trace_, *op.bound, arguments);
  op.program->run(arguments, results);
  for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(op.results[i])] = results[i];
  if (watch_) watch_->after(trace_, *op.bound, arguments, results);
}

// Values are functional: what is read later of memory that is about to be overwritten is copied away first.
void OpInterpreter::keep_old_values(const Op& op, std::vector<Tensor>& values, bool keeps_all) {
  const Storage* const written = values[id_of(op.bound->args.read()[1])].impl()->storage.get();
  const auto keep = [&](Tensor& value) {
    if (!value.defined() || value.impl()->storage.get() != written) return;
    const Tensor copy = make_tensor(value.impl()->sizes, value.impl()->dtype);
    copy_elements(value, copy);
    value = copy;
  };
  if (keeps_all) std::ranges::for_each(values, keep);
  else
    for (const int id : op.read_later) keep(values[static_cast<size_t>(id)]);
}

}  // namespace fulgurite
