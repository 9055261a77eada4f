#pragma once
#include <vector>

#include "jit/recording.h"

namespace fulgurite::detail {

/// For each tensor leaf another one that holds its memory, and is contiguous; -1: an input of its own.
using Containers = std::vector<int>;
Containers find_containers(const RecordRequest&);
/// A tensor leaf as a view of the one that holds its memory, for which `container` stands.
Tensor view_of_container(const Tensor& container, const Tensor& containing, const Tensor& contained, SourceLocation at);

/// What memory a tensor has: its storage, or the value of a recording outside that it is a view of.
const void* memory_of(const Tensor&);
/// Returns true if two tensors that are not the same share memory.
bool share_memory(const Leaves&);
/// Returns true if an argument is written that shares memory with another.
bool writes_into_shared(const Recording&, const Leaves&);

}  // namespace fulgurite::detail
