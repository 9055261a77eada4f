#pragma once
#include <functional>
#include <vector>

#include "codegen/lowering/lower_group.h"
#include "executors/fusion/dependency_graph.h"

namespace fulgurite::fuser {

/// Lines that are run as one.
struct GrownRegion {
  std::vector<int> ops;      // in order, without views that are looked through
  std::vector<int> views;      // those
  std::vector<Value> inputs;   // tensors that others make
  std::vector<Value> results;  // which others use
};

/// Lines of a region, without views that are looked through: no more than a reader takes in.
constexpr size_t max_ops = 64;

struct GrownRegions {
  std::vector<GrownRegion> regions;
  std::vector<int> region_of;        // by line; -1: none
  std::vector<std::string> refusals; // what was not put together, and why; filled where somebody listens

  void clear() {
    regions.clear();
    region_of.assign(region_of.size(), -1);
  }
  /// Leaves the regions for which keep(region) holds.
  void keep_if(const std::function<bool(const GrownRegion&)>& keep);
};

/// What may become one region.
struct GrowingRules {
  std::function<std::string(const codegen::Region&)> refusal;  // why lines cannot be one region; empty where they can
  std::function<bool(const BoundSymbol&)> is_worth_alone;      // whether one line is a region
  std::function<bool(const BoundSymbol&)> is_plain;            // whether a line always goes with others like it of the same sizes
  /// Whether a line joins regions, but is not to shape them.
  std::function<bool(const BoundSymbol&)> joins_last = [](const BoundSymbol&) { return false; };
};

/// A region's lines in the trace, with the views that they look through.
codegen::Region group_ops(const Trace&, const GrownRegion&);

/// Puts candidates together along the data flow, wherever the rules allow it and no line outside would have to run in between; then those
/// that read the same large value.
GrownRegions grow_regions(const Trace&, const DependencyGraph&, const std::vector<char>& is_candidate, const GrowingRules&, bool explains);

}  // namespace fulgurite::fuser
