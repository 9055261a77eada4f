#pragma once
#include <string>

#include "executors/fusion/grouping.h"
#include "executors/registry.h"

namespace fulgurite::fuser {

/// The fusion of a group.
struct GroupFusion {
  std::string name;  // "fusion0"
  std::vector<Value> inputs, outputs;
  // each element depends only on the inputs' elements at the same index: it may overwrite one of them
  bool is_pointwise = false;
  ImplementationRef implementation = {};
};

/// Replaces each group by one fusion op, after its dependencies; `fusions` are in the order of the groups. Ops that are
/// marked with `candidate` but are in no group have no implementation afterwards.
Trace outline_fusions(const Trace&, const DependencyGraph&, const FusionGroups&,
                      const std::vector<GroupFusion>& fusions, const Implementation& candidate);

/// A group's ops as they are inside its fusion: views that also exist outside are renamed, with the next names.
SharedVector<BoundSymbol> inner_ops(const Trace&, const DependencyGraph&, const FusionGroup&, int& next_id,
                                    int& next_name);

}  // namespace fulgurite::fuser
