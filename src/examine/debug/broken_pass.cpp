#include <algorithm>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/examine.h>
#include <fulgurite/symbol.h>

#include "examine/debug/differences.h"
#include "examine/debug/slice_inputs.h"
#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "pipeline/debug/locate_mismatch.h"
#include "pipeline/debug/slice.h"
#include "pipeline/op_interpreter.h"
#include "pipeline/pipeline.h"
#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

// Claimed ops unchanged, the others on eager.
Trace executable_ops(const Trace& trace) {
  PipelineOptions options;
  options.executors = {"eager"};
  return prepare_for_execution(trace, options);
}

std::vector<Value> leaves_of(const Value& list) {
  std::vector<Value> out;
  for_each_leaf(list, [&](const Value& value) { out.push_back(value); });
  return out;
}

/// A stage as a trace of tensors: of a joint trace, cotangents are arguments.
struct PlainStage {
  explicit PlainStage(const Trace& stage) : given(stage) {
    const BoundSymbol& last = stage.bound_symbols.read().back();
    if (stage.tags.has(Tag::joint)) {
      outputs = leaves_of(keyword(last, "fw_flat_out"));
      gradients = leaves_of(keyword(last, "output"));
    } else if (stage.tags.has(Tag::augmented_forward)) {
      outputs = leaves_of(keyword(last, "flat_output"));
    } else if (stage.tags.has(Tag::backward)) {
      gradients = returned_values(stage);
    } else {
      outputs = returned_values(stage);
    }
    Trace opened = without_symbols(stage);
    opened.tags = {};
    for (const BoundSymbol& bound : stage.bound_symbols.read()) {
      if (is_get_grad(bound)) {
        cotangents.push_back(bound.outputs.read()[0]);
        opened.args.push_back(cotangents.back());
      } else if (is_return(bound)) {
        BoundSymbol all = bound;
        all.kwargs = {};
        all.args = {};
        for (const std::vector<Value>* values : {&outputs, &gradients})
          for (const Value& value : *values)
            if (value.is_tensor()) all.args.push_back(value);
        opened.bound_symbols.push_back(std::move(all));
      } else {
        opened.bound_symbols.push_back(bound);
        if (is_write(bound)) writes.emplace_back(bound.args.read()[1], bound.args.read()[0]);
      }
    }
    trace = concrete(opened);
  }
  Trace given, trace;
  std::vector<Value> outputs, gradients, cotangents;
  std::vector<std::pair<Value, Value>> writes;  // target, source
};

/// Values by id.
class Known {
 public:
  void set(const Value& value, const Tensor& tensor) {
    const auto id = static_cast<size_t>(value.tensor().id);
    if (id >= tensors_.size()) tensors_.resize(id + 1);
    tensors_[id] = tensor;
  }
  const Tensor* find(const Value& value) const {
    const int id = value.is_tensor() ? value.tensor().id : -1;
    return id >= 0 && static_cast<size_t>(id) < tensors_.size() && tensors_[static_cast<size_t>(id)].defined()
               ? &tensors_[static_cast<size_t>(id)]
               : nullptr;
  }

 private:
  std::vector<Tensor> tensors_;
};

/// A stage that has run, and all of its values.
struct RanStage {
  RanStage(const PlainStage& stage, const Known& given) : plain(stage) {
    check_trace(plain.given);  // kernels trust a trace's shapes
    std::vector<Tensor> inputs;
    for (const Value& arg : plain.trace.args) {
      const Tensor* const tensor = given.find(arg);
      if (!tensor) throw UserError(text::cat(proxy_name(arg), " is used before it is made"));
      inputs.push_back(*tensor);
    }
    for (size_t i = 0; i < inputs.size(); ++i) values.set(plain.trace.args[i], inputs[i]);
    const Trace executed = executable_ops(plain.trace);
    const std::vector<Tensor> all = OpInterpreter(executed, nullptr).values(copies(inputs));
    for (const BoundSymbol& bound : executed.bound_symbols.read())
      for_each_output(bound, [&](const Value& value) {
        if (value.is_tensor()) values.set(value, all[static_cast<size_t>(value.tensor().id)]);
      });
  }
  PlainStage plain;
  Known values;
};

class PassSearch {
 public:
  PassSearch(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, const Tolerance& tolerance)
      : stages_(stages), tolerance_(tolerance) {
    std::vector<Value> wanted = input_values(stages.front());
    std::erase_if(wanted, [](const Value& value) { return !value.is_tensor(); });
    if (wanted.size() != inputs.size())
      throw UserError(text::cat("find_broken_pass: ", stages.front().name, " takes ", wanted.size(), " tensors, got ",
                                inputs.size()));
    for (size_t i = 0; i < wanted.size(); ++i) given_.set(wanted[i], inputs[i]);
  }

  std::optional<BrokenPass> run() {
    std::optional<RanStage> before;
    for (size_t i = 0; i < stages_.size(); ++i) {
      draws_.again();
      const PlainStage stage(stages_[i]);
      const Known inputs = inputs_of(stage, before);
      std::string problem;
      std::optional<RanStage> now;
      try {
        now.emplace(stage, inputs);
      } catch (const std::exception& error) {
        if (!before) throw;
        problem = error.what();
      }
      if (before && (!now || !agree(*before, *now))) return locate(*before, i, stage, inputs, problem);
      before = std::move(now);
    }
    return {};
  }

 private:
  // The inputs of a stage: inputs and cotangents, and for a backward the values that the stage before has computed.
  Known inputs_of(const PlainStage& stage, const std::optional<RanStage>& before) {
    Known out;
    const auto take = [&](const Value& value, const Value& from) {
      const Tensor* found = given_.find(from);
      if (!found) found = out.find(from);
      if (!found && before) found = before->values.find(from);
      if (found && value.is_tensor()) out.set(value, Tensor(*found));
    };
    for (const Value& cotangent : stage.cotangents) {
      if (given_.find(cotangent)) continue;
      Trace alone = without_symbols(stage.given);
      alone.tags = {};
      alone.args = {cotangent};
      given_.set(cotangent, make_inputs(alone, {}, static_cast<uint64_t>(cotangent.tensor().id)).front());
    }
    for (const Value& cotangent : stage.cotangents) take(cotangent, cotangent);
    for (const Value& value : input_values(stage.given)) take(value, value);
    // An item of a collection may be unpacked under another name.
    for (const BoundSymbol& bound : stage.given.bound_symbols.read()) {
      if (!is_unpack(bound)) continue;
      const std::vector<Value> from = bound.flat_args(), to = bound.flat_outs();
      for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) take(to[i], from[i]);
    }
    return out;
  }

  bool same(const Tensor* a, const Tensor* b) const {
    if (!a || !b) return a == b;
    return type_text(*a) == type_text(*b) &&
           difference_text(*a, *b, tolerance_, stages_.front().bound_symbols.read()).empty();
  }
  bool same_values(const RanStage& before, const std::vector<Value>& wanted, const RanStage& now,
                   const std::vector<Value>& got) const {
    if (wanted.empty() || got.empty()) return true;  // one of the stages lacks such ops
    if (wanted.size() != got.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i].is_tensor() != got[i].is_tensor() || !same(before.values.find(wanted[i]), now.values.find(got[i])))
        return false;
    return true;
  }
  bool agree(const RanStage& before, const RanStage& now) const {
    const bool has_forward = !before.plain.outputs.empty() && !now.plain.outputs.empty();
    return same_values(before, before.plain.outputs, now, now.plain.outputs) &&
           same_values(before, before.plain.gradients, now, now.plain.gradients) &&
           (!has_forward || !lost_write(before, now));
  }
  // A value whose write is missing, or was replaced by a write of another value.
  std::optional<Value> lost_write(const RanStage& before, const RanStage& now) const {
    for (const auto& [into, value] : before.plain.writes) {
      const int id = into.proxy_id();
      const auto found =
          std::ranges::find_if(now.plain.writes, [&](const auto& write) { return write.first.proxy_id() == id; });
      if (found == now.plain.writes.end() || !same(before.values.find(value), now.values.find(found->second)))
        return into;
    }
    return {};
  }

  BrokenPass locate(const RanStage& before, size_t index, const PlainStage& stage, const Known& inputs,
                    const std::string& problem) const {
    BrokenPass out;
    out.stage = static_cast<int>(index);
    out.pass = stages_[index].provenance;
    draws_.again();
    Known own = inputs;
    for (const BoundSymbol& bound : stage.trace.bound_symbols.read()) {
      if (is_return(bound)) break;
      std::string value;
      const std::string detail = problem_of(stage, bound, before, own, value);
      if (detail.empty()) continue;
      describe(out, stage, bound, before, value, detail);
      return out;
    }
    // No op differs: a result or a write does.
    Difference& at = out.difference;
    at.line = static_cast<int>(stages_[index].bound_symbols.size()) - 1;
    at.text = "return";
    at.detail = problem.empty() ? "other values are returned or written" : problem;
    if (const auto lost = lost_into(before, stage)) {
      at.value = proxy_name(*lost);
      at.detail = text::cat("nothing is written into ", at.value, " any more");
    }
    return out;
  }
  static std::optional<Value> lost_into(const RanStage& before, const PlainStage& stage) {
    for (const auto& [into, value] : before.plain.writes) {
      const int id = into.proxy_id();
      if (std::ranges::none_of(stage.writes, [&](const auto& write) { return write.first.proxy_id() == id; }))
        return into;
    }
    return {};
  }

  // The problem with an op run on the values of the stage before; empty if there is none.
  std::string problem_of(const PlainStage& stage, const BoundSymbol& bound, const RanStage& before, Known& own,
                         std::string& value) const {
    const Trace op = slice_of_op(stage.trace, bound);
    std::vector<Tensor> inputs, results;
    for (const Value& arg : op.args) {
      if (!own.find(arg)) {
        value = proxy_name(arg);
        return "is used before it is made";
      }
      const Tensor* const wanted = is_common(before, arg) ? before.values.find(arg) : nullptr;
      inputs.push_back(wanted ? *wanted : *own.find(arg));
    }
    try {
      check_trace(op);
      Program(executable_ops(op)).run(copies(inputs), results);
    } catch (const std::exception& error) {
      const std::string_view message = error.what();
      return std::string(message.substr(0, message.find('\n')));
    }
    const std::vector<Value> made = returned_values(op);
    for (size_t i = 0; i < made.size(); ++i) own.set(made[i], results[i]);
    for (size_t i = 0; i < made.size(); ++i) {
      const Tensor* const wanted = is_common(before, made[i]) ? before.values.find(made[i]) : nullptr;
      if (!wanted || same(&results[i], wanted)) continue;
      value = proxy_name(made[i]);
      if (type_text(results[i]) != type_text(*wanted))
        return text::cat("is ", type_text(results[i]), ", and ", type_text(*wanted), " before the pass");
      return difference_text(results[i], *wanted, tolerance_, stages_.front().bound_symbols.read());
    }
    return {};
  }
  static bool is_common(const RanStage& before, const Value& value) {
    return value.tensor().id < before.plain.given.next_id;
  }

  void describe(BrokenPass& out, const PlainStage& stage, const BoundSymbol& bound, const RanStage& before,
                const std::string& value, const std::string& detail) const {
    Difference& at = out.difference;
    const BoundSymbol* op = &bound;
    at.value = value;
    at.detail = detail;
    if (bound.is_fusion()) {
      at.fusion = bound.name();
      for (const BoundSymbol& inside : bound.subsymbols.read())
        for_each_output(inside, [&](const Value& made) {
          if (proxy_name(made) == value) op = &inside;
        });
    }
    at.text = op_text(stage.trace, *op);
    at.source = op->source.line > 0 ? op->source : bound.source;
    at.line = place_of(stage.given, *op);
    const int position = place_of(before.plain.given, *op);
    if (position >= 0)
      out.before = op_text(before.plain.given, before.plain.given.bound_symbols.read()[static_cast<size_t>(position)]);
  }

  const std::vector<Trace>& stages_;
  const Tolerance tolerance_;
  const SameDraws draws_;
  Known given_;  // the inputs, and cotangents
};

}  // namespace

std::optional<BrokenPass> find_broken_pass(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs,
                                           Tolerance tolerance) {
  check_not_recording("find_broken_pass");
  const NoGrad no_grad;
  if (stages.empty()) return {};
  return PassSearch(stages, inputs, tolerance).run();
}

std::optional<BrokenPass> find_broken_pass(const Jitted& f, const std::vector<Tensor>& inputs, Tolerance tolerance) {
  const std::vector<Trace> forward = last_traces(f);
  if (forward.empty())
    throw UserError(
        "find_broken_pass: the function has graph breaks, and so several traces: give it stages of one of them");
  const std::vector<Tensor> given = inputs.empty() ? make_inputs(forward.front()) : inputs;
  if (auto found = find_broken_pass(forward, given, tolerance)) return found;
  std::vector<Trace> backward = last_backward_traces(f);
  const auto joint =
      std::find_if(forward.rbegin(), forward.rend(), [](const Trace& trace) { return trace.tags.has(Tag::joint); });
  if (backward.empty() || joint == forward.rend()) return {};
  backward.insert(backward.begin(), *joint);
  auto found = find_broken_pass(backward, given, tolerance);
  if (!found) return {};
  found->side = Stage::backward;
  --found->stage;
  return found;
}

int bisect_passes(const std::vector<Trace>& stages, const std::vector<Tensor>& inputs, Tolerance tolerance) {
  const auto found = find_broken_pass(stages, inputs, tolerance);
  return found ? found->stage : -1;
}

}  // namespace fulgurite::examine
