#include "executors/gemm/fuse_epilogues.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "codegen/lowering/scalar_ops.h"
#include "executors/fusion/outline_fusions.h"
#include "executors/gemm/epilogue_growth.h"
#include "executors/gemm/gemm_kernel.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ops/generated/symbols.h"
#include "support/log.h"
#include "support/text/text.h"
#include "transforms/cleanup/common_subexpressions.h"

namespace fulgurite::fused_gemm {

namespace {

using codegen::is_half;
bool is_conversion(const BoundSymbol& bound) { return bound.symbol->semantics.conversion; }
bool is_rounding(const BoundSymbol& bound) {
  return is_conversion(bound) && bound.args.at(0).tensor().dtype == Dtype::f32 &&
         is_half(bound.outputs.at(0).tensor().dtype);
}
bool is_widening(const BoundSymbol& bound) {
  return is_conversion(bound) && is_half(bound.args.at(0).tensor().dtype) &&
         bound.outputs.at(0).tensor().dtype == Dtype::f32;
}

/// Returns true if a value comes from outside the trace: no op computes it.
bool is_given(const Trace& trace, const Uses& uses, const Value& value) {
  const int made = uses.producer(value.tensor().id);
  return made < 0 || trace.bound_symbols[made].symbol->traits.structural;
}

/// Duplicates conversions in front of each GEMM that reads them, under new names, so that each GEMM can fuse its own.
class Conversions {
 public:
  Conversions(const Trace& trace, const Implementation& candidate)
      : trace_(trace), candidate_(candidate), uses_(trace), out_(without_symbols(trace)) {}

  Trace run() {
    for (int op = 0; op < static_cast<int>(trace_.bound_symbols.size()); ++op) {
      BoundSymbol bound = trace_.bound_symbols[op];
      if (is_for_gemms(op)) continue;
      if (bound.implementation == &candidate_)
        for (size_t i = 0; i < bound.args.size(); ++i) {
          const Value operand = bound.args.read()[i];
          const int made = operand.is_tensor() ? uses_.producer(operand.tensor().id) : -1;
          if (made >= 0 && is_for_gemms(made)) bound.args[i] = repeated(trace_.bound_symbols[made]);
        }
      out_.bound_symbols.push_back(std::move(bound));
    }
    return std::move(out_);
  }

 private:
  // Returns true for a conversion of a value from outside the trace that only GEMMs read.
  bool is_for_gemms(int op) const {
    const BoundSymbol& bound = trace_.bound_symbols[op];
    if (!is_rounding(bound) || !is_given(trace_, uses_, bound.args.read()[0])) return false;
    return std::ranges::all_of(uses_.consumers(bound.outputs.read()[0].tensor().id), [&](int consumer) {
      return trace_.bound_symbols[consumer].implementation == &candidate_;
    });
  }

  Value repeated(BoundSymbol conversion) {
    auto* proxy = new TensorProxy(conversion.outputs.read()[0].tensor());
    proxy->id = out_.next_id++;
    proxy->name = text::cat("t", out_.next_name++);
    Value fresh{detail::Ref<TensorProxy>(proxy)};
    conversion.outputs = {fresh};
    out_.bound_symbols.push_back(std::move(conversion));
    return fresh;
  }

  const Trace& trace_;
  const Implementation& candidate_;
  const Uses uses_;
  Trace out_;
};

class GemmFusions {
 public:
  GemmFusions(const Trace& trace, const Implementation& candidate, FusionNames& names, bool allow_excess_precision)
      : trace_(Conversions(trace, candidate).run()),
        candidate_(candidate),
        names_(names),
        allow_excess_precision_(allow_excess_precision),
        uses_(trace_),
        graph_(trace_, false) {}

  Trace run() {
    groups_.group_of.assign(trace_.bound_symbols.size(), -1);
    for (int op = 0; op < graph_.size(); ++op)
      if (trace_.bound_symbols[op].implementation == &candidate_) add(op);
    EpilogueFusion growth(trace_, uses_, graph_, groups_, allow_excess_precision_);
    for (size_t i = 0; i < groups_.groups.size(); ++i) add_epilogue(growth, static_cast<int>(i));
    if (const std::optional<Trace> merged = merge_within_groups(trace_, groups_.group_of))
      return GemmFusions(*merged, candidate_, names_, allow_excess_precision_).run();
    const std::vector<ImplementationRef> implementations = gemm_implementations(gemms_);
    if (implementations.empty()) groups_.clear();
    for (size_t i = 0; i < groups_.groups.size(); ++i)
      fusions_.push_back(
          {names_.next(), groups_.groups[i].inputs, groups_.groups[i].results, false, implementations[i]});
    if (logs(LogChannel::fusions)) explain(growth.missed_fusions());
    return fuser::outline_fusions(trace_, graph_, groups_, fusions_, candidate_);
  }

 private:
  void add(int op) {
    const BoundSymbol& bound = trace_.bound_symbols[op];
    fuser::FusionGroup group;
    GemmOp gemm;
    gemm.is_linear = bound.symbol->semantics.matrix_product == MatrixProduct::transposed;
    gemm.form.number = bound.outputs.read()[0].tensor().dtype;
    gemm.form.left = take_operand(bound.args.read()[0], group);
    gemm.form.right = take_operand(bound.args.read()[1], group);
    std::optional<Dtype> bias;
    if (bound.args.size() > 2 && bound.args.read()[2].is_tensor()) bias = take_operand(bound.args.read()[2], group);
    group.ops.push_back(op);
    const Value& result = bound.outputs.read()[0];
    const int conversion = conversion_of_result(result);
    if (conversion >= 0) group.ops.push_back(conversion);
    group.results = {conversion >= 0 ? trace_.bound_symbols[conversion].outputs.read()[0] : result};
    gemm.form.epilogue =
        codegen::plain_epilogue(group.results[0].tensor().dtype, bias,
                                allow_excess_precision_ ? std::nullopt : std::optional(gemm.form.number));
    for (const int inside : group.ops) groups_.group_of[inside] = static_cast<int>(groups_.groups.size());
    std::ranges::sort(group.ops);
    groups_.groups.push_back(std::move(group));
    gemms_.push_back(gemm);
    ops_.push_back(conversion >= 0 ? -1 : op);
    biases_.push_back(bias);
  }

  void add_epilogue(EpilogueFusion& growth, int index) {
    if (ops_[index] < 0) return;
    std::optional<Epilogue> epilogue = growth.grow(ops_[index], index, biases_[index]);
    if (!epilogue) return;
    fuser::FusionGroup& group = groups_.groups[index];
    std::unordered_map<int, Value> values;
    const auto collect = [&](const Value& value) {
      if (value.is_tensor()) values.emplace(value.tensor().id, value);
    };
    collect(group.results[0]);
    for (const int op : epilogue->ops) {
      for_each_argument(trace_.bound_symbols[op], collect);
      for_each_output(trace_.bound_symbols[op], collect);
      group.ops.push_back(op);
      groups_.group_of[op] = index;
    }
    std::ranges::sort(group.ops);
    group.results.clear();
    for (const int id : epilogue->lowered.operands) group.inputs.push_back(values.at(id));
    for (const int id : epilogue->lowered.results) group.results.push_back(values.at(id));
    gemms_[index].form.epilogue = std::move(epilogue->lowered.epilogue);
  }

  // Returns the operand's dtype as the GEMM reads it.
  Dtype take_operand(const Value& operand, fuser::FusionGroup& group) const {
    const int made = uses_.producer(operand.tensor().id);
    const bool is_converted = made >= 0 && is_rounding(trace_.bound_symbols[made]) &&
                              is_given(trace_, uses_, trace_.bound_symbols[made].args.read()[0]) &&
                              uses_.consumers(operand.tensor().id).size() == 1;
    if (is_converted) group.ops.push_back(made);
    group.inputs.push_back(is_converted ? trace_.bound_symbols[made].args.read()[0] : operand);
    return group.inputs.back().tensor().dtype;
  }

  // Only fold the cast to f32 if the result is a graph output; other consumers convert on load, which moves fewer
  // bytes.
  int conversion_of_result(const Value& result) const {
    const auto consumers = uses_.consumers(result.tensor().id);
    if (consumers.size() != 1 || !is_widening(trace_.bound_symbols[consumers[0]])) return -1;
    const auto is_structural = [&](int op) { return trace_.bound_symbols[op].symbol->traits.structural; };
    const auto final_consumers = uses_.consumers(trace_.bound_symbols[consumers[0]].outputs.read()[0].tensor().id);
    return std::ranges::all_of(final_consumers, is_structural) ? consumers[0] : -1;
  }

  void explain(const std::vector<std::string>& missed_fusions) const {
    std::string text;
    for (const fuser::GroupFusion& fusion : fusions_)
      text += text::cat(fusion.name, " of ", trace_.name, ", a GEMM:\n", fusion.implementation->fusion->text());
    for (const std::string& missed_reason : missed_fusions) text += text::cat(missed_reason, "\n");
    if (!text.empty()) log(LogChannel::fusions, text);
  }

  const Trace trace_;
  const Implementation& candidate_;
  FusionNames& names_;
  const bool allow_excess_precision_;
  const Uses uses_;
  const fuser::DependencyGraph graph_;
  fuser::FusionGroups groups_;
  std::vector<GemmOp> gemms_;                 // by group
  std::vector<int> ops_;                      // by group: the GEMM's; -1: no epilogue is added
  std::vector<std::optional<Dtype>> biases_;  // by group
  std::vector<fuser::GroupFusion> fusions_;   // by group
};

}  // namespace

Trace fuse_gemm_epilogues(const Trace& trace, const Implementation& candidate, FusionNames& names,
                          bool allow_excess_precision) {
  return GemmFusions(trace, candidate, names, allow_excess_precision).run();
}

}  // namespace fulgurite::fused_gemm
