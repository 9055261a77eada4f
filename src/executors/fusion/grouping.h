#pragma once
#include <functional>
#include <vector>

#include "codegen/lowering/lower_group.h"
#include "executors/fusion/dependency_graph.h"

namespace fulgurite::fuser {

/// Lines that are run as one.
struct FusionGroup {
  std::vector<int> ops;      // in order, without views that are looked through
  std::vector<int> views;      // those
  std::vector<Value> inputs;   // tensors that others make
  std::vector<Value> results;  // which others use
};

/// Lines of a region, without views that are looked through: no more than a reader takes in.
constexpr size_t max_ops = 64;

struct FusionGroups {
  std::vector<FusionGroup> groups;
  std::vector<int> group_of;        // by line; -1: none
  std::vector<std::string> missed_fusions; // what was not put together, and why; filled where somebody listens

  void clear() {
    groups.clear();
    group_of.assign(group_of.size(), -1);
  }
  /// Leaves the regions for which keep(region) holds.
  void keep_if(const std::function<bool(const FusionGroup&)>& keep);
};

/// What may become one region.
struct GroupingRules {
  std::function<std::string(const codegen::LoopNest&)> missed_reason;  // why lines cannot be one region; empty where they can
  std::function<bool(const BoundSymbol&)> is_profitable_alone;      // whether one line is a region
  std::function<bool(const BoundSymbol&)> is_plain;            // whether a line always goes with others like it of the same sizes
  /// Whether a line joins regions, but is not to shape them.
  std::function<bool(const BoundSymbol&)> fuse_last = [](const BoundSymbol&) { return false; };
};

/// A region's lines in the trace, with the views that they look through.
codegen::LoopNest group_ops(const Trace&, const FusionGroup&);

/// Puts candidates together along the data flow, wherever the rules allow it and no line outside would have to run in between; then those
/// that read the same large value.
FusionGroups group_ops_for_fusion(const Trace&, const DependencyGraph&, const std::vector<char>& is_candidate, const GroupingRules&, bool explains);

}  // namespace fulgurite::fuser
