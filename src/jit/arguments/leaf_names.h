#pragma once
#include <string>
#include <vector>

#include "jit/arguments/flat_arguments.h"

namespace fulgurite::detail {

/// The name of every leaf in traces, in order:
///
///   a tensor argument                 t_0, t_1, …        (counted with the containers among the arguments)
///   a number, a string                n_0, s_0, …
///   in a container                    t_1_0, t_1_weight
///   in an aggregate, or a member      t_blocks_0_wq
///   of the callable itself
///
/// A name given in `argument_names`, or to a tensor with set_name, stands for it. Equal names get a suffix: w, w_1,
/// w_2.
std::vector<std::string> leaf_names(const std::vector<LeafPath>& paths, const FlatArguments& flat,
                                    const std::vector<std::string>& argument_names);

}  // namespace fulgurite::detail
