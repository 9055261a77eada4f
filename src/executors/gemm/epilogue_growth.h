#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/gemm/gemm_epilogue.h"
#include "executors/fusion/eager_calls.h"
#include "executors/fusion/grouping.h"
#include "executors/fusion/op_groups.h"

namespace fulgurite::fused_gemm {

/// The ops that a GEMM computes on its complete sums.
struct Epilogue {
  std::vector<int> ops;
  codegen::LoweredEpilogue lowered;
};

/// Selects the epilogue of a GEMM from the ops near it that the fuser claimed and that are in no group: elementwise ops
/// on its result (gelu, a residual, an activation's gradient), with the producers that only they read. They are fused
/// if that saves more bytes than it costs:
///
///     t2 = linear(t0, t_w, t_b)             t2, t3 = fusion0(t0, t_w, t_b)
///     t3 = gelu(t2)                  →        # t2 = linear(t0, t_w, t_b)
///                                             # t3 = gelu(t2)
class EpilogueFusion {
 public:
  EpilogueFusion(const Trace& trace, const Uses& uses, const fuser::DependencyGraph& graph,
                 const fuser::FusionGroups& groups, bool allow_excess_precision)
      : trace_(trace),
        uses_(uses),
        groups_(groups),
        parts_(graph),
        allow_excess_precision_(allow_excess_precision),
        expressions_({allow_excess_precision, fuser::is_one_eager_call}) {
    for (const fuser::FusionGroup& group : groups.groups)
      for (size_t i = 1; i < group.ops.size(); ++i)
        parts_.keep(parts_.merge(parts_.group_of(group.ops[0]), parts_.group_of(group.ops[i])));
  }

  /// The epilogue of the GEMM at op `product`, in group number `group`. Nullopt if no epilogue is profitable.
  std::optional<Epilogue> grow(int gemm, int group, std::optional<Dtype> bias);
  /// The reasons why epilogues that seemed profitable were not fused.
  const std::vector<std::string>& missed_fusions() const { return missed_fusions_; }

 private:
  bool is_inside(int op) const;
  bool may_follow(int op) const;
  bool has_sizes(const Value&) const;
  bool is_operand(const Value&) const;
  bool is_near(int op) const;
  bool take(int op);
  void take_back(size_t remaining);
  bool absorb_consumers(const Value&);
  bool absorb_producers();
  bool absorb_siblings();
  void find_consumers(const Value&, std::vector<int>& ops) const;
  bool is_fusable(int op) const;
  int64_t bytes_spared() const;
  std::optional<Epilogue> profitable(std::optional<Dtype> bias);
  std::optional<Epilogue> lowered(std::optional<Dtype> bias);

  const Trace& trace_;
  const Uses& uses_;
  const fuser::FusionGroups& groups_;
  fuser::OpGroups parts_;  // with the groups of all GEMMs, whose epilogues join them
  const bool allow_excess_precision_;
  int gemm_ = -1, group_ = -1;
  std::vector<int> ops_;    // chosen, in order
  std::vector<int> taken_;  // the same as they were chosen, with their merges
  std::vector<fuser::OpGroups::Merge> merges_;
  codegen::OpExpressions expressions_;
  std::vector<std::string> missed_fusions_;
};

}  // namespace fulgurite::fused_gemm
