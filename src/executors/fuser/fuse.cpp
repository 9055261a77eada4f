#include "executors/fuser/fuse.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "codegen/ir/kernel_passes.h"
#include "codegen/render/vector_target.h"
#include "executors/fuser/cost_model.h"
#include "executors/fuser/decompose_nll_loss.h"
#include "executors/fuser/fusion_kernel.h"
#include "executors/fuser/inline_creation_ops.h"
#include "executors/fusion/eager_calls.h"
#include "executors/fusion/outline_fusions.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "support/context.h"
#include "support/log.h"
#include "support/text/text.h"
#include "transforms/cleanup/common_subexpressions.h"

namespace fulgurite::fuser {

/// Kernels by everything that they depend on, so that equal ones are shared. Traces and programs own them.
class FusionKernels {
 public:
  ImplementationRef get(const std::string& key, const std::function<std::unique_ptr<FusedKernel>()>& make) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const Entry>& known = entries_[key];
    std::shared_ptr<const Entry> entry = known.lock();
    if (!entry) {
      entry = std::make_shared<const Entry>(*this, key, make());
      known = entry;
    }
    return std::shared_ptr<const Implementation>(entry, &entry->implementation);
  }

 private:
  class Entry {
   public:
    Entry(FusionKernels& all, std::string key, std::unique_ptr<FusedKernel> made)
        : all_(all), key_(std::move(key)), kernel_(std::move(made)) {
      implementation.executor = "fuser";
      implementation.fusion = kernel_.get();
    }
    ~Entry() { all_.forget(key_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    Implementation implementation;

   private:
    FusionKernels& all_;
    const std::string key_;
    const std::unique_ptr<FusedKernel> kernel_;
  };

  // Another kernel may have been made for the key since.
  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end() && found->second.expired())
      entries_.erase(found);
  }

  std::mutex mutex_;  // guards the member below
  std::unordered_map<std::string, std::weak_ptr<const Entry>> entries_;
};

namespace {

FusionKernels& kernels_of_process() { return context().fusion_kernels.get(); }

std::string_view extent_text(codegen::Extent extent) {
  static constexpr std::string_view names[] = {"uniform", "row", "full"};
  return names[static_cast<int>(extent)];
}

// Everything that a FusionKernel depends on.
std::string key_of(const codegen::Kernel& kernel, const std::string& text) {
  std::string key = text::cat(text, kernel.dimensions, " ", kernel.first_column_dimension, "\n");
  for (const auto* operands : {&kernel.inputs, &kernel.outputs})
    for (const codegen::KernelOperand& operand : *operands)
      key += text::cat(operand.dtype, " ", extent_text(operand.extent),
                       operand.is_column_sum ? " sum"
                       : operand.is_place    ? " place"
                                             : "",
                       ": ", text::join(operand.dimensions, [](int d) { return d; }), "\n");
  for (const double number : kernel.numbers) key += text::cat(number, " ");
  return key;
}

/// Returns true if each element depends only on the operands' elements at the same index, so that the result may
/// overwrite one of them.
bool is_pointwise(const codegen::Kernel& kernel) {
  const auto is_full = [](const codegen::KernelOperand& output) { return output.extent == codegen::Extent::full; };
  return !kernel.has_row_sums && !kernel.has_column_sums && std::ranges::all_of(kernel.outputs, is_full);
}

// A single composite op is worth a kernel if it has no eager kernel.
bool is_profitable_alone(const BoundSymbol& bound) {
  return !bound.subsymbols.empty() && find_eager_implementation(*bound.symbol) == nullptr;
}

// A loss reduces everything it reads to a single row: it would keep row-wise ops from being fused with their rows.
bool makes_one_of_many(const BoundSymbol& bound) {
  bool is_one = true, has_many = false;
  for_each_output(bound, [&](const Value& output) { is_one = is_one && element_count(output) == 1; });
  for_each_argument(bound, [&](const Value& argument) { has_many = has_many || element_count(argument) > 1; });
  return is_one && has_many;
}

class Fuser {
 public:
  Fuser(const Trace& trace, const Implementation& candidate, FusionNames& names, FusingOptions options)
      : trace_(inline_creation_ops(decompose_nll_loss(trace, candidate))),
        graph_(trace_, true),
        expressions_({options.allow_excess_precision, is_one_eager_call}),
        candidate_(candidate),
        names_(names),
        options_(options) {}

  Trace run() {
    std::vector<char> is_candidate(static_cast<size_t>(graph_.size()));
    for (int i = 0; i < graph_.size(); ++i) is_candidate[i] = trace_.bound_symbols[i].implementation == &candidate_;
    const bool explains = logs(LogChannel::fusions);
    const GroupingRules rules{
        [&](const codegen::LoopNest& group) { return codegen::lower(group, expressions_).reason; }, is_profitable_alone,
        codegen::is_plain, makes_one_of_many};
    groups_ = group_ops_for_fusion(trace_, graph_, is_candidate, rules, explains);
    if (const std::optional<Trace> merged = merge_within_groups(trace_, groups_.group_of))
      return Fuser(*merged, candidate_, names_, options_).run();
    if (!options_.everything) keep_profitable(trace_, groups_);
    if (!compile()) groups_.clear();
    Trace out = outline_fusions(trace_, graph_, groups_, fusions_, candidate_);
    if (explains) explain();
    return out;
  }

 private:
  bool compile() {
    if (groups_.groups.empty()) return true;
    collect_values();
    std::vector<codegen::Kernel> lowered;
    std::vector<codegen::Schedule> schedules;
    std::vector<codegen::KernelSource> sources;
    for (const FusionGroup& group : groups_.groups) {
      codegen::Kernel& kernel = lowered.emplace_back(
          codegen::choose_bf16_roundings(codegen::lower(group_ops(trace_, group), expressions_).kernel));
      const codegen::Schedule& schedule = schedules.emplace_back(codegen::schedule(kernel));
      codegen::plan_row_loops(kernel, schedule);
      codegen::KernelSource& source = sources.emplace_back();
      source.name = names_.next();
      source.text = codegen::vector_kernel(kernel, schedule, source.name, false);
      source.plain_text = codegen::vector_kernel(kernel, schedule, "kernel", true);
      const codegen::HeaderParts parts = codegen::header_parts(kernel);
      source.is_wide = parts.is_wide;
      source.has_angles = parts.has_angles;
    }
    const std::vector<codegen::CompiledKernel> functions = codegen::compile_kernels(sources);
    for (size_t i = 0; i < functions.size(); ++i) {
      const codegen::Kernel& kernel = lowered[i];
      GroupFusion& fusion = fusions_.emplace_back();
      fusion.name = sources[i].name;
      fusion.is_pointwise = is_pointwise(kernel);
      for (const codegen::KernelOperand& input : kernel.inputs) fusion.inputs.push_back(values_.at(input.proxy));
      for (const codegen::KernelOperand& output : kernel.outputs) fusion.outputs.push_back(values_.at(output.proxy));
      fusion.implementation = kernels_of_process().get(key_of(kernel, sources[i].text), [&] {
        return std::make_unique<FusionKernel>(kernel, schedules[i], sources[i].text, functions[i]);
      });
    }
    return !functions.empty();
  }

  void collect_values() {
    const auto collect = [&](const Value& value) {
      if (value.is_tensor()) values_.emplace(value.tensor().id, value);
    };
    for (const Value& input : input_values(trace_)) collect(input);
    for (const BoundSymbol& bound : trace_.bound_symbols) for_each_output(bound, collect);
  }

  void explain() {
    std::string text;
    for (size_t i = 0; i < groups_.groups.size(); ++i) {
      const FusionGroup& group = groups_.groups[i];
      const std::string ops = text::join(group.ops, [&](int op) {
        return text::cat(trace_.bound_symbols[op].symbol->name(), " (",
                         proxy_name(trace_.bound_symbols[op].outputs.read()[0]), ")");
      });
      text +=
          text::cat(fusions_[i].name, " of ", trace_.name, ": ", ops, "\n", fusions_[i].implementation->fusion->text());
    }
    for (const std::string& missed_reason : groups_.missed_fusions) text += text::cat(missed_reason, "\n");
    for (int op = 0; op < graph_.size(); ++op)
      if (trace_.bound_symbols[op].implementation == &candidate_ && groups_.group_of[op] < 0)
        text += text::cat(trace_.bound_symbols[op].symbol->name(), " (",
                          proxy_name(trace_.bound_symbols[op].outputs.read()[0]), ") is not fused\n");
    if (!text.empty()) log(LogChannel::fusions, text);
  }

  const Trace trace_;
  const DependencyGraph graph_;
  codegen::OpExpressions expressions_;
  const Implementation& candidate_;
  FusionNames& names_;
  const FusingOptions options_;
  FusionGroups groups_;
  std::vector<GroupFusion> fusions_;       // by group
  std::unordered_map<int, Value> values_;  // by proxy id
};

}  // namespace

Trace fuse(const Trace& trace, const Implementation& candidate, FusionNames& names, FusingOptions options) {
  return Fuser(trace, candidate, names, options).run();
}

}  // namespace fulgurite::fuser
