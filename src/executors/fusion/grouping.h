#pragma once
#include <functional>
#include <vector>

#include "codegen/lowering/lower_group.h"
#include "executors/fusion/dependency_graph.h"

namespace fulgurite::fuser {

/// Ops that run as one.
struct FusionGroup {
  std::vector<int> ops;        // in order, without transparent views
  std::vector<int> views;      // the transparent views
  std::vector<Value> inputs;   // tensors that other ops produce
  std::vector<Value> results;  // values that other ops use
};

/// The maximum of ops in a group, without transparent views: no more than a reader of its kernel can follow.
constexpr size_t max_ops = 64;

struct FusionGroups {
  std::vector<FusionGroup> groups;
  std::vector<int> group_of;  // by op; -1: none
  std::vector<std::string>
      missed_fusions;  // the merges that failed, with reasons; filled if the log channel is enabled

  void clear() {
    groups.clear();
    group_of.assign(group_of.size(), -1);
  }
  /// Keeps the groups for which keep(group) holds.
  void keep_if(const std::function<bool(const FusionGroup&)>& keep);
};

/// Decides which ops may form one group.
struct GroupingRules {
  std::function<std::string(const codegen::LoopNest&)> missed_reason;  // why ops cannot be one group; empty if they can
  std::function<bool(const BoundSymbol&)> is_profitable_alone;         // true if a single op is worth a group
  // true if an op can always be fused with others like it of the same sizes
  std::function<bool(const BoundSymbol&)> is_plain;
  /// Fused last: may join an existing group but never seeds or merges groups.
  std::function<bool(const BoundSymbol&)> fuse_last = [](const BoundSymbol&) { return false; };
};

/// A group's ops in the trace, with the views that they look through.
codegen::LoopNest group_ops(const Trace&, const FusionGroup&);

/// Groups candidates along the data flow, wherever the rules allow it and the group stays convex; then those that read
/// the same large value.
FusionGroups group_ops_for_fusion(const Trace&, const DependencyGraph&, const std::vector<char>& is_candidate,
                                  const GroupingRules&, bool explains);

}  // namespace fulgurite::fuser
