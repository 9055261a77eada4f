#pragma once
#include <string>

#include "executors/fusion/grouping.h"
#include "executors/registry.h"

namespace fulgurite::fuser {

/// How a region is run.
struct GroupFusion {
  std::string name;  // "fusion0"
  std::vector<Value> inputs, outputs;
  bool is_pointwise = false;  // each element depends on the inputs' elements at its place alone: it may be written over one of them
  const Implementation* implementation = nullptr;
};

/// Each region's lines become one line, after all that it waits for; `fusions` are the regions', in their order. Lines that `candidate`
/// stands at and that are in no region have no implementation any more.
Trace outline_fusions(const Trace&, const DependencyGraph&, const FusionGroups&, const std::vector<GroupFusion>& fusions,
                     const Implementation& candidate);

/// Of a region, its lines as they stand inside a fusion: views that stand outside too have other names, which are counted on.
SharedVector<BoundSymbol> inner_ops(const Trace&, const DependencyGraph&, const FusionGroup&, int& next_id, int& next_name);

}  // namespace fulgurite::fuser
